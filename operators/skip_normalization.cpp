#include <array>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/runtime_names.h"

// Operators that ONNX Runtime makes of a sum and its normalization along the last axis. The second output is the sum.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr std::array skip_attributes = {
    AttributeSpecification{"epsilon", AttributeKind::real, "9.999999960041972e-13"},
};

/// x and what is added to it, which is broadcast to x; then vectors along the last axis.
Types infer_skip(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2, 3));
  LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(1), in.shape(0)));
  if (!fits) return bad_input("what is added exceeds the input");
  for (std::size_t i = 2; i < in.inputs.size(); ++i) {
    if (!in.has(i)) continue;
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(i)[0], in.shape(0).back(), "sizes of the last axis"));
  }
  return std::vector<TensorType>(in.output_count, in.inputs[0]);
}

/// The bias first: so models have it, since it belongs to the product before.
ValueId sum_of(Composer& c, const Instance& in, std::span<const ValueId> inputs, std::size_t bias) {
  const ValueId x = in.has(bias) ? c.add(inputs[0], inputs[bias]) : inputs[0];
  return c.add(x, inputs[1]);
}

Compose with_sum(Composer& c, const Instance& in, ValueId normal, ValueId sum) {
  if (in.output_count == 1) return c.outputs({normal});
  return c.outputs({normal, sum});
}

/// Statistics are computed in the element type, but in no less than f32.
Attributes normalization_attributes(const Instance& in) {
  const DataType stash = in.type(0) == DataType::f64 ? DataType::f64 : DataType::f32;
  return {{"epsilon", *in.attributes.find("epsilon")}, {"stash_type", stash}};
}

/// Inputs: x, addend, scale, shift, bias of the sum.
Compose compose_skip_layer(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId sum = sum_of(c, in, inputs, 4);
  std::vector<ValueId> operands = {sum, inputs[2]};
  if (in.has(3)) operands.push_back(inputs[3]);
  return with_sum(c, in, c("LayerNormalization", operands, normalization_attributes(in)), sum);
}

/// Inputs: x, addend, scale, bias of the sum.
Compose compose_skip_rms(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId sum = sum_of(c, in, inputs, 3);
  return with_sum(c, in, c("RMSNormalization", {sum, inputs[2]}, normalization_attributes(in)),
                  sum);
}

// In files the sum is output 3; between stand statistics, which inference leaves out.
constexpr int sum_output = 3;

Result<ImportedCall> import_skip(const OnnxCall& call, ImportedCall imported) {
  if (call.uses(1) || call.uses(2)) return unsupported("statistics as outputs");
  imported.outputs = {0};
  if (call.uses(sum_output)) imported.outputs->push_back(sum_output);
  return imported;
}

Result<ExportedCall> export_skip(const Instance&, int, ExportedCall exported) {
  exported.outputs = {0, std::size_t{sum_output}};
  return exported;
}

template <StaticName name>
inline constexpr std::array skip_onnx = {OnnxMapping{.name = name.view(),
                                                     .import_hook = import_skip,
                                                     .export_hook = export_skip,
                                                     .domain = onnx_runtime_domain,
                                                     .runtime = onnx_runtime,
                                                     .outputs = sum_output + 1}};

constexpr std::array skip_records = {
    OperatorRecord{.name = "SkipLayerNormalization",
                   .summary = "LayerNormalization of a sum along the last axis, and the sum",
                   .inputs = {3, 5},
                   .outputs = {1, 2},
                   .attributes = skip_attributes,
                   .infer = infer_skip,
                   .compose = compose_skip_layer,
                   .onnx = skip_onnx<"SkipLayerNormalization">,
                   .runtime = onnx_runtime},
    OperatorRecord{.name = "SkipSimplifiedLayerNormalization",
                   .summary = "RMSNormalization of a sum along the last axis, and the sum",
                   .inputs = {3, 4},
                   .outputs = {1, 2},
                   .attributes = skip_attributes,
                   .infer = infer_skip,
                   .compose = compose_skip_rms,
                   .onnx = skip_onnx<"SkipSimplifiedLayerNormalization">,
                   .runtime = onnx_runtime},
};
static_assert(is_complete(skip_records));

}  // namespace

std::span<const OperatorRecord> skip_normalization() { return skip_records; }

}  // namespace lemma::operators
