#include "backend/schedule/resident_needs.h"

#include <algorithm>

namespace lemma::backend {

namespace {

/// The only region of a buffer that a task reads.
const Region* only_read(const TaskAccess& access, BufferNumber buffer) {
  const Region* needed = nullptr;
  for (const Region& read : access.reads) {
    if (read.buffer != buffer) continue;
    if (needed != nullptr && *needed != read) return nullptr;
    needed = &read;
  }
  return needed;
}

}  // namespace

ResidentNeeds resident_needs(const OperatorGraph& graph, const std::vector<bool>& is_repeated,
                             OperatorNumber op, const Kernel& kernel, const TaskAccess& access) {
  const std::vector<BufferNumber>& arguments = graph.operators[op].arguments;
  const bool is_wanted = std::any_of(
      kernel.residents.begin(), kernel.residents.end(),
      [&](const ResidentLayout& layout) { return is_repeated[arguments[layout.argument]]; });
  if (!is_wanted) return {};
  ResidentNeeds needs;
  std::uint64_t bytes = 0;
  for (const ResidentLayout& layout : kernel.residents) {
    const BufferNumber buffer = arguments[layout.argument];
    const Region* const region = only_read(access, buffer);
    if (region == nullptr) return {};
    const auto part = resident_part(layout, *region, byte_size(graph.buffers[buffer].type));
    if (!part) return {};
    needs.reads.push_back(
        {layout.argument, static_cast<std::uint32_t>(needs.parts.size()), part->second});
    needs.parts.push_back(part->first);
    bytes += part->first.copied_bytes();
  }
  // Scalars are not worth a kernel of their own.
  if (bytes < buffer_alignment) return {};
  return needs;
}

std::uint64_t aligned_bytes(const ResidentPart& part) {
  return (part.bytes() + resident_alignment - 1) / resident_alignment * resident_alignment;
}

}  // namespace lemma::backend
