#pragma once
// A picture of a schedule: units from top to bottom, time from left to right.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/program.h"
#include "backend/step_times.h"
#include "base/result.h"

namespace lemma {

/// Planned times, and below them, on the same scale, measured ones; empty: none. Each has an axis of microseconds.
/// Tasks are colored by the operators that they stand for; a tooltip names each. The same program and times give the
/// same bytes.
std::string timeline_svg(std::string_view model, const backend::TaskProgram& program,
                         const StepTimes& measured = {});

/// The picture as a file, or within a page where the file's name ends in .html.
Result<void> write_timeline(const std::filesystem::path& file,
                            const std::filesystem::path& model_file,
                            const backend::TaskProgram& program, const StepTimes& measured = {});

}  // namespace lemma
