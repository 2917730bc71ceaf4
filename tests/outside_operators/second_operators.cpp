// A second library: one operator, whose name stands before those of Lemma.

#include <array>

#include "lemma/ir/operator_library.h"
#include "lemma/operators/elementwise.h"

namespace {

using namespace lemma;             // NOLINT: one file, no header
using namespace lemma::operators;  // NOLINT

Expression twice(DefinitionBuilder&, const Instance&, std::vector<Expression> x) {
  return x[0] + x[0];
}

constexpr std::array forms = {OnnxMapping{.name = "Twice", .domain = "org.second"}};
constexpr std::array records = {OperatorRecord{.name = "AaTwice",
                                               .summary = "x + x",
                                               .flags = elementwise,
                                               .infer = infer_elementwise_of<TypeSet::real>,
                                               .define = define_by<twice>,
                                               .onnx = forms}};

}  // namespace

LEMMA_OPERATOR_LIBRARY(records)
