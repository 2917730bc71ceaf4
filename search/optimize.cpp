#include "search/optimize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "egraph/exact_extraction.h"
#include "egraph/extraction.h"
#include "egraph/saturation.h"
#include "egraph/to_graph.h"
#include "search/explanation.h"

namespace lemma {

namespace {

/// Added to every node, so that among equal costs fewer nodes win. Far below any real cost.
constexpr double node_epsilon = 1e-11;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of an e-node at run time; what depends on constants alone is computed at build time.
NodeCost node_cost(const RooflineModel& model) {
  return [&model](const EGraph& egraph, ENodeId id) {
    const ENode& node = egraph.node(id);
    switch (node.kind) {
      case ENodeKind::input:
      case ENodeKind::constant:
      case ENodeKind::projection: return 0.0;
      case ENodeKind::opaque: return model.opaque_seconds();
      case ENodeKind::operation: break;
    }
    if (egraph.weight_only(id)) return node_epsilon;
    const std::vector<TensorType> inputs = egraph.input_types(id);
    const Instance instance{inputs, egraph.attributes(node), node.output_count};
    return node_epsilon + model.seconds(record(node.op), instance, egraph.types(id.founded()));
  };
}

/// Rules whose operators all occur, or can come to occur through other rules' right sides. Others
/// could never match.
std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules) {
  std::vector<bool> present(all_operators().size(), false);
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation) present[graph.node(id).op.v] = true;
  std::vector<bool> chosen(rules.size(), false);
  auto side_present = [&present](const Substitution& rule, const std::vector<TermId>& roots) {
    std::vector<TermId> stack = roots;
    while (!stack.empty()) {
      const RuleTerm& term = rule.terms[stack.back().v];
      stack.pop_back();
      if (term.is_input) continue;
      if (!present[term.op.v]) return false;
      stack.insert(stack.end(), term.operands.begin(), term.operands.end());
    }
    return true;
  };
  auto add_operators = [&present](const Substitution& rule) {
    for (const RuleTerm& term : rule.terms)
      if (!term.is_input) present[term.op.v] = true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (chosen[i]) continue;
      chosen[i] = side_present(rules[i], rules[i].left) ||
                  (rules[i].bidirectional && side_present(rules[i], rules[i].right));
      if (chosen[i]) add_operators(rules[i]);
      changed = changed || chosen[i];
    }
  }
  std::vector<Substitution> result;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (chosen[i]) result.push_back(rules[i]);
  return result;
}

/// Which rules made the chosen nodes. An application makes nodes in one go, its outputs last; so a
/// node was made by the first application that was given a class at least as new.
std::vector<UsedRule> rules_used(const EGraph& egraph, const Selection& selection,
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
  std::vector<UsedRule> result;
  for (const auto& [name, count] : counts) result.push_back({name, count});
  return result;
}

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
      : graph_(graph), model_(model), options_(options), start_(Clock::now()) {}

  Result<SearchResult> run(std::span<const Substitution> rules) {
    SearchResult result;
    result.before = cost_of(graph_, model_);
    const std::vector<Substitution> relevant = relevant_rules(graph_, rules);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<CompiledRule> compiled, compile_rules(relevant));
    stage(fmt::format("saturating with {} rules", compiled.size()));
    EGraph egraph;
    egraph.add_graph(graph_);
    const SaturationReport report = saturate(egraph, compiled, limits());
    if (report.stop == StopReason::failed) return internal_error(report.failure);
    result.stop_reason = name(report.stop);
    result.egraph_nodes = egraph.node_count();

    stage(fmt::format("choosing among {} nodes", egraph.node_count()));
    LEMMA_ASSIGN_OR_RETURN(Selection selection, choose(egraph));
    if (options_.exact_extraction_seconds > 0) {
      LEMMA_ASSIGN_OR_RETURN(result.extraction, prove_cheapest(egraph, selection));
    }
    result.rules_used = rules_used(egraph, selection, compiled, report.log);
    LEMMA_ASSIGN_OR_RETURN(const Graph chosen, to_graph(egraph, selection));
    stage("folding constants");
    LEMMA_ASSIGN_OR_RETURN(result.graph, fold_constants(chosen, options_.fold));
    result.after = cost_of(result.graph, model_);
    result.improved = result.after.seconds < result.before.seconds;
    if (result.improved && options_.explain) {
      stage("explaining");
      LEMMA_ASSIGN_OR_RETURN(result.explanation,
                             explain(graph_, chosen, egraph, relevant, compiled, report.log));
    }
    if (result.improved) return result;
    LEMMA_ASSIGN_OR_RETURN(result.graph, without_dead_nodes(graph_));
    result.after = result.before;
    result.rules_used.clear();
    return result;
  }

 private:
  SaturationLimits limits() const {
    SaturationLimits limits;
    limits.max_nodes = options_.node_limit;
    limits.max_iterations = options_.iterations;
    limits.max_seconds = std::max(0.1, 0.5 * options_.time_limit_seconds - seconds_since(start_));
    // A model whose many products of one operand fill the e-graph in the first round would see no
    // other rule.
    limits.multi_output_iterations = 5;
    limits.multi_output_matches = 100;
    limits.growth = 0.7;
    limits.log_applications = true;
    return limits;
  }

  Result<Selection> choose(const EGraph& egraph) const {
    const std::vector<ClassId> roots = output_classes(egraph);
    const NodeCost cost = node_cost(model_);
    const Selection original = original_selection(egraph, roots, cost);
    ExtractionOptions options;
    options.max_seconds =
        std::max(0.5, 0.8 * (options_.time_limit_seconds - seconds_since(start_)));
    LEMMA_ASSIGN_OR_RETURN(Selection selection, extract(egraph, roots, cost, original, options));
    LEMMA_RETURN_IF_ERROR(validate(egraph, roots, cost, selection));
    return selection;
  }

  /// Replaces the selection where a cheaper one is found.
  Result<ExtractionProof> prove_cheapest(const EGraph& egraph, Selection& selection) const {
    stage("proving the choice");
    const std::vector<ClassId> roots = output_classes(egraph);
    const NodeCost cost = node_cost(model_);
    ExactExtractionOptions options;
    options.max_seconds = options_.exact_extraction_seconds;
    LEMMA_ASSIGN_OR_RETURN(ExactSelection exact,
                           extract_exactly(egraph, roots, cost, selection, options));
    LEMMA_RETURN_IF_ERROR(validate(egraph, roots, cost, exact.selection));
    selection = std::move(exact.selection);
    return ExtractionProof{selection.cost, exact.lower_bound, exact.optimal};
  }

  void stage(const std::string& what) const {
    if (options_.on_stage) options_.on_stage(what);
  }

  const Graph& graph_;
  const RooflineModel& model_;
  const SearchOptions& options_;
  Clock::time_point start_;
};

}  // namespace

Result<SearchResult> optimize(const Graph& graph, std::span<const Substitution> rules,
                              const RooflineModel& model, const SearchOptions& options) {
  return Search(graph, model, options).run(rules);
}

}  // namespace lemma
