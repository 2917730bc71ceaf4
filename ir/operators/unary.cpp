#include <array>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"

namespace lemma::operators {
namespace {

using Function = ScalarFunction;
using Operands = std::vector<Expression>;

Expression identity(DefinitionBuilder&, const Instance&, Operands x) { return x[0]; }

/// Scalar functions are those of reals; on integers the negative is a difference.
Expression negative(DefinitionBuilder& d, Expression x) {
  return is_real(x.type()) ? d.apply(Function::negate, x) : d.integer(0, x.type()) - x;
}
Expression negate(DefinitionBuilder& d, const Instance&, Operands x) { return negative(d, x[0]); }

Expression relu(DefinitionBuilder& d, const Instance&, Operands x) {
  return maximum(x[0], d.constant(0, x[0].type()));
}

Expression sigmoid(DefinitionBuilder& d, Expression x) {
  const Expression one = d.real(1, x.type());
  return d.apply(Function::reciprocal, one + d.apply(Function::exp, negative(d, x)));
}
Expression define_sigmoid(DefinitionBuilder& d, const Instance&, Operands x) {
  return sigmoid(d, x[0]);
}

constexpr std::array records = {
    unary_record<"Erf", TypeSet::real, apply_scalar<Function::erf>>("Gauss error function",
                                                                    monotone),
    unary_record<"Exp", TypeSet::real, apply_scalar<Function::exp>>("e to the power of x", monotone),
    unary_record<"Identity", TypeSet::any, identity>(
        "x", idempotent | involutive | data_movement | view | monotone),
    unary_record<"Neg", TypeSet::numeric, negate>("-x", involutive | linear),
    unary_record<"Relu", TypeSet::numeric, relu>("max(x, 0)", idempotent | monotone),
    unary_record<"Sigmoid", TypeSet::real, define_sigmoid>("1 / (1 + exp(-x))", monotone),
    unary_record<"Sqrt", TypeSet::real, apply_scalar<Function::sqrt>>("square root", monotone),
    unary_record<"Tanh", TypeSet::real, apply_scalar<Function::tanh>>("hyperbolic tangent",
                                                                      monotone),
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> unary() { return records; }

}  // namespace lemma::operators
