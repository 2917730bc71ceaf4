#pragma once
// The graph after each step of the pipeline, as files for people.

#include <filesystem>
#include <string>

#include "costmodel/graph_cost.h"
#include "ir/graph.h"

namespace lemma {

/// Writes DIR/01-read.txt, DIR/02-folding-constants.txt and so on, named after the steps: a line with what
/// was done, the number of operators and the cost, and the graph's text (ir/graph_text.h). A trace
/// without a folder writes nothing.
class Trace {
 public:
  /// Files of an earlier trace in the folder are removed; they are known by their first line.
  Trace(std::filesystem::path folder, const OperatorCosts& costs);

  void add(const std::string& step, const Graph& graph);
  /// Of the first file that could not be written.
  Result<void> outcome() const { return outcome_; }

 private:
  std::filesystem::path folder_;
  const OperatorCosts& costs_;
  int count_ = 0;
  Result<void> outcome_;
};

}  // namespace lemma
