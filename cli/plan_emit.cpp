#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/error_line.h"
#include "cli/plan_program.h"
#include "cli/plan_results.h"
#include "plans/rank_sources/emit_plan.h"
#include "programs/shape_option.h"

namespace lemma {

namespace {

struct EmitPlanArguments : PlanArguments {
  std::string directory, inputs;
  std::uint64_t seed = 0;
  bool replaces = false;
};

Result<ExitCode> emit(const EmitPlanArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  files.reads_below(arguments.inputs, "--inputs", "input_");
  files.fills(arguments.directory, "-o");
  LEMMA_RETURN_IF_ERROR(files.check());
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, model));
  plans::PlanEmissionRequest request;
  request.title = std::filesystem::path(arguments.single).stem().string();
  request.directory = arguments.directory;
  request.replaces = arguments.replaces;
  LEMMA_ASSIGN_OR_RETURN(request.inputs,
                         given_inputs(model.graph, arguments.inputs, arguments.seed));
  LEMMA_ASSIGN_OR_RETURN(const plans::PlanEmission emission,
                         any.ranked ? plans::emit_plan(model.graph, *any.ranked, request)
                                    : plans::emit_plan(model.graph, any.same, request));
  std::cout << printable(fmt::format(
                   "{}: {} ranks by {} programs, with {} task programs; make -j -C {} builds it, "
                   "mpirun -n {} {}/run runs it",
                   arguments.directory, emission.ranks, emission.programs, emission.stages,
                   arguments.directory, emission.ranks, arguments.directory))
            << "\n";
  return ExitCode::done;
}

}  // namespace

void add_plan_emit(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "emit", "write a plan, or the models of ranks, as a directory of C++ source for MPI");
  auto arguments = std::make_shared<EmitPlanArguments>();
  add_program_options(*command, *arguments);
  command->add_option("-o,--output", arguments->directory, "the directory, which is made")
      ->required();
  command->add_flag("--replace", arguments->replaces,
                    "replace what lemma plan emit wrote in a directory that is there");
  command->add_option(
      "--inputs", arguments->inputs,
      "folder with recorded inputs, input_0.pb, input_1.pb, ...; others are random");
  command->add_option("--seed", arguments->seed, "seed of the random inputs")
      ->capture_default_str();
  command->callback([arguments, &exit_code] {
    const auto code = emit(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
