#pragma once
// Expressions that read nothing: the constants of definitions. 1/6 is a quotient and the root of 2 a root, so that a
// proof has the real number, and every element type its nearest one.

#include <functional>
#include <memory>
#include <optional>

#include "ir/constant.h"
#include "ir/definition.h"

namespace lemma {

/// The value of an expression of a real type, computed in f64; nothing if it depends on an index, an operand, a
/// size that is not known or a real parameter of a proof.
std::optional<double> constant_value(const Definition& definition, ExpressionId id);

/// A tensor with one element and no axes of a real type. Its stored element is the expression's value rounded to the
/// type; a proof takes the expression itself (Constant::exact).
Constant exact_scalar(DataType type,
                      const std::function<Expression(DefinitionBuilder&)>& expression);

}  // namespace lemma
