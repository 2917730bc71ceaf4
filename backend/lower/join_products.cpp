#include "backend/lower/join_products.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/definition.h"
#include "ir/rebuild.h"

namespace lemma::backend {

namespace {

/// A part of more rows uses each weight so often that reading it costs little.
constexpr std::int64_t most_rows = 8;

bool is_index(const Definition& definition, ExpressionId id, VariableId variable) {
  const ExpressionNode& node = definition.node(id);
  return node.kind == ExpressionKind::index && node.variable == variable;
}

bool depends_on(const Definition& definition, ExpressionId id, VariableId variable) {
  const ExpressionNode& node = definition.node(id);
  return is_index(definition, id, variable) ||
         std::any_of(node.operands.begin(), node.operands.end(), [&](ExpressionId operand) {
           return depends_on(definition, operand, variable);
         });
}

/// y[r.., j] = x[f(r).., j], for all outputs: rows of the operand, each whole.
bool gives_rows(const Definition& definition, const Dimension& length) {
  return std::all_of(
      definition.outputs().begin(), definition.outputs().end(), [&](const DefinedOutput& output) {
        const ExpressionNode& read = definition.node(output.value);
        if (read.kind != ExpressionKind::read || read.operands.empty() || output.axes.empty())
          return false;
        const VariableId column = output.axes.back();
        return definition.extent(column) == length &&
               is_index(definition, read.operands.back(), column) &&
               std::none_of(read.operands.begin(), read.operands.end() - 1,
                            [&](ExpressionId row) { return depends_on(definition, row, column); });
      });
}

TensorType with_length(const TensorType& type, const Dimension& length) {
  TensorType result = type;
  result.shape->back() = length;
  return result;
}

/// Whether the operator gives rows of this length just so: attributes that speak of the length of rows may not fit.
bool takes_length(const Graph& graph, const Node& node, std::vector<TensorType> types,
                  const Dimension& length) {
  types[0] = with_length(types[0], length);
  const auto given = graph.op(node).infer({types, node.attributes, node.output_count});
  if (!given) return false;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if ((*given)[i] != with_length(graph.type(node.output(i)), length)) return false;
  return gives_rows(graph.op(node).define({types, node.attributes, node.output_count}), length);
}

/// Whether it gives rows of its operand, and would of one with rows of this length.
bool gives_rows(const Graph& graph, const Node& node, const Dimension& length) {
  if (node.kind != NodeKind::operation || node.inputs.size() != 1) return false;
  const std::vector<TensorType> types = graph.input_types(node);
  if (!types[0].is_known() || types[0].shape->empty() || graph.op(node).define == nullptr)
    return false;
  return gives_rows(graph.op(node).define({types, node.attributes, node.output_count}),
                    types[0].shape->back()) &&
         takes_length(graph, node, types, length);
}

/// y[r.., j] = sum over k of x[r.., k] * w[k, j].
bool is_product(const Definition& definition) {
  if (definition.outputs().size() != 1) return false;
  const DefinedOutput& output = definition.outputs()[0];
  const ExpressionNode& sum = definition.node(output.value);
  if (sum.kind != ExpressionKind::sum || sum.bound.size() != 1 || output.axes.empty()) return false;
  const ExpressionNode& term = definition.node(sum.operands[0]);
  if (term.kind != ExpressionKind::multiply) return false;
  const ExpressionNode &x = definition.node(term.operands[0]),
                       &w = definition.node(term.operands[1]);
  if (x.kind != ExpressionKind::read || w.kind != ExpressionKind::read) return false;
  if (x.input != 0 || w.input != 1 || w.operands.size() != 2) return false;
  if (x.operands.size() != output.axes.size()) return false;
  for (std::size_t axis = 0; axis + 1 < output.axes.size(); ++axis)
    if (!is_index(definition, x.operands[axis], output.axes[axis]) &&
        !definition.extent(output.axes[axis]).is(1))
      return false;
  return is_index(definition, x.operands.back(), sum.bound[0]) &&
         is_index(definition, w.operands[0], sum.bound[0]) &&
         is_index(definition, w.operands[1], output.axes.back());
}

bool is_product(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::operation || node.inputs.size() != 2) return false;
  if (graph.op(node).define == nullptr || graph.constant_of(node.inputs[1]) == nullptr)
    return false;
  return is_product(
      graph.op(node).define({graph.input_types(node), node.attributes, node.output_count}));
}

/// Such as the states after the steps of a recurrence.
bool is_put_together(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::operation && graph.op(node).has(data_movement) &&
         node.inputs.size() > 1;
}

/// Outputs of nodes that give rows, from a value back to what they are rows of.
struct Part {
  ValueId whole;
  std::vector<ValueId> steps;  // the last one first
};

/// `length`: of the rows of the product, of which the same part is taken.
Part part_of(const Graph& graph, ValueId value, const Dimension& length) {
  Part part{value, {}};
  while (gives_rows(graph, graph.node(graph.producer(part.whole)), length)) {
    part.steps.push_back(part.whole);
    part.whole = graph.node(graph.producer(part.whole)).inputs[0];
  }
  return part;
}

std::int64_t rows_of(const Graph& graph, ValueId matrix) {
  const auto sizes = constant_sizes(*graph.type(matrix).shape);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < sizes->size(); ++axis) rows *= (*sizes)[axis];
  return rows;
}

bool is_fixed(const TensorType& type) {
  return type.is_known() && constant_sizes(*type.shape).has_value();
}

/// Products of parts, by what they are parts of and by the weight.
class Products {
 public:
  explicit Products(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.live_nodes()) add(graph.node(id));
    for (const auto& [operands, members] : members_) {
      std::int64_t rows = 0;
      std::set<ValueId> parts;
      for (const Node* member : members)
        if (parts.insert(member->inputs[0]).second) rows += rows_of(graph, member->inputs[0]);
      if (parts.size() > 1 && rows >= rows_of(graph, operands.first))
        for (const Node* member : members) joined_.insert(member->output());
    }
  }

  bool is_joined(const Node& node) const { return joined_.contains(node.output()); }
  bool any() const { return !joined_.empty(); }

 private:
  void add(const Node& node) {
    if (!is_product(graph_, node)) return;
    const ValueId rows = node.inputs[0], weight = node.inputs[1];
    if (!is_fixed(graph_.type(rows)) || rows_of(graph_, rows) > most_rows) return;
    const Part part = part_of(graph_, rows, graph_.type(weight).shape->back());
    if (part.steps.empty() || !is_fixed(graph_.type(part.whole)) ||
        is_put_together(graph_, graph_.node(graph_.producer(part.whole))))
      return;
    members_[{part.whole, weight}].push_back(&node);
  }

  const Graph& graph_;
  std::map<std::pair<ValueId, ValueId>, std::vector<const Node*>> members_;
  std::set<ValueId> joined_;
};

/// The rows of the product of the whole that the part gives of it.
Result<std::vector<ValueId>> part_of_product(Graph& target, const Node& product,
                                             const std::vector<ValueId>& inputs) {
  const Part part = part_of(target, inputs[0], target.type(inputs[1]).shape->back());
  LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> result,
                         add_copy(target, product, product.attributes, {part.whole, inputs[1]}));
  for (auto step = part.steps.rbegin(); step != part.steps.rend(); ++step) {
    const Node node = target.node(target.producer(*step));
    const std::uint32_t output = step->v - node.output().v;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(target, node, node.attributes, {result[0]}));
    result = {outputs[output]};
  }
  return result;
}

}  // namespace

Result<Graph> join_products(const Graph& graph) {
  const Products products(graph);
  if (!products.any()) return graph;
  return rebuild(
      graph, [](const Graph& source, ValueId value) { return source.type(value); },
      [&](Graph& target, const Node& node,
          std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
        if (products.is_joined(node)) return part_of_product(target, node, inputs);
        return add_copy(target, node, node.attributes, std::move(inputs));
      });
}

}  // namespace lemma::backend
