#pragma once
// One round of equality saturation: a graph becomes an e-graph, and the cheapest graph that it then
// holds is taken out.

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "costmodel/operator_costs.h"
#include "egraph/pattern.h"
#include "egraph/saturation.h"
#include "search/derivation.h"

namespace lemma {

/// The rules that a search may use, and how they were read. Derivations speak of the former, which
/// outlive them.
struct RuleSet {
  std::span<const Substitution> rules;
  std::vector<CompiledRule> compiled;  // both directions
};

struct RoundLimits {
  std::size_t node_limit = 40'000;
  std::size_t iterations = 12;
  std::size_t memory_limit_bytes = 2'000'000'000;
  double saturation_seconds = 10;
  double extraction_seconds = 10;
  /// Time to prove that the extracted graph is the cheapest in the e-graph, or to find a cheaper one; none is
  /// tried if 0. What is found may depend on the machine's speed unless a proof ends it.
  double proof_seconds = 0;
  /// The e-graph is asked once more, as if starting an operator took so many seconds longer; 0: it is not.
  double alternative_overhead = 0;
  /// The e-graph is asked once more for the graph that costs least in the layouts of a runtime; null: it is not.
  const RuleSet* layouts = nullptr;
  double layout_seconds = 0;                     // that this may take
  const std::atomic<bool>* cancelled = nullptr;  // as in SearchOptions
};

/// How good the chosen nodes are among all that the e-graph holds, in seconds at run time.
struct ExtractionProof {
  double cost = 0, lower_bound = 0;
  bool optimal = false;
};

/// Another graph that an e-graph holds.
struct Alternative {
  Graph graph;
  std::map<std::string, std::size_t> rules_used;
};

struct Round {
  Graph graph;  // never more expensive than the one given; constants are not folded
  double cost_before = 0, cost = 0;
  StopReason stop = StopReason::saturated;
  std::size_t nodes = 0;
  std::optional<ExtractionProof> extraction;
  std::map<std::string, std::size_t> rules_used;  // nodes of the result that each has made
  std::optional<Alternative> alternative;         // if wanted
  std::optional<Alternative> laid_out;   // the cheapest in the layouts of a runtime, if wanted
  double laid_out_seconds = 0;           // what that one costs with moves between layouts
  std::optional<Derivation> derivation;  // of all; if wanted, and the graph is cheaper or
                                         // there is another

  /// Whether it is cheaper by more than rounding.
  bool is_cheaper() const { return cost < (1 - 1e-9) * cost_before; }
};

/// What is known of a part of a larger graph. Nothing: the graph is a model.
struct Surroundings {
  std::vector<ValueFacts> inputs;  // facts of the part's inputs, in order
  std::vector<char> observed;      // by output: looked at elsewhere (observed_values())
};

/// An error would be a fault of the program.
Result<Round> saturate_and_extract(const Graph& graph, const RuleSet& rules,
                                   const OperatorCosts& costs, const RoundLimits& limits,
                                   bool explain, const Surroundings& surroundings = {});

}  // namespace lemma
