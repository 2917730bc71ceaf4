#include "differentiate/derive.h"

#include "differentiate/adjoint.h"
#include "differentiate/solve.h"

namespace lemma::differentiate {

Definition vector_jacobian_product(const Definition& definition, const Instance& instance,
                                   std::uint32_t operand,
                                   std::span<const std::optional<std::uint32_t>> gradients,
                                   const Conventions& conventions) {
  Workplace place, result;
  const Shape& shape = instance.shape(operand);
  const std::vector<ReadAdjoint> reads =
      read_adjoints(definition, operand, gradients, conventions, place);
  std::vector<Expression> axes;
  for (const Dimension& size : shape) axes.push_back(result.variable(size));
  std::optional<Expression> sum;
  for (const ReadAdjoint& read : reads) {
    const Expression part = sum_at(place, read, result, axes, shape);
    sum = sum ? *sum + part : part;
  }
  const Expression zero = result.builder.constant(0, instance.type(operand));
  result.builder.output(axes, sum ? *sum : zero);
  return std::move(result.builder).finish();
}

}  // namespace lemma::differentiate
