#include "pipeline/optimize_model.h"

#include <malloc.h>

#include <array>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "base/deadline.h"
#include "check/check_inputs.h"
#include "check/runnable_inputs.h"
#include "frontend_onnx/copy.h"
#include "frontend_onnx/operator_set.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "pipeline/chosen_rules.h"
#include "pipeline/declared_sizes.h"
#include "pipeline/explained_constants.h"
#include "pipeline/file_growth.h"
#include "pipeline/optimized_bodies.h"
#include "pipeline/prepared_model.h"
#include "pipeline/result_check.h"
#include "pipeline/staged_model.h"
#include "pipeline/trace.h"
#include "search/numbers.h"

namespace lemma {

namespace {

constexpr double judging = 0.5;               // of the time for timing
constexpr double most_starting_seconds = 30;  // of a compiler
constexpr double most_learning_seconds = 6;
constexpr double learning = 0.2;  // of the time that is left
constexpr double most_trying_seconds = 3;
constexpr double trying = 0.1;  // of the time that is left

std::int64_t count_opaque(const Graph& graph) {
  std::int64_t count = 0;
  for (const NodeId id : graph.live_nodes())
    count += graph.node(id).kind == NodeKind::opaque ? 1 : 0;
  return count;
}

/// How long writing the model may take: its weights at the speed of a slow disk.
double writing_seconds(const Graph& graph) {
  double bytes = 0;
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::constant)
      bytes += static_cast<double>(graph.constant(node).bytes().size());
  return 0.05 + bytes / 400e6;
}

/// Adds the time it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

class Pipeline {
 public:
  /// `own_operator_set`: of the file. `worker`: null if ONNX Runtime is not wanted.
  Pipeline(const OnnxModel& model, int own_operator_set, std::filesystem::path file,
           std::filesystem::path output, const RuleDatabase& rules, const OperatorCosts& costs,
           const OptimizeOptions& options, const Deadline& deadline, OnnxRuntimeWorker* worker,
           BodyExplanations bodies)
      : model_(model),
        own_operator_set_(own_operator_set),
        file_(std::move(file)),
        output_(std::move(output)),
        rules_(rules),
        named_(rules),
        given_costs_(costs),
        costs_(costs),
        options_(options),
        worker_(worker),
        body_explanations_(std::move(bodies)),
        trace_(options.trace, costs_),
        writing_seconds_(writing_seconds(model.graph)),
        check_deadline_(deadline.earlier_by(writing_seconds_)) {}

  /// The steps, in order.
  Result<OptimizeReport> run() {
    if (const Target* target = options_.target)
      if (auto fits = target->admits(model_.graph, options_.threads); !fits)
        return with_context(file_.string(), std::move(fits.error()));
    trace_.add("read", model_.graph);
    report_.opaque_operators = count_opaque(model_.graph);
    report_.before = report_.after = cost_of(model_.graph, costs_);
    report_.check.second_judge = asks_second_judge(options_) ? "not asked" : "off";
    report_.timing.message =
        options_.timing.measures ? "there was nothing to compare" : "not wanted";
    try {
      LEMMA_RETURN_IF_ERROR(options_.searches ? improve() : write_original());
    } catch (const std::bad_alloc&) {
      LEMMA_RETURN_IF_ERROR(keep("the limit on memory leaves no room for the check"));
    }
    LEMMA_RETURN_IF_ERROR(trace_.outcome());
    if (learned_) report_.costs = learned_->report();
    return std::move(report_);
  }

 private:
  enum class Outcome { written, no_better, refused, too_large };

  Result<void> improve() {
    if (!options_.rules.names.empty() &&
        chosen_rules(rules_, options_, options_.rules.rounding_class).empty())
      return keep(fmt::format("no rule up to class {} has a name that contains '{}'",
                              name(options_.rules.rounding_class), options_.rules.names));
    LEMMA_RETURN_IF_ERROR(choose_timers());
    LEMMA_ASSIGN_OR_RETURN(sample_sizes_, symbol_sizes(model_.graph, options_.sample_shapes));
    const auto reference = compute_original();
    if (!reference) return keep(reference.error().message);
    LEMMA_ASSIGN_OR_RETURN(const bool runs, find_inputs(*reference));
    if (!runs) return keep(report_.timing.message);
    LEMMA_RETURN_IF_ERROR(prepare_costs());
    prepare_timing();
    LEMMA_ASSIGN_OR_RETURN(growth_, FileGrowth::of(file_, options_));
    keeps_small_ = options_.cleans || (options_.most_growth && timed_);
    std::vector<RoundingClass> classes = {options_.rules.rounding_class};
    if (classes.front() != RoundingClass::bitwise) classes.push_back(RoundingClass::bitwise);
    for (const RoundingClass one : classes) {
      LEMMA_ASSIGN_OR_RETURN(Outcome outcome, attempt(one, *reference));
      if (outcome == Outcome::too_large && !keeps_small_) {
        keeps_small_ = true;
        LEMMA_ASSIGN_OR_RETURN(outcome, attempt(one, *reference));
      }
      if (outcome == Outcome::written) return {};
      if (!impossible_.empty()) return keep(impossible_);
      if (outcome == Outcome::no_better || outcome == Outcome::too_large) break;
    }
    if (!report_.warning.empty()) {
      report_.status = OptimizeStatus::mismatch;
      report_.message = report_.warning;
      report_.after = report_.before;
      report_.search.rules_used.clear();
    }
    return write_original();
  }

  /// The original's results, and how long a check will take. An error says why no check is possible.
  Result<SampledReference> compute_original() {
    stage("computing the original");
    const double before = check_deadline_.remaining();
    // The result has to be computed too, which should not take longer.
    const Deadline first = check_deadline_.within(0.45 * before);
    auto reference = SampledReference::compute(model_.graph, comparison(first));
    const double taken = before - check_deadline_.remaining();
    report_.check.seconds += taken;
    check_seconds_ =
        1.3 * taken + second_judge_allowance(options_, report_.before.seconds, writing_seconds_);
    if (!reference)
      return bad_input(first.passed() ? "the time limit leaves no room for the check"
                                      : "the check is impossible: " + reference.error().message);
    return reference;
  }

  /// One search with rules up to a class, and what becomes of its result.
  Result<Outcome> attempt(RoundingClass worst, const SampledReference& reference) {
    auto found = search(worst);
    if (!found && found.error().kind != ErrorKind::internal)
      return tl::unexpected(std::move(found.error()));
    std::string objection;
    if (!found) {
      objection = found.error().message;
    } else {
      take_figures(*found);
      if (!found->note.empty()) {
        impossible_ = found->note;
        return Outcome::no_better;
      }
      if (!found->improved && !is_another_program()) {
        if (found->rounds + found->passes + found->graphs == 0)
          report_.message = "kept as it was: the time limit leaves no room for the search";
        else if (timed_)
          take_timing_of_candidates();
        if (checker::check_explanation(found->explanation, named_.table, named_.bitwise,
                                       {{}, true}))
          explanation_of_original_ = std::move(found->explanation);
        return Outcome::no_better;
      }
      malloc_trim(0);  // what the search has used is for the check
      LEMMA_ASSIGN_OR_RETURN(StagedModel staged, StagedModel::write({found->graph, model_.envelope},
                                                                    output_, options_.writing));
      if (options_.cleans) {
        LEMMA_ASSIGN_OR_RETURN(const OnnxModel read,
                               staged.read_back(found->graph, options_.reading));
        if (read.envelope.file_nodes() >= model_.envelope.file_nodes()) {
          report_.after = report_.before;
          report_.search.rules_used.clear();
          return Outcome::no_better;
        }
      }
      LEMMA_ASSIGN_OR_RETURN(const std::string too_large, growth_->objection_to(staged.file()));
      if (!too_large.empty()) {
        report_.message =
            "kept as it was: " + too_large + (options_.cleans ? "" : "; --max-growth allows more");
        report_.after = report_.before;
        report_.search.rules_used.clear();
        return Outcome::too_large;
      }
      report_.message.clear();
      objection = objection_of_check(*found, reference, staged);
      if (!impossible_.empty()) return Outcome::refused;
      if (objection.empty() && !is_faster(staged)) return Outcome::refused;
      if (objection.empty()) {
        report_.status = OptimizeStatus::optimized;
        LEMMA_RETURN_IF_ERROR(publish(staged, found->explanation));
        return Outcome::written;
      }
    }
    report_.warning =
        fmt::format("a result of rules up to {} was refused: {}", name(worst), objection);
    return Outcome::refused;
  }

  /// What runs operators and models: that of the target, else ONNX Runtime.
  Result<void> choose_timers() {
    if (const Target* target = options_.own_target()) {
      LEMMA_RETURN_IF_ERROR(programs_.emplace().require());
      const double seconds = std::min(most_starting_seconds, check_deadline_.remaining() / 4);
      LEMMA_ASSIGN_OR_RETURN(target_timers_,
                             target->timers({options_.threads, {}, programs_->path(), seconds}));
      operator_timer_ = target_timers_.operators.get();
      model_timer_ = target_timers_.models.get();
    } else if (worker_) {
      const int threads = options_.threads > 0
                              ? options_.threads
                              : static_cast<int>(std::thread::hardware_concurrency());
      operator_timer_ = &operators_in_runtime_.emplace(*worker_, threads);
      model_timer_ = &models_in_runtime_.emplace(*worker_);
    }
    return {};
  }

  // ---- Costs

  Result<void> prepare_costs() {
    LEMMA_ASSIGN_OR_RETURN(learned_,
                           LearnedCosts::open(options_.costs, operator_timer_, options_.threads,
                                              report_.before.parameter_bytes));
    costs_ = learned_->in_front_of(given_costs_);
    report_.before = report_.after = cost_of(model_.graph, costs_);
    learning_left_ = std::min(most_learning_seconds, learning * check_deadline_.remaining());
    const Graph* original = &model_.graph;
    learn({&original, 1});
    return {};
  }

  /// False: nothing new is known.
  bool learn(std::span<const Graph* const> graphs) {
    if (learning_left_ <= 0 || !learned_->can_learn()) return false;
    stage("measuring operators");
    const double before = learned_->seconds_spent();
    const std::size_t measured = learned_->learn(graphs, costs_, learning_left_);
    learning_left_ -= learned_->seconds_spent() - before;
    if (measured == 0) return false;
    costs_ = learned_->in_front_of(given_costs_);
    report_.before = report_.after = cost_of(model_.graph, costs_);
    return true;
  }

  /// Whether what was read is already not what the file runs.
  bool is_another_program() const {
    return model_.envelope.has_taken_branches() || model_.envelope.has_rewritten_bodies();
  }

  // ---- Timing

  /// Inputs for what is timed. False: nothing can be timed, though that is wanted and ONNX Runtime is there; the report
  /// says why.
  Result<bool> find_inputs(const SampledReference& reference) {
    const std::optional<TimingReport>& replay = options_.timing.replay;
    if (replay && replay->state == TimingReport::State::not_runnable) {
      report_.timing = *replay;
      return false;
    }
    if (worker_ == nullptr && model_timer_ == nullptr) return true;
    const auto inputs = reference.inputs_for_second_judge(1, comparison(check_deadline_));
    if (inputs.empty()) {
      report_.timing.message = "there are no inputs";
      return true;
    }
    inputs_ = inputs.front();
    if (worker_ == nullptr || options_.own_target() != nullptr) return true;
    stage("running the original in ONNX Runtime");
    RunnableInputs found = find_runnable_inputs(
        *worker_, model_.graph,
        {file_, inputs.front(), sample_sizes_, options_.check.seed, options_.threads,
         std::min(most_trying_seconds, trying * check_deadline_.remaining())});
    runs_ = !found.inputs.empty();
    if (runs_) inputs_ = std::move(found.inputs);
    // Without its other outputs a model may need fewer inputs than the file.
    if (runs_ || !found.answered || replay || !options_.timing.measures ||
        !options_.reading.outputs.empty())
      return true;
    report_.timing.state = TimingReport::State::not_runnable;
    report_.timing.message = fmt::format(
        "ONNX Runtime cannot run it, so that no result can be timed; --sample-shape says which "
        "sizes the inputs have, "
        "--no-measure writes results that are not timed ({})",
        found.failure);
    return false;
  }

  /// A third of the time that is left is for timing, less for a model so slow that few graphs can be run.
  void prepare_timing() {
    if (options_.timing.replay) {
      if (options_.timing.replay->state != TimingReport::State::predicted)
        replayed_.emplace(*options_.timing.replay);
      return;
    }
    if (!options_.timing.measures || model_timer_ == nullptr || inputs_.empty()) return;
    timing_seconds_ = (report_.before.seconds > 0.15 ? 0.25 : 0.33) * check_deadline_.remaining();
    const double kept = check_seconds_ + judging * timing_seconds_ + folding_seconds();
    timed_.emplace(*model_timer_, costs_,
                   TimingSetup{model_.envelope,
                               inputs_,
                               {},
                               options_.writing,
                               options_.threads,
                               check_deadline_.earlier_by(kept),
                               judging * timing_seconds_});
  }

  /// Where none of them was faster than the original.
  void take_timing_of_candidates() {
    report_.timing = timed_->report();
    if (report_.timing.choices.empty()) return;
    report_.message = fmt::format("none of {} cheaper graphs was faster when it was run",
                                  report_.timing.choices.front().size() - 1);
  }

  /// Whether the result may take the original's place; what says no is told.
  bool is_faster(const StagedModel& staged) {
    if (options_.timing.replay) {
      report_.timing = *options_.timing.replay;
      report_.timing.state = TimingReport::State::replayed;
    }
    if (timed_) {
      stage("timing");
      timed_->is_faster(file_, staged.file(), check_deadline_.remaining());
      report_.timing = timed_->report();
    }
    if (is_gain(report_.timing)) return true;
    if (report_.timing.state == TimingReport::State::too_late) {
      impossible_ = fmt::format("the result could not be run ({}); --time-limit gives more time",
                                report_.timing.message);
      return false;
    }
    if (report_.timing.state == TimingReport::State::not_runnable) {
      impossible_ = fmt::format("the result could not be timed ({})", report_.timing.message);
      return false;
    }
    impossible_ = fmt::format(
        "the best result takes {:.3f} times as long as the original (with 97.5% confidence at most "
        "{:.3f} times, {:.2f} asked)",
        report_.timing.ratio.median, report_.timing.ratio.upper_bound, 1 - TimedChoice::least_gain);
    return false;
  }

  Result<SearchResult> search(RoundingClass worst) {
    const std::vector<Substitution> wanted = chosen_rules(rules_, options_, worst);
    LEMMA_ASSIGN_OR_RETURN(const Graph searched, with_numbers_as_operators(model_.graph));
    return optimize(searched, wanted, costs_, search_options(worst));
  }

  /// Folding reads weights and writes others.
  double folding_seconds() const {
    return std::min(0.2 * check_deadline_.remaining(), 0.5 + 4 * writing_seconds_);
  }

  /// What the caller wants, within what is left of time and memory.
  SearchOptions search_options(RoundingClass worst) {
    SearchOptions options = options_.search;
    options.fold.threads = options_.threads;
    options.on_stage = [this](const std::string& what) { stage(what); };
    if (!options_.trace.empty())
      options.on_graph = [this](const std::string& step, const Graph& graph) {
        trace_.add(step, graph);
      };
    options.explain = true;
    options.cleans = options_.cleans;
    options.bitwise_rules = named_.bitwise;
    options.learn_costs = [this](std::span<const Graph* const> graphs) { return learn(graphs); };
    options.left_out = left_out_with(options_, worst);
    if (keeps_small_) limit_growth(options, growth_->allowed_bytes());
    if (timed_) options.evaluator = &*timed_;
    if (replayed_) options.evaluator = &*replayed_;
    const Deadline end = check_deadline_.earlier_by(check_seconds_ + timing_seconds_);
    // Each is written and read once more.
    double seconds_each = 3 * writing_seconds_;
    if (timed_ && options_.own_target() != nullptr)
      seconds_each += model_timer_->seconds_to_prepare(report_.before.operators);
    options.candidates =
        static_cast<std::size_t>(std::clamp(0.3 * timing_seconds_ / seconds_each, 1.0, 4.0));
    // The candidates are run before the best one is folded.
    options.fold.deadline =
        check_deadline_.earlier_by(check_seconds_ + 0.5 * judging * timing_seconds_).at();
    // The explanation is made after the search and replayed.
    options.time_limit_seconds = 0.8 * end.earlier_by(folding_seconds()).remaining();
    // Figures of e-graphs leave out what the process needs beside them.
    if (options_.available_bytes) options.memory_limit_bytes = options_.available_bytes() / 10 * 6;
    return options;
  }

  void take_figures(const SearchResult& found) {
    const double earlier = report_.search.seconds;
    report_.search = found;
    report_.search.seconds += earlier;
    report_.after = found.after;
  }

  /// Empty if the result may be written.
  std::string objection_of_check(const SearchResult& found, const SampledReference& reference,
                                 const StagedModel& staged) {
    const Stopwatch checking(report_.check.seconds);
    const ResultCheckRequest request{
        .original = model_,
        .file = file_,
        .options = options_,
        .rules = named_,
        .reference = reference,
        .sizes = sample_sizes_,
        .worker = worker_,
        .inputs = runs_ ? std::span<const interpreter::NamedTensor>(inputs_)
                        : std::span<const interpreter::NamedTensor>(),
        .opaque_operators = report_.opaque_operators,
        .original_seconds = report_.before.seconds,
        .writing_seconds = writing_seconds_,
        .deadline = check_deadline_,
        .second_judge_deadline = check_deadline_.earlier_by(judging * timing_seconds_)};
    ResultObjection objection = objection_to(found, staged, request, trace_, report_.check);
    impossible_ = std::move(objection.impossible);
    return std::move(objection.message);
  }

  SampledCheckOptions comparison(const Deadline& deadline) const {
    return check_options(options_, sample_sizes_, deadline);
  }

  Result<void> keep(const std::string& why) {
    report_.status = OptimizeStatus::unchanged;
    report_.message = "kept as it was: " + why;
    explanation_of_original_.clear();
    report_.after = report_.before;
    report_.search.rules_used.clear();
    return write_original();
  }

  /// Whether the original may be written as the file that it is: nothing else was asked for.
  bool is_copy_enough() const {
    return options_.searches && options_.reading.shapes.empty() &&
           options_.reading.outputs.empty() &&
           options_.writing.external_data == ExternalData::as_imported &&
           model_.envelope.operator_set() == own_operator_set_;
  }

  Result<void> write_original() {
    stage("writing");
    if (is_copy_enough()) {
      LEMMA_RETURN_IF_ERROR(copy_model(file_, output_, options_.before_publishing));
      return write_explanation(explanation_of_original_);
    }
    LEMMA_ASSIGN_OR_RETURN(StagedModel staged,
                           StagedModel::write(model_, output_, options_.writing));
    if (auto read = staged.read_back(model_.graph, options_.reading); !read)
      return with_context(output_.string() + ": it does not hold the model",
                          std::move(read.error()));
    return publish(staged, explanation_of_original_);
  }

  Result<void> publish(StagedModel& staged, const std::string& explanation) {
    LEMMA_RETURN_IF_ERROR(staged.publish(options_.before_publishing));
    return write_explanation(explanation, body_explanations_);
  }

  Result<void> write_explanation(const std::string& explanation,
                                 const BodyExplanations& bodies = {}) const {
    if (options_.explanation.empty()) return {};
    if (!explanation.empty())
      return write_file_atomically(options_.explanation,
                                   with_constants(explanation, model_.graph, named_) + bodies);
    // One that is there from before would speak of another model.
    remove_file(options_.explanation);
    return {};
  }

  void stage(const std::string& what) const {
    if (options_.on_stage) options_.on_stage(what);
  }

  const OnnxModel& model_;
  int own_operator_set_;
  std::filesystem::path file_, output_;
  const RuleDatabase& rules_;
  RuleNamesAndTexts named_;
  const OperatorCosts& given_costs_;
  OperatorCosts costs_;  // these, behind those that were measured
  const OptimizeOptions& options_;
  OnnxRuntimeWorker* worker_;
  BodyExplanations body_explanations_;
  Trace trace_;
  double writing_seconds_;
  Deadline check_deadline_;
  OptimizeReport report_;
  SampleSizes sample_sizes_;
  std::vector<interpreter::NamedTensor> inputs_;  // of models that are timed
  bool runs_ = false;                             // ONNX Runtime runs the original on them
  std::optional<OnnxRuntimeOperators> operators_in_runtime_;
  std::optional<OnnxRuntimeModels> models_in_runtime_;
  std::optional<TemporaryDirectory> programs_;  // of graphs that are timed on a target of its own
  TargetTimers target_timers_;
  OperatorTimer* operator_timer_ = nullptr;
  ModelTimer* model_timer_ = nullptr;
  std::optional<LearnedCosts> learned_;
  double learning_left_ = 0;  // seconds
  std::optional<FileGrowth> growth_;
  bool keeps_small_ = false;  // the search does, not only the check of its result
  std::optional<TimedChoice> timed_;
  std::optional<ReplayedChoice> replayed_;
  double timing_seconds_ = 0;            // kept back for it
  double check_seconds_ = 0;             // that the check of the result is expected to take
  std::string explanation_of_original_;  // where nothing better was found
  std::string impossible_;  // why the last result could not be checked; it did not fail
};

}  // namespace

std::string_view name(OptimizeStatus status) {
  constexpr std::array<std::string_view, 3> names = {"optimized", "unchanged", "mismatch"};
  return names[static_cast<std::size_t>(status)];
}

Result<OptimizeReport> optimize_model(const std::filesystem::path& model,
                                      const std::filesystem::path& output,
                                      const RuleDatabase& rules, const OperatorCosts& costs,
                                      const OptimizeOptions& given) {
  const Deadline deadline = Deadline::after(given.time_limit_seconds);
  if (given.on_stage) given.on_stage("reading");
  OptimizeOptions options = given;
  options.writing.permissions = model_permissions(model);
  // Importing ONNX Runtime takes a while, in which the model is read.
  std::optional<OnnxRuntimeWorker> runtime;
  if (options.searches && options.onnx_runtime && options.worker == nullptr)
    options.worker = &runtime.emplace(*options.onnx_runtime);
  OnnxRuntimeWorker* const worker = options.worker;
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read, import_model(model, options.reading));
  std::string note;
  if (const std::string objection =
          objection_to_sizes(worker, read, model, output, options, deadline);
      !objection.empty()) {
    note = fmt::format(
        "the sizes of --shape are those of the check alone: ONNX Runtime loads the model, but not "
        "with them ({})",
        objection);
    options = with_open_sizes(std::move(options));
    LEMMA_ASSIGN_OR_RETURN(read, import_model(model, options.reading));
  }
  BodyExplanations bodies;
  if (options.searches) {
    LEMMA_ASSIGN_OR_RETURN(
        read, prepared_model(std::move(read), model, rules, costs, options, deadline, bodies));
  }
  const int own_operator_set = read.envelope.operator_set();
  if (options.operator_set != 0) {
    auto other = for_operator_set(std::move(read), options.operator_set);
    if (!other) return with_context(model.string(), std::move(other.error()));
    read = std::move(*other);
  }
  if (options.cleans) {
    LEMMA_ASSIGN_OR_RETURN(read, with_initializers(std::move(read)));
  }
  LEMMA_ASSIGN_OR_RETURN(OptimizeReport report,
                         Pipeline(read, own_operator_set, model, output, rules, costs, options,
                                  deadline, worker, std::move(bodies))
                             .run());
  if (!note.empty()) report.message = note + (report.message.empty() ? "" : "; " + report.message);
  return report;
}

}  // namespace lemma
