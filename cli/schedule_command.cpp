#include <chrono>
#include <ctime>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "backend_cuda/compile/compile.h"
#include "backend_cuda/execute/measured_times.h"
#include "backend_cuda/execute/prepared_graph.h"
#include "backend_cuda/execute/program_times.h"
#include "backend_cuda/libraries/library_plan.h"
#include "backend_cuda/memory/plan_memory.h"
#include "backend_cuda/regions/plan_regions.h"
#include "backend_cuda/simulate/lower_bound.h"
#include "backend_cuda/simulate/simulate.h"
#include "backend_cuda/traffic/traffic.h"
#include "cli/commands.h"
#include "cli/cuda_target.h"
#include "cli/data_directory.h"
#include "cli/emission.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/kernel_times_option.h"
#include "cli/number_check.h"
#include "cli/process_faults.h"
#include "cli/region_report.h"
#include "cli/shape_option.h"
#include "cli/timeline_svg.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

struct ScheduleArguments {
  std::string model, device, policy, timeline, times, write_times, measured, libraries, calls;
  std::vector<std::string> shapes;
  std::vector<double> factors;
  std::uint32_t units = 0;
  bool fuses = true, stitches = false, cuts = false, json = false, keeps_weights = true;
  ResourceChoice known;
};

struct PlannedModel {
  backend::TaskProgram program;
  double planning_seconds = 0, planning_cpu_seconds = 0;
  std::optional<backend::LibraryPlan> libraries;
  std::optional<backend::RegionPlan> regions;
};

bool is_for_processor(const ScheduleArguments& arguments) { return arguments.device == "cpu"; }

Result<backend::CompileOptions> options_of(const ScheduleArguments& arguments,
                                           std::optional<backend::KernelTimes>& times) {
  backend::CompileOptions options;
  if (is_for_processor(arguments)) {
    options = backend::compile_options(static_cast<int>(arguments.units));
    LEMMA_ASSIGN_OR_RETURN(times, kernel_times_for_processor(arguments.times));
  } else {
    LEMMA_ASSIGN_OR_RETURN(const auto device, virtual_device_file(arguments.device));
    LEMMA_ASSIGN_OR_RETURN(options.device, backend::load_virtual_device(device, arguments.units));
    if (!arguments.stitches) options.stitching = backend::StitchOptions::none();
    if (options.device.multiprocessor)
      options.device.multiprocessor->source.keeps_weights = arguments.keeps_weights;
    if (!arguments.times.empty()) {
      LEMMA_ASSIGN_OR_RETURN(times, backend::load_kernel_times(arguments.times));
      if (times->device != options.device.name)
        return bad_input(fmt::format("{}: times of '{}', not of '{}'", arguments.times,
                                     times->device, options.device.name));
    }
  }
  if (times) options.times = &*times;
  options.fuses = arguments.fuses;
  for (const backend::NamedPolicy& each : backend::policies())
    if (each.name == arguments.policy) options.policy = each.policy;
  return options;
}

/// Adds the times of all kernels to a file, which is made if it is not there.
Result<void> write_times(const Graph& graph, const backend::CompileOptions& options,
                         const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<backend::OperatorGraph> plans,
                         backend::task_operators(graph, options));
  backend::KernelTimes times;
  if (std::filesystem::exists(file) && !is_stream(file)) {
    LEMMA_ASSIGN_OR_RETURN(times, backend::load_kernel_times(file));
  } else {
    times.device = options.device.name;
    times.source =
        "modelled from operations, bytes and the description of the device; not measured";
  }
  for (const backend::OperatorGraph& plan : plans)
    for (const backend::TaskOperator& op : plan.operators)
      for (const backend::Kernel& kernel : op.kernels)
        times.add(op, kernel, kernel.seconds_per_task);
  return write_file_atomically(file, backend::text(times));
}

/// Times of this processor, in place of what the file had.
Result<void> measure_times(const PreparedModel& model, const ScheduleArguments& arguments,
                           const backend::CompileOptions& options) {
  if (!is_for_processor(arguments)) return bad_input("--measure-kernels is for --device cpu");
  // Programs are built, run and removed: each has all weights of the model.
  const TemporaryDirectory folder;
  LEMMA_RETURN_IF_ERROR(require_scratch(folder.good()));
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(folder.path()));
  LEMMA_ASSIGN_OR_RETURN(const backend::KernelTimes times,
                         backend::measure_kernels(model.graph, model.inputs, options, builder));
  return write_file_atomically(arguments.measured, backend::text(times));
}

/// With nothing that is known to spill registers or not to fit; `options` have what is not chosen.
Result<backend::TaskProgram> program_of(const Graph& graph, const ScheduleArguments& arguments,
                                        backend::CompileOptions& options) {
  CudaTarget target;
  target.device = options.device;
  if (options.device.multiprocessor) {
    target.options = options.device.multiprocessor->source;
    LEMMA_ASSIGN_OR_RETURN(
        target.known,
        known_resources(arguments.known, target.options.architecture, target.options.blocks));
  }
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, compile_for(graph, options, target));
  options.device = target.device;
  return program;
}

Result<void> check_files(const ScheduleArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.reads(arguments.device, "--device");
  plan.reads(arguments.libraries, "--library-calls");
  plan.writes(arguments.write_times, "--write-kernel-times");
  plan.writes(arguments.measured, "--measure-kernels");
  plan.writes(arguments.timeline, "--timeline");
  plan.writes(arguments.calls, "--write-library-calls");
  if (arguments.times != arguments.write_times && arguments.times != arguments.measured)
    plan.reads(arguments.times, "--kernel-times");
  return plan.check();
}

Result<PlannedModel> plan(const ScheduleArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_files(arguments));
  LEMMA_ASSIGN_OR_RETURN(const auto shapes, parse_shape_options(arguments.shapes));
  std::optional<backend::KernelTimes> times;
  LEMMA_ASSIGN_OR_RETURN(backend::CompileOptions options, options_of(arguments, times));
  LEMMA_ASSIGN_OR_RETURN(const PreparedModel prepared, prepare_model(arguments.model, shapes));
  if (!arguments.write_times.empty())
    LEMMA_RETURN_IF_ERROR(write_times(prepared.graph, options, arguments.write_times));
  if (!arguments.measured.empty())
    LEMMA_RETURN_IF_ERROR(measure_times(prepared, arguments, options));
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t begin_cpu = std::clock();
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program,
                         program_of(prepared.graph, arguments, options));
  if (const auto note = missing_times(backend::kernel_count(program.graph)); times && note)
    std::cerr << printable("note: " + *note) << "\n";
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double cpu_seconds =
      static_cast<double>(std::clock() - begin_cpu) / static_cast<double>(CLOCKS_PER_SEC);
  if (!arguments.timeline.empty())
    LEMMA_RETURN_IF_ERROR(write_timeline(arguments.timeline, program));
  PlannedModel result{std::move(program), seconds.count(), cpu_seconds, std::nullopt, std::nullopt};
  if (!arguments.libraries.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(arguments.libraries, "--library-calls"));
    LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
    if (arguments.cuts) {
      LEMMA_ASSIGN_OR_RETURN(result.regions,
                             backend::plan_regions(prepared.graph, {options, device}));
    }
    // What the program has taken apart may be one call.
    LEMMA_ASSIGN_OR_RETURN(const Graph operators,
                           backend::prepared_graph(prepared.model, prepared.inputs));
    LEMMA_ASSIGN_OR_RETURN(
        result.libraries,
        backend::library_plan(operators, OperatorCosts(roofline_target(std::move(device)))));
  }
  if (!arguments.calls.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.calls, fmt::format("{}\n", fmt::join(result.libraries->lines, "\n"))));
  return result;
}

Json json_of(const backend::Simulation& simulation, std::uint32_t units) {
  return {{"seconds", simulation.seconds},
          {"utilisation", simulation.utilisation(units)},
          {"outside_seconds", simulation.outside_seconds}};
}

/// The same schedule and the same calls where launches or waits take so many times as long as the descriptions say.
Json scaled_costs(const PlannedModel& planned, double factor) {
  const backend::LibraryPlan& libraries = *planned.libraries;
  const double launch = factor * planned.program.device.seconds_per_launch;
  backend::TaskProgram program = planned.program;
  program.device.seconds_per_launch = launch;
  Json launches = {{"one_by_one_seconds", libraries.seconds_with(launch)},
                   {"graph_seconds", libraries.seconds_with(factor * libraries.launch_seconds)},
                   {"schedule_seconds", backend::simulate(program).seconds}};
  program.device = planned.program.device;
  program.device.seconds_per_event *= factor;
  return {{"factor", factor},
          {"launches", std::move(launches)},
          {"waits", {{"schedule_seconds", backend::simulate(program).seconds}}}};
}

Json libraries_of(const ScheduleArguments& arguments, const PlannedModel& planned) {
  const backend::LibraryPlan& plan = *planned.libraries;
  const double launch = planned.program.device.seconds_per_launch;
  Json json = {{"calls", plan.calls},
               {"kernels", plan.kernels},
               {"bytes", plan.bytes},
               {"seconds_per_launch", launch},
               {"seconds_per_launch_in_graph", plan.launch_seconds},
               {"one_by_one_seconds", plan.seconds_with(launch)},
               {"graph_seconds", plan.seconds},
               {"operators_in_graph_seconds",
                backend::simulate_operator_by_operator(planned.program.graph,
                                                       planned.program.device, plan.launch_seconds)
                    .seconds}};
  for (const double factor : arguments.factors)
    json["scaled"].push_back(scaled_costs(planned, factor));
  return json;
}

Json json_of(const ScheduleArguments& arguments, const PlannedModel& planned) {
  const backend::TaskProgram& program = planned.program;
  const backend::VirtualDevice& device = program.device;
  const backend::LowerBound bound = backend::lower_bound(program.graph, device);
  const auto alone = [&](double between) {
    return json_of(backend::simulate_operator_by_operator(program.graph, device, between),
                   device.units);
  };
  std::size_t waits = 0;
  for (const auto& unit : program.units)
    for (const backend::Step& step : unit) waits += step.waits.size();
  Json json = {{"model", arguments.model},
               {"device", device.name},
               {"units", device.units},
               {"policy", arguments.policy},
               {"operators", program.graph.operators.size()},
               {"tasks", program.task_count()},
               {"waits", waits},
               {"kernels", kernel_count_json(program.graph)},
               {"schedule", json_of(backend::simulate(program), device.units)},
               {"operator_by_operator", alone(device.seconds_per_launch)},
               {"operators_after_barriers", alone(device.seconds_per_synchronization)}};
  json["lower_bound"] = {{"work", bound.work},
                         {"critical_path", bound.critical_path},
                         {"path_with_events", bound.path_with_events}};
  json["arena_bytes"] = program.arena_bytes;
  json["largest_live_bytes"] = backend::largest_live_bytes(program);
  json["unshared_bytes"] = backend::unshared_bytes(program);
  if (planned.libraries) {
    const backend::Traffic traffic = backend::planned_traffic(program);
    json["bytes_read"] = traffic.read;
    json["bytes_written"] = traffic.written;
    json["library_calls"] = libraries_of(arguments, planned);
  }
  if (planned.regions) json["cut"] = region_json(*planned.regions);
  json["planning_seconds"] = planned.planning_seconds;
  json["planning_cpu_seconds"] = planned.planning_cpu_seconds;
  return json;
}

void print_cut(const backend::RegionPlan& plan) {
  const std::string best =
      plan.cut_seconds ? fmt::format("{:.1f} microseconds", 1e6 * *plan.cut_seconds) : "none";
  std::cout << fmt::format(
      "{} library calls pay, of {}; one persistent kernel takes {:.1f} "
      "microseconds, the best cut with calls: {}\n",
      plan.program ? plan.program->calls.size() : 0, plan.candidates, 1e6 * plan.alone_seconds,
      best);
  if (!plan.program) return;
  for (const std::string& line : region_lines(*plan.program)) std::cout << printable(line) << "\n";
}

ExitCode run_schedule(const ScheduleArguments& arguments) {
  const auto planned = plan(arguments);
  if (!planned) {
    std::cerr << error_line(arguments.model, planned.error().message) << "\n";
    return exit_code_of(planned.error().kind);
  }
  const Json json = json_of(arguments, *planned);
  if (arguments.json) {
    std::cout << json.dump(-1, ' ', true, Json::error_handler_t::replace) << "\n";
    return ExitCode::done;
  }
  const Json& bound = json["lower_bound"];
  std::cout << printable(fmt::format(
                   "{}: {} operators in {} tasks on {} units take {:.1f} microseconds ({:.0f}% of "
                   "the units' time in tasks); operator by operator {:.1f}; at least {:.1f}",
                   arguments.model, planned->program.graph.operators.size(),
                   planned->program.task_count(), planned->program.units.size(),
                   1e6 * json["schedule"]["seconds"].get<double>(),
                   100 * json["schedule"]["utilisation"].get<double>(),
                   1e6 * json["operator_by_operator"]["seconds"].get<double>(),
                   1e6 *
                       std::max(bound["work"].get<double>(), bound["critical_path"].get<double>())))
            << "\n";
  if (planned->regions) print_cut(*planned->regions);
  return ExitCode::done;
}

}  // namespace

void add_schedule_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "schedule", "plan a model for a device that is only described, and say what it would take");
  auto arguments = std::make_shared<ScheduleArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  command
      ->add_option("--device", arguments->device,
                   "what is scheduled for: h100, h200, a100, t4, simulated-80, cpu (this "
                   "processor, as `lemma "
                   "emit` does it) or the file of a description")
      ->required();
  command
      ->add_option(
          "--units", arguments->units,
          "so many units instead, each as described (0: as many as described); with --device "
          "cpu threads, at most")
      ->check(CLI::Range(0U, backend::most_units));
  std::vector<std::string> names;
  for (const backend::NamedPolicy& each : backend::policies()) names.emplace_back(each.name);
  arguments->policy = "best";
  command->add_option("--policy", arguments->policy, "how tasks are scheduled")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->add_option("--kernel-times", arguments->times,
                      "JSON file with times of tasks, taken in place of modelled ones");
  command->add_option("--write-kernel-times", arguments->write_times,
                      "add the times of all kernels to this file");
  command->add_option(
      "--measure-kernels", arguments->measured,
      "with --device cpu: measure tasks of all kernels here and write their times to "
      "this file, for --kernel-times");
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--timeline", arguments->timeline,
                      "file for a picture of the schedule, SVG or a page that ends in .html");
  command->add_flag("!--no-fusion", arguments->fuses, "store every tensor");
  command->add_flag("--stitch", arguments->stitches,
                    "stitch operators; without it, policies are judged by the same operators");
  add_resource_options(*command, arguments->known, "of devices with a description of source");
  command->add_flag("!--no-resident-weights", arguments->keeps_weights,
                    "units of a GPU keep no weights in shared memory, but read them in each task "
                    "again");
  auto* libraries =
      command->add_option("--library-calls", arguments->libraries,
                          "with --json or --cut: also what calls of cuBLASLt and cuDNN would "
                          "take, and kernels for other operators, by this "
                          "description for costs: h100, h200, a100, t4 or a file");
  command
      ->add_option("--scale-costs", arguments->factors,
                   "with --library-calls: also where launches or waits take so many times as long "
                   "(may be repeated)")
      ->needs(libraries)
      ->check(check_non_negative);
  command
      ->add_option(
          "--write-library-calls", arguments->calls,
          "file for a line for each call and kernel (backend_cuda/libraries/library_call.h)")
      ->needs(libraries);
  command
      ->add_flag(
          "--cut", arguments->cuts,
          "with --library-calls: also the cut into library calls and persistent kernels that "
          "`lemma emit --library-calls` would choose")
      ->needs(libraries);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_schedule(*arguments); });
}

}  // namespace lemma
