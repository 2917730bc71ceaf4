#pragma once
// A program over many devices, as one graph.
//
// Each value has axes of devices in front, one for each axis of the mesh (plans/placement/placement.h). What a device
// computes by itself is a node that has a copy of an operator for each device (made_operators/per_device.h); what devices
// exchange is a collective. The graph has a meaning like any other: the interpreter runs it.

#include <string>
#include <vector>

#include "ir/graph.h"
#include "plans/placement/placement.h"

namespace lemma::plans {

/// An input of the program: how a value of the single-device graph is placed.
struct ProgramInput {
  ValueId value;   // of the program's graph, an input
  ValueId single;  // of the single-device graph: an input or a constant
  Placement placement;
};

/// An output of the program, in the order of its graph's outputs: how an output of the single-device graph is placed.
struct ProgramOutput {
  std::string name;  // of the single-device graph's output
  Placement placement;
};

struct Program {
  Graph graph;
  Mesh mesh;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramOutput> outputs;
};

/// The single-device inputs and constants placed, the program, and its outputs collected again: a graph with the inputs
/// and outputs of the single-device one, which it is meant to equal.
Result<Graph> as_one_graph(const Graph& single, const Program& program);

}  // namespace lemma::plans
