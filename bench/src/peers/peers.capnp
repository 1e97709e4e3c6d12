# The graph of cpp-serialization-benchmark and the record of cpp-serializers.
# `capnpc-rust` (0.27.0) makes peers_capnp.rs of this file: README.md has the commands.
@0xb8a5b1f5a2f0c9d3;

struct Graph {
  struct Edge {
    from @0 :UInt16;
    to @1 :UInt16;
    weight @2 :UInt16;
  }

  struct Node {
    id @0 :UInt16;
    name @1 :Text;
    outEdges @2 :List(Edge);
    inEdges @3 :List(Edge);
  }

  nodes @0 :List(Node);
}

struct Vectors {
  ids @0 :List(Int64);
  texts @1 :List(Text);
}
