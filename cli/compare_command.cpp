#include <algorithm>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/shape_option.h"
#include "frontend_onnx/import.h"
#include "search/deadline.h"
#include "search/sampled_check.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::string original, other;
  std::vector<std::string> shapes;
  double time_limit_seconds = 60;
  bool json = false;
  SampledCheckOptions check;
};

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId input : graph.inputs()) names.push_back(graph.input_name(graph.node(input)));
  std::sort(names.begin(), names.end());
  return names;
}

/// Empty if both may take each other's place: the comparison relies on it.
std::string difference_of_interfaces(const Graph& original, const Graph& other) {
  if (input_names(original) != input_names(other)) return "the inputs have other names";
  if (original.outputs().size() != other.outputs().size())
    return fmt::format("{} outputs, and {} in the original", other.outputs().size(),
                       original.outputs().size());
  for (std::size_t i = 0; i < original.outputs().size(); ++i) {
    const GraphOutput &left = original.outputs()[i], &right = other.outputs()[i];
    if (left.name != right.name)
      return fmt::format("output {} is named '{}', and '{}' in the original", i + 1, right.name,
                         left.name);
    const DataType left_type = original.type(left.value).data_type,
                   right_type = other.type(right.value).data_type;
    if (left_type != right_type)
      return fmt::format("output '{}' has elements of {}, and of {} in the original", left.name,
                         name(right_type), name(left_type));
  }
  return "";
}

Result<SampledCheck> compare(const CompareArguments& arguments) {
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel original, import_model(arguments.original, reading));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel other, import_model(arguments.other, reading));
  SampledCheck result;
  result.difference = difference_of_interfaces(original.graph, other.graph);
  result.passed = result.difference.empty();
  if (!result.passed) return result;
  SampledCheckOptions options = arguments.check;
  options.deadline = Deadline::after(arguments.time_limit_seconds).at();
  auto checked = compare_on_random_inputs(original.graph, other.graph, options);
  if (!checked) return unsupported("the check is impossible: " + checked.error().message);
  return checked;
}

ExitCode run_compare(const CompareArguments& arguments) {
  const auto checked = compare(arguments);
  if (!checked) return report_error(checked.error());
  if (arguments.json)
    std::cout << Json({{"equal", checked->passed},
                       {"difference", checked->difference},
                       {"samples", checked->samples},
                       {"adversarial", checked->adversarial},
                       {"max_error", checked->max_error},
                       {"smallest_passing_tolerance_scale", checked->smallest_passing_scale}})
                     .dump(2, ' ', false, Json::error_handler_t::replace)
              << "\n";
  else if (checked->passed)
    std::cout << fmt::format(
        "no difference on {} random and {} adversarial sets of inputs; largest error {:.1e}\n",
        checked->samples, checked->adversarial, checked->max_error);
  else
    std::cout << printable("they differ: " + checked->difference) << "\n";
  return checked->passed ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_compare_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "compare", "compute two ONNX models on the same inputs and compare their outputs");
  auto arguments = std::make_shared<CompareArguments>();
  command->add_option("original", arguments->original, "ONNX file")->required();
  command->add_option("other", arguments->other, "ONNX file that should compute the same")
      ->required();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--samples", arguments->check.samples, "number of sets of random inputs")
      ->check(check_positive)
      ->capture_default_str();
  command
      ->add_option("--rtol", arguments->check.relative_tolerance,
                   "relative tolerance; otherwise by the original's types")
      ->check(check_non_negative)
      ->default_str("");
  command
      ->add_option("--atol", arguments->check.absolute_tolerance,
                   "absolute tolerance; otherwise by the original's types")
      ->check(check_non_negative)
      ->default_str("");
  command->add_option("--seed", arguments->check.seed, "seed of the random inputs")
      ->capture_default_str();
  command->add_option("--time-limit", arguments->time_limit_seconds, "seconds for the computations")
      ->check(check_positive)
      ->capture_default_str();
  command->add_option("--threads", arguments->check.threads, "0: all processors")
      ->check(check_non_negative);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_compare(*arguments); });
}

}  // namespace lemma
