#include "search/optimize.h"

#include <algorithm>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "base/deadline.h"
#include "costmodel/operator_count.h"
#include "costmodel/weight_price.h"
#include "ir/rebuild.h"
#include "search/backtracking.h"
#include "search/candidate.h"
#include "search/descent.h"
#include "search/evaluated_choice.h"
#include "search/explanation.h"
#include "search/fold_recurrences.h"
#include "search/kept_operands.h"
#include "search/layout_choice.h"
#include "search/part_pass.h"
#include "search/rule_sets.h"
#include "search/simplify_copies.h"
#include "search/walk.h"

namespace lemma {

namespace {

/// The graph without nodes that no output needs.
Result<Graph> without_dead_nodes(const Graph& graph) {
  return rebuild(
      graph, [](const Graph& source, ValueId value) { return source.type(value); },
      [](Graph& target, const Node& node, std::vector<ValueId> inputs) {
        return add_copy(target, node, node.attributes, std::move(inputs));
      });
}

/// Operators of a graph below which little is searched: all that there is to find is found soon.
constexpr std::size_t tiny = 10;

class Search {
 public:
  Search(const Graph& graph, const OperatorCosts& costs, const SearchOptions& options)
      : graph_(graph),
        costs_(costs),
        options_(options),
        deadline_(Deadline::after(options.time_limit_seconds)),
        found_(options.candidates) {}

  Result<SearchResult> run(std::span<const Substitution> rules) {
    result_.before = cost_of(graph_, costs_);
    LEMMA_ASSIGN_OR_RETURN(
        rules_, rule_sets_for(graph_, rules, costs_, options_.runtime, options_.bitwise_rules,
                              options_.has_layouts, options_.target_values));
    layout_choice_.emplace(rules_.layouts, costs_);
    result_.rules_considered = rules_.all.rules.size();
    result_.strategy = options_.strategy;
    LEMMA_RETURN_IF_ERROR(begin());
    constexpr int most_restarts = 2;
    for (int i = 0; i < most_restarts && learns_costs(); ++i) {
      result_.before = cost_of(graph_, costs_);
      found_ = CandidateList(options_.candidates);
      layout_choice_->forget();
      LEMMA_RETURN_IF_ERROR(begin());
    }
    LEMMA_RETURN_IF_ERROR(finish());
    result_.seconds = options_.time_limit_seconds - deadline_.remaining();
    return std::move(result_);
  }

 private:
  /// From the original on. Whatever ends a stage, the best so far stays what it is.
  Result<void> begin() {
    best_ = original();
    LEMMA_RETURN_IF_ERROR(leave_out());
    first_ = best_;
    while (scale_ > 0.01) {
      try {
        return search();
      } catch (const std::bad_alloc&) {
        scale_ /= 4;
      }
    }
    return {};
  }

  /// Of what was found. False: nothing new, or too late to use it.
  bool learns_costs() {
    if (!options_.learn_costs || deadline_.remaining() < 0.5 * options_.time_limit_seconds)
      return false;
    std::vector<const Graph*> graphs = {&best_.graph};
    for (const Candidate& candidate : found_.all()) graphs.push_back(&candidate.graph);
    return options_.learn_costs(graphs) &&
           deadline_.remaining() > 0.5 * options_.time_limit_seconds;
  }

  /// What changes nothing, by the numbers that constants hold: no rule speaks of what a file has loaded.
  Result<void> leave_out() {
    if (options_.left_out == LeftOut::nothing) return {};
    stage("leaving out what changes nothing");
    LEMMA_ASSIGN_OR_RETURN(
        WithoutKept without,
        without_kept_operands(best_.graph, options_.left_out == LeftOut::bitwise));
    if (without.left_out == 0) return {};
    std::optional<Derivation> derivation;
    if (options_.explain) derivation.emplace();
    LEMMA_ASSIGN_OR_RETURN(const bool taken,
                           replace(best_, std::move(without.graph), derivation, {}));
    if (taken) result_.left_out = without.left_out;
    return {};
  }

  Result<void> search() {
    LEMMA_RETURN_IF_ERROR(fold());
    if (options_.strategy == Strategy::backtracking) {
      stage("backtracking");
      return backtrack_from(best_, rules_.all, options_.budget, false, deadline_);
    }
    LEMMA_RETURN_IF_ERROR(fold_weights(best_));
    switch (options_.strategy) {
      case Strategy::backtracking: break;
      case Strategy::combined:
        LEMMA_RETURN_IF_ERROR(refine(best_));
        LEMMA_RETURN_IF_ERROR(saturate_parts(best_));
        break;
      case Strategy::saturation:
        LEMMA_RETURN_IF_ERROR(refine(best_));
        LEMMA_RETURN_IF_ERROR(saturate_whole());
        break;
      case Strategy::automatic:
        LEMMA_RETURN_IF_ERROR(refine(best_));
        LEMMA_RETURN_IF_ERROR(saturate_whole());
        result_.strategy = Strategy::saturation;
        // Of a graph this small, the only part would be the whole once more.
        if (operators() <= options_.part_size) {
          LEMMA_RETURN_IF_ERROR(walk_from_original());
          break;
        }
        if (fitted_) break;
        result_.strategy = Strategy::combined;
        LEMMA_RETURN_IF_ERROR(saturate_parts(best_));
        break;
    }
    LEMMA_RETURN_IF_ERROR(refine(best_));
    return options_.exact_extraction_seconds > 0 ? prove_extraction() : Result<void>();
  }

  void stage(const std::string& what) {
    step_ = what;
    if (options_.on_stage) options_.on_stage(what);
  }

  /// Limits that turned out to be too much for the memory there is are lowered.
  std::size_t scaled(std::size_t limit) const {
    return std::max<std::size_t>(1, static_cast<std::size_t>(scale_ * static_cast<double>(limit)));
  }

  Candidate original() const { return {graph_, result_.before, {}, {}, {}}; }

  RoundLimits round_limits() const {
    RoundLimits limits;
    limits.node_limit =
        scaled(options_.node_limit != 0 ? options_.node_limit : default_node_limit());
    limits.iterations = options_.iterations;
    limits.memory_limit_bytes = scaled(options_.memory_limit_bytes / 2);
    limits.saturation_seconds = std::max(0.02, 0.5 * deadline_.remaining());
    limits.extraction_seconds = std::max(0.02, 0.25 * deadline_.remaining());
    if (options_.evaluator != nullptr) limits.alternative_overhead = options_.alternative_overhead;
    return limits;
  }

  /// Of a round over the whole graph: parts end in plain layouts.
  RoundLimits whole_limits(bool has_layouts) const {
    RoundLimits limits = round_limits();
    if (!has_layouts || rules_.layouts.compiled.empty()) return limits;
    limits.layouts = &rules_.layouts;
    limits.layout_seconds = layout_seconds();
    return limits;
  }

  std::size_t operators() const {
    std::size_t count = 0;
    for (const NodeId id : graph_.live_nodes())
      if (graph_.node(id).kind == NodeKind::operation) ++count;
    return count;
  }

  std::size_t default_node_limit() const {
    const std::size_t count = operators();
    if (count < tiny) return std::max<std::size_t>(150 * count, 500);
    // What is still extracted exactly may as well be had.
    return std::clamp<std::size_t>(250 * count, std::min<std::size_t>(400 * count, 10'000), 40'000);
  }

  // ---- Saturation of the whole graph

  Result<void> saturate_whole() {
    LEMMA_RETURN_IF_ERROR(saturate_from(best_, rules_.all));
    if (fitted_ || deadline_.passed()) return {};
    // Where a limit is met, what comes first decides. In a second attempt rules begin that save
    // something themselves, without those that only lead to others.
    Candidate second = first_;
    LEMMA_RETURN_IF_ERROR(refine(second));
    LEMMA_RETURN_IF_ERROR(saturate_from(second, rules_.saving));
    LEMMA_RETURN_IF_ERROR(saturate_from(second, rules_.all));
    fitted_ = false;
    if (is_better(second.cost, best_.cost)) best_ = std::move(second);
    return {};
  }

  /// Rounds until one finds nothing cheaper: what a limit kept out of one e-graph may come into the
  /// next, which begins at a cheaper graph.
  Result<void> saturate_from(Candidate& candidate, const RuleSet& rules) {
    for (std::size_t i = 0; i < options_.rounds && !deadline_.passed(); ++i) {
      stage(fmt::format("saturating with {} rules, round {}", rules.compiled.size(),
                        result_.rounds + 1));
      LEMMA_ASSIGN_OR_RETURN(
          Round round, saturate_and_extract(candidate.graph, rules, costs_, whole_limits(i == 0),
                                            options_.explain));
      LEMMA_ASSIGN_OR_RETURN(const bool cheaper, take(round, candidate));
      if (!cheaper) break;
    }
    return {};
  }

  /// Makes the result of a round the candidate; false if it is no cheaper.
  Result<bool> take(Round& round, Candidate& candidate) {
    ++result_.rounds;
    result_.egraph_nodes = std::max(result_.egraph_nodes, round.nodes);
    if (result_.stop_reason.empty()) result_.stop_reason = name(round.stop);
    const bool saturated = round.stop == StopReason::saturated;
    fitted_ = saturated || round.stop == StopReason::iterations;
    exhausted_ = exhausted_ && saturated && round.extraction && round.extraction->optimal;
    if (round.alternative) {
      Candidate other = candidate;
      LEMMA_RETURN_IF_ERROR(extend(other, std::move(round.alternative->graph), round.derivation,
                                   round.alternative->rules_used, {}, costs_));
      found_.add(other);
    }
    LEMMA_RETURN_IF_ERROR(take_laid_out(round, candidate));
    if (!round.is_cheaper()) return false;
    return replace(candidate, std::move(round.graph), round.derivation, round.rules_used);
  }

  /// That one step of finding the best layout may take.
  double layout_seconds() const { return 0.1 * std::max(0.0, deadline_.remaining()); }

  /// Keeps the graph that costs least with moves between layouts.
  Result<void> take_laid_out(Round& round, const Candidate& candidate) {
    LEMMA_ASSIGN_OR_RETURN(const bool improves,
                           layout_choice_->improves(round, graph_, layout_seconds()));
    if (!improves) return {};
    Candidate other = candidate;
    LEMMA_RETURN_IF_ERROR(extend(other, std::move(round.laid_out->graph), round.derivation,
                                 round.laid_out->rules_used, {}, costs_));
    layout_choice_->keep(std::move(other), round.laid_out_seconds);
    return {};
  }

  /// False, and nothing is changed, if the graph as a whole is no cheaper.
  Result<bool> replace(Candidate& candidate, Graph graph, std::optional<Derivation>& derivation,
                       const std::map<std::string, std::size_t>& rules_used,
                       std::vector<Graph> stages = {}) {
    if (!is_better(cost_of(graph, costs_), candidate.cost)) return false;
    LEMMA_RETURN_IF_ERROR(
        extend(candidate, std::move(graph), derivation, rules_used, std::move(stages), costs_));
    if (options_.on_graph) options_.on_graph(step_, candidate.graph);
    if (options_.evaluator != nullptr) found_.add(candidate);
    return true;
  }

  // ---- What is taken in the end

  /// What the evaluator finds the cheapest, or without one what costs least with moves between layouts.
  Result<void> choose() {
    if (options_.evaluator == nullptr)
      return layout_choice_->choose(original(), best_, layout_seconds()).map([this](bool chosen) {
        layout_prefers_other_ = chosen;
      });
    std::vector<Candidate> candidates = found_.take();
    LEMMA_RETURN_IF_ERROR(layout_choice_->join(candidates, layout_seconds()));
    if (candidates.empty()) return {};
    const auto say = [this](std::size_t count) {
      stage(fmt::format("evaluating {} graphs", count));
    };
    LEMMA_ASSIGN_OR_RETURN(
        EvaluatedChoice choice,
        choose_evaluated(
            original(), std::move(candidates), costs_,
            {.evaluator = *options_.evaluator, .explain = options_.explain, .say = say}));
    best_ = std::move(choice.candidate);
    evaluator_prefers_other_ = choice.is_other;
    result_.candidates = choice.candidates;
    result_.places = std::move(choice.places);
    return {};
  }

  /// One more round, whose e-graph holds the best so far.
  Result<void> prove_extraction() {
    stage("proving the extraction");
    RoundLimits limits = round_limits();
    limits.proof_seconds = std::min(options_.exact_extraction_seconds, 0.9 * deadline_.remaining());
    if (limits.proof_seconds <= 0) return {};
    LEMMA_ASSIGN_OR_RETURN(Round round, saturate_and_extract(best_.graph, rules_.all, costs_,
                                                             limits, options_.explain));
    result_.extraction = round.extraction;
    return take(round, best_).map([](bool) {});
  }

  // ---- Saturation of parts

  /// Passes over parts, with the seams at some places and then between these, until two in turn
  /// find nothing cheaper.
  Result<void> saturate_parts(Candidate& candidate) {
    KnownParts known;
    std::size_t fruitless = 0;
    for (std::size_t pass = 0; fruitless < 2 && !deadline_.passed(); ++pass) {
      stage(fmt::format("saturating parts, pass {}", pass + 1));
      PartPassOptions options;
      options.partition.size = options_.part_size;
      options.partition.offset = pass % 2 == 0 ? 0 : options_.part_size / 2;
      options.round = round_limits();
      options.round.node_limit = scaled(options_.part_node_limit);
      options.threads = options_.fold.threads;
      options.explain = options_.explain;
      LEMMA_ASSIGN_OR_RETURN(PartPass found, improve_parts(candidate.graph, rules_.all, costs_,
                                                           options, deadline_, known));
      result_.passes = pass + 1;
      result_.parts = std::max(result_.parts, found.parts);
      result_.egraph_nodes = std::max(result_.egraph_nodes, found.largest_nodes);
      bool cheaper = false;
      if (found.changed) {
        LEMMA_ASSIGN_OR_RETURN(cheaper, replace(candidate, std::move(found.graph), found.derivation,
                                                found.rules_used));
      }
      fruitless = cheaper ? 0 : fruitless + 1;
    }
    if (result_.stop_reason.empty()) result_.stop_reason = fruitless < 2 ? "time" : "fixed point";
    return {};
  }

  // ---- Directed pass

  /// Where a rule with `=>` is no equation, since its left side may be undefined, the graph is
  /// rewritten instead: the original, what is made of it and the result are a chain of refinements.
  Result<void> refine(Candidate& candidate) {
    constexpr std::size_t most_graphs = 30;
    if (rules_.refining.compiled.empty() || deadline_.passed()) return {};
    stage("replacing what a rule refines");
    return backtrack_from(candidate, rules_.refining, most_graphs, true, deadline_);
  }

  /// Wherever it saves something, before an e-graph also holds the many other forms of what is replaced and meets its
  /// limit.
  Result<void> fold_weights(Candidate& candidate) {
    const RuleSet& rules = rules_.folding_weights;
    if (rules.compiled.empty() || deadline_.passed()) return {};
    stage("folding constants into operators");
    DescentOptions options;
    // Cleaning has nothing else to spend its time on; a search would have too little left for what comes after.
    constexpr std::size_t most_when_cleaning = 400'000;
    if (options_.cleans) options.most_copied_nodes = most_when_cleaning;
    options.interrupted = [this] { return deadline_.passed(); };
    BacktrackingResult found = descend(candidate.graph, rules.compiled, costs_, options);
    LEMMA_ASSIGN_OR_RETURN(Walk walk, walked(found.path, found.graph, rules.compiled));
    return replace(candidate, std::move(found.graph), walk.derivation, walk.rules_used,
                   std::move(walk.stages))
        .map([](bool) {});
  }

  // ---- Recurrences

  /// The original with recurrences that it writes out step by step as operators over all steps, and the cheapest that
  /// is found from there: candidates whatever they cost as sums, since no single step of this saves anything.
  Result<void> fold() {
    if (rules_.recurrences.folding.empty() || deadline_.passed()) return {};
    stage("folding recurrences");
    LEMMA_ASSIGN_OR_RETURN(FoldedRecurrences folded,
                           fold_recurrences(graph_, rules_.recurrences, costs_,
                                            [this] { return deadline_.passed(); }));
    if (folded.path.empty()) return {};
    LEMMA_ASSIGN_OR_RETURN(Walk walk, walked(folded.path, folded.graph, folded.rules));
    Candidate candidate = original();
    LEMMA_RETURN_IF_ERROR(extend(candidate, std::move(folded.graph), walk.derivation,
                                 walk.rules_used, std::move(walk.stages), costs_));
    LEMMA_RETURN_IF_ERROR(simplify(candidate));
    if (options_.on_graph) options_.on_graph(step_, candidate.graph);
    LEMMA_RETURN_IF_ERROR(saturate_from(candidate, rules_.all));
    if (options_.evaluator != nullptr) found_.add(candidate);
    if (is_better(candidate.cost, best_.cost)) best_ = std::move(candidate);
    return {};
  }

  /// What only cuts steps out of tensors and puts them together again.
  Result<void> simplify(Candidate& candidate) const {
    LEMMA_ASSIGN_OR_RETURN(auto simplified, simplify_copies(candidate.graph));
    if (!simplified) return {};
    std::optional<Derivation> derivation;
    if (options_.explain) {
      derivation.emplace();
      LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> terms,
                             derivation->add_graph(simplified->with_both));
      for (const auto& [before, after] : simplified->pairs)
        derivation->add_copies(terms[before.v], terms[after.v]);
    }
    return extend(candidate, std::move(simplified->graph), derivation, {}, {}, costs_);
  }

  // ---- Backtracking

  Result<void> backtrack_from(Candidate& candidate, const RuleSet& rules, std::size_t budget,
                              bool only_refinements, const Deadline& deadline) {
    BacktrackingOptions options;
    options.alpha = &rules == &rules_.all ? options_.alpha : 1.0;
    options.only_refinements = only_refinements;
    options.budget = budget;
    options.memory_limit_bytes = scaled(options_.memory_limit_bytes / 2);
    options.interrupted = [&deadline] { return deadline.passed(); };
    LEMMA_ASSIGN_OR_RETURN(BacktrackingResult found,
                           backtrack(candidate.graph, rules.compiled, costs_, options));
    if (&rules == &rules_.all) {
      result_.graphs += found.graphs_taken_up;
      if (result_.stop_reason.empty()) result_.stop_reason = found.stop_reason;
    }
    LEMMA_ASSIGN_OR_RETURN(Walk walk, walked(found.path, found.graph, rules.compiled));
    return replace(candidate, std::move(found.graph), walk.derivation, walk.rules_used,
                   std::move(walk.stages))
        .map([](bool) {});
  }

  /// What backtracking finds with few graphs, if it is better: where an e-graph does not hold all forms, or was not
  /// searched to the end, that one may have been missed.
  Result<void> walk_from_original() {
    constexpr std::size_t most_graphs = 300;
    if (exhausted_ || operators() < tiny || deadline_.passed()) return {};
    stage("backtracking from the original");
    Candidate walked = first_;
    // What comes after, such as running what was found, needs its time.
    const Deadline end = deadline_.within(0.1 * deadline_.remaining());
    LEMMA_RETURN_IF_ERROR(backtrack_from(walked, rules_.all, most_graphs, false, end));
    if (is_better(walked.cost, best_.cost)) best_ = std::move(walked);
    return {};
  }

  Result<Walk> walked(const std::vector<BacktrackingResult::Step>& path, const Graph& end,
                      std::span<const CompiledRule> rules) const {
    return lemma::walked(path, end,
                         {rules, rules_.relevant, options_.bitwise_rules, options_.explain});
  }

  /// Constants are folded, and the whole is compared with the original.
  Result<void> finish() {
    LEMMA_RETURN_IF_ERROR(choose());
    stage("folding constants");
    auto folded = fold_constants(best_.graph, options_.fold);
    if (!folded && folded.error().kind == ErrorKind::internal)
      return tl::unexpected(std::move(folded.error()));
    if (!folded) result_.note = folded.error().message;
    if (folded) {
      result_.graph = std::move(*folded);
      if (options_.on_graph) options_.on_graph(step_, result_.graph);
      result_.after = cost_of(result_.graph, costs_);
      result_.improved = options_.evaluator != nullptr
                             ? evaluator_prefers_other_
                             : layout_prefers_other_ || is_better(result_.after, result_.before);
      if (options_.cleans) result_.improved = true;
    }
    if (!result_.improved) {
      best_ = original();
      LEMMA_ASSIGN_OR_RETURN(result_.graph, without_dead_nodes(graph_));
      result_.after = result_.before;
    }
    for (const auto& [rule, count] : best_.rules_used) result_.rules_used.push_back({rule, count});
    if (!options_.explain) return {};
    stage("explaining");
    LEMMA_ASSIGN_OR_RETURN(result_.explanation,
                           explain(graph_, best_.stages, best_.graph, best_.derivation));
    return {};
  }

  const Graph& graph_;
  const OperatorCosts& costs_;
  const SearchOptions& options_;
  Deadline deadline_;
  RuleSets rules_;
  Candidate first_;  // the original without what changes nothing
  Candidate best_;
  std::string step_;                      // what is being done
  CandidateList found_;                   // for the evaluator
  bool evaluator_prefers_other_ = false;  // than the original
  bool layout_prefers_other_ = false;
  bool fitted_ = false;  // the last e-graph met no limit but that of iterations
  bool exhausted_ =
      true;  // all e-graphs held every form, and what was taken is proved to be the cheapest
  std::optional<LayoutChoice> layout_choice_;
  double scale_ = 1;  // of limits
  SearchResult result_;
};

}  // namespace

Result<SearchResult> optimize(const Graph& graph, std::span<const Substitution> rules,
                              const OperatorCosts& costs, const SearchOptions& options) {
  const double price = options.seconds_per_constant_byte;
  if (!options.cleans && price == 0) return Search(graph, costs, options).run(rules);
  const OperatorCosts counts = costs.behind({std::make_shared<const OperatorCount>()});
  const OperatorCosts& without_price = options.cleans ? counts : costs;
  const OperatorCosts with_price =
      without_price.behind({std::make_shared<const WeightPrice>(without_price, price)});
  LEMMA_ASSIGN_OR_RETURN(SearchResult result, Search(graph, with_price, options).run(rules));
  result.before = cost_of(graph, costs);
  result.after = cost_of(result.graph, costs);
  // A smaller file alone is not what was asked for.
  if (!options.cleans && options.evaluator == nullptr)
    result.improved = result.improved && is_better(result.after, result.before);
  return result;
}

}  // namespace lemma
