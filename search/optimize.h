#pragma once
// From a graph to the cheapest equivalent one that proved rules reach, within limits of time and
// memory (docs/search.md).

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "costmodel/graph_cost.h"
#include "ir/graph.h"
#include "rule_language/rule_database.h"
#include "search/fold_constants.h"
#include "search/mixed_candidates.h"
#include "search/saturation_round.h"

namespace lemma {

/// How the cheapest graph is looked for.
enum class Strategy {
  automatic,     // saturation if the e-graph stays within its limits, else combined
  saturation,    // of the whole graph
  backtracking,  // TASO's: search/backtracking.h
  combined,      // saturation of parts: search/partition.h
};
std::string_view name(Strategy strategy);                       // as --strategy has it
std::optional<Strategy> strategy_named(std::string_view name);  // nothing for other names

/// The operations left out among those that give an operand as it is (facts/kept_operand.h).
enum class LeftOut { nothing, bitwise, all };

/// How long, how far and for what target optimize() searches.
struct SearchOptions {
  Strategy strategy = Strategy::automatic;         // the report names the one taken
  double time_limit_seconds = 20;                  // by the clock, of the whole call
  std::size_t memory_limit_bytes = 2'000'000'000;  // of what the search keeps
  /// E-nodes of the e-graph of a whole model. 0: 250 for each operator of the model and at most 40,000; less
  /// below 10 operators and more up to 40 of them (docs/search.md, "Strategies"), so that a small model
  /// does not take the time of a large one.
  std::size_t node_limit = 0;
  std::size_t part_node_limit = 8'000;  // of the e-graph of a part (combined)
  std::size_t part_size = 60;           // in operators
  std::size_t iterations = 12;          // of a saturation
  std::size_t rounds = 6;               // of saturation and extraction
  double alpha = 1.05;                  // of backtracking
  std::size_t budget = 1000;            // graphs that backtracking takes up
  /// Time to prove that the extracted graph is the cheapest in the last e-graph, or to find a cheaper one;
  /// none is tried if 0.
  double exact_extraction_seconds = 0;
  FoldOptions fold;  // which constants are computed ahead in the result
  /// Seconds for each byte of constants that an operator reads, in a search that must not make a file larger; 0:
  /// files may be of any size.
  double seconds_per_constant_byte = 0;
  LeftOut left_out = LeftOut::all;  // in the original, before anything else
  /// The runtime that the target is, whose own operators may be made (OperatorRecord::runtime); empty: none.
  std::string runtime;
  /// Of the model that is written, where operators that it has and that the runtime alone has in others may be made; 0: they
  /// may not.
  int operator_set = 0;
  /// The target computes convolutions and pools in blocks of channels, and moves between layouts
  /// (search/blocked_layout.h).
  bool has_layouts = false;
  /// Values for free parameters of rules that take them from the target (rule_language/free_parameters.h), such as
  /// the number of its devices; empty: these rules are not applied.
  std::vector<std::int64_t> target_values;
  /// Rules of partial equivalence are used: those with the role `partial` (docs/partial_equivalence.md).
  bool takes_partial = false;
  /// Decides among the graphs that are the cheapest as sums of their operators; otherwise the sum does.
  const GraphEvaluator* evaluator = nullptr;
  std::size_t candidates = 4;  // distinct graphs that it is handed, beside the original
  /// The overhead for which each e-graph is asked for a second graph, as if starting an operator took so many
  /// seconds longer: one with fewer operators, which the runtime may like better than the costs say.
  double alternative_overhead = 4e-6;
  /// Called with the cheapest graphs that were found, before the evaluator chooses. It may change the costs that
  /// the search was given; true if it did. Then the search begins anew, if it has most of its time left.
  std::function<bool(std::span<const Graph* const>)> learn_costs;
  /// The result is wanted, constants folded, though it costs no less.
  bool cleans = false;
  /// Say why the result equals the original: search/explanation.h.
  bool explain = false;
  /// Another thread sets it to end the search soon; null: none does. Then the original comes back, with a note. An
  /// extraction that has begun is ended by its own limit of time.
  const std::atomic<bool>* cancelled = nullptr;
  /// Called with what is being done, for progress.
  std::function<void(const std::string&)> on_stage;
  /// Called with each graph that replaces the one before it, and with the step that made it.
  std::function<void(const std::string&, const Graph&)> on_graph;

  /// Whether another thread has set `cancelled`.
  bool is_cancelled() const {
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  }
};

/// A rule that the result owes something to.
struct UsedRule {
  std::string name;  // as the database has it
  /// Nodes that it made in the graphs that were chosen on the way, or places where it was applied
  /// (backtracking). Of a rule that made none there, but told that what is there is equal: its uses in the
  /// explanation, if one is wanted.
  std::size_t count = 0;
};

/// A graph that was cheaper than all before it: when it was there, from the beginning of the search, and its cost.
struct CheaperGraph {
  double seconds = 0, cost = 0;  // both in seconds
};

/// What was done, in numbers.
struct SearchFigures {
  Strategy strategy = Strategy::saturation;  // the one taken
  GraphCost before, after;                   // of the original and of the result
  std::vector<CheaperGraph> cheaper_graphs;  // each cheaper than the one before it
  std::vector<UsedRule> rules_used;          // each rule once
  /// The names of rules without proof that the result or its explanation uses (RuleDatabase::without_proof): it equals the
  /// original only if they are true.
  std::vector<std::string> unproved;
  std::size_t rules_considered = 0;  // those of the database that fit the operators and the target
  std::size_t left_out = 0;          // operations that changed nothing
  std::string stop_reason;           // of the first saturation, or of backtracking
  std::size_t egraph_nodes = 0;      // of the largest e-graph
  std::size_t rounds = 0;            // of saturation of the whole
  std::size_t passes = 0;            // over parts
  std::size_t parts = 0;             // saturated each on its own
  std::size_t graphs = 0;            // taken up by backtracking
  std::size_t candidates = 0;        // handed to the evaluator, the original among them
  /// Where the candidates differ from the original, if the evaluator had the time to tell which places pay.
  std::vector<RewrittenPlaces> places;
  std::optional<ExtractionProof> extraction;  // of the last round, if one was asked for
  double seconds = 0;                         // by the clock, of the whole call
};

/// The cheapest graph, and how it was found.
struct SearchResult : SearchFigures {
  Graph graph;              // the original (without dead nodes) if nothing cheaper was found
  bool improved = false;    // the graph costs less than the original
  std::string explanation;  // if wanted
  std::string note;         // why something cheaper that was found is not used
};

/// The result is compared with the original as a whole and replaced by it unless it is cheaper.
/// Deterministic unless the time limit ends the search. An error: a provider of costs has answered what is no cost
/// (OperatorCosts::objection). What a callback or a provider of costs throws comes out as it is. Rules that keep every bit may change what carries infinities on
/// purpose, and what IsNaN or IsInf looks at.
Result<SearchResult> optimize(const Graph& graph, const RuleDatabase& rules,
                              const OperatorCosts& costs, const SearchOptions& options);

}  // namespace lemma
