#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "check/compare_files.h"
#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/number_check.h"
#include "programs/shape_option.h"
#include "report/comparison_report.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

struct CompareArguments {
  std::string original, other;
  std::vector<std::string> shapes;
  double time_limit_seconds = 60;
  bool json = false;
  SampledCheckOptions check;
};

/// ONNX Runtime, started when it is asked for.
class LateRuntime {
 public:
  OnnxRuntimeWorker* get() {
    if (!worker_) worker_.emplace(OnnxRuntimeProgram{python_program(), script()});
    return worker_->version(seconds_to_start) ? &*worker_ : nullptr;
  }

 private:
  static constexpr double seconds_to_start = 30;
  static std::filesystem::path script() { return data_directory() / "onnxruntime_worker.py"; }
  std::optional<OnnxRuntimeWorker> worker_;
};

Result<FileComparison> compare(const CompareArguments& arguments) {
  LateRuntime runtime;
  FileComparisonRequest request = {arguments.original,
                                   arguments.other,
                                   {},
                                   arguments.check,
                                   Deadline::after(arguments.time_limit_seconds),
                                   [&runtime] { return runtime.get(); }};
  LEMMA_ASSIGN_OR_RETURN(request.reading.shapes, parse_shape_options(arguments.shapes));
  return compare_files(request);
}

std::string agreement_text(const FileComparison& comparison) {
  const SampledCheck& check = comparison.check;
  switch (comparison.way) {
    case ComparedBy::structure: return "no difference: both are the same program, node by node";
    case ComparedBy::running:
      return fmt::format("no difference on {} sets of inputs, run whole; largest error {:.1e}",
                         check.samples, check.max_error);
    case ComparedBy::onnx_runtime:
      return fmt::format("no difference on {} sets of inputs in ONNX Runtime; largest error {:.1e}",
                         check.samples, check.max_error);
    case ComparedBy::interface:
    case ComparedBy::computing:
    case ComparedBy::parts: break;
  }
  return fmt::format(
      "no difference on {} random and {} adversarial sets of inputs; largest error {:.1e}",
      check.samples, check.adversarial, check.max_error);
}

ExitCode run_compare(const CompareArguments& arguments) {
  const auto comparison = compare(arguments);
  if (!comparison) return report_error(comparison.error());
  const SampledCheck& check = comparison->check;
  if (arguments.json)
    std::cout << comparison_json(*comparison)
                     .dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
  else if (check.passed)
    std::cout << agreement_text(*comparison) << "\n";
  else
    std::cout << printable("they differ: " + check.difference) << "\n";
  return check.passed ? ExitCode::done : ExitCode::check_failed;
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
      ->check(check_threads);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_compare(*arguments); });
}

}  // namespace lemma
