#include "cli/target_options.h"

#include <fmt/format.h>

#include "backend_cuda/execute/program_times.h"
#include "backend_cuda/libraries/library_operators.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

bool runs_on_onnx_runtime(const TargetArguments& arguments) {
  return arguments.target == onnx_runtime_target && arguments.device.empty();
}

std::string costs_word(const TargetArguments& arguments) {
  if (!arguments.costs.empty()) return arguments.costs;
  return is_operator_target(arguments) ? "measured" : "analytic";
}

/// What the costs of operators are known from, beside the description of the device.
CostOptions costs_of(const TargetArguments& arguments) {
  CostOptions costs;
  if (costs_word(arguments) != "measured") return costs;
  costs.database =
      arguments.database.empty() ? default_profile_file() : fs::path(arguments.database);
  costs.measures = arguments.measures;
  const fs::path shipped = data_directory() / "profiles" / "x86-64.json";
  if (runs_on_onnx_runtime(arguments) && fs::exists(shipped)) costs.shipped = shipped;
  if (arguments.target == rtask_cpu_target) costs.runtime = backend::task_program_runtime;
  if (arguments.target == rtask_cuda_target) {
    costs.runtime = backend::library_runtime;
    costs.any_device = true;
  }
  return costs;
}

}  // namespace

bool is_operator_target(const TargetArguments& arguments) {
  return arguments.device.empty() &&
         (arguments.target == rtask_cpu_target || arguments.target == rtask_cuda_target);
}

void add_target_options(CLI::App& command, TargetArguments& arguments) {
  command
      .add_option("--target", arguments.target,
                  "what the model is to run on: onnxruntime-cpu (candidates are run, and the "
                  "original is kept unless one is faster); rtask-cpu (the same with task programs; "
                  "the program of OUT.onnx is written to OUT.rtask/); rtask-cuda (predicted; "
                  "operators as measured with cuBLASLt and cuDNN); cpu, cuda or another device "
                  "(predicted from a description); the default can be set by $LEMMA_TARGET")
      ->capture_default_str();
  command.add_option("--device", arguments.device,
                     "predict for this device: cpu, cuda, or the file of a device description");
  command.add_flag("!--no-measure", arguments.measures,
                   "do not run candidates; the cheapest by prediction is written");
  command
      .add_option("--costs", arguments.costs,
                  "what operators cost while graphs are searched: analytic (from the description "
                  "of the device), or measured (each is run on the target once and remembered); "
                  "analytic by default, measured for rtask-cpu and rtask-cuda")
      ->check(CLI::IsMember({"analytic", "measured"}));
  command.add_option("--database", arguments.database,
                     "for --costs measured, the file that keeps measured times; with --no-measure "
                     "they are only read; the default can be set by $LEMMA_PROFILE");
}

Result<fs::path> device_of(const TargetArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(fs::path device, arguments.device.empty()
                                              ? device_file(arguments.target, "--target")
                                              : device_file(arguments.device));
  const bool is_measurable = runs_on_onnx_runtime(arguments) || is_operator_target(arguments);
  if (arguments.costs == "measured" && !is_measurable)
    return bad_input(fmt::format("--costs measured is for --target {}, {} and {}",
                                 onnx_runtime_target, rtask_cpu_target, rtask_cuda_target));
  if (costs_word(arguments) != "measured" && !arguments.database.empty())
    return bad_input("--database is for --costs measured");
  return device;
}

void take_target(const TargetArguments& arguments, OptimizeOptions& options) {
  const bool runs_here = runs_on_onnx_runtime(arguments);
  const bool runs_task_programs =
      is_operator_target(arguments) && arguments.target == rtask_cpu_target;
  options.timing.measures = arguments.measures && (runs_here || runs_task_programs);
  if (options.second_judge || (options.timing.measures && runs_here))
    options.onnx_runtime = {python_program(), data_directory() / "onnxruntime_worker.py"};
  if (runs_here || is_operator_target(arguments)) options.costs = costs_of(arguments);
  options.search.has_layouts = runs_here;
}

}  // namespace lemma
