#include "costmodel/roofline.h"

#include <algorithm>

#include "costmodel/target.h"

namespace lemma {

Target roofline_target(Device device) {
  std::string identity = "roofline/" + device.name;
  return {std::move(identity), std::move(device)};
}

double Roofline::seconds(const CostKey& key) const {
  if (key.op->has(view)) return device_.view_overhead;
  const OperationCount work = count_operations(key);
  DataType type = DataType::f32;
  for (const TensorType& output : key.outputs)
    if (is_real(output.data_type)) type = output.data_type;
  const double peak = work.contraction ? device_.contraction(type) : device_.elementwise(type);
  const double operations = work.flops + work.integer_operations;
  // t = (w + h) / peak is w / peak at large w, and reaches half the peak at w = h. Elementwise work
  // is spread like its bytes, whose ramp is counted below.
  const double ramp = work.contraction ? device_.half_peak_flops : 0;
  const bool has_shape = !key.inputs.empty() && key.inputs.front().shape.has_value();
  const double slowness =
      has_shape ? device_.slowness(key.op->name, key.inputs.front().shape->size()) : 1;
  const double compute = operations > 0 ? slowness * (operations + ramp) / peak : 0;
  const double memory =
      work.bytes() > 0 ? (work.bytes() + device_.half_peak_bytes) / device_.memory_bandwidth : 0;
  return device_.launch_overhead + std::max(compute, memory);
}

std::optional<Cost> Roofline::find(const CostKey& key) const {
  return Cost{seconds(key), 0, Provenance::analytic};
}

}  // namespace lemma
