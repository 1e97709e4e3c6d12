//! LiveBuf: as columns, which arrays of similar objects become, and as rows.

use anyhow::{Context as _, Result, ensure};
use livebuf::{Array, Bound, Checked, Column, Doc, DocBuf, EncodeOptions, Encoder, Object, Valid};
use serde::Serialize;

use super::{Contests, Graph, Walk};

pub(super) struct Bytes {
    columns: DocBuf,
    rows: DocBuf,
}

impl Bytes {
    pub(super) fn new(graph: &Graph) -> Result<Bytes> {
        Ok(Bytes { columns: livebuf::to_doc(graph)?, rows: rows(graph)? })
    }

    pub(super) fn add<'a>(&'a self, graph: &'a Graph, contests: &mut Contests<'a>) -> Result<()> {
        let (columns, rows_of) = (self.columns.as_bytes(), self.rows.as_bytes());
        contests.serialize.add_consuming("livebuf", 1, || (), |()| livebuf::to_doc(graph));
        contests.serialize.add_consuming("livebuf, tables off", 1, || (), |()| rows(graph));
        contests.size("livebuf", columns);
        contests.size("livebuf, tables off", rows_of);

        contests.add_validated("livebuf, by columns", graph, columns, |bytes| {
            Columns::new(valid(bytes)?)
        })?;
        contests.add_open("livebuf, by columns, not validated", graph, columns, |bytes| {
            Unvalidated::new(Doc::open(bytes)?)
        })?;
        contests
            .add_validated("livebuf, by rows", graph, columns, |bytes| Rows::new(valid(bytes)?))?;
        contests.add_validated("livebuf, by rows, tables off", graph, rows_of, |bytes| {
            Rows::new(valid(bytes)?)
        })?;

        ensure!(livebuf::from_slice::<Graph>(columns)? == *graph, "another graph");
        ensure!(livebuf::from_slice::<Graph>(rows_of)? == *graph, "another graph, tables off");
        contests.add_structs("livebuf, structs", graph, columns, |bytes| {
            Ok(livebuf::from_slice::<Graph>(bytes)?)
        })?;
        contests.add_structs("livebuf, structs, validated first", graph, columns, |bytes| {
            Ok(livebuf::from_doc::<Graph>(valid(bytes)?)?)
        })?;
        contests.add_structs("livebuf, structs, tables off", graph, rows_of, |bytes| {
            Ok(livebuf::from_slice::<Graph>(bytes)?)
        })
    }
}

fn valid(bytes: &[u8]) -> livebuf::Result<Doc<'_, Valid>> {
    Doc::open(bytes)?.validate()
}

fn rows(graph: &Graph) -> Result<DocBuf> {
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    graph.serialize(&mut encoder)?;
    Ok(encoder.finish()?)
}

/// A slice of what all edges have as `to`, and which of it is of a node.
struct Columns<'a> {
    names: Column<'a, Valid>,
    edges: Column<'a, Valid>,
    to: &'a [i16],
}

impl<'a> Columns<'a> {
    fn new(doc: Doc<'a, Valid>) -> Result<Self> {
        let table = doc.root().get("nodes").and_then(|nodes| nodes.as_array()?.table());
        let table = table.context("no table")?;
        let edges = table.column("out_edges").context("no edges")?;
        let to = edges.elements().and_then(|edges| edges.table()?.column("to"));
        Ok(Columns {
            names: table.column("name").context("no names")?,
            edges,
            to: to.and_then(|to| to.as_slice()).context("no targets")?,
        })
    }
}

impl Walk for Columns<'_> {
    fn nodes(&self) -> usize {
        self.edges.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        self.names.get(node)?.as_str()
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        self.to.get(self.edges.bounds(node)?)?.iter().for_each(|to| see(*to as usize));
        Some(())
    }
}

/// The same of bytes that were not validated: each access is checked.
struct Unvalidated<'a> {
    names: Column<'a, Checked>,
    edges: Column<'a, Checked>,
    to: &'a [i16],
}

impl<'a> Unvalidated<'a> {
    fn new(doc: Doc<'a, Checked>) -> Result<Self> {
        let nodes = doc.root().get("nodes")?.context("no nodes")?;
        let nodes = nodes.as_array()?.context("no array")?;
        let table = nodes.table()?.context("no table")?;
        let edges = table.column("out_edges")?.context("no edges")?;
        let all = edges.elements()?.context("no elements")?;
        let to = all.table()?.context("no table of edges")?.column("to")?;
        Ok(Unvalidated {
            names: table.column("name")?.context("no names")?,
            edges,
            to: to.and_then(|to| to.as_slice()).context("no targets")?,
        })
    }
}

impl Walk for Unvalidated<'_> {
    fn nodes(&self) -> usize {
        self.edges.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        self.names.get(node).ok()??.as_str().ok()?
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        self.to.get(self.edges.bounds(node).ok()??)?.iter().for_each(|to| see(*to as usize));
        Some(())
    }
}

/// Objects and their members, however they are stored.
struct Rows<'a> {
    nodes: Array<'a, Valid>,
    name: Bound<'a, 'static>,
    edges: Bound<'a, 'static>,
    to: Bound<'a, 'static>,
}

impl<'a> Rows<'a> {
    fn new(doc: Doc<'a, Valid>) -> Result<Self> {
        let nodes = doc.root().get("nodes").and_then(|nodes| nodes.as_array()).context("none")?;
        let bound = || {
            let node: Object<'a, Valid> = nodes.get(0)?.as_object()?;
            let edge = node.get("out_edges")?.as_array()?.get(0)?.as_object()?;
            Some((node.bind("name")?, node.bind("out_edges")?, edge.bind("to")?))
        };
        let (name, edges, to) = bound().context("nodes have no such members")?;
        Ok(Rows { nodes, name, edges, to })
    }
}

impl Walk for Rows<'_> {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node)?.as_object()?.get(&self.name)?.as_str()
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        let edges = self.nodes.get(node)?.as_object()?.get(&self.edges)?.as_array()?;
        for edge in &edges {
            see(edge.as_object()?.get(&self.to)?.as_i64()? as usize);
        }
        Some(())
    }
}
