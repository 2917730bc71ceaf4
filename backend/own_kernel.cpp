#include "backend/own_kernel.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace lemma::backend {

std::string OwnKernel::origin_text() const {
  if (from.origin.empty()) return "a kernel of its own";
  return fmt::format("a kernel of its own from {}",
                     std::filesystem::path(from.origin).filename().string());
}

std::string OwnKernel::structure_text() const {
  return fmt::format("own kernel {} {} {}\n{}\n", rows, scratch_bytes, operations, source);
}

Result<std::shared_ptr<const OwnKernel>> own_kernel_for(const OperatorRecord& op,
                                                        std::string_view target,
                                                        const Instance& instance,
                                                        std::int64_t elements) {
  const auto found = find_override(op, target, instance);
  if (!found || elements == 0) return nullptr;
  const KernelOverride& kernel = *found->kernel;
  const auto refused = [&](const std::string& why) {
    return bad_input(fmt::format("{}kernel of {} for {}: {}",
                                 found->origin.empty() ? "" : fmt::format("{}: ", found->origin),
                                 op.name, target, why));
  };
  OwnKernel own;
  own.from = *found;
  own.inputs.assign(instance.inputs.begin(), instance.inputs.end());
  own.attributes = instance.attributes;
  own.operations = kernel.operations(instance);
  if (kernel.rows != nullptr) own.rows = kernel.rows(instance);
  if (own.rows < 1 || elements % own.rows != 0)
    return refused(fmt::format("{} rows of a result of {} elements", own.rows, elements));
  if (!(own.operations >= 0 && own.operations < 1e30))
    return refused(fmt::format("{} operations", own.operations));
  if (kernel.scratch_bytes != nullptr) own.scratch_bytes = kernel.scratch_bytes(instance);
  if (own.scratch_bytes > most_scratch_bytes)
    return refused(fmt::format("{} bytes of scratch memory are more than {}", own.scratch_bytes,
                               most_scratch_bytes));
  own.source = kernel.source(instance);
  if (own.source.empty()) return refused("its source is empty");
  return std::make_shared<const OwnKernel>(std::move(own));
}

}  // namespace lemma::backend
