//! Owns the graph of cpp-serialization-benchmark: nodes with names, each with the edges that
//! leave and that enter it, as structs that name nodes by their index.
//!
//! What differs from the original is said in `docs/benchmarks.md`: the random numbers, the
//! set of visited nodes, and that only checked access is measured.

mod open;
mod ours;
mod structs;

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::report::Report;
use crate::timing::{Contest, Effort, Entry};

/// Nodes of the original, and of a quick run.
const NODES: usize = 1_870;
const QUICK_NODES: usize = 300;
/// How many of all pairs of nodes have an edge.
const CONNECTED: f64 = 0.9;

#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
    wincode::SchemaWrite,
    wincode::SchemaRead,
)]
struct Edge {
    from: u16,
    to: u16,
    weight: u16,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
    wincode::SchemaWrite,
    wincode::SchemaRead,
)]
struct Node {
    id: u16,
    name: String,
    out_edges: Vec<Edge>,
    in_edges: Vec<Edge>,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
    wincode::SchemaWrite,
    wincode::SchemaRead,
)]
struct Graph {
    nodes: Vec<Node>,
}

impl Graph {
    /// As the original generates it: names of 5 to 20 letters, weights up to 1,000.
    fn random(nodes: usize) -> Graph {
        let mut random = Rng::with_seed(19);
        let mut graph = Graph { nodes: Vec::new() };
        for id in 0..nodes {
            let length = random.usize(5..=20);
            let name = (0..length).map(|_| random.lowercase()).collect();
            let (out_edges, in_edges) = (Vec::new(), Vec::new());
            graph.nodes.push(Node { id: id as u16, name, out_edges, in_edges });
        }
        for from in 0..nodes {
            for to in 0..nodes {
                if random.f64() <= CONNECTED {
                    let weight = random.u16(0..=1000);
                    let edge = Edge { from: from as u16, to: to as u16, weight };
                    graph.nodes[from].out_edges.push(edge.clone());
                    graph.nodes[to].in_edges.push(edge);
                }
            }
        }
        graph
    }
}

/// A graph that can be walked.
trait Walk {
    fn nodes(&self) -> usize;
    fn name(&self, node: usize) -> Option<&str>;
    /// Calls `see` with the target of each edge that leaves the node.
    fn targets(&self, node: usize, see: impl FnMut(usize)) -> Option<()>;
}

impl Walk for Graph {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn name(&self, node: usize) -> Option<&str> {
        Some(&self.nodes.get(node)?.name)
    }

    fn targets(&self, node: usize, mut see: impl FnMut(usize)) -> Option<()> {
        self.nodes.get(node)?.out_edges.iter().for_each(|edge| see(usize::from(edge.to)));
        Some(())
    }
}

/// How many nodes the first one leads to, and how many edges were looked at.
fn traverse(graph: &impl Walk) -> Option<(usize, usize)> {
    let mut visited = vec![false; graph.nodes()];
    let mut todo = vec![0];
    let (mut nodes, mut edges) = (0, 0);
    while let Some(node) = todo.pop() {
        graph.targets(node, |target| {
            edges += 1;
            if let Some(visited) = visited.get_mut(target).filter(|visited| !**visited) {
                *visited = true;
                nodes += 1;
                todo.push(target);
            }
        })?;
    }
    Some((nodes, edges))
}

/// It has the names and edges of the graph, and is traversed alike.
fn check(expected: &Graph, graph: &impl Walk) -> Result<()> {
    ensure!(graph.nodes() == expected.nodes.len(), "other nodes");
    for (at, node) in expected.nodes.iter().enumerate() {
        ensure!(graph.name(at) == Some(&node.name), "node {at} has another name");
        let mut targets = Vec::new();
        graph.targets(at, |target| targets.push(target)).context("no edges")?;
        let theirs = targets.into_iter();
        ensure!(theirs.eq(node.out_edges.iter().map(|edge| usize::from(edge.to))), "other edges");
    }
    let answer = traverse(expected).context("cannot be traversed")?;
    ensure!(answer.0 == expected.nodes.len() && answer.1 > 0, "not connected");
    ensure!(traverse(graph) == Some(answer), "another answer");
    Ok(())
}

/// The tasks, which competitors are added to.
#[derive(Default)]
struct Contests<'a> {
    serialize: Contest<'a>,
    validate: Contest<'a>,
    traverse: Contest<'a>,
    open_and_traverse: Contest<'a>,
    to_structs: Contest<'a>,
    bytes: Vec<Entry>,
}

impl<'a> Contests<'a> {
    /// Adds what is validated and then read in place, after it gave the right answers.
    fn add_validated<W: Walk + 'a>(
        &mut self,
        name: &str,
        expected: &Graph,
        bytes: &'a [u8],
        open: impl Fn(&'a [u8]) -> Result<W> + Copy + 'a,
    ) -> Result<()> {
        self.validate.add(name, 1, move || open(black_box(bytes)));
        self.add_open(name, expected, bytes, open)
    }

    /// Adds what is read in place. Where it checks at each access, opening it does nothing.
    fn add_open<W: Walk + 'a>(
        &mut self,
        name: &str,
        expected: &Graph,
        bytes: &'a [u8],
        open: impl Fn(&'a [u8]) -> Result<W> + Copy + 'a,
    ) -> Result<()> {
        let opened = open(bytes).with_context(|| format!("{name} cannot be opened"))?;
        check(expected, &opened).with_context(|| name.to_owned())?;
        self.traverse.add(name, 1, move || traverse(black_box(&opened)));
        self.open_and_traverse.add(name, 1, move || traverse(&open(black_box(bytes)).ok()?));
        Ok(())
    }

    /// Adds what becomes structs first, after it gave the right answers.
    fn add_structs<W: Walk + 'a>(
        &mut self,
        name: &str,
        expected: &Graph,
        bytes: &'a [u8],
        parse: impl Fn(&[u8]) -> Result<W> + Copy + 'a,
    ) -> Result<()> {
        let parsed = parse(bytes).with_context(|| format!("{name} cannot be parsed"))?;
        check(expected, &parsed).with_context(|| name.to_owned())?;
        self.to_structs.add_consuming(name, 1, || (), move |()| parse(black_box(bytes)));
        self.open_and_traverse.add(name, 1, move || traverse(&parse(black_box(bytes)).ok()?));
        Ok(())
    }

    fn size(&mut self, name: &str, bytes: &[u8]) {
        self.bytes.push(Entry::amount(name, bytes.len() as f64));
    }
}

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let nodes = if effort.largest_map > 100_000 { NODES } else { QUICK_NODES };
    let graph = &Graph::random(nodes);
    let ours = ours::Bytes::new(graph)?;
    let opened = open::Bytes::new(graph)?;
    let structs = structs::Bytes::new(graph)?;

    let mut contests = Contests::default();
    ours.add(graph, &mut contests)?;
    opened.add(graph, &mut contests)?;
    structs.add(graph, &mut contests)?;
    contests.traverse.add("structs in memory", 1, || traverse(black_box(graph)));

    let Contests { serialize, validate, traverse, open_and_traverse, to_structs, bytes } = contests;
    let family = format!("graph of {nodes} nodes");
    report.entries(format!("{family}/bytes"), "B", bytes);
    for (task, contest) in [
        ("serialize", serialize),
        ("open and validate", validate),
        ("traverse", traverse),
        ("open and traverse", open_and_traverse),
        ("to structs", to_structs),
    ] {
        let outcome = contest.run(effort);
        report.times(format!("{family}/{task}"), &outcome);
        report.told(format!("{family}/{task}"), &outcome);
    }
    Ok(())
}
