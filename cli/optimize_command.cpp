#include "cli/commands.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "batch/batch_record.h"
#include "batch/child_process.h"
#include "batch/optimize_request.h"
#include "batch/replayed_report.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/standard_streams.h"
#include "cli/target_options.h"
#include "frontend_onnx/copy.h"
#include "operators/runtime_names.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "programs/shape_option.h"
#include "report/html_report.h"
#include "report/optimize_report.h"
#include "rule_language/rounding.h"
#include "system/parallel.h"
#include "system/program.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

/// How much is said on the way.
enum class Talk : std::uint8_t { quiet, normal, verbose };

struct OptimizeArguments {
  std::vector<std::string> models;
  std::string output, output_directory, report;
  std::string
      sent_to;  // a device, FIFO or descriptor, which `output` is sent to at the end; empty: none
  std::vector<std::string> given;  // the options, without the models
  TargetArguments target;
  std::string replay;
  bool runtime_operators = false;
  int jobs = 1;
  bool json = false;
  bool resumes = false;
  bool prints_table = true;
  Talk talk = Talk::normal;
  double model_time_limit = 0;
  std::string strategy = "auto";
  std::string rounding_class = "rounding";
  OptimizeRequest common;
};

/// The words of the command line as options of the library.
OptimizeOptions options_of(const OptimizeArguments& arguments) {
  OptimizeOptions options = arguments.common.options;
  options.searches = arguments.strategy != "none";
  if (options.searches) options.search.strategy = *strategy_named(arguments.strategy);
  options.rules.rounding_class = *rounding_class_named(arguments.rounding_class);
  if (arguments.runtime_operators) {
    options.search.runtime = operators::onnx_runtime;
    options.writing.runtime_operators = operators::onnx_runtime;
  }
  take_target(arguments.target, options);
  return options;
}

/// Where each model goes.
Result<std::vector<OptimizeRequest>> plan(const OptimizeArguments& arguments) {
  if (arguments.output.empty() == arguments.output_directory.empty())
    return bad_input("give either -o FILE or --out-dir DIR");
  if (arguments.resumes && arguments.output_directory.empty())
    return bad_input("--resume is for --out-dir");
  if (!arguments.output.empty() && arguments.models.size() > 1)
    return bad_input("-o takes one model; use --out-dir DIR for several");
  if (!arguments.common.options.explanation.empty() && arguments.models.size() > 1)
    return bad_input("--explain takes one model");
  if (!arguments.common.options.trace.empty() && arguments.models.size() > 1)
    return bad_input("--trace takes one model");
  if (!arguments.common.options.explanation.empty() &&
      arguments.common.options.explanation.extension() != ".explanation")
    return bad_input("the file after --explain must be named NAME.explanation");
  LEMMA_ASSIGN_OR_RETURN(const fs::path device, device_of(arguments.target));
  std::optional<ReplayedReport> replay;
  if (!arguments.replay.empty()) {
    LEMMA_ASSIGN_OR_RETURN(replay, ReplayedReport::read(arguments.replay));
  }
  const OptimizeOptions options = options_of(arguments);
  std::vector<OptimizeRequest> requests;
  for (const std::string& model : arguments.models) {
    OptimizeRequest request = arguments.common;
    request.model = model;
    request.options = options;
    request.takes_digests = !arguments.output_directory.empty();
    if (replay) LEMMA_RETURN_IF_ERROR(replay->take_measured(model, request.options));
    request.device_file = device.string();
    if (const Target* target = target_of(arguments.target)) request.target = target->name();
    if (request.rules_directory.empty())
      request.rules_directory = (data_directory() / "rules").string();
    request.output =
        arguments.output.empty()
            ? (fs::path(arguments.output_directory) / fs::path(model).filename()).string()
            : arguments.output;
    requests.push_back(std::move(request));
  }
  if (const Target* target = target_of(arguments.target))
    choose_program_directories(*target, requests);
  FilePlan files;
  files.reads(arguments.replay, "--replay");
  files.writes(arguments.report, "--report");
  files.writes(arguments.target.database, "--database");
  LEMMA_RETURN_IF_ERROR(check_files(std::move(files), requests, arguments.sent_to));
  return requests;
}

/// Hands on as it is what could not be optimized, so that no model is missing. What is no model at all is
/// not, nor what the caller did not wait for.
void hand_on(OptimizeAnswer& answer) {
  const bool is_bad =
      answer.status == "failed" && answer.error_kind == static_cast<int>(ErrorKind::bad_input);
  if (is_written(answer) || is_bad || answer.status == "interrupted") return;
  answer.copied = copy_model(answer.model, answer.output).has_value();
  if (answer.copied) answer.message += "; the model is written as it was";
}

std::string failure_line(const OptimizeAnswer& answer) {
  const std::string message = answer.message.starts_with(answer.model)
                                  ? answer.message
                                  : answer.model + ": " + answer.message;
  const std::string prefix =
      answer.status == "failed" ? "lemma: " : "lemma: " + answer.status + ": ";
  return printable(prefix + message);
}

/// What is said of a model that was written although a result was refused; empty if nothing is.
std::string warning_line(const OptimizeAnswer& answer) {
  if (answer.report.warning.empty()) return "";
  return printable(fmt::format("lemma: warning: {}: {}; {}", answer.model, answer.report.warning,
                               answer.status == "optimized"
                                   ? "the model is optimized with bitwise rules only"
                                   : "the model is written as it was"));
}

/// The code for all models together: what went wrong most seriously decides. With a single model
/// its own kind of failure is told.
ExitCode exit_code_of(const std::vector<OptimizeAnswer>& answers) {
  bool mismatch = false, failed = false;
  for (const OptimizeAnswer& answer : answers) {
    mismatch = mismatch || answer.status == "mismatch";
    failed = failed || !is_written(answer);
  }
  if (mismatch) return ExitCode::check_failed;
  if (!failed) return ExitCode::done;
  if (answers.size() > 1) return ExitCode::some_models_failed;
  if (answers.front().status != "failed")
    return answers.front().status == "crashed" ? ExitCode::internal_fault
                                               : ExitCode::some_models_failed;
  switch (static_cast<ErrorKind>(answers.front().error_kind)) {
    case ErrorKind::bad_input: return ExitCode::bad_input;
    case ErrorKind::unsupported: return ExitCode::some_models_failed;
    case ErrorKind::internal: return ExitCode::internal_fault;
  }
  return ExitCode::internal_fault;
}

/// Progress on standard error: a line for every model that ends, and on a terminal what runs now.
class Progress {
 public:
  Progress(std::size_t total, Talk talk)
      : total_(total), talk_(talk), terminal_(talk == Talk::normal && isatty(STDERR_FILENO) == 1) {}

  void stage(const std::string& model, const std::string& what) {
    if (talk_ == Talk::verbose)
      std::cerr << printable(fmt::format("[{:.1f} s] {}: {}", elapsed(), model, what)) << "\n";
    if (terminal_)
      std::cerr << printable(fmt::format("{} {}: {}", bar(), model, what)) << "\33[K\r"
                << std::flush;
  }
  /// A model that an earlier run has done, but not as it is to be now.
  void done_again(const std::string& model, const std::string& why) {
    if (talk_ != Talk::quiet)
      std::cerr << printable(fmt::format("lemma: {}: done again: {}", model, why)) << "\n";
  }
  /// A model that an earlier run has done.
  void skipped() { --total_; }
  void ended(const OptimizeAnswer& answer) {
    ++done_;
    if (terminal_) std::cerr << "\33[K";
    const std::string warning = warning_line(answer);
    if (!warning.empty()) std::cerr << warning << "\n";
    // Why nothing was done, or something else than what was asked, is no failure, but not to be hidden either.
    if ((answer.status == "unchanged" || answer.status == "optimized") && !answer.message.empty() &&
        talk_ != Talk::quiet)
      std::cerr << printable(fmt::format("lemma: {}: {}", answer.model, answer.message)) << "\n";
    if (answer.report.sizes_are_guessed && talk_ != Talk::quiet)
      std::cerr << printable(fmt::format("lemma: {}: timed at {}, because the model leaves sizes "
                                         "open; --sample-shape gives others",
                                         answer.model, answer.report.sizes))
                << "\n";
    if (!is_written(answer)) {
      std::cerr << failure_line(answer) << "\n";
    } else if (total_ > 1 && talk_ != Talk::quiet) {
      std::cerr << printable(fmt::format("[{}/{}] {}: {}, about {:.0f} s left", done_, total_,
                                         answer.model, answer.status, left()))
                << "\n";
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// How much of a batch is done, and how long the rest may take.
  std::string bar() const {
    constexpr std::size_t width = 20;
    if (total_ < 2) return fmt::format("[{:.0f} s]", elapsed());
    const std::size_t full = width * done_ / total_;
    return fmt::format("[{}{}] {}/{}, {}", std::string(full, '#'), std::string(width - full, '.'),
                       done_, total_,
                       done_ == 0 ? fmt::format("{:.0f} s", elapsed())
                                  : fmt::format("about {:.0f} s left", left()));
  }
  double left() const {
    return elapsed() / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::size_t total_, done_ = 0;
  Talk talk_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
};

/// A page for people if the file's name says so, else JSON.
Result<void> write_report(const OptimizeArguments& arguments, const OptimizeRequest& request,
                          const std::vector<OptimizeAnswer>& answers, const std::string& json) {
  if (fs::path(arguments.report).extension() != ".html")
    return write_file_atomically(arguments.report, json + "\n");
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase rules, load_rules(request.rules_directory));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request.device_file));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  ReportSources sources{rules, costs, {}};
  std::set<std::string> used;
  for (const OptimizeAnswer& answer : answers)
    for (const UsedRule& rule : answer.report.search.rules_used) used.insert(rule.name);
  // A folder of rules may be without the axioms; the page says less then.
  if (auto proofs = proofs_of(request.rules_directory, used)) sources.proofs = std::move(*proofs);
  sources.setup = setup_here(count_of_threads(request.options.threads), arguments.given);
  LEMMA_ASSIGN_OR_RETURN(sources.reading.shapes, parse_shape_options(request.shapes));
  return write_file_atomically(arguments.report, html_report(answers, sources));
}

ExitCode run_on_files(const OptimizeArguments& arguments) {
  auto requests = plan(arguments);
  if (!requests) {
    std::cerr << printable("lemma: " + requests.error().message) << "\n";
    return ExitCode::bad_input;
  }
  if (!arguments.output_directory.empty()) {
    std::error_code error;
    fs::create_directories(arguments.output_directory, error);
    if (error) {
      std::cerr << printable(fmt::format("lemma: {}: cannot be created: {}",
                                         arguments.output_directory, error.message()))
                << "\n";
      return ExitCode::bad_input;
    }
  }
  std::vector<OptimizeAnswer> answers(requests->size());
  Progress progress(requests->size(), arguments.talk);
  std::optional<BatchRecord> record;
  if (!arguments.output_directory.empty())
    record.emplace(arguments.output_directory, arguments.resumes);
  std::vector<ChildRequest> children;
  std::vector<std::size_t> asked;  // the models that children work on
  for (std::size_t i = 0; i < requests->size(); ++i) {
    const OptimizeRequest& request = (*requests)[i];
    std::string why_not;
    auto known = record ? record->answer_to(request, why_not) : std::nullopt;
    if (!why_not.empty()) progress.done_again(request.model, why_not);
    if (known) {
      answers[i] = std::move(*known);
      progress.skipped();
      continue;
    }
    asked.push_back(i);
    children.push_back({{"optimize-worker"}, to_json(request) + "\n", arguments.model_time_limit});
  }
  const TemporaryDirectory scratch;
  if (scratch.good()) setenv(scratch_variable, scratch.path().c_str(), 1);
  const bool complete = run_children(
      children, static_cast<std::size_t>(arguments.jobs),
      [&](std::size_t child, const std::string& line) {
        if (line.starts_with("stage "))
          progress.stage((*requests)[asked[child]].model, line.substr(6));
      },
      [&](std::size_t child, const ChildOutcome& outcome) {
        const OptimizeRequest& request = (*requests)[asked[child]];
        OptimizeAnswer& answer = answers[asked[child]];
        answer = answer_of(request, outcome);
        // A process that was killed has left what it had not finished.
        if (outcome.signal != 0) remove_abandoned(folder_of(request.output));
        hand_on(answer);
        if (record && is_written(answer)) record->add(request, answer);
        progress.ended(answer);
      });
  if (record && complete) record->finish(*requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].status.empty()) continue;
    answers[i].model = (*requests)[i].model;
    answers[i].status = "interrupted";
  }
  const std::string json = report_json(answers);
  if (!arguments.report.empty()) {
    auto written = write_report(arguments, requests->front(), answers, json);
    if (!written) {
      std::cerr << printable("lemma: " + written.error().message) << "\n";
      return ExitCode::bad_input;
    }
  }
  if (arguments.json)
    std::cout << json << "\n";
  else if (arguments.talk != Talk::quiet && arguments.prints_table)
    std::cout << (arguments.talk == Talk::verbose ? detailed_table(answers)
                                                  : summary_table(answers));
  std::cout.flush();
  return complete ? exit_code_of(answers) : ExitCode::some_models_failed;
}

/// Puts the weights into the model where there is no place for a data file.
void put_data_inside(OptimizeArguments& arguments) {
  ExternalData& data = arguments.common.options.writing.external_data;
  for (const std::string& model : arguments.models)
    if (data == ExternalData::as_imported && model_files(model).size() > 1)
      data = ExternalData::never;
}

/// "-" for a model is standard input, for its output standard output, where nothing else is printed then.
Result<ExitCode> run_on_streams(OptimizeArguments arguments) {
  StandardStreams streams;
  for (std::string& model : arguments.models)
    if (model == StandardStreams::word) {
      if (arguments.models.size() > 1) return bad_input("standard input holds one model");
      LEMMA_ASSIGN_OR_RETURN(model, streams.input());
    }
  if (arguments.output == StandardStreams::word)
    arguments.sent_to = StandardStreams::output_path;
  else if (is_stream(arguments.output))
    arguments.sent_to = arguments.output;
  const bool sends = !arguments.sent_to.empty();
  if (sends) {
    const auto target = output_target(arguments.sent_to);
    const bool is_standard_output = target && target->descriptor == STDOUT_FILENO;
    if (arguments.json && is_standard_output)
      return bad_input("-o - and --json both want standard output");
    const Target* model_target = target_of(arguments.target);
    if (model_target != nullptr && !model_target->program_beside(arguments.output).empty())
      return bad_input(
          fmt::format("-o {} leaves no place for a task program; give a file", arguments.output));
    put_data_inside(arguments);
    LEMMA_ASSIGN_OR_RETURN(arguments.output, streams.output());
    arguments.prints_table = arguments.prints_table && !is_standard_output;
  }
  const ExitCode code = run_on_files(arguments);
  if (sends) LEMMA_RETURN_IF_ERROR(streams.send(arguments.sent_to));
  return code;
}

ExitCode run_optimize(const OptimizeArguments& arguments) {
  const auto code = run_on_streams(arguments);
  return code ? *code : report_error(code.error());
}

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

}  // namespace

namespace {

void add_max_growth(CLI::App& command, OptimizeOptions& options) {
  command
      .add_option_function<double>(
          "--max-growth", [&options](double percent) { options.most_growth = percent / 100; },
          "percent by which a result's file may be larger than the original's; otherwise 4 KiB, "
          "and any size if the result was run and was faster")
      ->check(check_non_negative);
}

}  // namespace

namespace {

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
  command->add_flag("--runtime-operators", arguments->runtime_operators,
                    "the written model may have operators of ONNX Runtime's own (domain "
                    "com.microsoft); other runtimes will not read it");
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
      ->add_option("--rules", common.rules_directory,
                   "folder of proved rules, as `rules build` makes it; otherwise those of Lemma")
      ->check(CLI::ExistingDirectory);
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
      ->transform(CLI::AsSizeValue(false));
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
