#include "pipeline/attempt.h"

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "check/disputed_constants.h"
#include "check/read_back.h"
#include "frontend_onnx/bodies.h"
#include "pipeline/chosen_rules.h"
#include "search/numbers.h"

namespace lemma {

namespace {

using Outcome = Attempt::Outcome;

/// What the caller wants, within what is left of time and memory.
SearchOptions search_options(const AttemptSetup& setup, RoundingClass worst, bool keeps_small) {
  const Job& job = setup.job;
  const Deadline& deadline = setup.deadline;
  SearchOptions options = job.options.search;
  options.cancelled = job.options.cancelled;
  options.fold.threads = job.options.threads;
  options.fold.left_computed = setup.left_computed;
  options.on_stage = [&job](const std::string& what) { job.stage(what); };
  if (!job.options.trace.empty())
    options.on_graph = [&setup](const std::string& step, const Graph& graph) {
      setup.trace.add(step, graph);
    };
  options.explain = true;
  options.cleans = job.options.cleans;
  if (job.options.cleans || job.options.own_target() == nullptr)
    options.operator_set = job.model.envelope.operator_set();
  options.learn_costs = [&setup](std::span<const Graph* const> graphs) {
    return setup.costs.learn(setup.job, graphs);
  };
  options.left_out = left_out_with(job.options, worst);
  // Cleaning folds nothing that makes a file larger; what it may grow by is for attributes that are spelled out.
  const bool folds_larger = !job.options.cleans || job.options.most_growth.has_value();
  if (keeps_small) limit_growth(options, folds_larger ? setup.growth.allowed_bytes() : 0);
  const GraphEvaluator* const timing = setup.is_judged_by_time ? setup.timing.evaluator() : nullptr;
  if (timing != nullptr) options.evaluator = timing;
  const Deadline end = deadline.earlier_by(setup.kept.check + setup.kept.timing);
  // Each is written and read once more.
  double seconds_each = 3 * job.writing_seconds;
  if (setup.timing.timed() != nullptr && job.options.own_target() != nullptr)
    seconds_each +=
        setup.models->seconds_to_prepare(cost_of(job.model.graph, setup.costs.get()).operators);
  // An evaluator of the caller's takes as many as the caller says.
  if (timing != nullptr || options.evaluator == nullptr)
    options.candidates =
        static_cast<std::size_t>(std::clamp(0.3 * setup.kept.timing / seconds_each, 1.0, 4.0));
  // The candidates are run before the best one is folded.
  options.fold.deadline = deadline.earlier_by(setup.kept.check + 0.5 * setup.kept.judging()).at();
  // The explanation is made after the search and replayed.
  options.time_limit_seconds = 0.8 * end.earlier_by(folding_seconds(job, deadline)).remaining();
  // Figures of e-graphs leave out what the process needs beside them.
  if (job.options.available_bytes)
    options.memory_limit_bytes = job.options.available_bytes() / 10 * 6;
  return options;
}

Result<SearchResult> search(const AttemptSetup& setup, RoundingClass worst, bool keeps_small) {
  const RuleDatabase wanted = chosen_rules(setup.job.rules, setup.job.options, worst)
                                  .selected([&setup](const Substitution& rule) {
                                    return !setup.rules_left_out.contains(rule.name);
                                  });
  LEMMA_ASSIGN_OR_RETURN(const Graph searched, with_numbers_as_operators(setup.job.model.graph));
  return optimize(searched, wanted, setup.costs.get(), search_options(setup, worst, keeps_small));
}

/// Whether what was read is already not what the file runs.
bool is_another_program(const ModelEnvelope& envelope) {
  return envelope.has_taken_branches() || envelope.has_rewritten_bodies();
}

/// Nothing better was found: why.
std::string reason_of_no_better(const AttemptSetup& setup, const SearchResult& searched,
                                TimingReport& timing) {
  if (searched.rounds + searched.passes + searched.graphs == 0)
    return "kept as it was: the time limit leaves no room for the search";
  const TimedChoice* timed = setup.timing.timed();
  if (timed == nullptr || !setup.is_judged_by_time) return "";
  timing = timed->report();
  if (timing.choices.empty()) return "";
  return fmt::format("none of {} cheaper graphs was faster when it was run",
                     timing.choices.front().size() - 1);
}

/// How many nodes a result of `lemma simplify` may have: fewer than the file, but what was written out when the model was
/// read (ImportOptions::takes_branches) may stay so.
std::int64_t most_nodes(const OnnxModel& model) {
  const std::int64_t fewer = model.envelope.file_nodes() - 1;
  return is_another_program(model.envelope) ? std::max(fewer, node_count(model.graph)) : fewer;
}

/// Why the file of a result may not be written for its size: `no_better` or `too_large`. Nothing: it may.
Result<std::optional<Outcome>> objection_of_size(const AttemptSetup& setup, const Graph& result,
                                                 const StagedModel& staged, std::string& reason) {
  const Job& job = setup.job;
  if (job.options.cleans) {
    LEMMA_ASSIGN_OR_RETURN(
        const OnnxModel read,
        read_back(staged.file(), result, staged.exported().opaque_outputs, job.options.reading));
    if (read.envelope.file_nodes() > most_nodes(job.model))
      return std::optional(Outcome::no_better);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string too_large, setup.growth.objection_to(staged.file()));
  if (too_large.empty()) return std::optional<Outcome>();
  reason = too_large + (job.options.cleans ? "" : "; --max-growth allows more");
  return std::optional(Outcome::too_large);
}

ResultVerdict check(const AttemptSetup& setup, const SearchResult& searched,
                    const StagedModel& staged, CheckReport& report) {
  const Job& job = setup.job;
  ResultCheckRequest request{
      .original = job.model,
      .original_file = job.file,
      .result = searched.graph,
      .result_file = staged.file(),
      .opaque_outputs = staged.exported().opaque_outputs,
      .reading = job.options.reading,
      .explanation = searched.explanation,
      .rules = job.replayed,
      .reference = setup.reference,
      .comparison = job.comparison(),
      .deadline = setup.deadline,
      .admits = {},
      .second_judge = {},
      .on_step = [&job](const std::string& step) { job.stage(step); },
      .on_written_graph = [&setup](const Graph& graph) { setup.trace.add("written", graph); }};
  if (const Target* target = job.options.target)
    request.admits = [target, &job](const Graph& graph) {
      return target->admits(graph, job.options.threads);
    };
  if (job.asks_second_judge())
    request.second_judge.emplace(SecondJudgeRequest{
        .worker = *job.worker,
        .inputs = setup.inputs.run_in_onnx_runtime
                      ? std::span<const interpreter::NamedTensor>(setup.inputs.values)
                      : std::span<const interpreter::NamedTensor>(),
        .scratch_folder = staged.folder(),
        .seconds_of_a_run = cost_of(job.model.graph, setup.costs.get()).seconds,
        .seconds_to_load = job.writing_seconds,
        .deadline = setup.deadline.earlier_by(setup.kept.judging())});
  const double before = setup.deadline.remaining();
  ResultVerdict verdict = check_result(request, report);
  report.seconds += std::max(0.0, before - setup.deadline.remaining());
  return verdict;
}

Attempt with_outcome(Attempt result, Outcome outcome, std::string reason) {
  result.outcome = outcome;
  result.reason = std::move(reason);
  return result;
}

Result<Attempt> attempt_once(const AttemptSetup& setup, RoundingClass worst, bool keeps_small) {
  Attempt result;
  LEMMA_RETURN_IF_ERROR(setup.job.go_on());
  auto searched = search(setup, worst, keeps_small);
  LEMMA_RETURN_IF_ERROR(setup.job.go_on());
  if (!searched && searched.error().kind != ErrorKind::internal)
    return tl::unexpected(std::move(searched.error()));
  if (!searched) return with_outcome(std::move(result), Outcome::refused, searched.error().message);
  result.figures = *searched;
  if (!searched->note.empty())
    return with_outcome(std::move(result), Outcome::impossible, searched->note);
  if (!searched->improved && !is_another_program(setup.job.model.envelope)) {
    std::string reason = reason_of_no_better(setup, *searched, result.timing);
    if (checker::check_explanation(searched->explanation, setup.job.replayed.table,
                                   setup.job.replayed.bitwise, {{}, true}))
      result.explanation = std::move(searched->explanation);
    return with_outcome(std::move(result), Outcome::no_better, std::move(reason));
  }
  malloc_trim(0);  // what the search has used is for the check
  LEMMA_ASSIGN_OR_RETURN(StagedModel staged,
                         StagedModel::write({searched->graph, setup.job.model.envelope},
                                            setup.job.output, setup.job.options.writing));
  std::string reason;
  LEMMA_ASSIGN_OR_RETURN(const std::optional<Outcome> wrong_size,
                         objection_of_size(setup, searched->graph, staged, reason));
  if (wrong_size) return with_outcome(std::move(result), *wrong_size, std::move(reason));
  const ResultVerdict verdict = check(setup, *searched, staged, result.check);
  if (verdict.kind != ResultVerdict::Kind::passed)
    return with_outcome(
        std::move(result),
        verdict.kind == ResultVerdict::Kind::impossible ? Outcome::impossible : Outcome::refused,
        verdict.reason);
  if (std::string slower = setup.is_judged_by_time
                               ? objection_of_timing(setup.job, staged.file(), setup.timing,
                                                     setup.deadline, result.timing)
                               : std::string();
      !slower.empty())
    return with_outcome(std::move(result), Outcome::impossible, std::move(slower));
  result.staged = std::make_unique<StagedModel>(std::move(staged));
  result.explanation = std::move(searched->explanation);
  return with_outcome(std::move(result), Outcome::passed, "");
}

/// The setup without the folding of constants on which ONNX Runtime, which refused the result, has another opinion.
/// Nothing: there are none.
std::optional<AttemptSetup> without_disputed_constants(const AttemptSetup& setup,
                                                       const Attempt& refused) {
  const bool is_judged = refused.check.second_judge == name(JudgeVerdict::differs);
  if (!is_judged || setup.job.worker == nullptr || !setup.left_computed.empty())
    return std::nullopt;
  const TemporaryDirectory scratch;
  if (!scratch.good()) return std::nullopt;
  setup.job.stage("comparing constants");
  AttemptSetup result = setup;
  result.left_computed =
      disputed_operators(setup.job.model, *setup.job.worker, scratch.path(),
                         setup.job.options.threads, 0.2 * setup.deadline.remaining());
  return result.left_computed.empty() ? std::nullopt : std::optional(std::move(result));
}

/// The rules that a result used, those of the worst class first.
std::vector<std::string> suspects(const RuleDatabase& rules, const Attempt& refused) {
  std::map<std::string, RoundingClass, std::less<>> classes;
  for (std::size_t i = 0; i < rules.substitutions().size(); ++i)
    classes[rules.substitutions()[i].name] = rules.rounding()[i];
  std::vector<std::string> result;
  for (const auto& used : refused.figures.rules_used)
    if (classes.contains(used.name)) result.push_back(used.name);
  std::ranges::stable_sort(result, std::ranges::greater(),
                           [&classes](const std::string& rule) { return classes.at(rule); });
  return result;
}

}  // namespace

Result<Attempt> attempt(const AttemptSetup& setup, RoundingClass worst, bool keeps_small) {
  LEMMA_ASSIGN_OR_RETURN(Attempt first, attempt_once(setup, worst, keeps_small));
  if (first.outcome != Outcome::refused) return first;
  const auto undisputed = without_disputed_constants(setup, first);
  return undisputed ? attempt_once(*undisputed, worst, keeps_small) : std::move(first);
}

Result<std::optional<Attempt>> attempt_without_a_rule(const AttemptSetup& setup,
                                                      RoundingClass worst, bool keeps_small,
                                                      const Attempt& refused) {
  constexpr std::size_t most_searches = 4;
  const double seconds = refused.figures.seconds + refused.check.seconds;
  std::size_t searches = 0;
  for (const std::string& rule : suspects(setup.job.rules, refused)) {
    if (++searches > most_searches || setup.deadline.remaining() < seconds) break;
    AttemptSetup without = setup;
    without.rules_left_out.insert(rule);
    setup.job.stage("searching without " + rule);
    LEMMA_ASSIGN_OR_RETURN(Attempt tried, attempt(without, worst, keeps_small));
    if (tried.outcome == Outcome::passed) return std::optional(std::move(tried));
  }
  return std::optional<Attempt>();
}

}  // namespace lemma
