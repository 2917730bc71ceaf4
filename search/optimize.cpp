#include "search/optimize.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "search/backtracking.h"
#include "search/deadline.h"
#include "search/explanation.h"
#include "search/part_pass.h"
#include "search/rule_subset.h"

namespace lemma {

namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 4> strategy_names = {{
    {Strategy::automatic, "auto"},
    {Strategy::saturation, "saturation"},
    {Strategy::backtracking, "backtracking"},
    {Strategy::combined, "combined"},
}};

/// The graph without nodes that no output needs.
Result<Graph> without_dead_nodes(const Graph& graph) {
  FoldOptions nothing;
  nothing.free_bytes = 0;
  nothing.growth = 0;
  return fold_constants(graph, nothing);
}

class Search {
 public:
  Search(const Graph& graph, const RooflineModel& model, const SearchOptions& options)
      : graph_(graph),
        model_(model),
        options_(options),
        deadline_(Deadline::after(options.time_limit_seconds)),
        best_(graph) {}

  Result<SearchResult> run(std::span<const Substitution> rules) {
    result_.before = cost_of(graph_, model_);
    rules_.rules = relevant_rules(graph_, rules);
    result_.rules_considered = rules_.rules.size();
    LEMMA_ASSIGN_OR_RETURN(rules_.compiled, compile_rules(rules_.rules));
    result_.strategy = options_.strategy;
    switch (options_.strategy) {
      case Strategy::backtracking: LEMMA_RETURN_IF_ERROR(backtrack_whole()); break;
      case Strategy::saturation: LEMMA_RETURN_IF_ERROR(saturate_whole()); break;
      case Strategy::combined: LEMMA_RETURN_IF_ERROR(saturate_parts()); break;
      case Strategy::automatic:
        LEMMA_RETURN_IF_ERROR(saturate_whole());
        result_.strategy = Strategy::saturation;
        if (fitted_) break;
        result_.strategy = Strategy::combined;
        LEMMA_RETURN_IF_ERROR(saturate_parts());
        break;
    }
    if (options_.exact_extraction_seconds > 0) LEMMA_RETURN_IF_ERROR(prove_choice());
    LEMMA_RETURN_IF_ERROR(finish());
    result_.seconds = options_.time_limit_seconds - deadline_.remaining();
    return std::move(result_);
  }

 private:
  void stage(const std::string& what) const {
    if (options_.on_stage) options_.on_stage(what);
  }

  RoundLimits round_limits() const {
    RoundLimits limits;
    limits.nodes = options_.node_limit;
    limits.iterations = options_.iterations;
    limits.bytes = options_.memory_limit_bytes;
    limits.saturation_seconds = std::max(0.05, 0.5 * deadline_.remaining());
    limits.choice_seconds = std::max(0.05, 0.25 * deadline_.remaining());
    return limits;
  }

  /// Rounds until one finds nothing cheaper: what a limit kept out of one e-graph may come into the
  /// next, which begins at a cheaper graph.
  Result<void> saturate_whole() {
    for (std::size_t i = 0; i < options_.rounds && !deadline_.passed(); ++i) {
      stage(fmt::format("saturating with {} rules, round {}", rules_.compiled.size(), i + 1));
      LEMMA_ASSIGN_OR_RETURN(Round round, saturate_and_choose(best_, rules_, model_, round_limits(),
                                                              options_.explain));
      LEMMA_ASSIGN_OR_RETURN(const bool cheaper, take(round));
      if (!cheaper) break;
    }
    return {};
  }

  /// Passes over parts, at one place of the seams and then between them, until two in turn find
  /// nothing cheaper.
  Result<void> saturate_parts() {
    KnownParts known;
    double cost = cost_of(best_, model_).seconds;
    std::size_t fruitless = 0;
    for (std::size_t pass = 0; fruitless < 2 && !deadline_.passed(); ++pass) {
      stage(fmt::format("saturating parts, pass {}", pass + 1));
      PartPassOptions options;
      options.partition.size = options_.part_size;
      options.partition.offset = pass % 2 == 0 ? 0 : options_.part_size / 2;
      options.round = round_limits();
      options.round.nodes = options_.part_node_limit;
      options.threads = options_.fold.threads;
      options.explain = options_.explain;
      LEMMA_ASSIGN_OR_RETURN(PartPass found,
                             improve_parts(best_, rules_, model_, options, deadline_, known));
      ++fruitless;
      ++result_.rounds;
      result_.parts = std::max(result_.parts, found.parts);
      result_.egraph_nodes = std::max(result_.egraph_nodes, found.largest_nodes);
      if (!found.changed) continue;
      // Cheaper parts make a cheaper whole; what is computed in two of them is computed once.
      const double found_cost = cost_of(found.graph, model_).seconds;
      if (found_cost >= (1 - 1e-9) * cost) continue;
      cost = found_cost;
      fruitless = 0;
      if (found.derivation) LEMMA_RETURN_IF_ERROR(adopt(*found.derivation, best_, found.graph, {}));
      best_ = std::move(found.graph);
      for (const auto& [rule, count] : found.rules_used) uses_[rule] += count;
    }
    return {};
  }

  Result<void> prove_choice() {
    stage("proving the choice");
    RoundLimits limits = round_limits();
    limits.proof_seconds = options_.exact_extraction_seconds;
    LEMMA_ASSIGN_OR_RETURN(Round round,
                           saturate_and_choose(best_, rules_, model_, limits, options_.explain));
    result_.extraction = round.extraction;
    return take(round).map([](bool) {});
  }

  /// Makes the result of a round the best; false if it is no cheaper by what can be told.
  Result<bool> take(Round& round) {
    ++result_.rounds;
    result_.egraph_nodes = std::max(result_.egraph_nodes, round.nodes);
    if (result_.stop_reason.empty()) result_.stop_reason = name(round.stop);
    fitted_ = round.stop == StopReason::saturated || round.stop == StopReason::iterations;
    if (!round.is_cheaper()) return false;
    if (round.derivation) LEMMA_RETURN_IF_ERROR(adopt(*round.derivation, best_, round.graph, {}));
    best_ = std::move(round.graph);
    for (const auto& [rule, count] : round.rules_used) uses_[rule] += count;
    return true;
  }

  /// What made one graph of another becomes part of the whole explanation.
  Result<void> adopt(Derivation& part, const Graph& before, const Graph& after,
                     const Derivation::InputTerms& inputs) {
    LEMMA_ASSIGN_OR_RETURN(const auto pairs, part.pairs(before, after));
    LEMMA_ASSIGN_OR_RETURN(const auto reasons, part.reasons(pairs));
    return derivation_.adopt(part, reasons, inputs);
  }

  Result<void> backtrack_whole() {
    stage("backtracking");
    BacktrackingOptions options;
    options.alpha = options_.alpha;
    options.budget = options_.budget;
    options.max_bytes = options_.memory_limit_bytes;
    options.interrupted = [this] { return deadline_.passed(); };
    LEMMA_ASSIGN_OR_RETURN(BacktrackingResult found,
                           backtrack(best_, rules_.compiled, model_, options));
    result_.graphs += found.graphs_taken_up;
    if (result_.stop_reason.empty()) result_.stop_reason = found.stop_reason;
    for (const BacktrackingResult::Step& step : found.path) {
      const CompiledRule& rule = rules_.compiled[step.rewrite.rule];
      ++uses_[rule.rule.name];
      if (options_.explain) LEMMA_RETURN_IF_ERROR(add_step(step, rule));
    }
    best_ = std::move(found.graph);
    return {};
  }

  Result<void> add_step(const BacktrackingResult::Step& step, const CompiledRule& rule) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> terms, derivation_.add_graph(*step.graph));
    const auto original =
        std::find_if(rules_.rules.begin(), rules_.rules.end(),
                     [&](const Substitution& one) { return one.name == rule.rule.name; });
    std::vector<ValueId> inputs;
    for (const ValueId input : step.rewrite.inputs) inputs.push_back(terms[input.v]);
    derivation_.add_use(*original, rule.backward, *step.rewrite.bindings, std::move(inputs));
    return {};
  }

  /// Constants are folded, and the whole compared with the original.
  Result<void> finish() {
    stage("folding constants");
    LEMMA_ASSIGN_OR_RETURN(result_.graph, fold_constants(best_, options_.fold));
    result_.after = cost_of(result_.graph, model_);
    result_.improved = result_.after.seconds < result_.before.seconds;
    if (result_.improved) {
      for (const auto& [rule, count] : uses_) result_.rules_used.push_back({rule, count});
    } else {
      LEMMA_ASSIGN_OR_RETURN(result_.graph, without_dead_nodes(graph_));
      result_.after = result_.before;
    }
    if (!options_.explain) return {};
    stage("explaining");
    LEMMA_ASSIGN_OR_RETURN(result_.explanation,
                           explain(graph_, result_.improved ? best_ : result_.graph, derivation_));
    return {};
  }

  const Graph& graph_;
  const RooflineModel& model_;
  const SearchOptions& options_;
  Deadline deadline_;
  RuleSet rules_;
  Graph best_;  // constants are not folded
  Derivation derivation_;
  std::map<std::string, std::size_t> uses_;
  bool fitted_ = false;  // the last e-graph within its limits
  SearchResult result_;
};

}  // namespace

std::string_view name(Strategy strategy) {
  for (const auto& [one, name] : strategy_names)
    if (one == strategy) return name;
  return "?";
}

std::optional<Strategy> strategy_named(std::string_view name) {
  for (const auto& [strategy, known] : strategy_names)
    if (known == name) return strategy;
  return std::nullopt;
}

Result<SearchResult> optimize(const Graph& graph, std::span<const Substitution> rules,
                              const RooflineModel& model, const SearchOptions& options) {
  return Search(graph, model, options).run(rules);
}

}  // namespace lemma
