#include "pipeline/optimize_model.h"

#include <array>
#include <new>

#include <fmt/format.h>

#include "check/check_inputs.h"
#include "check/read_back.h"
#include "frontend_onnx/bodies.h"
#include "frontend_onnx/copy.h"
#include "outputs/files.h"
#include "pipeline/attempt.h"
#include "pipeline/chosen_rules.h"
#include "pipeline/chosen_timers.h"
#include "pipeline/explained_constants.h"
#include "pipeline/prepared_model.h"

namespace lemma {

namespace {

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

// ---- Writing ----------------------------------------------------------------------------------

Result<void> write_explanation(const Job& job, const std::string& explanation,
                               const BodyExplanations& bodies) {
  if (job.options.explanation.empty()) return {};
  if (!explanation.empty())
    return write_file_atomically(
        job.options.explanation,
        with_constants(explanation, job.model.graph, job.replayed) + bodies);
  // One that is there from before would speak of another model.
  remove_file(job.options.explanation);
  return {};
}

/// Whether the original may be written as the file that it is: nothing else was asked for.
bool is_copy_enough(const Job& job) {
  return job.options.searches && job.options.reading.shapes.empty() &&
         job.options.reading.outputs.empty() && !job.options.reading.fix_overridable_initializers &&
         job.options.writing.external_data == ExternalData::as_imported &&
         job.model.envelope.operator_set() == job.own_operator_set;
}

/// `explanation`: that a search ended with the original; empty: there is none.
Result<void> write_original(const Job& job, const std::string& explanation,
                            const BodyExplanations& bodies) {
  job.stage("writing");
  LEMMA_RETURN_IF_ERROR(job.go_on());
  if (is_copy_enough(job)) {
    LEMMA_RETURN_IF_ERROR(copy_model(job.file, job.output, job.options.before_publishing));
    return write_explanation(job, explanation, {});
  }
  LEMMA_ASSIGN_OR_RETURN(StagedModel staged,
                         StagedModel::write(job.model, job.output, job.options.writing));
  if (auto read = read_back(staged.file(), job.model.graph, staged.exported().opaque_outputs,
                            job.options.reading);
      !read)
    return with_context(job.output.string() + ": it does not hold the model",
                        std::move(read.error()));
  LEMMA_RETURN_IF_ERROR(job.go_on());
  LEMMA_RETURN_IF_ERROR(staged.publish(job.options.before_publishing));
  return write_explanation(job, explanation, bodies);
}

// ---- Improving --------------------------------------------------------------------------------

/// What becomes of a model.
struct Improvement {
  std::optional<Attempt> last;  // of the attempts; nothing: there was none
  std::string kept;             // why the original is kept without a further attempt
  std::string warning;          // of the last result that was refused
  std::string too_large;        // a result that is not written for its size
  bool is_simplified = false;   // the last one is only simpler than the original
  bool is_computed = true;      // the interpreter had the time to compute the original
  double search_seconds = 0, check_seconds = 0;
  TimingReport timing;
  std::string sizes;  // of the inputs on which models were run
};

/// Attempts to optimize with rules of the wanted class, then without one of those that made a refused result, then with
/// those that keep every bit, until a result passes or none is better.
Result<void> attempt_classes(const AttemptSetup& setup, bool keeps_small,
                             Improvement& improvement) {
  const RoundingClass wanted = setup.job.options.rules.rounding_class;
  std::vector<RoundingClass> classes = {wanted};
  if (wanted != RoundingClass::bitwise) classes.push_back(RoundingClass::bitwise);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Attempt tried, attempt(setup, classes[i], keeps_small));
    improvement.search_seconds += tried.figures.seconds;
    improvement.check_seconds += tried.check.seconds;
    const Attempt::Outcome outcome = tried.outcome;
    if (outcome == Attempt::Outcome::refused) {
      improvement.warning =
          fmt::format("a result of rules up to {} was refused: {}", name(classes[i]), tried.reason);
      LEMMA_ASSIGN_OR_RETURN(std::optional<Attempt> fewer,
                             attempt_without_a_rule(setup, classes[i], keeps_small, tried));
      if (fewer) {
        improvement.search_seconds += fewer->figures.seconds;
        improvement.check_seconds += fewer->check.seconds;
        improvement.last = std::move(*fewer);
        return {};
      }
    }
    if (outcome == Attempt::Outcome::too_large && !keeps_small)
      improvement.too_large =
          fmt::format("a graph that is predicted to take {:.4g} us is not written: {}",
                      1e6 * tried.figures.after.seconds, tried.reason);
    improvement.last = std::move(tried);
    if (outcome == Attempt::Outcome::too_large && !keeps_small) {
      keeps_small = true;
      --i;
    } else if (outcome != Attempt::Outcome::refused) {
      return {};
    }
  }
  return {};
}

/// Whether the graph without what needs no time may be written where nothing faster is found.
bool wants_simplified(const OptimizeOptions& options) {
  return !options.cleans && !options.keeps_original && options.rules.names.empty();
}

/// By how many nodes reading has enlarged the model: loops are written out.
std::int64_t written_out(const OnnxModel& model) {
  if (!model.envelope.has_taken_branches()) return 0;
  return node_count(model.graph) - model.envelope.file_nodes();
}

/// The model without what rules for cleaning take away, every bit kept; checked and not timed.
Result<Attempt> simplified(const AttemptSetup& setup) {
  OptimizeOptions options = setup.job.options;
  options.cleans = true;
  const Job job{setup.job.model, setup.job.own_operator_set, setup.job.file, setup.job.output,
                setup.job.rules, setup.job.replayed,         options,        setup.job.worker,
                setup.job.sizes, setup.job.writing_seconds};
  LEMMA_ASSIGN_OR_RETURN(const FileGrowth growth,
                         FileGrowth::of(job.file, options, written_out(job.model)));
  const KeptTime kept_time{.check = setup.kept.check};
  const Deadline end = setup.deadline.within(0.3 * setup.deadline.remaining() + kept_time.check);
  const AttemptSetup cleaning{job,         setup.reference, setup.inputs, setup.models,
                              setup.costs, setup.timing,    growth,       kept_time,
                              end,         setup.trace,     false};
  return attempt(cleaning, RoundingClass::bitwise, true);
}

/// Takes the simplified graph if nothing faster was found and it is no slower than the original, or if it is faster than what
/// was found.
void take_simplified(const AttemptSetup& setup, Attempt simpler, Improvement& improvement) {
  improvement.search_seconds += simpler.figures.seconds;
  improvement.check_seconds += simpler.check.seconds;
  using Outcome = Attempt::Outcome;
  if (simpler.outcome != Outcome::passed) return;
  const bool has_result = improvement.last && improvement.last->outcome == Outcome::passed;
  const double before = cost_of(setup.job.model.graph, setup.costs.get()).seconds;
  const double cost_ratio = before > 0 ? simpler.figures.after.seconds / before : 1;
  const std::filesystem::path& file = simpler.staged->file();
  TimingReport timing = improvement.last ? improvement.last->timing : TimingReport();
  const bool is_taken =
      has_result ? is_faster_still(setup.job, file, timing, setup.timing, setup.deadline)
                 : is_no_slower(setup.job, file, cost_ratio, setup.timing, setup.deadline, timing);
  if (!is_taken) return;
  simpler.reason = has_result ? "it is only simplified: that is faster than what was found"
                              : "nothing faster was found: it is only simplified";
  simpler.timing = std::move(timing);
  improvement.last = std::move(simpler);
  improvement.is_simplified = true;
}

Improvement kept(std::string why) {
  Improvement result;
  result.kept = std::move(why);
  return result;
}

/// The steps, in order. `costs` are those of the device, and then those that were learned.
Result<Improvement> improve(const Job& job, const Deadline& deadline, CurrentCosts& costs,
                            Trace& trace) {
  const RuleSelection& rules = job.options.rules;
  if (!rules.names.empty() &&
      chosen_rules(job.rules, job.options, rules.rounding_class).substitutions().empty())
    return kept(fmt::format("no rule up to class {} has a name that contains '{}'",
                            name(rules.rounding_class), rules.names));
  ChosenTimers timers;
  LEMMA_RETURN_IF_ERROR(timers.start(job, deadline));
  LEMMA_RETURN_IF_ERROR(job.go_on());
  const auto original = run_original(job, deadline);
  LEMMA_RETURN_IF_ERROR(job.go_on());
  if (!original) return kept(original.error().message);
  const std::optional<TimingReport>& replay = job.options.timing.replay;
  if (replay && replay->state == TimingReport::State::not_runnable) {
    Improvement result = kept(replay->message);
    result.timing = *replay;
    return result;
  }
  const ModelInputs inputs = find_inputs(job, original->reference, timers.models(), deadline);
  LEMMA_RETURN_IF_ERROR(job.go_on());
  if (inputs.is_not_runnable) {
    Improvement result = kept(inputs.message);
    result.check_seconds = original->seconds;
    result.timing.state = TimingReport::State::not_runnable;
    result.timing.message = inputs.message;
    return result;
  }
  // Costs are those at the sizes at which models are run, if any is.
  if (timers.models() != nullptr && job.options.timing.measures)
    if (DimensionBindings sizes = symbols_in(job, inputs.values); !sizes.empty())
      costs.take_sizes(std::move(sizes));
  LEMMA_RETURN_IF_ERROR(costs.open(job, timers.operators(), deadline));
  const double original_seconds = cost_of(job.model.graph, costs.get()).seconds;
  KeptTime kept_time{.check = 1.3 * original->seconds};
  // The second judge is given inputs of the sizes that were run, which may be smaller than the usual ones.
  if (job.asks_second_judge())
    kept_time.check += second_judge_allowance(
        costs.seconds_at(job.model.graph, symbols_in(job, inputs.values)), job.writing_seconds);
  TimingPlan timing;
  timing.prepare(job, inputs, costs, timers.models(), original_seconds, deadline, kept_time);
  LEMMA_ASSIGN_OR_RETURN(const FileGrowth growth,
                         FileGrowth::of(job.file, job.options, written_out(job.model)));
  const bool keeps_small =
      job.options.cleans || (job.options.most_growth && timing.timed() != nullptr);
  const AttemptSetup setup{job,      original->reference,
                           inputs,   timers.models(),
                           costs,    timing,
                           growth,   kept_time,
                           deadline, trace};
  Improvement result;
  result.is_computed = original->reference.is_computed();
  result.check_seconds = original->seconds;
  result.timing.message = inputs.message;
  if (timing.timed() != nullptr) result.sizes = sizes_of(inputs.values);
  std::optional<Attempt> simpler;
  if (wants_simplified(job.options)) {
    LEMMA_ASSIGN_OR_RETURN(simpler, simplified(setup));
  }
  LEMMA_RETURN_IF_ERROR(attempt_classes(setup, keeps_small, result));
  if (simpler) take_simplified(setup, std::move(*simpler), result);
  return result;
}

// ---- Reporting --------------------------------------------------------------------------------

OptimizeReport report_of(const Job& job) {
  OptimizeReport report;
  report.opaque_operators = count_opaque(job.model.graph);
  report.check.second_judge = job.asks_second_judge() ? "not asked" : "off";
  report.timing.message =
      job.options.timing.measures ? "there was nothing to compare" : "not wanted";
  return report;
}

/// Reports what is said of the last attempt, whatever became of it.
void report_attempt(const Improvement& improvement, OptimizeReport& report) {
  const Attempt& last = *improvement.last;
  static_cast<SearchFigures&>(report.search) = last.figures;
  const std::string second_judge = report.check.second_judge;
  report.check = last.check;
  if (report.check.second_judge.empty()) report.check.second_judge = second_judge;
  if (last.timing.state != TimingReport::State::predicted || !last.timing.choices.empty() ||
      !last.timing.message.empty())
    report.timing = last.timing;
}

/// Whether some input has a size that neither the model nor the caller fixes.
bool leaves_sizes_open(const Job& job) {
  for (const NodeId id : job.model.graph.inputs()) {
    const TensorType& type = job.model.graph.type(job.model.graph.node(id).output());
    if (!type.shape) return true;
    for (const Dimension& size : *type.shape)
      if (const auto symbol = size.as_symbol(); symbol && !job.sizes.contains(*symbol)) return true;
  }
  return false;
}

/// What is written uses no rule.
void forget_rules(SearchFigures& figures) {
  figures.rules_used.clear();
  figures.unproved.clear();
}

/// Writes what the improvement says, and completes the report.
Result<void> finish(const Job& job, const BodyExplanations& bodies, Improvement improvement,
                    OptimizeReport& report) {
  LEMMA_RETURN_IF_ERROR(job.go_on());
  if (improvement.timing.state != TimingReport::State::predicted ||
      !improvement.timing.message.empty())
    report.timing = improvement.timing;
  if (improvement.last) report_attempt(improvement, report);
  report.search.seconds = improvement.search_seconds;
  report.check.seconds = improvement.check_seconds;
  report.sizes = improvement.sizes;
  report.sizes_are_guessed = !report.sizes.empty() && leaves_sizes_open(job);
  report.warning = improvement.warning;
  report.after = report.before;
  using Outcome = Attempt::Outcome;
  const Outcome outcome = improvement.last ? improvement.last->outcome : Outcome::impossible;
  if (outcome == Outcome::passed) {
    report.status =
        improvement.is_simplified ? OptimizeStatus::simplified : OptimizeStatus::optimized;
    if (improvement.is_simplified) report.message = improvement.last->reason;
    if (!improvement.is_computed)
      report.message += std::string(report.message.empty() ? "" : "; ") +
                        "compared by ONNX Runtime alone: there was no time to compute it here";
    if (report.message.empty()) report.message = improvement.too_large;
    report.after = improvement.last->figures.after;
    LEMMA_RETURN_IF_ERROR(improvement.last->staged->publish(job.options.before_publishing));
    return write_explanation(job, improvement.last->explanation, bodies);
  }
  if (outcome != Outcome::no_better || improvement.last->explanation.empty())
    forget_rules(report.search);
  std::string explanation;
  if (outcome == Outcome::impossible) {
    report.message =
        "kept as it was: " + (improvement.last ? improvement.last->reason : improvement.kept);
  } else {
    report.message = improvement.last->reason;
    if (outcome == Outcome::too_large) report.message = "kept as it was: " + report.message;
    explanation = improvement.last->explanation;
    if (!improvement.warning.empty()) {
      report.status = OptimizeStatus::mismatch;
      report.message = improvement.warning;
      forget_rules(report.search);
    }
  }
  if (report.message.empty()) report.message = improvement.too_large;
  return write_original(job, explanation, bodies);
}

Result<OptimizeReport> optimize_read_model(const Job& job, const OperatorCosts& device_costs,
                                           const BodyExplanations& bodies,
                                           const Deadline& deadline) {
  if (const Target* target = job.options.target)
    if (auto fits = target->admits(job.model.graph, job.options.threads); !fits)
      return with_context(job.file.string(), std::move(fits.error()));
  CurrentCosts costs(device_costs, job);
  Trace trace(job.options.trace, costs.get());
  trace.add("read", job.model.graph);
  OptimizeReport report = report_of(job);
  Improvement improvement;
  if (job.options.searches) {
    try {
      LEMMA_ASSIGN_OR_RETURN(improvement, improve(job, deadline, costs, trace));
    } catch (const std::bad_alloc&) {
      improvement = kept("the limit on memory leaves no room for the check");
    }
  }
  report.before = report.after = cost_of(job.model.graph, costs.get());
  if (job.options.searches)
    LEMMA_RETURN_IF_ERROR(finish(job, bodies, std::move(improvement), report));
  else
    LEMMA_RETURN_IF_ERROR(write_original(job, "", bodies));
  LEMMA_RETURN_IF_ERROR(trace.outcome());
  report.costs = costs.report();
  return report;
}

}  // namespace

std::string_view name(OptimizeStatus status) {
  constexpr std::array<std::string_view, 4> names = {"optimized", "simplified", "unchanged",
                                                     "mismatch"};
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
  LEMMA_ASSIGN_OR_RETURN(const ReadModel prepared,
                         read_and_prepare(model, output, rules, costs, options, deadline));
  LEMMA_ASSIGN_OR_RETURN(auto sizes, symbol_sizes(prepared.model.graph, options.sample_shapes));
  const ReplayedRules replayed(rules);
  const double writing = writing_seconds(prepared.model.graph);
  const Job job{prepared.model, prepared.own_operator_set, model,  output, rules, replayed, options,
                options.worker, std::move(sizes),          writing};
  LEMMA_RETURN_IF_ERROR(job.go_on());
  LEMMA_ASSIGN_OR_RETURN(OptimizeReport report, optimize_read_model(job, costs, prepared.bodies,
                                                                    deadline.earlier_by(writing)));
  if (!prepared.note.empty())
    report.message = prepared.note + (report.message.empty() ? "" : "; " + report.message);
  return report;
}

}  // namespace lemma
