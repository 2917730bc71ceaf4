#include "differentiate/copies.h"

namespace lemma::differentiate {

void Copies::replace(VariableId variable, Expression value) {
  values_.insert_or_assign(variable, value);
  known_.clear();
}

Expression Copies::copy(ExpressionId id) {
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  const ExpressionNode node = from_.builder.node(id);  // by value: the builder may be the same one
  Expression result;
  if (node.kind == ExpressionKind::index) {
    return values_.at(node.variable);
  } else if (is_reduction(node.kind)) {
    result = copy_reduction(node);
  } else if (node.kind == ExpressionKind::extent) {
    result = to_.builder.extent(node.extent);
  } else {
    std::vector<Expression> operands;
    for (const ExpressionId operand : node.operands) operands.push_back(copy(operand));
    result = to_.builder.like(node, operands);
  }
  known_.emplace(id, result);
  return result;
}

Expression Copies::copy_reduction(const ExpressionNode& node) {
  const auto outer_values = values_;
  const auto outer_known = known_;
  std::vector<Expression> bound;
  for (const VariableId variable : node.bound) {
    const Dimension extent = from_.extent(variable);
    if (&from_ == &to_)
      bound.push_back(to_.variable(extent));
    else if (const auto known = to_.bound_inside.find(variable); known != to_.bound_inside.end())
      bound.push_back(known->second);
    else
      bound.push_back(to_.bound_inside.emplace(variable, to_.variable(extent)).first->second);
    values_.insert_or_assign(variable, bound.back());
  }
  // What is known of the body may depend on variables of the same number outside.
  known_.clear();
  const Expression body = copy(node.operands[0]);
  values_ = outer_values;
  known_ = outer_known;
  return to_.builder.reduce(node.kind, bound, body);
}

Expression Workplace::variable(const Dimension& extent) {
  const Expression result = builder.variable(extent);
  extents_.push_back(extent);
  variables_.push_back(result);
  return result;
}

}  // namespace lemma::differentiate
