#include "search/blocked_layout.h"

#include <algorithm>
#include <limits>
#include <memory>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "egraph/saturation.h"
#include "egraph/to_graph.h"
#include "ir/rebuild.h"
#include "ir/runtime_layout.h"
#include "search/node_costs.h"

namespace lemma {

namespace {

bool is_blocked(OperatorId op) { return is_of_layout(record(op)); }

/// A move between layouts; otherwise a blocked operator is composed of moves and a plain one.
bool is_move(OperatorId op) { return is_blocked(op) && record(op).compose == nullptr; }

/// What a blocked operator does to images: a plain operator with the same operands, and attributes of its own.
struct PlainForm {
  OperatorId op;
  Attributes attributes;
  std::vector<TensorType> inputs, outputs;
};

Result<PlainForm> plain_form(const OperatorRecord& blocked, std::span<const TensorType> inputs,
                             const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> operands;
  for (const TensorType& type : inputs) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId operand,
                           graph.add_input(fmt::format("x{}", operands.size()), type));
    operands.push_back(operand);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         blocked.compose(graph, {inputs, attributes}, operands));
  LEMMA_RETURN_IF_ERROR(graph.add_output("y", outputs.front()));
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::operation && !is_blocked(node.op))
      return PlainForm{node.op, node.attributes, graph.input_types(node), graph.output_types(node)};
  }
  return internal_error("a blocked operator has no plain form");
}

bool has_blocked_form(const EGraph& egraph, ENodeId id) {
  const std::vector<ENodeId>& nodes = egraph.nodes(egraph.find(id.founded()));
  return std::any_of(nodes.begin(), nodes.end(), [&egraph](ENodeId other) {
    const ENode& node = egraph.node(other);
    return node.kind == ENodeKind::operation && is_move(node.op);
  });
}

/// The price of the plain operator: a move that its neighbors make needless is a node of its own.
double seconds_in_blocks(const OperatorCosts& costs, const EGraph& egraph, ENodeId id) {
  const ENode& node = egraph.node(id);
  const std::vector<TensorType> inputs = egraph.input_types(id);
  const auto form = plain_form(record(node.op), inputs, egraph.attributes(node));
  if (!form) return std::numeric_limits<double>::infinity();
  std::vector<bool> constant;
  for (const ClassId child : egraph.children(id))
    constant.push_back(!child.is_none() && egraph.weight_only(child));
  const Instance instance{form->inputs, form->attributes};
  return costs.find(costs.key(record(form->op), instance, form->outputs, std::move(constant)))
      .seconds;
}

}  // namespace

bool is_about_layout(const Substitution& rule) {
  return std::any_of(rule.terms.begin(), rule.terms.end(),
                     [](const RuleTerm& term) { return !term.is_input && is_blocked(term.op); });
}

std::set<OperatorId> operators_with_blocked_form(const RuleSet& layouts) {
  std::set<OperatorId> result;
  for (const Substitution& rule : layouts.rules) {
    const std::vector<char> needed = needed_terms(rule, rule.left);
    bool begins_plain = true;
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] != 0 && !rule.terms[i].is_input && is_blocked(rule.terms[i].op))
        begins_plain = false;
    if (begins_plain) result.insert(rule.terms[rule.left.front().v].op);
  }
  return result;
}

Result<Graph> in_plain_layout(const Graph& graph) {
  // By value of `graph`: rebuild() visits its nodes in ascending order, and each node asks for the types it had.
  std::vector<NodeId> order;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation) order.push_back(id);
  std::size_t next = 0;
  LEMMA_ASSIGN_OR_RETURN(
      Graph plain,
      rebuild(
          graph, [](const Graph& source, ValueId value) { return source.type(value); },
          [&](Graph& target, const Node& node,
              std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
            const std::vector<TensorType> types = graph.input_types(graph.node(order[next++]));
            if (is_move(node.op)) return std::vector<ValueId>{inputs.front()};
            if (!is_blocked(node.op))
              return add_copy(target, node, node.attributes, std::move(inputs));
            LEMMA_ASSIGN_OR_RETURN(PlainForm form,
                                   plain_form(record(node.op), types, node.attributes));
            LEMMA_ASSIGN_OR_RETURN(
                const NodeId made,
                target.add_operation(form.op, std::move(inputs), std::move(form.attributes)));
            return std::vector<ValueId>{target.node(made).output()};
          }));
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (plain.type(plain.outputs()[i].value) != graph.type(graph.outputs()[i].value))
      return internal_error("an output has another type in the plain layout");
  return plain;
}

NodeCost blocked_layout_costs(const OperatorCosts& costs, const RuleSet& layouts) {
  using Known = absl::flat_hash_map<std::uint32_t, double>;
  const auto known = std::make_shared<Known>();  // of blocked operators, by form
  return [&costs, known, plain = node_costs(costs), blocked = operators_with_blocked_form(layouts)](
             const EGraph& egraph, ENodeId id) {
    const ENode& node = egraph.node(id);
    if (node.kind != ENodeKind::operation || egraph.weight_only(id)) return plain(egraph, id);
    if (blocked.contains(node.op) && has_blocked_form(egraph, id))
      return std::numeric_limits<double>::infinity();
    if (!is_blocked(node.op) || is_move(node.op)) return plain(egraph, id);
    const auto [entry, is_new] = known->try_emplace(egraph.form(id).v, 0);
    if (is_new) entry->second = seconds_in_blocks(costs, egraph, id);
    return entry->second;
  };
}

Result<LaidOut> lay_out(EGraph& egraph, const RuleSet& layouts, const OperatorCosts& costs,
                        double seconds) {
  SaturationLimits limits;
  limits.time_limit_seconds = seconds / 2;
  // A blocked form, and the moves before and behind it, for each node at most.
  limits.node_limit = 4 * egraph.node_count() + 1000;
  const SaturationReport report = saturate(egraph, layouts.compiled, limits);
  if (report.stop == StopReason::failed) return internal_error(report.failure);
  const std::vector<ClassId> roots = output_classes(egraph);
  const NodeCost cost = blocked_layout_costs(costs, layouts);
  LEMMA_ASSIGN_OR_RETURN(const Selection greedy, extract_greedy(egraph, roots, cost));
  ExtractionOptions options;
  options.time_limit_seconds = seconds / 2;
  LEMMA_ASSIGN_OR_RETURN(Selection selection, extract(egraph, roots, cost, greedy, options));
  LEMMA_RETURN_IF_ERROR(validate(egraph, roots, cost, selection));
  LEMMA_ASSIGN_OR_RETURN(const Graph blocked, to_graph(egraph, selection));
  LEMMA_ASSIGN_OR_RETURN(Graph plain, in_plain_layout(blocked));
  return LaidOut{std::move(plain), selection.cost, std::move(selection)};
}

Result<double> seconds_laid_out(const Graph& graph, const RuleSet& layouts,
                                const OperatorCosts& costs, double seconds) {
  EGraph egraph;
  egraph.add_graph(graph);
  LEMMA_ASSIGN_OR_RETURN(const LaidOut laid_out, lay_out(egraph, layouts, costs, seconds));
  return laid_out.seconds;
}

}  // namespace lemma
