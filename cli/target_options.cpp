#include "cli/target_options.h"

#include <fmt/format.h>

namespace lemma {

namespace {

namespace fs = std::filesystem;

bool is_measurable(const TargetArguments& arguments) {
  return arguments.target == onnx_runtime_target && arguments.device.empty();
}

/// What the costs of operators are known from, beside the description of the device.
CostOptions costs_of(const TargetArguments& arguments) {
  CostOptions costs;
  if (arguments.costs != "measured") return costs;
  costs.database =
      arguments.database.empty() ? default_profile_file() : fs::path(arguments.database);
  if (const fs::path shipped = data_directory() / "profiles" / "x86-64.json"; fs::exists(shipped))
    costs.shipped = shipped;
  costs.measures = arguments.measures;
  return costs;
}

}  // namespace

void add_target_options(CLI::App& command, TargetArguments& arguments) {
  command
      .add_option("--target", arguments.target,
                  "what the model is to run on: onnxruntime-cpu (candidates are run, and the "
                  "original is kept unless one is faster), or cpu or cuda (predicted from a "
                  "description); the default can be set by $LEMMA_TARGET")
      ->capture_default_str();
  command.add_option("--device", arguments.device,
                     "predict for this device: cpu, cuda, or the file of a device description");
  command.add_flag("!--no-measure", arguments.measures,
                   "do not run candidates; the cheapest by prediction is written");
  command
      .add_option("--costs", arguments.costs,
                  "what operators cost while graphs are searched: analytic (from the description "
                  "of the device), or measured (each is run in ONNX Runtime once and remembered)")
      ->check(CLI::IsMember({"analytic", "measured"}))
      ->capture_default_str();
  command.add_option("--database", arguments.database,
                     "for --costs measured, the file that keeps measured times; with --no-measure "
                     "they are only read; the default can be set by $LEMMA_PROFILE");
}

Result<fs::path> device_of(const TargetArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(fs::path device, arguments.device.empty()
                                              ? device_file(arguments.target, "--target")
                                              : device_file(arguments.device));
  if (arguments.costs == "measured" && !is_measurable(arguments))
    return bad_input(fmt::format("--costs measured is for --target {}", onnx_runtime_target));
  if (arguments.costs != "measured" && !arguments.database.empty())
    return bad_input("--database is for --costs measured");
  return device;
}

void take_target(const TargetArguments& arguments, OptimizeOptions& options) {
  options.timing.measures = arguments.measures && is_measurable(arguments);
  if (options.second_judge || options.timing.measures)
    options.onnx_runtime = {python_program(), data_directory() / "onnxruntime_worker.py"};
  if (is_measurable(arguments)) options.costs = costs_of(arguments);
}

}  // namespace lemma
