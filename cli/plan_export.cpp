#include <iostream>
#include <memory>
#include <variant>

#include <fmt/format.h>

#include "cli/error_line.h"
#include "cli/plan_program.h"
#include "frontend_onnx/export.h"
#include "plans/sharded_models/sharded_plan.h"
#include "programs/shape_option.h"

namespace lemma {

namespace {

struct ExportArguments : PlanArguments {
  std::string output, name = "lemma";
};

Result<OnnxModel> with_specifications(const OnnxModel& single, const plans::ShardedPlan& plan,
                                      const std::string& name) {
  return std::visit([&](const auto& choice) { return plans::with_plan(single, choice, name); },
                    plan);
}

/// Reads back what was written, and proves it.
Result<plans::Verification> verify_written(const ExportArguments& arguments,
                                           const OnnxModel& written, const OnnxModel& single) {
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram program,
                         program_of_sharded(written, arguments.name, single));
  return plans::verify(single.graph, program.program());
}

Result<ExitCode> export_plan(const ExportArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  files.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(files.check());
  if (!is_plan_file(arguments.ranks[0]))
    return bad_input(fmt::format("{}: only plans (.json) are written as sharding specifications",
                                 arguments.ranks[0]));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel single, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const plans::ShardedPlan plan,
                         read_plan_file(arguments.ranks[0], single.graph));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel written,
                         with_specifications(single, plan, arguments.name));
  LEMMA_ASSIGN_OR_RETURN(const plans::Verification verification,
                         verify_written(arguments, written, single));
  if (verification.verdict != plans::Verdict::proved) {
    for (const std::string& line : verdict_lines(verification))
      std::cerr << printable(line) << "\n";
    return bad_input("the plan is not proved to be the model, and nothing is written");
  }
  LEMMA_RETURN_IF_ERROR(export_model(written, arguments.output));
  std::cout << printable(fmt::format(
                   "the specifications are proved to be the model, by {} claims; written to {}, "
                   "for the configuration '{}'",
                   proved_claims(verification.relations), arguments.output, arguments.name))
            << "\n";
  return ExitCode::done;
}

}  // namespace

void add_plan_export(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "export", "write a plan as a model with ONNX's sharding specifications, and prove it");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("single", arguments->single, "ONNX file of the single-device model")
      ->required();
  command->add_option("plan", arguments->ranks, "the plan (.json)")->required()->expected(1);
  command->add_option("-o,--output", arguments->output, "file for the model")->required();
  command->add_option("--configuration", arguments->name, "name of the configuration of devices")
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->callback([arguments, &exit_code] {
    const auto code = export_plan(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
