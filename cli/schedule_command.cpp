#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/resource_options.h"
#include "outputs/files.h"
#include "programs/schedule_plan.h"
#include "report/schedule_report.h"
#include "report/timeline_svg.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

struct ScheduleArguments {
  ScheduleRequest request;
  std::string timeline, calls;
  std::vector<double> factors;
  bool json = false;
};

Result<void> check_files(const ScheduleArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.request.model);
  plan.reads(arguments.request.device, "--device");
  plan.reads(arguments.request.libraries, "--call-costs");
  plan.writes(arguments.request.write_times, "--write-kernel-times");
  plan.writes(arguments.request.measured, "--measure-kernels");
  plan.writes(arguments.timeline, "--timeline");
  plan.writes(arguments.calls, "--write-library-calls");
  if (arguments.request.times != arguments.request.write_times &&
      arguments.request.times != arguments.request.measured)
    plan.reads(arguments.request.times, "--kernel-times");
  return plan.check();
}

Result<ScheduledModel> plan(const ScheduleArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_files(arguments));
  std::vector<std::string> notes;
  LEMMA_ASSIGN_OR_RETURN(ScheduledModel planned, schedule_model(arguments.request, notes));
  print_notes(notes);
  if (planned.tiles && !arguments.timeline.empty())
    return bad_input("--timeline draws no program of tiles");
  if (!arguments.timeline.empty())
    LEMMA_RETURN_IF_ERROR(
        write_timeline(arguments.timeline, arguments.request.model, planned.program));
  if (!arguments.calls.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.calls, fmt::format("{}\n", fmt::join(planned.libraries->lines, "\n"))));
  return planned;
}

ExitCode run_schedule(const ScheduleArguments& arguments) {
  const auto planned = plan(arguments);
  if (!planned) {
    std::cerr << error_line(arguments.request.model, planned.error().message) << "\n";
    return exit_code_of(planned.error().kind);
  }
  const Json json = schedule_json(arguments.request, *planned, arguments.factors);
  std::cout << (arguments.json ? json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"
                               : schedule_text(arguments.request, *planned, json));
  return ExitCode::done;
}

}  // namespace

void add_schedule_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "schedule", "plan a model for a device that is only described, and say what it would take");
  auto arguments = std::make_shared<ScheduleArguments>();
  command->add_option("model", arguments->request.model, "ONNX file")->required();
  command
      ->add_option(
          "--device", arguments->request.device,
          "what is scheduled for: a10, a100, b200, b300, h100, h200, l4, mi250, mi60, rtx5090, "
          "t4, simulated-80, tiles-1216, cpu (this "
          "processor, as `lemma "
          "emit` does it) or the file of a description")
      ->required();
  command
      ->add_option(
          "--units", arguments->request.units,
          "so many units instead, each as described (0: as many as described); with --device "
          "cpu threads, at most")
      ->check(CLI::Range(0U, backend::most_units));
  command->add_option("--policy", arguments->request.policy, "how tasks are scheduled")
      ->check(CLI::IsMember(policy_names()))
      ->capture_default_str();
  command->add_option("--kernel-times", arguments->request.times,
                      "JSON file with times of tasks, taken in place of modelled ones");
  command->add_option("--write-kernel-times", arguments->request.write_times,
                      "add the times of all kernels to this file");
  command->add_option(
      "--measure-kernels", arguments->request.measured,
      "with --device cpu: measure tasks of all kernels here and write their times to "
      "this file, for --kernel-times");
  command->add_option("--shape", arguments->request.shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--timeline", arguments->timeline,
                      "file for a picture of the schedule, SVG or a page that ends in .html");
  command->add_flag("!--no-fusion", arguments->request.fuses, "store every tensor");
  command->add_flag("--stitch", arguments->request.stitches,
                    "stitch operators; without it, policies are judged by the same operators");
  add_resource_options(*command, arguments->request.known,
                       "of devices with a description of source");
  command->add_flag("!--no-resident-weights", arguments->request.keeps_weights,
                    "units of a GPU keep no weights in shared memory, but read them in each task "
                    "again");
  auto* libraries =
      command->add_option("--call-costs", arguments->request.libraries,
                          "with --json or --cut: also what calls of cuBLASLt and cuDNN would "
                          "take, and kernels for other operators, by this "
                          "description for costs: h100, a100 (as --device) or a file");
  command
      ->add_option("--scale-costs", arguments->factors,
                   "with --call-costs: also where launches or waits take so many times as long "
                   "(may be repeated)")
      ->needs(libraries)
      ->check(check_non_negative);
  command
      ->add_option(
          "--write-library-calls", arguments->calls,
          "file for a line for each call and kernel (backend_cuda/libraries/library_call.h)")
      ->needs(libraries);
  command
      ->add_flag("--cut", arguments->request.cuts,
                 "with --call-costs: also the cut into library calls and persistent kernels that "
                 "`lemma emit --library-calls` would choose")
      ->needs(libraries);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_schedule(*arguments); });
}

}  // namespace lemma
