#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/memory_limit.h"
#include "cli/number_check.h"
#include "cli/resource_options.h"
#include "cli/schedule_options.h"
#include "programs/emission.h"
#include "programs/kernel_times_file.h"
#include "programs/nvidia_device.h"
#include "programs/schedule_plan.h"
#include "programs/shape_option.h"
#include "programs/task_program.h"
#include "report/emission_report.h"
#include "report/memory_report.h"
#include "report/timeline_svg.h"
#include "targets/data_files.h"
#include "targets/target.h"

namespace lemma {

namespace {

struct EmitArguments {
  EmissionRequest request;
  std::string timeline, policy = "best";
  std::vector<std::string> shapes, without;
  std::string target = "cpu", architecture;
  CudaChoice cuda;
  ScheduleChoice schedules;
  std::string calls, call_costs, times, memory_limit, memory_picture;
  EmissionFigures figures;
  bool json = false, stores_all = false, plans = false, measures = false;  // the timeline
};

/// Switches schemes of fusion off.
void choose_schemes(const EmitArguments& arguments, EmissionRequest& request) {
  const auto has = [&arguments](std::string_view scheme) {
    return !arguments.stores_all && std::find(arguments.without.begin(), arguments.without.end(),
                                              scheme) == arguments.without.end();
  };
  request.fuses = has("thread");
  request.takes_own_kernels =
      std::ranges::find(arguments.without, "own-kernels") == arguments.without.end();
  request.stitching.packing = has("packing");
  request.stitching.warp = has("warp");
  request.stitching.block = has("block");
}

bool is_for_hip(const EmitArguments& arguments) {
  return find_source(arguments.target) == ProgramSource::hip;
}
bool is_for_gpu(const EmitArguments& arguments) {
  return is_for_hip(arguments) || find_source(arguments.target) == ProgramSource::cuda;
}

/// An error: the architecture is none of the target, or what is asked for is written in CUDA alone.
Result<void> choose_architecture(EmitArguments& arguments) {
  const bool is_hip = is_for_hip(arguments);
  if (is_hip) arguments.cuda.architecture = "gfx90a";
  if (!arguments.architecture.empty()) arguments.cuda.architecture = arguments.architecture;
  const std::vector<std::string> known = is_hip ? hip_architectures() : cuda_architectures();
  if (std::ranges::find(known, arguments.cuda.architecture) == known.end())
    return bad_input(fmt::format("--arch {}: of --target {}: {}", arguments.cuda.architecture,
                                 is_hip ? "hip" : "cuda", fmt::join(known, ", ")));
  if (is_hip && !arguments.calls.empty())
    return bad_input(
        "--library-calls is for --target cuda: programs in HIP have kernels of their own for all");
  if (is_hip && !arguments.cuda.resources.empty())
    return bad_input("--resources is for --target cuda");
  return {};
}

/// Calls are priced by --call-costs, else by the description of costs for the device of the schedule.
Result<std::optional<CallRequest>> call_request(const EmitArguments& arguments) {
  if (arguments.calls.empty()) return std::nullopt;
  CallRequest request;
  request.choice =
      arguments.calls == "all" ? backend::CallChoice::all : backend::CallChoice::by_cost;
  const std::string name =
      arguments.call_costs.empty() ? device_name(arguments.cuda) : arguments.call_costs;
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(name, DevicePart::operators, "--call-costs"));
  LEMMA_ASSIGN_OR_RETURN(request.costs, load_device(file));
  return request;
}

/// Runs among which the one of median length is drawn.
constexpr int recorded_runs = 21;

Result<void> draw_timeline(const EmitArguments& arguments, const Emission& emission) {
  const backend::TaskProgram& program = emission.programs.front();
  StepTimes measured;
  if (arguments.measures && emission.missing_bytes > 0)
    return unsupported(
        fmt::format("no run is measured: its tensors would take {} bytes (--most-check-memory)",
                    emission.missing_bytes));
  if (arguments.measures && emission.flow)
    return unsupported("no run of a model with control flow is measured");
  if (arguments.measures) {
    LEMMA_ASSIGN_OR_RETURN(measured,
                           measured_step_times(program, emission.inputs.front(), recorded_runs));
  }
  return write_timeline(arguments.timeline, arguments.request.model, program, measured);
}

Result<void> check_files(const EmitArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.request.model);
  plan.reads(arguments.times, "--kernel-times");
  plan.reads(arguments.cuda.device, "--device");
  plan.reads(arguments.call_costs, "--call-costs");
  for (const std::string& file : arguments.cuda.resources) plan.reads(file, "--resources");
  plan.fills(arguments.request.directory, "-o");
  plan.writes(arguments.timeline, "--timeline");
  plan.writes(arguments.memory_picture, "--memory-picture");
  plan.fills(arguments.request.trace, "--trace");
  LEMMA_RETURN_IF_ERROR(plan.check());
  if (arguments.request.directory.empty()) return {};
  return check_emission_directory(arguments.request);
}

Result<Emission> emit(EmitArguments arguments) {
  if (arguments.request.directory.empty() && !arguments.plans)
    return bad_input("-o DIRECTORY or --plan is required");
  LEMMA_RETURN_IF_ERROR(check_files(arguments));
  choose_schemes(arguments, arguments.request);
  std::vector<std::string> notes;
  LEMMA_ASSIGN_OR_RETURN(arguments.request.shapes, parse_shape_lists(arguments.shapes));
  if (arguments.request.shapes.size() > 1 && !arguments.timeline.empty())
    return bad_input("--timeline draws the schedule of one size");
  if (arguments.measures && is_for_gpu(arguments))
    return bad_input("--measure-timeline is for --target cpu");
  if (arguments.request.shapes.size() > 1 && !arguments.request.inputs.folder.empty())
    return bad_input("--inputs gives inputs of one size");
  if (arguments.request.in_prime_field && !arguments.request.inputs.folder.empty())
    return bad_input("--inputs gives no residues for --prime-field");
  arguments.request.policy = policy_named(arguments.policy);
  if (arguments.memory_limit == least_memory)
    arguments.request.takes_least_memory = true;
  else if (!arguments.memory_limit.empty())
    arguments.request.memory_limit = bytes_of(arguments.memory_limit);
  if (is_for_gpu(arguments)) {
    LEMMA_RETURN_IF_ERROR(choose_architecture(arguments));
    if (!arguments.times.empty()) return bad_input("--kernel-times is for --target cpu");
    if (!arguments.memory_limit.empty()) return bad_input("--memory-limit is for --target cpu");
    LEMMA_ASSIGN_OR_RETURN(arguments.request.cuda, nvidia_device(arguments.cuda));
    LEMMA_ASSIGN_OR_RETURN(arguments.request.calls, call_request(arguments));
  } else if (!arguments.calls.empty()) {
    return bad_input("--library-calls is for --target cuda");
  } else if (arguments.cuda.takes_tf32 || !arguments.cuda.resources.empty() ||
             !arguments.cuda.keeps_weights) {
    return bad_input("--tf32, --resources and --no-resident-weights are for --target cuda");
  } else if (arguments.cuda.units != 0) {
    return bad_input("--units is for --target cuda; processors have --threads");
  } else {
    LEMMA_ASSIGN_OR_RETURN(arguments.request.device,
                           processor_device(arguments.cuda.device, arguments.request.threads));
    arguments.schedules.database = arguments.cuda.known.database;
    LEMMA_ASSIGN_OR_RETURN(arguments.request.schedules,
                           schedules_for(arguments.schedules, arguments.request.threads));
    LEMMA_ASSIGN_OR_RETURN(arguments.request.times,
                           kernel_times_for_processor(arguments.times, notes));
  }
  LEMMA_ASSIGN_OR_RETURN(Emission emission, emit_model(arguments.request));
  if (arguments.request.times)
    for (const backend::TaskProgram& program : emission.programs)
      if (auto note = missing_times(backend::kernel_count(program.graph)))
        notes.push_back(std::move(*note));
  if (auto note = refused_text(emission)) notes.push_back(std::move(*note));
  print_notes(notes);
  if (!arguments.timeline.empty()) LEMMA_RETURN_IF_ERROR(draw_timeline(arguments, emission));
  if (const auto& memory = emission.programs.front().memory;
      memory && !arguments.memory_picture.empty())
    LEMMA_RETURN_IF_ERROR(
        write_memory_svg(arguments.memory_picture, arguments.request.model, *memory));
  return emission;
}

ExitCode run_emit(const EmitArguments& arguments) {
  const auto refuse = [&arguments](const Error& error) {
    std::cerr << error_line(arguments.request.model, error.message) << "\n";
    return exit_code_of(error.kind);
  };
  const auto emitted = emit(arguments);
  if (!emitted) return refuse(emitted.error());
  if (!arguments.json) {
    std::cout << emission_text(arguments.request, *emitted);
    return ExitCode::done;
  }
  const auto json = emission_json(arguments.request, *emitted, arguments.figures);
  if (!json) return refuse(json.error());
  std::cout << json->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  return ExitCode::done;
}

}  // namespace

void add_emit_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "emit", "write a model as a directory of C++, CUDA or HIP source with a static schedule");
  auto arguments = std::make_shared<EmitArguments>();
  command->add_option("model", arguments->request.model, "ONNX file")->required();
  auto* output = command->add_option("-o,--output", arguments->request.directory,
                                     "the directory, which is made");
  auto* plan =
      command->add_flag("--plan", arguments->plans, "only plan the program: nothing is written");
  output->excludes(plan);
  command
      ->add_option("--simulate-cache", arguments->figures.cache_bytes,
                   "with --json: count bytes in a simulated cache of so many bytes for each unit")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--target", arguments->target, "what the source is for")
      ->check(CLI::IsMember(source_words()))
      ->capture_default_str();
  std::vector<std::string> architectures = cuda_architectures();
  for (std::string& architecture : hip_architectures())
    architectures.push_back(std::move(architecture));
  command
      ->add_option("--arch", arguments->architecture,
                   "of the device (default: with --target cuda sm_90, with --target hip gfx90a)")
      ->check(CLI::IsMember(architectures));
  command->add_option(
      "--device", arguments->cuda.device,
      "what the schedule is for: a10, a100, b200, b300, h100, h200, l4, mi250, mi60, rtx5090, t4, "
      "slow-cpu or "
      "the file of a description "
      "(default: with --target cuda or hip by --arch, else the processors here); with --target cpu "
      "all of "
      "--threads are used");
  command
      ->add_option(
          "--units", arguments->cuda.units,
          "blocks of the schedule, with --target cuda or hip (0: as many as the device has units)")
      ->check(CLI::Range(0U, backend::most_units));
  command
      ->add_option("--block-threads", arguments->cuda.block_threads,
                   "threads of a block, with --target cuda or hip")
      ->capture_default_str();
  command->add_option("--resources", arguments->cuda.resources,
                      "with --target cuda: a resources.json of scripts/cuda_resources; tiles with "
                      "which nvcc spilled "
                      "registers are not chosen (may be repeated)");
  add_resource_options(*command, arguments->cuda.known, "with --target cuda");
  command->add_flag(
      "--tf32", arguments->cuda.takes_tf32,
      "round the factors of products of f32 to TF32 (10 bits behind the point), which "
      "tensor cores multiply, with --target cuda");
  command->add_flag(
      "!--no-resident-weights", arguments->cuda.keeps_weights,
      "with --target cuda or hip: blocks keep no weights in shared memory, but read them in "
      "each task again");
  auto* calls = command->add_option(
      "--library-calls", arguments->calls,
      "with --target cuda: calls of cuBLASLt and cuDNN where they pay, as nodes of one CUDA graph "
      "with persistent kernels; 'all': wherever there is one");
  calls->expected(0, 1)->default_str("cost")->check(CLI::IsMember({"cost", "all"}));
  command
      ->add_option(
          "--call-costs", arguments->call_costs,
          "what calls are priced by: h100, a100 (as --device) or the file of a description of "
          "costs (default: as the device of the schedule)")
      ->needs(calls);
  command
      ->add_option("--threads", arguments->request.threads,
                   "threads that run the program, at most: fewer where it ends sooner with them as "
                   "planned (0: as "
                   "many as there are processors here)")
      ->check(check_threads);
  std::vector<std::string> names;
  for (const backend::NamedPolicy& named_policy : backend::policies())
    names.emplace_back(named_policy.name);
  command->add_option("--policy", arguments->policy, "how tasks are scheduled")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->add_option("--kernel-times", arguments->times,
                      "with --target cpu: times of tasks from `lemma schedule --device cpu "
                      "--measure-kernels`, taken in place of modelled ones");
  add_schedule_flag(*command, arguments->schedules);
  auto* limit = command->add_option(
      "--memory-limit", arguments->memory_limit,
      "with --target cpu: bytes of the arena, as 64M; operators run in another order "
      "and again where that is needed; 'least': the order that needs the least, where "
      "each runs once");
  limit->check(check_memory_limit);
  command
      ->add_option(
          "--memory-picture", arguments->memory_picture,
          "file for a picture of the memory over time, before and with the limit, SVG; none "
          "is written where the program is within the limit as it is")
      ->needs(limit);
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated), or list several, "
                      "NAME:1/4/16,128");
  command
      ->add_option("--most-steps", arguments->request.most_rows,
                   "room in outputs with a row for each step of a loop, where a run decides how "
                   "many steps these are")
      ->check(check_positive)
      ->capture_default_str();
  command->add_option("--name", arguments->request.name,
                      "of the functions and files (default: that of the model)");
  command
      ->add_option("--seed", arguments->request.inputs.seed,
                   "seed of the random inputs of the self-check")
      ->capture_default_str();
  command->add_option(
      "--inputs", arguments->request.inputs.folder,
      "folder of input_0.pb, input_1.pb, ..., the inputs of the self-check; otherwise "
      "they are random, and the model is defined on them where such are found");
  command
      ->add_option("--most-check-memory", arguments->request.most_check_bytes,
                   "the program has no self-check where its inputs, its outputs and the tensors "
                   "of an operator take more, such as 500M or 16G")
      ->transform(CLI::AsSizeValue(false))
      ->check(check_bytes)
      ->capture_default_str();
  command
      ->add_option(
          "--repeat-inputs", arguments->request.inputs.period,
          "so many random elements of each input of the self-check, repeated, so that it is "
          "small when packed (0: all are random)")
      ->check(check_non_negative);
  command->add_option("--trace", arguments->request.trace,
                      "folder for what each pass of the compiler makes, as text");
  auto* timeline =
      command->add_option("--timeline", arguments->timeline,
                          "file for a picture of the schedule, SVG or a page that ends in .html");
  command
      ->add_flag(
          "--measure-timeline", arguments->measures,
          "build and run the program here, and draw below the plan when its tasks ran, in the "
          "run of median length")
      ->needs(timeline);
  command->add_flag(
      "--replace", arguments->request.replaces,
      "replace what lemma emit wrote in a directory that is there; what else is in it stays");
  command
      ->add_option(
          "--without", arguments->without,
          "a scheme of fusion that is not used, or 'own-kernels': source in place of loops "
          "from definitions (may be repeated)")
      ->check(CLI::IsMember({"thread", "packing", "warp", "block", "own-kernels"}));
  command->add_flag("--prime-field", arguments->request.in_prime_field,
                    "with residues modulo 2^61 - 1 for elements of f32: the self-check is exact");
  command->add_flag("--no-fusion", arguments->stores_all, "store every tensor");
  auto* json = command->add_flag("--json", arguments->json, "print one JSON object");
  command
      ->add_flag("--list-operators", arguments->figures.lists_operators,
                 "with --json: the operations of each operator, and the bytes of its tensors")
      ->needs(json);
  command->callback([arguments, &exit_code] { exit_code = run_emit(*arguments); });
}

}  // namespace lemma
