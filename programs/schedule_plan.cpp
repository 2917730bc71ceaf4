#include "programs/schedule_plan.h"

#include <chrono>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/execute/measured_times.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/program_times.h"
#include "backend/prove/check_tiles.h"
#include "backend/tiles/plan_tiles.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "programs/emission.h"
#include "programs/kernel_times_file.h"
#include "programs/shape_option.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

bool is_for_processor(const ScheduleRequest& request) { return request.device == "cpu"; }

Result<backend::CompileOptions> options_of(const ScheduleRequest& request,
                                           std::optional<backend::KernelTimes>& times,
                                           std::vector<std::string>& notes) {
  backend::CompileOptions options;
  if (is_for_processor(request)) {
    options = backend::compile_options(static_cast<int>(request.units));
    LEMMA_ASSIGN_OR_RETURN(times, kernel_times_for_processor(request.times, notes));
  } else {
    LEMMA_ASSIGN_OR_RETURN(const auto device, device_file(request.device, DevicePart::schedule));
    LEMMA_ASSIGN_OR_RETURN(options.device, backend::load_virtual_device(device, request.units));
    if (!request.stitches) options.stitching = backend::StitchOptions::none();
    if (options.device.multiprocessor)
      options.device.multiprocessor->source.keeps_weights = request.keeps_weights;
    if (!request.times.empty()) {
      LEMMA_ASSIGN_OR_RETURN(times, backend::load_kernel_times(request.times));
      if (times->device != options.device.name)
        return bad_input(fmt::format("{}: times of '{}', not of '{}'", request.times, times->device,
                                     options.device.name));
    }
  }
  if (times) options.times = &*times;
  options.fuses = request.fuses;
  options.policy = policy_named(request.policy);
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
Result<void> measure_times(const PreparedModel& model, const ScheduleRequest& request,
                           const backend::CompileOptions& options) {
  if (!is_for_processor(request)) return bad_input("--measure-kernels is for --device cpu");
  // Programs are built, run and removed: each has all weights of the model.
  const TemporaryDirectory folder;
  LEMMA_RETURN_IF_ERROR(folder.require());
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(folder.path()));
  LEMMA_ASSIGN_OR_RETURN(const backend::KernelTimes times,
                         backend::measure_kernels(model.graph, model.inputs, options, builder));
  return write_file_atomically(request.measured, backend::text(times));
}

/// Of the programs of a device of tiles, in which operators share supersteps and in which they do not, the one that ends first.
Result<TileSchedule> tile_schedule(const Graph& graph, const ScheduleRequest& request,
                                   const backend::CompileOptions& options) {
  if (request.stitches || !request.times.empty() || !request.libraries.empty())
    return bad_input(
        "--stitch, --kernel-times and --call-costs are for devices whose units share memory");
  LEMMA_ASSIGN_OR_RETURN(const std::vector<backend::OperatorGraph> plans,
                         backend::task_operators(graph, options));
  const backend::OperatorGraph& operators = plans.back();
  TileSchedule result;
  LEMMA_ASSIGN_OR_RETURN(result.program, backend::plan_tiles(operators, options.device));
  LEMMA_RETURN_IF_ERROR(backend::check_tiles(result.program));
  result.times = backend::simulate(result.program);
  auto alone = backend::plan_tiles(operators, options.device, {false});
  if (!alone) return result;
  LEMMA_RETURN_IF_ERROR(backend::check_tiles(*alone));
  result.alone = backend::simulate(*alone);
  if (result.alone->seconds < result.times.seconds) {
    result.program = std::move(*alone);
    result.times = *result.alone;
  }
  return result;
}

/// The program with nothing that is known to spill registers or not to fit; `options` have what is
/// not chosen.
Result<backend::TaskProgram> program_of(const Graph& graph, const ScheduleRequest& request,
                                        backend::CompileOptions& options) {
  NvidiaDevice target;
  target.device = options.device;
  if (options.device.multiprocessor) {
    target.options = options.device.multiprocessor->source;
    if (!target.options.is_hip()) {
      LEMMA_ASSIGN_OR_RETURN(
          target.known,
          known_resources(request.known, target.options.architecture, target.options.blocks));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, compile_for(graph, options, target));
  options.device = target.device;
  return program;
}

}  // namespace

backend::Policy policy_named(const std::string& name) {
  for (const backend::NamedPolicy& named_policy : backend::policies())
    if (named_policy.name == name) return named_policy.policy;
  return backend::place_by_best;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const backend::NamedPolicy& named_policy : backend::policies())
    names.emplace_back(named_policy.name);
  return names;
}

Result<ScheduledModel> schedule_model(const ScheduleRequest& request,
                                      std::vector<std::string>& notes) {
  LEMMA_ASSIGN_OR_RETURN(const auto shapes, parse_shape_options(request.shapes));
  std::optional<backend::KernelTimes> times;
  LEMMA_ASSIGN_OR_RETURN(backend::CompileOptions options, options_of(request, times, notes));
  // Only what is measured has inputs.
  const auto most_bytes = request.measured.empty() ? std::optional(std::uint64_t{0}) : std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(const PreparedModel prepared,
                         prepare_model(request.model, shapes, {}, most_bytes));
  if (!request.write_times.empty())
    LEMMA_RETURN_IF_ERROR(write_times(prepared.graph, options, request.write_times));
  if (!request.measured.empty()) LEMMA_RETURN_IF_ERROR(measure_times(prepared, request, options));
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t begin_cpu = std::clock();
  ScheduledModel result;
  if (options.device.exchange) {
    LEMMA_ASSIGN_OR_RETURN(result.tiles, tile_schedule(prepared.graph, request, options));
  } else {
    LEMMA_ASSIGN_OR_RETURN(result.program, program_of(prepared.graph, request, options));
  }
  if (const auto note = missing_times(backend::kernel_count(result.program.graph)); times && note)
    notes.push_back(*note);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  result.planning_seconds = seconds.count();
  result.planning_cpu_seconds =
      static_cast<double>(std::clock() - begin_cpu) / static_cast<double>(CLOCKS_PER_SEC);
  if (!request.libraries.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const auto file,
                           device_file(request.libraries, DevicePart::operators, "--call-costs"));
    LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
    if (request.cuts) {
      LEMMA_ASSIGN_OR_RETURN(result.regions,
                             backend::plan_regions(prepared.graph, {options, device}));
    }
    // What the program has taken apart may be one call.
    LEMMA_ASSIGN_OR_RETURN(const Graph operators,
                           backend::prepared_graph(prepared.model, prepared.inputs));
    LEMMA_ASSIGN_OR_RETURN(
        result.libraries,
        backend::library_plan(operators, OperatorCosts(priced_by_roofline(std::move(device)))));
  }
  return result;
}

}  // namespace lemma
