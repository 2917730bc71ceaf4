#pragma once
// The graph after each step of the pipeline, as files for people.

#include <filesystem>
#include <string>
#include <utility>

#include "costmodel/graph_cost.h"
#include "ir/graph.h"
#include "pipeline/trace_folder.h"

namespace lemma {

/// Writes a file for each step: a line with what was done, the number of operators and the cost, and the graph's text
/// (ir/graph_text.h).
class Trace {
 public:
  Trace(std::filesystem::path folder, const OperatorCosts& costs)
      : folder_(std::move(folder)), costs_(costs) {}

  void add(const std::string& step, const Graph& graph);
  Result<void> outcome() const { return folder_.outcome(); }

 private:
  TraceFolder folder_;
  const OperatorCosts& costs_;
};

}  // namespace lemma
