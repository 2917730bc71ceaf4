#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/error_line.h"
#include "cli/plan_program.h"
#include "outputs/files.h"
#include "plans/plan_page/plan_page.h"
#include "programs/shape_option.h"

namespace lemma {

namespace {

struct ReportPlanArguments : PlanArguments {
  ClusterArguments cluster;
  std::string output;
};

Result<ExitCode> report(const ReportPlanArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  files.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(files.check());
  LEMMA_ASSIGN_OR_RETURN(const PricedCluster priced, priced_cluster(arguments.cluster));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, model));
  const plans::Verification verification = plans::verify(model.graph, any.program());
  const plans::PlanPageRequest request{std::filesystem::path(arguments.single).filename().string(),
                                       &priced.cluster, &priced.costs};
  LEMMA_ASSIGN_OR_RETURN(const std::string page,
                         any.ranked
                             ? plans::plan_page(model.graph, *any.ranked, verification, request)
                             : plans::plan_page(model.graph, any.same, verification, request));
  LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, page));
  std::cout << printable(fmt::format("{}: the plan is {}", arguments.output,
                                     plans::name(verification.verdict)))
            << "\n";
  return ExitCode::done;
}

}  // namespace

void add_plan_report(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "report", "a page about a plan: its picture, what devices take, what is exchanged and why");
  auto arguments = std::make_shared<ReportPlanArguments>();
  add_program_options(*command, *arguments);
  add_cluster_options(*command, arguments->cluster);
  command->add_option("-o,--output", arguments->output, "file for the page, HTML")->required();
  command->callback([arguments, &exit_code] {
    const auto code = report(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
