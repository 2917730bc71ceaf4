#include "costmodel/roofline.h"

#include <algorithm>

#include "costmodel/priced_device.h"

namespace lemma {

PricedDevice priced_by_roofline(Device device) {
  std::string identity = "roofline/" + device.name;
  return {std::move(identity), std::move(device)};
}

double roofline_seconds(const OperationCount& work, DataType type, const Device& device,
                        double slowness) {
  const double peak = work.contraction ? device.contraction(type) : device.elementwise(type);
  const double operations = work.flops + work.integer_operations;
  // t = (w + h) / peak is w / peak at large w, and reaches half the peak at w = h. Elementwise work
  // is spread like its bytes, whose ramp is counted below.
  const double ramp = work.contraction ? device.half_peak_flops : 0;
  const double compute = operations > 0 ? slowness * (operations + ramp) / peak : 0;
  const double memory =
      work.bytes() > 0 ? (work.bytes() + device.half_peak_bytes) / device.memory_bandwidth : 0;
  return device.launch_overhead + std::max(compute, memory);
}

double Roofline::seconds(const CostKey& key) const {
  if (key.op->has(view)) return device_.view_overhead;
  DataType type = DataType::f32;
  for (const TensorType& output : key.outputs)
    if (is_real(output.data_type)) type = output.data_type;
  const bool has_shape = !key.inputs.empty() && key.inputs.front().shape.has_value();
  const double slowness =
      has_shape ? device_.slowness(key.op->name, key.inputs.front().shape->size()) : 1;
  return roofline_seconds(count_operations(key), type, device_, slowness);
}

std::optional<Cost> Roofline::find(const CostKey& key) const {
  return Cost{seconds(key), 0, Provenance::analytic};
}

}  // namespace lemma
