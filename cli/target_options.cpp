#include "cli/target_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "targets/data_files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

std::optional<CostSource> measured_costs(const TargetArguments& arguments) {
  const Target* target = target_of(arguments);
  return target != nullptr ? target->measured_costs() : std::nullopt;
}

bool takes_measured_costs(const TargetArguments& arguments) {
  if (!arguments.costs.empty()) return arguments.costs == "measured";
  const auto source = measured_costs(arguments);
  return source && source->by_default;
}

/// What the costs of operators are known from, beside the description of the device.
CostOptions costs_of(const TargetArguments& arguments, const CostSource& source) {
  CostOptions costs;
  if (!takes_measured_costs(arguments)) return costs;
  costs.database =
      arguments.database.empty() ? default_profile_file() : fs::path(arguments.database);
  costs.measures = arguments.measures;
  costs.shipped = source.shipped;
  costs.runtime = source.runtime;
  costs.any_device = source.any_device;
  return costs;
}

std::string target_help() {
  std::string help = "what the model is to run on: ";
  for (const Target* target : all_targets())
    help += fmt::format("{} ({}); ", target->name(), target->summary());
  return help +
         "cpu, cuda or another device (predicted from a description); the default can be set by "
         "$LEMMA_TARGET";
}

}  // namespace

const Target* target_of(const TargetArguments& arguments) {
  return arguments.device.empty() ? find_target(arguments.target) : nullptr;
}

std::string target_names(const std::function<bool(const Target&)>& is_meant) {
  std::vector<std::string> names = names_of_targets(is_meant);
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

void add_target_options(CLI::App& command, TargetArguments& arguments) {
  command.add_option("--target", arguments.target, target_help())->capture_default_str();
  command.add_option("--device", arguments.device,
                     "predict for this device: cpu, cuda, or the file of a device description");
  command.add_flag("!--no-measure", arguments.measures,
                   "do not run candidates; the cheapest by prediction is written");
  const auto measures_by_default = [](const Target& target) {
    const auto source = target.measured_costs();
    return source && source->by_default;
  };
  command
      .add_option("--costs", arguments.costs,
                  fmt::format("what operators cost while graphs are searched: analytic (from the "
                              "description of the device), or measured (each is run on the target "
                              "once and remembered); analytic by default, measured for {}",
                              target_names(measures_by_default)))
      ->check(CLI::IsMember({"analytic", "measured"}));
  command.add_option("--database", arguments.database,
                     "for --costs measured, the file that keeps measured times; with --no-measure "
                     "they are only read; the default can be set by $LEMMA_PROFILE");
}

Result<fs::path> device_of(const TargetArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(fs::path device,
                         arguments.device.empty()
                             ? device_file(arguments.target, DevicePart::operators, "--target")
                             : device_file(arguments.device));
  if (arguments.costs == "measured" && !measured_costs(arguments))
    return bad_input(fmt::format(
        "--costs measured is for --target {}",
        target_names([](const Target& target) { return target.measured_costs().has_value(); })));
  if (!takes_measured_costs(arguments) && !arguments.database.empty())
    return bad_input("--database is for --costs measured");
  return device;
}

void take_target(const TargetArguments& arguments, OptimizeOptions& options) {
  const Target* target = target_of(arguments);
  const bool runs_here = target != nullptr && target->is_onnx_runtime();
  options.timing.measures = arguments.measures && target != nullptr && target->runs_models();
  options.is_only_described = target == nullptr || !target->runs_models();
  if (options.second_judge || (options.timing.measures && runs_here))
    options.onnx_runtime = {python_program(), data_directory() / "onnxruntime_worker.py"};
  if (const auto source = measured_costs(arguments)) options.costs = costs_of(arguments, *source);
  options.search.has_layouts = target != nullptr && target->has_runtime_layouts();
}

}  // namespace lemma
