#include "cli/kernel_times_option.h"

#include <iostream>

#include <fmt/format.h>

#include "backend_cuda/execute/measured_times.h"
#include "cli/error_line.h"

namespace lemma {

Result<std::optional<backend::KernelTimes>> kernel_times_for_processor(const std::string& file) {
  if (file.empty()) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(backend::LoadedTimes loaded, backend::load_measured_times(file));
  if (!loaded.note.empty()) std::cerr << printable("note: " + loaded.note) << "\n";
  return std::optional(std::move(loaded.times));
}

nlohmann::ordered_json kernel_count_json(const backend::OperatorGraph& graph) {
  const backend::KernelCount count = backend::kernel_count(graph);
  return {{"all", count.all}, {"with_recorded_times", count.recorded}};
}

std::optional<std::string> missing_times(const backend::KernelCount& count) {
  if (count.recorded == count.all) return std::nullopt;
  return fmt::format("{} of {} kernels have no time in the file; theirs are modelled",
                     count.all - count.recorded, count.all);
}

}  // namespace lemma
