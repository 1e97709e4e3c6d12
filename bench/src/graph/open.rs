//! Peers that are read in place: rkyv, FlatBuffers and Cap'n Proto.

use anyhow::{Context as _, Result};
use capnp::message::{ReaderOptions, TypedReader};
use capnp::serialize::BufferSegments;
use flatbuffers::{FlatBufferBuilder, VerifierOptions, WIPOffset};
use rkyv::rancor::Error;
use rkyv::util::AlignedVec;

use super::{ArchivedGraph, Contests, Graph, Walk};
use crate::peers::flat;
use crate::peers_capnp::graph as capn;

pub(super) struct Bytes {
    rkyv: AlignedVec,
    flat: Vec<u8>,
    capnp: Vec<u8>,
}

impl Bytes {
    pub(super) fn new(graph: &Graph) -> Result<Bytes> {
        let mut builder = FlatBufferBuilder::new();
        pack_flat(graph, &mut builder);
        Ok(Bytes {
            rkyv: rkyv::to_bytes::<Error>(graph)?,
            flat: builder.finished_data().to_vec(),
            capnp: pack_capnp(graph),
        })
    }

    pub(super) fn add<'a>(&'a self, graph: &'a Graph, contests: &mut Contests<'a>) -> Result<()> {
        contests.serialize.add_consuming(
            "rkyv",
            1,
            || (),
            |()| rkyv::to_bytes::<Error>(graph).map(|bytes| bytes.len()),
        );
        contests.size("rkyv", &self.rkyv);
        contests.add_validated("rkyv", graph, &self.rkyv, |bytes| {
            Ok(rkyv::access::<ArchivedGraph, Error>(bytes)?)
        })?;
        contests.add_structs("rkyv, structs", graph, &self.rkyv, |bytes| {
            Ok(rkyv::from_bytes::<Graph, Error>(bytes)?)
        })?;

        let mut builder = FlatBufferBuilder::new();
        contests.serialize.add("flatbuffers", 1, move || pack_flat(graph, &mut builder));
        contests.size("flatbuffers", &self.flat);
        contests.add_validated("flatbuffers", graph, &self.flat, |bytes| {
            Ok(flatbuffers::root_with_opts::<flat::Graph<'_>>(&NO_LIMITS, bytes)?)
        })?;

        contests.serialize.add_consuming("capnp", 1, || (), |()| pack_capnp(graph));
        contests.size("capnp", &self.capnp);
        contests.add_open("capnp", graph, &self.capnp, open_capnp)
    }
}

impl Walk for &ArchivedGraph {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        Some(self.nodes.get(node)?.name.as_str())
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        let edges = self.nodes.get(node)?.out_edges.iter();
        edges.for_each(|edge| see(usize::from(edge.to.to_native())));
        Some(())
    }
}

/// The defaults end at a million tables, and count edges that two nodes share twice.
const NO_LIMITS: VerifierOptions = VerifierOptions {
    max_depth: 64,
    max_tables: usize::MAX,
    max_apparent_size: usize::MAX,
    ignore_missing_null_terminator: false,
};

/// Each edge once: the nodes at both of its ends share it, as in the original.
fn pack_flat(graph: &Graph, builder: &mut FlatBufferBuilder<'_>) -> usize {
    builder.reset();
    let count = graph.nodes.len();
    let mut edges = vec![None; count * count];
    for node in &graph.nodes {
        for edge in &node.out_edges {
            let args = flat::EdgeArgs { from: edge.from, to: edge.to, weight: edge.weight };
            let place = usize::from(edge.from) * count + usize::from(edge.to);
            edges[place] = Some(flat::Edge::create(builder, &args));
        }
    }
    let edges_of = |list: &[super::Edge]| -> Vec<WIPOffset<flat::Edge<'_>>> {
        let places = list.iter().map(|edge| usize::from(edge.from) * count + usize::from(edge.to));
        places.filter_map(|place| edges[place]).collect()
    };
    let nodes: Vec<_> = graph
        .nodes
        .iter()
        .map(|node| {
            let name = Some(builder.create_string(&node.name));
            let out_edges = Some(builder.create_vector(&edges_of(&node.out_edges)));
            let in_edges = Some(builder.create_vector(&edges_of(&node.in_edges)));
            let args = flat::NodeArgs { id: node.id, name, out_edges, in_edges };
            flat::Node::create(builder, &args)
        })
        .collect();
    let nodes = Some(builder.create_vector(&nodes));
    let graph = flat::Graph::create(builder, &flat::GraphArgs { nodes });
    builder.finish(graph, None);
    builder.finished_data().len()
}

impl Walk for flat::Graph<'_> {
    fn nodes(&self) -> usize {
        flat::Graph::nodes(self).map_or(0, |nodes| nodes.len())
    }

    fn name(&self, node: usize) -> Option<&str> {
        flat::Graph::nodes(self).filter(|nodes| node < nodes.len())?.get(node).name()
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        let nodes = flat::Graph::nodes(self).filter(|nodes| node < nodes.len())?;
        nodes.get(node).out_edges()?.iter().for_each(|edge| see(usize::from(edge.to())));
        Some(())
    }
}

fn pack_capnp(graph: &Graph) -> Vec<u8> {
    let mut message = capnp::message::Builder::new_default();
    let root = message.init_root::<capn::Builder<'_>>();
    let mut nodes = root.init_nodes(graph.nodes.len() as u32);
    for (at, node) in graph.nodes.iter().enumerate() {
        let mut made = nodes.reborrow().get(at as u32);
        made.set_id(node.id);
        made.set_name(&node.name);
        let put = |edge: &super::Edge, mut made: capn::edge::Builder<'_>| {
            made.set_from(edge.from);
            made.set_to(edge.to);
            made.set_weight(edge.weight);
        };
        let mut edges = made.reborrow().init_in_edges(node.in_edges.len() as u32);
        for (at, edge) in node.in_edges.iter().enumerate() {
            put(edge, edges.reborrow().get(at as u32));
        }
        let mut edges = made.init_out_edges(node.out_edges.len() as u32);
        for (at, edge) in node.out_edges.iter().enumerate() {
            put(edge, edges.reborrow().get(at as u32));
        }
    }
    capnp::serialize::write_message_to_words(&message)
}

type CapnpGraph<'a> = TypedReader<BufferSegments<&'a [u8]>, capn::Owned>;

fn open_capnp(mut bytes: &[u8]) -> Result<CapnpGraph<'_>> {
    let options = ReaderOptions { traversal_limit_in_words: None, ..ReaderOptions::new() };
    let message = capnp::serialize::read_message_from_flat_slice(&mut bytes, options)?;
    let graph = CapnpGraph::new(message);
    graph.get().context("no graph")?;
    Ok(graph)
}

impl Walk for CapnpGraph<'_> {
    fn nodes(&self) -> usize {
        self.get().and_then(|graph| graph.get_nodes()).map_or(0, |nodes| nodes.len() as usize)
    }

    fn name(&self, node: usize) -> Option<&str> {
        self.get().ok()?.get_nodes().ok()?.try_get(node as u32)?.get_name().ok()?.to_str().ok()
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        let node = self.get().ok()?.get_nodes().ok()?.try_get(node as u32)?;
        node.get_out_edges().ok()?.iter().for_each(|edge| see(usize::from(edge.get_to())));
        Some(())
    }
}
