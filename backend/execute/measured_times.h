#pragma once
// Times of tasks as this processor takes them, for policies in place of modelled ones: the profile of a model.

#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "backend/compile/compile.h"
#include "backend/execute/built_program.h"
#include "interpreter/run.h"

namespace lemma::backend {

struct KernelMeasurement {
  int rounds = 20;
  double seconds_per_program = 2;  // after which no new round begins
  /// Cuts of up to so many tasks for each unit, and the first cut; policies take others in proportion (lower/kernels.cpp).
  int most_tasks_per_unit = 4;
  std::function<bool()> is_over = [] { return false; };  // ends compilers
};

/// The seconds of a task for the kernels that `compile` chooses among: of all numbers of units and plans of stitching.
/// Programs for one unit run whole, each operator with one of its kernels, so that tasks find what they read where it is
/// in a model; the time is the processor's, the least of the rounds, and the mean of an operator's tasks and of the
/// operators that share the kernel.
Result<KernelTimes> measure_kernels(const Graph& graph,
                                    std::span<const interpreter::NamedTensor> inputs,
                                    const CompileOptions& options, const ProgramBuilder& builder,
                                    const KernelMeasurement& measurement = {});

struct LoadedTimes {
  KernelTimes times;
  std::string
      note;  // by what they were measured otherwise; empty if by this program with this compiler
};
/// Times from measure_kernels. An error: of another processor.
Result<LoadedTimes> load_measured_times(const std::filesystem::path& file);

}  // namespace lemma::backend
