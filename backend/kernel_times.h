#pragma once
// Times of single tasks, by kernel, from a file: measured, or modelled at one time and kept. Policies take them in place
// of the model of the moment, so that changes of the model or of a policy cannot move what schedules are judged by.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "backend/program.h"

namespace lemma::backend {

struct KernelTimes {
  struct OperatorTimes {
    std::string description;  // operators that it stands for
    std::map<std::string, double>
        of_parts;  // seconds of a task, by the extents of parts, as "1x64x14"
  };
  std::string device, source;                        // which device, and where the times come from
  std::map<std::string, OperatorTimes> by_operator;  // by the operator's digest

  std::optional<double> find(const TaskOperator& op, const Kernel& kernel) const;
  void add(const TaskOperator& op, const Kernel& kernel, double seconds);
};

/// The extents of a kernel's parts: "1x64x14".
std::string parts_text(const Kernel& kernel);

/// How many of all operators' kernels have a time of a file.
struct KernelCount {
  std::size_t all = 0, recorded = 0;
};
KernelCount kernel_count(const OperatorGraph& graph);

/// Errors name the file and what is malformed.
Result<KernelTimes> load_kernel_times(const std::filesystem::path& file);
/// The times as JSON with a line for each operator, in the order of digests.
std::string text(const KernelTimes& times);

}  // namespace lemma::backend
