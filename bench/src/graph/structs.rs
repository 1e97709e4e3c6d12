//! Peers whose bytes become structs before anything is read.

use anyhow::{Result, ensure};
use prost::Message;

use super::{Contests, Edge, Graph, Walk};
use crate::format::Format;
use crate::peers::{avro, bitcode, by_serde, wincode};

const AVRO: &str = r#"{"type": "record", "name": "Graph", "fields": [
    {"name": "nodes", "type": {"type": "array", "items":
        {"type": "record", "name": "Node", "fields": [
            {"name": "id", "type": "int"},
            {"name": "name", "type": "string"},
            {"name": "out_edges", "type": {"type": "array", "items":
                {"type": "record", "name": "Edge", "fields": [
                    {"name": "from", "type": "int"},
                    {"name": "to", "type": "int"},
                    {"name": "weight", "type": "int"}
                ]}}},
            {"name": "in_edges", "type": {"type": "array", "items": "Edge"}}
        ]}}}
]}"#;

/// Protobuf has no integers of 16 bits.
#[derive(Clone, PartialEq, Message)]
struct ProtobufEdge {
    #[prost(uint32, tag = "1")]
    from: u32,
    #[prost(uint32, tag = "2")]
    to: u32,
    #[prost(uint32, tag = "3")]
    weight: u32,
}

#[derive(Clone, PartialEq, Message)]
struct ProtobufNode {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    out_edges: Vec<ProtobufEdge>,
    #[prost(message, repeated, tag = "4")]
    in_edges: Vec<ProtobufEdge>,
}

#[derive(Clone, PartialEq, Message)]
struct ProtobufGraph {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<ProtobufNode>,
}

impl From<&Edge> for ProtobufEdge {
    fn from(edge: &Edge) -> Self {
        let Edge { from, to, weight } = *edge;
        ProtobufEdge { from: from.into(), to: to.into(), weight: weight.into() }
    }
}

impl From<&Graph> for ProtobufGraph {
    fn from(graph: &Graph) -> Self {
        let nodes = graph.nodes.iter().map(|node| ProtobufNode {
            id: node.id.into(),
            name: node.name.clone(),
            out_edges: node.out_edges.iter().map(ProtobufEdge::from).collect(),
            in_edges: node.in_edges.iter().map(ProtobufEdge::from).collect(),
        });
        ProtobufGraph { nodes: nodes.collect() }
    }
}

impl Walk for ProtobufGraph {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        Some(&self.nodes.get(node)?.name)
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        self.nodes.get(node)?.out_edges.iter().for_each(|edge| see(edge.to as usize));
        Some(())
    }
}

pub(super) struct Bytes {
    formats: Vec<(Format<Graph>, Vec<u8>)>,
    protobuf: ProtobufGraph,
    protobuf_bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn new(graph: &Graph) -> Result<Bytes> {
        let mut formats = vec![wincode(), bitcode()];
        formats.extend(by_serde());
        formats.push(avro(AVRO)?);
        let packed = |format: Format<Graph>| {
            let bytes = (format.pack)(graph)?;
            Ok((format, bytes))
        };
        let protobuf = ProtobufGraph::from(graph);
        Ok(Bytes {
            formats: formats.into_iter().map(packed).collect::<Result<_>>()?,
            protobuf_bytes: protobuf.encode_to_vec(),
            protobuf,
        })
    }

    pub(super) fn add<'a>(&'a self, graph: &'a Graph, contests: &mut Contests<'a>) -> Result<()> {
        for (format, bytes) in &self.formats {
            ensure!((format.parse)(bytes)? == *graph, "{} gives another graph", format.name);
            let pack = move |()| (format.pack)(graph);
            contests.serialize.add_consuming(format.name, 1, || (), pack);
            contests.size(format.name, bytes);
            contests.add_structs(format.name, graph, bytes, |bytes| (format.parse)(bytes))?;
        }
        let parse = |bytes: &[u8]| Ok(ProtobufGraph::decode(bytes)?);
        ensure!(parse(&self.protobuf_bytes)? == self.protobuf, "prost gives another graph");
        let pack = |()| self.protobuf.encode_to_vec();
        contests.serialize.add_consuming("prost", 1, || (), pack);
        contests.size("prost", &self.protobuf_bytes);
        contests.add_structs("prost", graph, &self.protobuf_bytes, parse)
    }
}
