#include "cli/optimize_run.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "ir/operator.h"
#include "ir/runtime_layout.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "programs/shape_option.h"
#include "report/html_report.h"
#include "report/optimize_report.h"
#include "rule_language/rounding.h"
#include "system/parallel.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

/// The words of the command line as options of the library.
OptimizeOptions options_of(const OptimizeArguments& arguments) {
  OptimizeOptions options = arguments.common.options;
  options.searches = arguments.strategy != "none";
  if (options.searches) options.search.strategy = *strategy_named(arguments.strategy);
  options.rules.rounding_class = *rounding_class_named(arguments.rounding_class);
  if (!arguments.runtime.empty()) {
    options.search.runtime = arguments.runtime;
    options.writing.runtime_operators = arguments.runtime;
  }
  take_target(arguments.target, options);
  return options;
}

/// An error if no operator is of this runtime.
Result<void> check_runtime(const std::string& runtime) {
  std::set<std::string_view> known;
  for (const OperatorRecord& op : all_operators())
    if (!op.runtime.empty() && !is_of_layout(op)) known.insert(op.runtime);
  if (runtime.empty() || known.contains(runtime)) return {};
  return bad_input(fmt::format("--runtime: no operator is of '{}'; there are operators of {}",
                               runtime, fmt::join(known, ", ")));
}

/// Where each model goes.
Result<std::vector<OptimizeRequest>> plan(const OptimizeArguments& arguments) {
  if (arguments.output.empty() == arguments.output_directory.empty())
    return bad_input("give either -o FILE or --out-dir DIR");
  LEMMA_RETURN_IF_ERROR(check_runtime(arguments.runtime));
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
    if (request.rules_directories.empty()) request.rules_directories.emplace_back(shipped_rules);
    for (std::string& folder : request.rules_directories) folder = rules_folder(folder).string();
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
  bool mismatch = false, failed = false, unproved = false;
  for (const OptimizeAnswer& answer : answers) {
    mismatch = mismatch || answer.status == "mismatch";
    failed = failed || !is_written(answer);
    unproved = unproved || !answer.report.search.unproved.empty();
  }
  if (mismatch) return ExitCode::check_failed;
  if (!failed) return unproved ? ExitCode::unproved : ExitCode::done;
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
    if (const auto& rules = answer.report.search.unproved; !rules.empty())
      std::cerr << printable(fmt::format("lemma: warning: {}: the result equals the model only if "
                                         "these rules are true, which have no proof: {}",
                                         answer.model, fmt::join(rules, ", ")))
                << "\n";
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
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase rules, requested_rules(request));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request.device_file));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  ReportSources sources{rules, costs, {}};
  std::set<std::string> used;
  for (const OptimizeAnswer& answer : answers)
    for (const UsedRule& rule : answer.report.search.rules_used) used.insert(rule.name);
  // A folder of rules may be without the axioms; the page says less then.
  for (const std::string& folder : request.rules_directories)
    if (auto proofs = proofs_of(folder, used)) sources.proofs.merge(*proofs);
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

}  // namespace

ExitCode run_optimize(const OptimizeArguments& arguments) {
  const auto code = run_on_streams(arguments);
  return code ? *code : report_error(code.error());
}

}  // namespace lemma
