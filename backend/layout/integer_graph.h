#pragma once
// A graph of computations with what is known of its whole numbers.

#include <utility>

#include "backend/layout/whole_numbers.h"

namespace lemma::backend {

struct IntegerGraph {
  explicit IntegerGraph(ComputationGraph of) : graph(std::move(of)), ranges(whole_numbers(graph)) {}

  /// Adds a buffer of which nothing is known.
  void add_buffer(Buffer buffer) {
    graph.buffers.push_back(std::move(buffer));
    ranges.resize(graph.buffers.size());
  }

  ComputationGraph graph;
  WholeNumbers ranges;  // by buffer
};

}  // namespace lemma::backend
