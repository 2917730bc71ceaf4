#pragma once
// --kernel-times: measured times of tasks for plans.

#include <optional>
#include <string>
#include <vector>

#include "backend/kernel_times.h"

namespace lemma {

/// The times of a file that was measured on this processor; nothing for no name. What was measured with another
/// compiler or another version of the program is taken, with a note to people.
Result<std::optional<backend::KernelTimes>> kernel_times_for_processor(
    const std::string& file, std::vector<std::string>& notes);

/// A note to people that some kernels have no time in the file, if so.
std::optional<std::string> missing_times(const backend::KernelCount& count);

}  // namespace lemma
