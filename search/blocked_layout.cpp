#include "search/blocked_layout.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

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

/// A plain selection with the blocked forms that a runtime would take: of what it computes in blocks always, of other
/// nodes where their operands are in blocks.
class BlockedSelection {
 public:
  BlockedSelection(const EGraph& egraph, std::span<const ClassId> roots, const NodeCost& cost)
      : egraph_(egraph), roots_(roots), cost_(cost) {}

  /// `plain` may be older than the blocked forms in the e-graph. Its cost is infinite where a form is missing.
  Selection of(const Selection& plain) {
    std::vector<ENodeId> chosen(egraph_.id_count(), ENodeId::none());
    for (std::uint32_t i = 0; i < plain.node_of.size(); ++i)
      if (!plain.node_of[i].is_none()) chosen[egraph_.find({i}).v] = plain.node_of[i];
    node_of_.assign(egraph_.id_count(), ENodeId::none());
    Selection result;
    result.node_of = node_of_;
    result.cost = std::numeric_limits<double>::infinity();
    const auto order = topological_order(egraph_, roots_, chosen);
    if (!order) return result;
    for (const ClassId id : *order)
      if (!choose_blocked(id, chosen[id.v])) node_of_[id.v] = chosen[id.v];
    const auto all = topological_order(egraph_, roots_, node_of_);
    if (!all) return result;
    result.cost = 0;
    for (const ClassId id : *all) {
      result.node_of[id.v] = node_of_[id.v];
      result.cost += cost_(egraph_, node_of_[id.v]);
    }
    return result;
  }

 private:
  bool is_operation(ENodeId id) const { return egraph_.node(id).kind == ENodeKind::operation; }
  bool is_move_node(ENodeId id) const { return is_operation(id) && is_move(egraph_.node(id).op); }

  /// Whatever is chosen has its operands chosen before it, so that there are no cycles.
  bool choose_blocked(ClassId id, ENodeId plain) {
    if (!is_operation(plain) || egraph_.weight_only(id)) return false;
    for (const ENodeId move : egraph_.nodes(id)) {
      if (!is_move_node(move)) continue;
      const ClassId blocks = egraph_.children(move)[0];
      for (const ENodeId node : egraph_.nodes(blocks)) {
        if (!is_image(node, plain) || !choose_operands(node)) continue;
        if (node_of_[blocks.v].is_none()) node_of_[blocks.v] = node;
        node_of_[id.v] = move;
        return true;
      }
    }
    return false;
  }

  /// Whether the node in blocks does what the plain one does.
  bool is_image(ENodeId id, ENodeId plain) {
    if (!is_operation(id) || is_move_node(id)) return false;
    const ENode& node = egraph_.node(id);
    const ENode& other = egraph_.node(plain);
    if (!is_blocked(node.op))
      return node.op == other.op && egraph_.attributes(node) == egraph_.attributes(other);
    const auto [form, is_new] = forms_.try_emplace(egraph_.form(id).v);
    if (is_new)
      if (auto made =
              plain_form(record(node.op), egraph_.input_types(id), egraph_.attributes(node)))
        form->second = std::move(*made);
    return form->second && form->second->op == other.op &&
           form->second->attributes == egraph_.attributes(other);
  }

  /// Operands in blocks, which are made where the operator is computed in blocks at any rate.
  bool choose_operands(ENodeId id) {
    for (const ClassId operand : egraph_.children(id)) {
      if (operand.is_none() || !node_of_[operand.v].is_none()) continue;
      const bool may_move = is_blocked(egraph_.node(id).op) || egraph_.weight_only(operand);
      const auto& nodes = egraph_.nodes(operand);
      const auto made = std::find_if(nodes.begin(), nodes.end(), [this](ENodeId node) {
        return is_move_node(node) && !node_of_[egraph_.children(node)[0].v].is_none();
      });
      if (!may_move || made == nodes.end()) return false;
      node_of_[operand.v] = *made;
    }
    return true;
  }

  const EGraph& egraph_;
  std::span<const ClassId> roots_;
  const NodeCost& cost_;
  std::vector<ENodeId> node_of_;
  absl::flat_hash_map<std::uint32_t, std::optional<PlainForm>> forms_;  // of blocked operators
};

}  // namespace

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

Result<std::optional<LaidOut>> lay_out(EGraph& egraph, const RuleSet& layouts,
                                       const OperatorCosts& costs, std::span<const Selection> plain,
                                       double seconds) {
  SaturationLimits limits;
  limits.time_limit_seconds = seconds / 2;
  limits.iterations = 100;
  limits.match_limit = 0;
  // A blocked form, and the moves before and behind it, for each node at most.
  limits.node_limit = 4 * egraph.node_count() + 1000;
  const SaturationReport report = saturate(egraph, layouts.compiled, limits);
  if (report.stop == StopReason::failed) return internal_error(report.failure);
  // Where a blocked form is missing, a plain one would seem to cost no moves.
  if (report.stop != StopReason::saturated) return std::nullopt;
  const std::vector<ClassId> roots = output_classes(egraph);
  const NodeCost cost = blocked_layout_costs(costs, layouts);
  LEMMA_ASSIGN_OR_RETURN(Selection best, extract_greedy(egraph, roots, cost));
  BlockedSelection in_blocks(egraph, roots, cost);
  for (const Selection& plain_selection : plain)
    if (Selection other = in_blocks.of(plain_selection); other.cost < best.cost)
      best = std::move(other);
  ExtractionOptions options;
  options.time_limit_seconds = seconds / 2;
  LEMMA_ASSIGN_OR_RETURN(Selection selection, extract(egraph, roots, cost, best, options));
  LEMMA_RETURN_IF_ERROR(validate(egraph, roots, cost, selection));
  LEMMA_ASSIGN_OR_RETURN(const Graph blocked, to_graph(egraph, selection));
  LEMMA_ASSIGN_OR_RETURN(Graph in_plain, in_plain_layout(blocked));
  return LaidOut{std::move(in_plain), selection.cost, std::move(selection)};
}

Result<std::optional<double>> seconds_laid_out(const Graph& graph, const RuleSet& layouts,
                                               const OperatorCosts& costs, double seconds) {
  EGraph egraph;
  egraph.add_graph(graph);
  const Selection plain = original_selection(egraph, output_classes(egraph), node_costs(costs));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<LaidOut> laid_out,
                         lay_out(egraph, layouts, costs, std::span(&plain, 1), seconds));
  if (!laid_out) return std::nullopt;
  return laid_out->seconds;
}

}  // namespace lemma
