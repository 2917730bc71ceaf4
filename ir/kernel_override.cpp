#include "ir/kernel_override.h"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma {

namespace {

constexpr std::array<std::string_view, 1> targets = {"rtask-cpu"};

struct Registered {
  struct Kernel {
    KernelOverride kernel;
    std::string origin;
  };
  std::mutex mutex;
  std::list<Kernel> kernels;  // in whose places others may be added
};

Registered& registered() {
  static Registered all;
  return all;
}

bool is_for_same(const KernelOverride& a, const KernelOverride& b) {
  return a.op == b.op && a.target == b.target;
}

Result<void> check_kernel(const KernelOverride& kernel) {
  if (!find_operator(kernel.op)) return bad_input("there is no operator of this name");
  if (std::ranges::find(targets, kernel.target) == targets.end())
    return bad_input(fmt::format("there are no kernels for the target '{}', but for {}",
                                 kernel.target, fmt::join(targets, ", ")));
  if (kernel.applies == nullptr || kernel.source == nullptr || kernel.operations == nullptr)
    return bad_input("it lacks one of the functions applies, source and operations");
  if (!(kernel.tolerance >= 0 && kernel.tolerance <= most_tolerance))
    return bad_input(
        fmt::format("the tolerance {} is not from 0 to {}", kernel.tolerance, most_tolerance));
  return {};
}

/// Whether sizes are constant and types are plain.
bool can_have_kernel(const Instance& instance) {
  if (instance.output_count != 1) return false;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    if (instance.has(i) && (is_narrow(instance.type(i)) || !is_computable(instance.type(i)) ||
                            !instance.inputs[i].shape || !constant_sizes(instance.shape(i))))
      return false;
  return true;
}

bool is_for(const KernelOverride& kernel, const OperatorRecord& op, std::string_view target,
            const Instance& instance) {
  return kernel.op == op.name && kernel.target == target && kernel.applies(instance);
}

}  // namespace

std::span<const std::string_view> kernel_targets() { return targets; }

Result<void> register_overrides(std::span<const KernelOverride> kernels, std::string_view origin) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Result<void> sound = check_kernel(kernels[i]);
    for (const Registered::Kernel& other : all.kernels)
      if (sound && is_for_same(kernels[i], other.kernel))
        sound = bad_input(fmt::format("there is a kernel for it from {}", other.origin));
    for (std::size_t j = 0; sound && j < i; ++j)
      if (is_for_same(kernels[i], kernels[j])) sound = bad_input("there are two of them");
    if (!sound)
      return with_context(
          fmt::format("{}: kernel of {} for {}", origin, kernels[i].op, kernels[i].target),
          std::move(sound.error()));
  }
  for (const KernelOverride& kernel : kernels) all.kernels.push_back({kernel, std::string(origin)});
  return {};
}

std::optional<FoundOverride> find_override(const OperatorRecord& op, std::string_view target,
                                           const Instance& instance) {
  if (target.empty() || !can_have_kernel(instance)) return std::nullopt;
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const Registered::Kernel& outside : all.kernels)
    if (is_for(outside.kernel, op, target, instance)) return {{&outside.kernel, outside.origin}};
  for (const KernelOverride& kernel : own_overrides())
    if (is_for(kernel, op, target, instance)) return {{&kernel, {}}};
  return std::nullopt;
}

std::vector<FoundOverride> all_overrides() {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  std::vector<FoundOverride> result;
  for (const Registered::Kernel& outside : all.kernels)
    result.push_back({&outside.kernel, outside.origin});
  for (const KernelOverride& kernel : own_overrides()) result.push_back({&kernel, {}});
  std::ranges::stable_sort(result, [](const FoundOverride& a, const FoundOverride& b) {
    return std::pair(a.kernel->op, a.kernel->target) < std::pair(b.kernel->op, b.kernel->target);
  });
  return result;
}

}  // namespace lemma
