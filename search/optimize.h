#pragma once
// From a graph to the cheapest equivalent one that proved rules reach.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "costmodel/roofline.h"
#include "ir/graph.h"
#include "ir/substitution.h"
#include "search/fold_constants.h"

namespace lemma {

struct SearchOptions {
  double time_limit_seconds = 20;
  std::size_t node_limit = 40'000;  // of the e-graph
  std::size_t iterations = 12;      // of saturation
  /// Time to prove that the choice is the cheapest in the e-graph, or to find a cheaper one; none is
  /// tried if 0. What is found may depend on the machine's speed unless a proof ends it.
  double exact_extraction_seconds = 0;
  FoldOptions fold;
  /// Say why the result equals the original: search/explanation.h.
  bool explain = false;
  /// Called with what is being done, for progress.
  std::function<void(const std::string&)> on_stage;
};

struct UsedRule {
  std::string name;
  std::size_t count = 0;  // nodes of the chosen graph that it made
};

/// How good the chosen nodes are among all that the e-graph holds, in seconds at run time.
struct ExtractionProof {
  double cost = 0, lower_bound = 0;
  bool optimal = false;
};

struct SearchResult {
  Graph graph;  // the original (without dead nodes) if nothing cheaper was found
  bool improved = false;
  GraphCost before, after;
  std::vector<UsedRule> rules_used;
  std::string stop_reason;  // of saturation
  std::size_t egraph_nodes = 0;
  std::optional<ExtractionProof> extraction;  // if one was asked for
  std::string explanation;                    // if wanted and improved
};

/// Saturation within the limits, extraction, constant folding; then the result is compared with the
/// original as a whole and replaced by it unless it is cheaper. Deterministic unless the time limit
/// ends the search.
Result<SearchResult> optimize(const Graph& graph, std::span<const Substitution> rules,
                              const RooflineModel& model, const SearchOptions& options);

}  // namespace lemma
