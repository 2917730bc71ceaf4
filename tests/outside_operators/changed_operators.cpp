// GatedSilu of examples/custom_operator with its operands in the other order, and nothing else.

#include <array>

#include "lemma/ir/operator_library.h"
#include "lemma/operators/elementwise.h"

namespace {

using namespace lemma;             // NOLINT: one file, no header
using namespace lemma::operators;  // NOLINT

Expression changed(DefinitionBuilder& d, const Instance& in, std::vector<Expression> x) {
  const Expression one = d.real(1, in.type(0));
  const Expression power = d.apply(ScalarFunction::exp, d.apply(ScalarFunction::negate, x[1]));
  return x[1] * (one / (one + power)) * x[0];
}

constexpr std::array forms = {
    OnnxMapping{.name = "GatedSilu", .domain = "com.example", .runtime = "example"}};
constexpr std::array records = {
    OperatorRecord{.name = "GatedSilu",
                   .summary = "Silu of the second operand, times the first one",
                   .inputs = {2, 2},
                   .flags = elementwise,
                   .infer = infer_elementwise_of<TypeSet::real>,
                   .define = define_by<changed>,
                   .onnx = forms,
                   .runtime = "example"}};

}  // namespace

LEMMA_OPERATOR_LIBRARY(records)
