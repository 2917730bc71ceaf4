#include "programs/kernel_times_file.h"

#include <fmt/format.h>

#include "backend/execute/measured_times.h"

namespace lemma {

Result<std::optional<backend::KernelTimes>> kernel_times_for_processor(
    const std::string& file, std::vector<std::string>& notes) {
  if (file.empty()) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(backend::LoadedTimes loaded, backend::load_measured_times(file));
  if (!loaded.note.empty()) notes.push_back(loaded.note);
  return std::optional(std::move(loaded.times));
}

std::optional<std::string> missing_times(const backend::KernelCount& count) {
  if (count.recorded == count.all) return std::nullopt;
  return fmt::format("{} of {} kernels have no time in the file; theirs are modelled",
                     count.all - count.recorded, count.all);
}

}  // namespace lemma
