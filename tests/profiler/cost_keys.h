#pragma once
// Applications of operators to matrices, as keys of costs.

#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/operator_costs.h"

namespace lemma {

inline TensorType matrix(std::int64_t rows, std::int64_t columns) {
  return {DataType::f32, Shape{Dimension(rows), Dimension(columns)}};
}

inline CostKey key_of(std::string_view op, std::vector<TensorType> inputs, TensorType output,
                      std::vector<bool> constant = {}) {
  Device device;
  device.name = "test";
  device.contraction_peak[DataType::f32] = device.elementwise_peak[DataType::f32] = 1e9;
  device.memory_bandwidth = 1e9;
  const Attributes none;
  const std::vector<TensorType> outputs = {std::move(output)};
  return OperatorCosts(priced_by_roofline(device))
      .key(record(operator_named(op)), {inputs, none, 1}, outputs, std::move(constant));
}

}  // namespace lemma
