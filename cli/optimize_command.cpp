#include "cli/optimize_run.h"

#include <unistd.h>

#include <regex>

#include "batch/optimize_request.h"
#include "batch/replayed_report.h"
#include "cli/number_check.h"
#include "cli/target_options.h"
#include "frontend_onnx/copy.h"
#include "operators/runtime_names.h"
#include "programs/shape_option.h"
#include "report/html_report.h"
#include "report/optimize_report.h"
#include "rule_language/rounding.h"
#include "system/parallel.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

void add_common_options(CLI::App& command, OptimizeArguments& arguments) {
  auto* quiet = command.add_flag_callback(
      "-q,--quiet", [&arguments] { arguments.talk = Talk::quiet; },
      "print what fails and warnings only, and no table");
  command
      .add_flag_callback(
          "-v,--verbose", [&arguments] { arguments.talk = Talk::verbose; },
          "print every step as it begins, and a table with all figures")
      ->excludes(quiet);
  command
      .add_option("--keep-output", arguments.common.outputs,
                  "keep this output, and of the others only those that are named so too (may be "
                  "repeated)")
      ->allow_extra_args(false);
  command
      .add_option("--target-opset", arguments.common.options.operator_set,
                  "version of the standard operators that the result is written for")
      ->check(CLI::Range(oldest_operator_set, newest_operator_set));
  command.add_flag("--fix-defaults", arguments.common.fixes_defaults,
                   "make constants of inputs that have a default value (an initializer), so that "
                   "they are no inputs of the result; a runtime cannot prepare weights that a "
                   "caller may replace");
  command.add_option("--sample-shape", arguments.common.sample_shapes,
                     "sizes of an input on which the result is checked, NAME:1,3,224,224 or "
                     "NAME:1x3x224x224; the model keeps its own (may be repeated)");
}

void add_rounding_class(CLI::App& command, OptimizeArguments& arguments) {
  command
      .add_option("--rounding-class", arguments.rounding_class,
                  "which rules may be used, by their effect on floating-point results: bitwise "
                  "(no bit, for any input), reassociation, distributive or rounding (rounding "
                  "errors only, where nothing overflows)")
      ->check([](const std::string& word) {
        return rounding_class_named(word) ? std::string() : unknown_rounding_class(word);
      })
      ->capture_default_str();
}

void add_max_growth(CLI::App& command, OptimizeOptions& options) {
  command
      .add_option_function<double>(
          "--max-growth", [&options](double percent) { options.most_growth = percent / 100; },
          "percent by which a result's file may be larger than the original's; otherwise 4 KiB, "
          "and any size if the result was run and was faster")
      ->check(check_non_negative);
}

/// The options that were given, each with its values, without the models.
std::vector<std::string> given_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    given.push_back("--" + option->get_lnames().front());
    if (option->get_items_expected_min() == 0) continue;  // a flag
    for (const std::string& value : option->results()) given.back() += " " + value;
  }
  return given;
}

}  // namespace

void add_optimize_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("optimize", "make ONNX models cheaper to run");
  auto arguments = std::make_shared<OptimizeArguments>();
  OptimizeRequest& common = arguments->common;
  OptimizeOptions& options = common.options;
  command->add_option("models", arguments->models, "ONNX files; - is standard input")->required();
  command->add_option("-o,--output", arguments->output,
                      "file to write (one model); - is standard output");
  command->add_option("--out-dir", arguments->output_directory,
                      "folder to write to, under the models' own names");
  command->add_flag(
      "--resume", arguments->resumes,
      "go on with runs that were ended: what they wrote to --out-dir is left as it is where the "
      "model, the rules, the options, the device, the program and the written file are the same");
  add_target_options(*command, arguments->target);
  auto* own = command->add_flag_callback(
      "--runtime-operators",
      [arguments] { arguments->runtime = std::string(operators::onnx_runtime); },
      "the written model may have operators of ONNX Runtime's own (domain com.microsoft); other "
      "runtimes will not read it");
  command
      ->add_option("--runtime", arguments->runtime,
                   "the same for the operators of a runtime that a library of --operators names")
      ->excludes(own);
  command
      ->add_option("--replay", arguments->replay,
                   "repeat the measured choices of a JSON report of the same models and options, "
                   "which gives the same bytes")
      ->check(CLI::ExistingFile);
  command
      ->add_option(
          "--strategy", arguments->strategy,
          "how to search: saturation (of the whole graph), backtracking (graph by graph, as "
          "TASO does), combined (saturation of parts), auto (saturation, and then combined "
          "where its limits were met), or none: only read and write")
      ->check(CLI::IsMember({"auto", "saturation", "backtracking", "combined", "none"}))
      ->capture_default_str();
  add_rounding_class(*command, *arguments);
  command
      ->add_option("--rules", common.rules_directories,
                   "folder of proved rules, as `rules build` makes it, or shipped; otherwise those "
                   "of Lemma (may be repeated)")
      ->check(check_rules_folder)
      ->allow_extra_args(false);
  command
      ->add_option("--unproved", common.unproved,
                   "file of rules that are used without proof; a result that uses one is written, "
                   "the rule is named, and the exit code is 7 (may be repeated)")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  command
      ->add_option("--only-rules", options.rules.names,
                   "use only rules whose name contains this regular expression")
      ->check([](const std::string& expression) {
        try {
          (void)std::regex(expression);
        } catch (const std::regex_error&) {
          return "'" + expression + "' is no regular expression";
        }
        return std::string();
      });
  command
      ->add_option(
          "--target-values", options.search.target_values,
          "values that rules with 'free k : target' are tried with, such as 2,4; otherwise those "
          "of the device's description")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command->add_flag(
      "--partial-rules", options.search.takes_partial,
      "also use the rules of partial equivalence, such as images put beside each other; "
      "otherwise only where the device's description says 'partial_rules'");
  command->add_option("--shape", common.shapes,
                      "fix an input's sizes, NAME:1,3,224,224; a name keeps "
                      "a size dynamic, NAME:batch,3,224,224 (may be repeated)");
  command
      ->add_option(
          "--time-limit", options.time_limit_seconds,
          "seconds for each model, from reading to writing; then the best graph found so far is "
          "written")
      ->check(check_positive)
      ->capture_default_str();
  command
      ->add_option(
          "--memory-limit", common.memory_limit_bytes,
          "most memory for each model, such as 1G or 500M; then the best graph found so far is "
          "written")
      ->transform(CLI::AsSizeValue(false))
      ->check(check_bytes);
  command
      ->add_option("--alpha", options.search.alpha,
                   "backtracking goes on with graphs that cost less than this times the best")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--budget", options.search.budget, "number of graphs that backtracking expands")
      ->check(check_positive)
      ->capture_default_str();
  command
      ->add_option("--model-time-limit", arguments->model_time_limit,
                   "seconds after which a model is given up; 0: never")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      ->add_option("--node-limit", options.search.node_limit,
                   "nodes of the e-graph; 0: by the number of operators")
      ->check(check_non_negative);
  command
      ->add_option("--exact-extraction", options.search.exact_extraction_seconds,
                   "time for exact extraction in seconds: finds a cheaper graph in the e-graph, or "
                   "proves that there "
                   "is none")
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "models at a time")
      ->check(check_processes)
      ->capture_default_str();
  command->add_option("--threads", options.threads, "threads for each model; 0: all processors")
      ->check(check_threads);
  command
      ->add_option("--samples", options.check.samples,
                   "number of random inputs on which the result is compared with the original "
                   "before writing")
      ->check(check_positive)
      ->capture_default_str();
  command
      ->add_option("--rtol", options.check.relative_tolerance,
                   "relative tolerance of the check; otherwise by the model's types")
      ->check(check_non_negative)
      ->default_str("");
  command
      ->add_option("--atol", options.check.absolute_tolerance,
                   "absolute tolerance of the check; otherwise by the model's types")
      ->check(check_non_negative)
      ->default_str("");
  command->add_flag("!--no-second-judge", options.second_judge,
                    "do not compare with ONNX Runtime, where Python has it, before writing");
  command->add_option("--seed", options.check.seed, "seed of the random inputs")
      ->capture_default_str();
  command->add_flag_callback(
      "--external-data", [&options] { options.writing.external_data = ExternalData::always; },
      "write weights to a file of their own");
  add_max_growth(*command, options);
  command->add_flag(
      "--keep-original", options.keeps_original,
      "where nothing faster is found, write the original's bytes, not a graph that is "
      "only simpler");
  command->add_option("--trace", options.trace,
                      "write the graph after each step to this folder, as text (one model)");
  command->add_option("--explain", options.explanation,
                      "write why the result is equal to this file, NAME.explanation (one model); "
                      "lemma-check replays it");
  add_common_options(*command, *arguments);
  command->add_option("--report", arguments->report,
                      "write a report to this file: a page if it ends in .html, else JSON");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->callback([arguments, command, &exit_code] {
    arguments->given = given_options(*command);
    exit_code = run_optimize(*arguments);
  });
}

void add_simplify_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "simplify",
      "make ONNX models smaller: constants, identities and duplicates go; every bit stays unless "
      "--rounding-class allows more");
  auto arguments = std::make_shared<OptimizeArguments>();
  arguments->strategy = name(Strategy::saturation);
  arguments->rounding_class = name(RoundingClass::bitwise);
  arguments->target.measures = false;
  arguments->target.costs = "analytic";
  // Nothing is timed.
  if (const Target* target = target_of(arguments->target);
      target != nullptr && !target->is_onnx_runtime())
    arguments->target.target = "cpu";
  OptimizeOptions& options = arguments->common.options;
  options.cleans = true;
  command->add_option("models", arguments->models, "ONNX files; - is standard input")->required();
  command->add_option("-o,--output", arguments->output,
                      "file to write (one model); - is standard output");
  command->add_option("--out-dir", arguments->output_directory, "folder to write to");
  command->add_option("--shape", arguments->common.shapes,
                      "fix an input's sizes, NAME:1,3,224,224");
  add_rounding_class(*command, *arguments);
  command->add_option("--time-limit", options.time_limit_seconds, "seconds for each model")
      ->check(check_positive)
      ->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "models at a time")
      ->check(check_processes)
      ->capture_default_str();
  add_max_growth(*command, options);
  command->add_flag("!--no-second-judge", options.second_judge, "do not compare with ONNX Runtime");
  add_common_options(*command, *arguments);
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->callback([arguments, &exit_code] { exit_code = run_optimize(*arguments); });
}

}  // namespace lemma
