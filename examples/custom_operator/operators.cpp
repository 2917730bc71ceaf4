// Two operators of a runtime of one's own, "example", and a kernel for one of them, as a library that Lemma loads with --operators
// (docs/outside_operators.md).

#include <array>
#include <string>

#include "lemma/ir/operator_library.h"
#include "lemma/operators/composition.h"
#include "lemma/operators/helpers.h"

namespace {

using namespace lemma;             // NOLINT: one file, no header
using namespace lemma::operators;  // NOLINT

constexpr std::string_view runtime = "example", domain = "com.example";

// ---- GatedSilu: a definition --------------------------------------------------------------------
//
// The middle of a gated feed-forward network: Silu of the gate, times the other half.

Result<std::vector<TensorType>> infer_gated_silu(const Instance& in) {
  return infer_elementwise(in, TypeSet::real);
}

Expression gated_silu(DefinitionBuilder& d, const Instance& in, std::vector<Expression> x) {
  const DataType type = in.type(0);
  const Expression power = d.apply(ScalarFunction::exp, d.apply(ScalarFunction::negate, x[0]));
  const Expression sigmoid = d.real(1, type) / (d.real(1, type) + power);
  return x[0] * sigmoid * x[1];
}

Definition define_gated_silu(const Instance& in) { return define_elementwise(in, gated_silu); }

constexpr std::array gated_silu_onnx = {
    OnnxMapping{.name = "GatedSilu", .domain = domain, .runtime = runtime}};

// ---- ResidualNorm: a composition ----------------------------------------------------------------
//
// A sum, normalized by its root mean square along the last axis, and scaled.

constexpr std::array residual_norm_attributes = {
    AttributeSpecification{"epsilon", AttributeKind::real, "9.999999747378752e-06"},
};

Result<std::vector<TensorType>> infer_residual_norm(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, in.rank(0), in.rank(0)));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 2, 1, 1));
  for (std::size_t axis = 0; axis < in.rank(0); ++axis)
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(0)[axis], in.shape(1)[axis], "sizes of the addends"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(2)[0], in.shape(0).back(), "sizes of the last axis"));
  return infer_same(in);
}

Result<std::vector<ValueId>> compose_residual_norm(Graph& graph, const Instance& in,
                                                   std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId sum = c.add(inputs[0], inputs[1]);
  return c.outputs(
      {c("RMSNormalization", {sum, inputs[2]}, {{"epsilon", *in.attributes.find("epsilon")}})});
}

constexpr std::array residual_norm_onnx = {
    OnnxMapping{.name = "ResidualNorm", .domain = domain, .runtime = runtime}};
constexpr std::array residual_norm_examples = {
    OperatorExample{.operands = "f32[N, 4]; f32[N, 4]; f32[4]"},
    OperatorExample{.operands = "f32[N, M, K]; f32[N, M, K]; f32[K]",
                    .attributes = "epsilon=0.001"}};

constexpr std::array records = {
    OperatorRecord{.name = "GatedSilu",
                   .summary = "Silu of the first operand, times the second one",
                   .inputs = {2, 2},
                   .flags = elementwise,
                   .infer = infer_gated_silu,
                   .define = define_gated_silu,
                   .onnx = gated_silu_onnx,
                   .runtime = runtime},
    OperatorRecord{.name = "ResidualNorm",
                   .summary = "a sum, normalized by its root mean square along the last axis",
                   .inputs = {3, 3},
                   .attributes = residual_norm_attributes,
                   .infer = infer_residual_norm,
                   .compose = compose_residual_norm,
                   .onnx = residual_norm_onnx,
                   .runtime = runtime,
                   .examples = residual_norm_examples},
};
static_assert(is_complete(records));

// ---- A kernel of its own for ResidualNorm ------------------------------------------------------
//
// Task programs derive loops from the composition: a sum, a mean of squares, a quotient. This source goes through a row twice
// and keeps the sum in the result meanwhile. It is compared with the composition before it is used.

/// Rows of f32; the other types have the derived loops.
bool residual_norm_applies(const Instance& in) { return in.type(0) == DataType::f32; }

std::int64_t width_of(const Instance& in) { return in.shape(0).back().offset(); }
std::int64_t residual_norm_rows(const Instance& in) {
  return element_count(in.shape(0)).offset() / width_of(in);
}

std::string residual_norm_source(const Instance& in) {
  return "constexpr std::int64_t width = " + std::to_string(width_of(in)) +
         ", lanes = 16;\nconstexpr float epsilon = " + text(*in.attributes.find("epsilon")) + R"(;
for (std::int64_t row = first_row; row < end_row; ++row) {
  const float* const a = x0 + row * width;
  const float* const b = x1 + row * width;
  float* const result = y + row * width;
  float squares[lanes] = {};
  std::int64_t j = 0;
  for (; j + lanes <= width; j += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) {
      result[j + k] = a[j + k] + b[j + k];
      squares[k] += result[j + k] * result[j + k];
    }
  for (; j < width; ++j) {
    result[j] = a[j] + b[j];
    squares[j % lanes] += result[j] * result[j];
  }
  float sum = 0;
  for (const float square : squares) sum += square;
  const float size = std::sqrt(sum / width + epsilon);
  for (j = 0; j < width; ++j) result[j] = result[j] / size * x2[j];
}
)";
}

double residual_norm_operations(const Instance& in) {
  return 5 * static_cast<double>(element_count(in.shape(0)).offset());
}

constexpr std::array kernels = {KernelOverride{.op = "ResidualNorm",
                                               .target = "rtask-cpu",
                                               .applies = residual_norm_applies,
                                               .source = residual_norm_source,
                                               .operations = residual_norm_operations,
                                               .rows = residual_norm_rows,
                                               .tolerance = 1e-5}};

}  // namespace

LEMMA_OPERATOR_LIBRARY(records)
LEMMA_KERNEL_OVERRIDES(kernels)
