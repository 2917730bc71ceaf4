#include <unistd.h>

#include <chrono>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/tune/tune_operator.h"
#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "engines/model_profiler.h"
#include "engines/tuned_operators.h"
#include "outputs/scratch.h"
#include "report/table.h"
#include "system/clock.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct TuneArguments {
  std::vector<std::string> models, shapes;
  OperatorText given;
  std::string database = default_profile_file().string();
  int threads = 0;
  double seconds = 60, time_limit = 0;
  std::int64_t size = 16, most = 0;
  bool json = false, only_checks = false;
};

struct Tuned {
  std::string name;
  backend::TuneOutcome outcome;
  std::string failure;  // or empty
};

/// What is done now, on standard error: on a terminal the last line, else a line for each operator.
class TuningProgress {
 public:
  TuningProgress(std::size_t operators, const TuneArguments& arguments)
      : operators_(operators), arguments_(arguments), on_terminal_(isatty(STDERR_FILENO) == 1) {}
  ~TuningProgress() {
    if (on_terminal_) std::cerr << "\33[K" << std::flush;
  }
  TuningProgress(const TuningProgress&) = delete;
  TuningProgress& operator=(const TuningProgress&) = delete;

  void begin(std::size_t number, const std::string& name) {
    number_ = number;
    name_ = name;
    if (!on_terminal_) print("begins", "\n");
  }
  void show(const backend::TuneProgress& progress) const {
    if (!on_terminal_) return;
    print(fmt::format("{:.0f} s, {} timed, best {:.2f}x {}", progress.seconds, progress.timed,
                      1 / progress.best, progress.schedules),
          "\33[K\r");
  }
  void end(const std::string& what) const { print(what, on_terminal_ ? "\33[K\n" : "\n"); }

 private:
  /// At most as long as the operators that are left may take.
  double seconds_left() const {
    const double taken = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double most = static_cast<double>(operators_ - number_) * arguments_.seconds;
    return arguments_.time_limit > 0 ? std::max(0.0, std::min(most, arguments_.time_limit - taken))
                                     : most;
  }
  void print(const std::string& what, std::string_view end) const {
    std::cerr << printable(fmt::format("[{} of {}, at most {:.0f} s left] {}: {}", number_ + 1,
                                       operators_, seconds_left(), name_, what))
              << end << std::flush;
  }

  std::size_t operators_, number_ = 0;
  const TuneArguments& arguments_;
  bool on_terminal_;
  std::string name_;
  Clock::time_point begin_ = Clock::now();
};

Result<std::vector<TunedOperator>> operators_of(const TuneArguments& arguments) {
  std::vector<TunedOperator> all;
  std::set<std::string> names;
  if (!arguments.given.op.empty()) {
    LEMMA_ASSIGN_OR_RETURN(TunedOperator tuned, tuned_operator(arguments.given));
    names.insert(tuned.name);
    all.push_back(std::move(tuned));
  }
  for (const std::string& model : arguments.models) {
    auto operators = tuned_operators(model, arguments.shapes, arguments.size);
    if (!operators) return with_context(model, std::move(operators.error()));
    for (TunedOperator& tuned : *operators)
      if (names.insert(tuned.name).second) all.push_back(std::move(tuned));
  }
  if (arguments.most > 0 && all.size() > static_cast<std::size_t>(arguments.most))
    all.erase(all.begin() + arguments.most, all.end());
  return all;
}

std::string gain_text(const backend::TuneOutcome& outcome) {
  if (!outcome.is_recorded) return outcome.note.empty() ? "-" : outcome.note;
  return fmt::format("{:.2f}x", outcome.seconds_before / outcome.seconds);
}

Json json_of(const Tuned& tuned) {
  const backend::TuneOutcome& outcome = tuned.outcome;
  Json schedules = Json::array();
  for (const backend::TunedComputation& computation : outcome.schedules)
    schedules.push_back({{"key", computation.key},
                         {"computation", computation.description},
                         {"schedule", computation.schedule}});
  return {{"operator", tuned.name},
          {"recorded", outcome.is_recorded},
          {"complete", outcome.is_complete},
          {"seconds_before", outcome.seconds_before},
          {"seconds", outcome.seconds},
          {"planned", outcome.planned},
          {"timed", outcome.timed},
          {"known", outcome.known},
          {"schedules", std::move(schedules)},
          {"note", tuned.failure.empty() ? outcome.note : tuned.failure}};
}

void print_result(const TuneArguments& arguments, const std::vector<Tuned>& all) {
  if (arguments.json) {
    Json operators = Json::array();
    for (const Tuned& tuned : all) operators.push_back(json_of(tuned));
    std::cout << Json{{"database", arguments.database}, {"operators", std::move(operators)}}.dump(
                     -1, ' ', true, Json::error_handler_t::replace)
              << std::endl;
    return;
  }
  using enum Table::Align;
  Table table({"operator", "before, us", "after, us", "gain", "timed", "schedule"},
              {left, right, right, left, right, left});
  for (const Tuned& tuned : all) {
    std::string schedules;
    for (const backend::TunedComputation& computation : tuned.outcome.schedules)
      schedules += (schedules.empty() ? "" : "; ") + computation.schedule;
    table.add({tuned.name, fmt::format("{:.1f}", 1e6 * tuned.outcome.seconds_before),
               fmt::format("{:.1f}", 1e6 * tuned.outcome.seconds),
               tuned.failure.empty() ? gain_text(tuned.outcome) : tuned.failure,
               fmt::format("{}", tuned.outcome.timed + tuned.outcome.known), schedules});
  }
  std::cout << table.text() << std::flush;
}

Result<ExitCode> tune_all(const TuneArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TunedOperator> operators, operators_of(arguments));
  const TemporaryDirectory scratch;
  LEMMA_RETURN_IF_ERROR(scratch.require());
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(scratch.path()));
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database, ProfileDatabase::open(arguments.database));
  stop_at_signals();
  const auto begin = Clock::now();
  TuningProgress progress(operators.size(), arguments);
  backend::TuneOptions options;
  options.threads = arguments.threads;
  options.seconds = arguments.seconds;
  options.only_checks = arguments.only_checks;
  options.date = today();
  options.is_over = [&] {
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    return is_stop_requested() || (arguments.time_limit > 0 && taken > arguments.time_limit);
  };
  options.on_progress = [&](const backend::TuneProgress& now) { progress.show(now); };
  std::vector<Tuned> all;
  bool failed = false;
  for (std::size_t i = 0; i < operators.size() && !options.is_over(); ++i) {
    Tuned& tuned = all.emplace_back();
    tuned.name = operators[i].name;
    progress.begin(i, tuned.name);
    auto outcome = tune_operator(operators[i].single, tuned.name, builder, database, options);
    failed = failed || !outcome;
    if (outcome)
      tuned.outcome = std::move(*outcome);
    else
      tuned.failure = outcome.error().message;
    progress.end(tuned.failure.empty() ? gain_text(tuned.outcome) : tuned.failure);
  }
  print_result(arguments, all);
  if (is_stop_requested()) std::cerr << "lemma: interrupted; what was timed is kept\n";
  return failed || is_stop_requested() ? ExitCode::some_models_failed : ExitCode::done;
}

Result<ExitCode> work(const TuneArguments& arguments) {
  if (arguments.models.empty() == arguments.given.op.empty())
    return bad_input("give models to tune, or one operator: --operator NAME --operand TYPE...");
  if (arguments.database.empty())
    return bad_input(
        "there is no home folder for the database of what is measured; give --database or set "
        "LEMMA_PROFILE");
  FilePlan plan;
  for (const std::string& model : arguments.models) read_model(plan, model);
  plan.writes(arguments.database, "--database");
  LEMMA_RETURN_IF_ERROR(plan.check());
  return tune_all(arguments);
}

}  // namespace

void add_tune_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "tune", "search faster loop schedules for operators of task programs, by timing them here");
  auto arguments = std::make_shared<TuneArguments>();
  command->add_option("models", arguments->models,
                      "ONNX files: each of their operators is tuned, those that take most first");
  auto* op = command->add_option("--operator", arguments->given.op,
                                 "tune one application of this operator, in place of a model's");
  command
      ->add_option("--operand", arguments->given.operands,
                   "the type of the operator's next operand, 'f32[37, 129]', 'constant f32[129, "
                   "65]' for weights, or '-' for an absent one (may be repeated)")
      ->needs(op);
  command
      ->add_option("--attribute", arguments->given.attributes,
                   "an attribute of the operator, 'strides=[2, 2]' (may be repeated)")
      ->needs(op);
  command
      ->add_option("--database", arguments->database,
                   "the file that keeps what is measured; the default can be set by $LEMMA_PROFILE")
      ->capture_default_str();
  command
      ->add_option("--threads", arguments->threads,
                   "threads that run the program, at most; schedules are for programs of as many "
                   "(0: as many as there are processors here)")
      ->check(check_threads);
  command
      ->add_option("--seconds", arguments->seconds,
                   "seconds for each operator, after which nothing new is timed")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "seconds for all operators, after which the search ends (0: none)")
      ->check(check_non_negative);
  command
      ->add_option("--most-operators", arguments->most, "tune so many operators at most (0: all)")
      ->check(check_non_negative);
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--size", arguments->size, "what a dynamic size is taken for")
      ->check(check_positive)
      ->capture_default_str();
  command->add_flag("--recheck", arguments->only_checks,
                    "search nothing: time what is recorded again beside programs without it, and "
                    "remove what is not faster any more");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->callback([arguments, &exit_code] {
    const auto code = work(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
