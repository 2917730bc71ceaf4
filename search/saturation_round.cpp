#include "search/saturation_round.h"

#include <algorithm>
#include <array>

#include "egraph/exact_extraction.h"
#include "egraph/to_graph.h"
#include "search/blocked_layout.h"
#include "search/node_costs.h"

namespace lemma {

namespace {

/// Which rules made the chosen nodes. An application makes nodes in one go, its outputs last; so a
/// node was made by the first application that was given a class at least as new.
std::map<std::string, std::size_t> count_rules(const EGraph& egraph, const Selection& selection,
                                               std::span<const CompiledRule> rules,
                                               const std::vector<Application>& log) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> newest;  // greatest number so far, rule
  std::uint32_t limit = egraph.original_id_limit();
  for (const Application& application : log)
    for (const ClassId id : application.right)
      if (id.v >= limit) {
        newest.emplace_back(id.v, application.rule);
        limit = id.v + 1;
      }
  std::map<std::string, std::size_t> counts;
  for (const ENodeId node : selection.node_of) {
    if (node.is_none() || node.v < egraph.original_id_limit()) continue;
    const auto made_by = std::lower_bound(
        newest.begin(), newest.end(), node.v,
        [](const auto& entry, std::uint32_t number) { return entry.first < number; });
    if (made_by != newest.end()) ++counts[rules[made_by->second].rule.name];
  }
  return counts;
}

/// Operators with several operands have a blocked form for each combination of theirs: a large e-graph would grow to
/// several times its size.
constexpr std::size_t most_nodes_to_lay_out = 10'000;

/// E-graphs up to this size are extracted exactly, as far as that many decisions go: on random networks of 10 to 30
/// operators they take less than a second and mostly prove the optimum, which local search misses on some.
constexpr std::size_t most_nodes_to_settle = 12'000;
constexpr std::size_t decisions_to_settle = 300;

class Rounder {
 public:
  Rounder(const RuleSet& rules, const OperatorCosts& costs, const RoundLimits& limits)
      : rules_(rules), costs_(costs), limits_(limits), cost_(node_costs(costs)) {}

  Result<Round> run(const Graph& graph, bool explain, const Surroundings& surroundings) {
    egraph_.add_graph(graph, surroundings.inputs);
    for (std::size_t i = 0; i < surroundings.observed.size(); ++i)
      if (surroundings.observed[i] != 0) egraph_.observe(egraph_.outputs()[i].value);
    // Before anything is united: two values of the graph that turn out to be equal are paid twice.
    const double cost_before = original_selection(egraph_, output_classes(egraph_), cost_).cost;
    const SaturationReport report = saturate(egraph_, rules_.compiled, saturation_limits());
    if (report.stop == StopReason::failed) return internal_error(report.failure);
    Round round;
    round.stop = report.stop;
    round.nodes = egraph_.node_count();
    roots_ = output_classes(egraph_);
    const Selection original = original_selection(egraph_, roots_, cost_);
    LEMMA_ASSIGN_OR_RETURN(Selection selection, extract_cheapest(original, cost_));
    if (limits_.proof_seconds > 0) {
      LEMMA_ASSIGN_OR_RETURN(round.extraction, prove_cheapest(selection));
    }
    round.cost_before = cost_before;
    round.cost = selection.cost;
    round.rules_used = count_rules(egraph_, selection, rules_.compiled, report.log);
    LEMMA_ASSIGN_OR_RETURN(round.graph, to_graph(egraph_, selection));
    if (limits_.alternative_overhead > 0) {
      LEMMA_ASSIGN_OR_RETURN(round.alternative, extract_alternative(report.log));
    }
    const bool lays_out = limits_.layouts != nullptr && round.nodes <= most_nodes_to_lay_out;
    if (explain && (round.is_cheaper() || round.alternative || lays_out)) {
      Derivation start;
      for (std::size_t i = 0; i < surroundings.inputs.size(); ++i)
        start.give_facts(egraph_.input_name(egraph_.node(egraph_.inputs()[i])),
                         surroundings.inputs[i]);
      LEMMA_ASSIGN_OR_RETURN(
          round.derivation,
          derivation_of(std::move(start), egraph_, rules_.rules, rules_.compiled, report.log));
    }
    // Last, because the e-graph has blocked forms from then on.
    if (lays_out) {
      const std::array plain = {original, selection};
      LEMMA_ASSIGN_OR_RETURN(
          std::optional<LaidOut> laid_out,
          lay_out(egraph_, *limits_.layouts, costs_, plain, limits_.layout_seconds));
      if (!laid_out) return round;
      round.laid_out_seconds = laid_out->seconds;
      round.laid_out =
          Alternative{std::move(laid_out->graph),
                      count_rules(egraph_, laid_out->selection, rules_.compiled, report.log)};
    }
    return round;
  }

 private:
  SaturationLimits saturation_limits() const {
    SaturationLimits limits;
    limits.node_limit = limits_.node_limit;
    limits.iterations = limits_.iterations;
    limits.time_limit_seconds = limits_.saturation_seconds;
    limits.memory_limit_bytes = limits_.memory_limit_bytes;
    // A model whose many products of one operand fill the e-graph in the first round would see no
    // other rule.
    limits.multi_output_iterations = 5;
    limits.multi_output_matches = 100;
    limits.growth = 0.7;
    limits.log_applications = true;
    if (const std::atomic<bool>* flag = limits_.cancelled)
      limits.cancelled = [flag] { return flag->load(std::memory_order_relaxed); };
    return limits;
  }

  Result<Alternative> extract_alternative(const std::vector<Application>& log) const {
    const NodeCost cost = [this](const EGraph& egraph, ENodeId node) {
      const double seconds = cost_(egraph, node);
      return seconds > 0 ? seconds + limits_.alternative_overhead : seconds;
    };
    LEMMA_ASSIGN_OR_RETURN(const Selection selection,
                           extract_cheapest(original_selection(egraph_, roots_, cost), cost));
    LEMMA_ASSIGN_OR_RETURN(Graph graph, to_graph(egraph_, selection));
    return Alternative{std::move(graph), count_rules(egraph_, selection, rules_.compiled, log)};
  }

  Result<Selection> extract_cheapest(const Selection& original, const NodeCost& cost) const {
    ExtractionOptions options;
    options.time_limit_seconds = limits_.extraction_seconds;
    LEMMA_ASSIGN_OR_RETURN(Selection selection, extract(egraph_, roots_, cost, original, options));
    LEMMA_RETURN_IF_ERROR(validate(egraph_, roots_, cost, selection));
    if (egraph_.node_count() > most_nodes_to_settle) return selection;
    ExactExtractionOptions settling;
    settling.time_limit_seconds = limits_.extraction_seconds;
    settling.decisions = decisions_to_settle;
    settling.races = false;
    LEMMA_ASSIGN_OR_RETURN(ExactSelection settled,
                           extract_exactly(egraph_, roots_, cost, selection, settling));
    LEMMA_RETURN_IF_ERROR(validate(egraph_, roots_, cost, settled.selection));
    return std::move(settled.selection);
  }

  /// Replaces the selection where a cheaper one is found.
  Result<ExtractionProof> prove_cheapest(Selection& selection) const {
    ExactExtractionOptions options;
    options.time_limit_seconds = limits_.proof_seconds;
    LEMMA_ASSIGN_OR_RETURN(ExactSelection exact,
                           extract_exactly(egraph_, roots_, cost_, selection, options));
    LEMMA_RETURN_IF_ERROR(validate(egraph_, roots_, cost_, exact.selection));
    selection = std::move(exact.selection);
    return ExtractionProof{selection.cost, exact.lower_bound, exact.optimal};
  }

  const RuleSet& rules_;
  const OperatorCosts& costs_;
  const RoundLimits& limits_;
  NodeCost cost_;
  EGraph egraph_;
  std::vector<ClassId> roots_;
};

}  // namespace

Result<Round> saturate_and_extract(const Graph& graph, const RuleSet& rules,
                                   const OperatorCosts& costs, const RoundLimits& limits,
                                   bool explain, const Surroundings& surroundings) {
  return Rounder(rules, costs, limits).run(graph, explain, surroundings);
}

}  // namespace lemma
