#pragma once
// Small applications of operators with random inputs.

#include <optional>
#include <string>
#include <vector>

#include "facts/operator_instances.h"
#include "interpreter/random.h"
#include "interpreter/tensor.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Random inputs; nothing if the sizes are not small numbers.
inline std::optional<std::vector<interpreter::Tensor>> random_inputs(
    const std::vector<TensorType>& types, std::uint64_t seed = 7,
    std::int64_t most_elements = 4096) {
  std::vector<interpreter::Tensor> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].data_type == DataType::undefined) {
      inputs.emplace_back();
      continue;
    }
    const auto sizes = constant_sizes(*types[i].shape);
    if (!sizes || interpreter::element_count(*sizes) > most_elements) return std::nullopt;
    inputs.push_back(
        interpreter::random_tensor(types[i].data_type, *sizes, seed, i, {-2, 2, 0, 3}));
  }
  return inputs;
}

inline std::vector<lowering::InputView> views_of(const std::vector<interpreter::Tensor>& inputs) {
  std::vector<lowering::InputView> views;
  for (const interpreter::Tensor& input : inputs)
    views.push_back({input.data_type(), input.sizes(), false});
  return views;
}

inline std::string text_of(const OperatorRecord& record, const std::vector<TensorType>& types) {
  std::string result = std::string(record.name) + "(";
  for (const TensorType& type : types)
    result += type.data_type == DataType::undefined ? "none " : text(type) + " ";
  return result + ")";
}

/// Applications of an operator with small constant sizes, with complete attributes; in an order that is spread over
/// the family, so that the first few are unlike each other.
inline std::vector<OperatorInstance> small_instances(const OperatorRecord& record) {
  std::vector<OperatorInstance> accepted, spread;
  visit_instances(record, [&](const OperatorInstance& instance) {
    const auto attributes =
        complete_attributes(record, instance.inputs, instance.attributes, instance.output_count);
    if (!attributes) return false;
    OperatorInstance whole = {instance.inputs, *attributes, instance.output_count};
    if (!infer_types(record, {whole.inputs, whole.attributes, whole.output_count})) return false;
    if (random_inputs(whole.inputs)) accepted.push_back(std::move(whole));
    return true;
  });
  // By a step that shares no divisor with the size of the family.
  for (std::size_t k = 0; k < accepted.size(); ++k)
    spread.push_back(accepted[(k * 7919) % accepted.size()]);
  return spread;
}

}  // namespace lemma::backend
