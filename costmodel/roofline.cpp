#include "costmodel/roofline.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "costmodel/priced_device.h"
#include "ir/kernel_override.h"

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

namespace {

/// The numbers of an attribute; nothing for one of another kind, or with sizes that are not known.
std::optional<std::vector<std::int64_t>> numbers(const AttributeValue* value) {
  std::vector<std::int64_t> result;
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(value)) return std::vector{*number};
  if (const auto* list = std::get_if<Integers>(value)) return *list;
  const auto* size = std::get_if<Dimension>(value);
  const auto* sizes = std::get_if<Shape>(value);
  if (size == nullptr && sizes == nullptr) return std::nullopt;
  for (const Dimension& entry : sizes != nullptr ? *sizes : Shape{*size}) {
    if (!entry.is_constant()) return std::nullopt;
    result.push_back(entry.offset());
  }
  return result;
}

bool ends_with(const std::optional<Shape>& shape, const std::vector<std::int64_t>& sizes) {
  if (!shape || shape->size() < sizes.size()) return false;
  return std::equal(sizes.rbegin(), sizes.rend(), shape->rbegin(),
                    [](std::int64_t wanted, const Dimension& size) { return size.is(wanted); });
}

bool fits(const SlowForm& form, const CostKey& key) {
  if (form.op != key.op->name || key.inputs.empty() || !key.inputs.front().shape) return false;
  if (form.rank != key.inputs.front().shape->size()) return false;
  if (form.type && *form.type != key.inputs.front().data_type) return false;
  if (!form.kernel.empty() &&
      (key.inputs.size() < 2 || !ends_with(key.inputs[1].shape, form.kernel)))
    return false;
  return std::all_of(form.attributes.begin(), form.attributes.end(), [&](const auto& wanted) {
    return numbers(key.attributes.find(wanted.first)) == wanted.second;
  });
}

/// 1 for most.
double slowness(const Device& device, const CostKey& key) {
  for (const SlowForm& form : device.slow_forms)
    if (fits(form, key)) return form.factor;
  return 1;
}

/// The steps of a recurrent operator, each of which waits for the one before; 0 for all others.
double recurrent_steps(const CostKey& key) {
  std::string_view name = key.op->name;
  constexpr std::string_view of_directions = "Layer";
  if (name.ends_with(of_directions)) name.remove_suffix(of_directions.size());
  if ((name != "LSTM" && name != "GRU" && name != "RNN") || key.inputs.empty() ||
      !key.inputs.front().shape || key.inputs.front().shape->empty())
    return 0;
  const auto layout = numbers(key.attributes.find("layout"));
  const std::size_t axis = layout && *layout == std::vector<std::int64_t>{1} ? 1 : 0;
  const Shape& shape = *key.inputs.front().shape;
  return axis < shape.size() && shape[axis].is_constant()
             ? static_cast<double>(shape[axis].offset())
             : 0;
}

}  // namespace

/// A kernel of the operator's own says itself how many operations it does.
OperationCount Roofline::work_of(const CostKey& key) const {
  OperationCount work = count_operations(key);
  if (device_.own_kernels.empty() || !key.sizes_fit) return work;
  const Instance instance = key.instance();
  const auto own = find_override(*key.op, device_.own_kernels, instance);
  if (!own) return work;
  work.flops = own->kernel->operations(instance);
  work.integer_operations = 0;
  work.contraction = false;
  return work;
}

double Roofline::seconds(const CostKey& key) const {
  if (key.op->has(view)) return device_.view_overhead;
  DataType type = DataType::f32;
  for (const TensorType& output : key.outputs)
    if (is_real(output.data_type)) type = output.data_type;
  return roofline_seconds(work_of(key), type, device_, slowness(device_, key)) +
         device_.step_overhead * recurrent_steps(key);
}

std::optional<Cost> Roofline::find(const CostKey& key) const {
  return Cost{seconds(key), 0, Provenance::analytic};
}

}  // namespace lemma
