#pragma once
// The derivatives of steps on single elements.

#include <vector>

#include "differentiate/derive.h"
#include "ir/definition.h"

namespace lemma::differentiate {

/// What an operand of a step gets of its adjoint.
struct StepAdjoint {
  std::size_t operand = 0;
  Expression adjoint;
};

/// The operands of a function, sum, product, power and so on that get anything; `value` is the step's value. Operands
/// that do not vary, by `varies`, get nothing. No read or reduction. Where the adjoint is 0 for a condition that it
/// states, nothing else is looked at: a read may be outside of its tensor there.
std::vector<StepAdjoint> step_adjoints(DefinitionBuilder& builder, const ExpressionNode& step,
                                       const std::vector<Expression>& operands, Expression value,
                                       Expression adjoint, const std::vector<bool>& varies,
                                       const Conventions& conventions);

/// The adjoint of a sum of two; conditions that both state are stated once.
Expression sum_of_adjoints(DefinitionBuilder& builder, Expression a, Expression b);

/// Makes of an adjoint another one, which is 0 where conditions that the first states make it 0.
template <typename Make>
Expression under_conditions(DefinitionBuilder& builder, Expression adjoint, const Make& make) {
  const ExpressionNode node = builder.node(adjoint.id());
  if (node.kind != ExpressionKind::select) return make(adjoint);
  const auto is_zero = [&builder](ExpressionId id) {
    const ExpressionNode& constant = builder.node(id);
    return constant.kind == ExpressionKind::real_constant && constant.real == 0;
  };
  const bool then = is_zero(node.operands[2]), otherwise = is_zero(node.operands[1]);
  if (!then && !otherwise) return make(adjoint);
  const Expression condition = builder.expression(node.operands[0]);
  const Expression inner =
      under_conditions(builder, builder.expression(node.operands[then ? 1 : 2]), make);
  const Expression zero = builder.real(0, inner.type());
  return then ? builder.select(condition, inner, zero) : builder.select(condition, zero, inner);
}

}  // namespace lemma::differentiate
