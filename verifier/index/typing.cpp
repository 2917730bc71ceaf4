#include "verifier/index/typing.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "verifier/index/expression.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

Formula formula(const Constraint& constraint) {
  const auto& [kind, a, b] = constraint;
  switch (kind) {
    case ConstraintKind::equal: return equal(a, b);
    case ConstraintKind::expands: return disjunction({equal(a, b), equal(a, 1)});
    case ConstraintKind::broadcasts: return disjunction({equal(a, b), equal(a, 1), equal(b, 1)});
    case ConstraintKind::at_most: return less_equal(a, b);
    case ConstraintKind::divides: return both(less(0, a), equal(a * floor_div(b, a), b));
  }
  return never();
}

/// Appends what says that one operation is well typed.
Result<void> add_conditions(const Graph& graph, const Node& node, std::vector<Formula>& result) {
  const auto add = [&result](Formula condition) {
    if (!is_always(condition)) result.push_back(std::move(condition));
  };
  for (const TensorType& type : graph.output_types(node))
    for (const Dimension& size : *type.shape) add(less_equal(0, size));
  const std::vector<TensorType> types = graph.input_types(node);
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<Constraint> constraints,
      constraints_of(graph.op(node), {types, node.attributes, node.output_count}));
  for (const Constraint& constraint : constraints) add(formula(constraint));
  return {};
}

}  // namespace

Result<std::vector<Formula>> typing_conditions(const Graph& graph) {
  std::vector<Formula> result;
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::operation)
      LEMMA_RETURN_IF_ERROR(add_conditions(graph, node, result));
  return result;
}

Result<std::vector<Formula>> composite_conditions(const Graph& graph) {
  std::vector<Formula> result;
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::operation && graph.op(node).compose != nullptr)
      LEMMA_RETURN_IF_ERROR(add_conditions(graph, node, result));
  return result;
}

namespace {

using Kind = ExpressionKind;

/// Walks a definition with its conditions; the index of every read must be in its range.
class ReadCheck {
 public:
  ReadCheck(const Graph& graph, const Node& node, const Definition& definition,
            std::vector<Formula> facts)
      : graph_(graph), node_(node), definition_(definition), facts_(std::move(facts)) {}

  void run() {
    for (const DefinedOutput& output : definition_.outputs()) {
      std::vector<Bound> axes;
      for (const VariableId axis : output.axes) axes.push_back(bound(axis));
      visit(output.value, ranges(axes));
    }
  }

 private:
  Bound bound(VariableId variable) const {
    return {fmt::format("_v{}", variable.v), definition_.extent(variable)};
  }

  Dimension position(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    const auto operand = [&](std::size_t i) { return position(node.operands[i]); };
    switch (node.kind) {
      case Kind::integer_constant: return node.integer;
      case Kind::extent: return node.extent;
      case Kind::index: return Dimension::symbol(bound(node.variable).name);
      case Kind::add: return operand(0) + operand(1);
      case Kind::subtract: return operand(0) - operand(1);
      case Kind::multiply: return operand(0) * operand(1);
      case Kind::minimum: return minimum(operand(0), operand(1));
      case Kind::maximum: return maximum(operand(0), operand(1));
      case Kind::floor_divide: return floor_div(operand(0), operand(1));
      case Kind::floor_modulo: {
        const Dimension divisor = operand(1);
        return operand(0) - divisor * floor_div(operand(0), divisor);
      }
      default: throw Unsupported(fmt::format("'{}' in an index", name(node.kind)));
    }
  }

  bool reads(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    return node.kind == Kind::read ||
           std::any_of(node.operands.begin(), node.operands.end(),
                       [this](ExpressionId operand) { return reads(operand); });
  }

  /// What it says of indices that the condition holds, or that it does not. Of conditions on elements
  /// it is nothing.
  Formula implied(ExpressionId id, bool holds) const {
    const ExpressionNode& node = definition_.node(id);
    const auto index = [&](std::size_t i) { return position(node.operands[i]); };
    const auto part = [&](std::size_t i, bool value) { return implied(node.operands[i], value); };
    const auto signed_of = [holds](const Formula& formula) {
      return holds ? formula : negation(formula);
    };
    const bool joins = node.kind == Kind::logical_and || node.kind == Kind::logical_or;
    if (joins) {
      const bool all = (node.kind == Kind::logical_and) == holds;
      return all ? both(part(0, holds), part(1, holds))
                 : disjunction({part(0, holds), part(1, holds)});
    }
    if (node.kind == Kind::logical_not) return part(0, !holds);
    if (reads(id)) return holds ? implied_by_maximum(node) : always();
    switch (node.kind) {
      case Kind::integer_constant: return signed_of(node.integer != 0 ? always() : never());
      case Kind::less: return signed_of(less(index(0), index(1)));
      case Kind::less_equal: return signed_of(less_equal(index(0), index(1)));
      case Kind::equal: return signed_of(equal(index(0), index(1)));
      default: throw Unsupported(fmt::format("'{}' in a condition", name(node.kind)));
    }
  }

  /// 0 <= max(v: select(c, v, -1)) says that c holds for some v, and so what it says of other variables.
  Formula implied_by_maximum(const ExpressionNode& node) const {
    if (node.kind != Kind::less_equal) return always();
    const ExpressionNode &zero = definition_.node(node.operands[0]),
                         &maximum = definition_.node(node.operands[1]);
    if (zero.kind != Kind::integer_constant || zero.integer < 0 ||
        maximum.kind != Kind::maximum_over)
      return always();
    const ExpressionNode& body = definition_.node(maximum.operands[0]);
    if (body.kind != Kind::select) return always();
    const ExpressionNode& otherwise = definition_.node(body.operands[2]);
    if (otherwise.kind != Kind::integer_constant || otherwise.integer >= zero.integer)
      return always();
    const Formula chosen = implied(body.operands[0], true);
    const bool many = chosen->kind == FormulaNode::Kind::conjunction;
    std::vector<Formula> outer;
    for (const Formula& part : many ? chosen->parts : std::vector<Formula>{chosen}) {
      std::map<std::string, int> symbols;
      collect_symbols(part, symbols);
      const bool is_bound =
          std::any_of(maximum.bound.begin(), maximum.bound.end(),
                      [&](VariableId variable) { return symbols.contains(bound(variable).name); });
      if (!is_bound) outer.push_back(part);
    }
    return conjunction(std::move(outer));
  }

  void visit(ExpressionId id, const Formula& path) {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind == Kind::read) return check(node, path);
    if (node.kind == Kind::select) {
      visit(node.operands[0], path);
      visit(node.operands[1], both(path, implied(node.operands[0], true)));
      return visit(node.operands[2], both(path, implied(node.operands[0], false)));
    }
    if (node.kind == Kind::logical_and) {
      visit(node.operands[0], path);
      return visit(node.operands[1], both(path, implied(node.operands[0], true)));
    }
    Formula inside = path;
    if (is_reduction(node.kind)) {
      std::vector<Bound> variables;
      for (const VariableId variable : node.bound) variables.push_back(bound(variable));
      inside = both(path, ranges(variables));
    }
    for (const ExpressionId operand : node.operands) visit(operand, inside);
  }

  void check(const ExpressionNode& node, const Formula& path) {
    const Shape& shape = *graph_.type(node_.inputs[node.input]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      // An index that is an element makes the result undefined where it is out of range: composition
      // notes that.
      if (reads(node.operands[axis])) {
        visit(node.operands[axis], path);
        continue;
      }
      const Dimension index = position(node.operands[axis]);
      std::vector<Formula> known = facts_;
      known.push_back(path);
      if (!entails(known, both(less_equal(0, index), less(index, shape[axis]))))
        throw Unsupported(fmt::format("{} may read outside input {}: index {} of size {}",
                                      graph_.op(node_).name, node.input, index.text(),
                                      shape[axis].text()));
    }
  }

  const Graph& graph_;
  const Node& node_;
  const Definition& definition_;
  std::vector<Formula> facts_;
};

}  // namespace

Result<void> check_reads(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OperatorRecord& op = graph.op(node);
  // A position in row-major order, taken apart again: in range because both shapes have equally
  // many elements. No query about products of many sizes is made.
  if (op.has(view)) return {};
  const std::vector<TensorType> types = graph.input_types(node);
  const Definition definition = op.define({types, node.attributes, node.output_count});
  std::vector<Formula> facts;
  LEMMA_RETURN_IF_ERROR(add_conditions(graph, node, facts));
  try {
    ReadCheck(graph, node, definition, std::move(facts)).run();
  } catch (const Unsupported& error) {
    return unsupported(error.what());
  }
  return {};
}

}  // namespace lemma::verifier::index
