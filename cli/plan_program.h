#pragma once
// What the subcommands of `lemma plan` that read a program over many devices share.

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "batch/exit_code.h"
#include "cli/file_plan.h"
#include "frontend_onnx/import.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/program.h"

namespace lemma {

struct PlanArguments {
  std::string single, mesh, claims;
  std::vector<std::string> ranks, placements, shapes;
  bool lists_values = false;
  /// Of a plan: what a step of training gives of its state is placed as it is read.
  bool keeps_state = false;
};

/// One program of all ranks, or one of ranks that differ.
struct AnyProgram {
  plans::Program same;
  std::optional<plans::RankedProgram> ranked;

  const plans::Program& program() const { return ranked ? ranked->program : same; }
};

void add_program_options(CLI::App& command, PlanArguments& arguments);
void add_program_files(FilePlan& plan, const PlanArguments& arguments);
Result<AnyProgram> program_of(const PlanArguments& arguments, const OnnxModel& single,
                              const ImportOptions& reading);

/// An output that a step of training gives and the next one reads: "w.next" is the next "w" (docs/gradients.md).
inline constexpr std::string_view next_state = ".next";

/// `lemma plan run`: a program over many devices on random inputs, and whether it computes what one device computes.
void add_plan_run(CLI::App& plan_command, ExitCode& exit_code);

}  // namespace lemma
