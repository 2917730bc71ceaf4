#include "check/result_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/opaque_pairs.h"
#include "check/read_back.h"
#include "check/whole_run.h"
#include "facts/cut.h"
#include "ir/check.h"

namespace lemma {

namespace {

constexpr double second_judge_seconds = 10;
const std::string no_time = "the time limit leaves no room for the check";
constexpr std::size_t least_sets = 3, most_sets = 8;  // for the second judge

/// The time that the second judge may take for one set: both models run without the runtime's
/// optimizations.
double seconds_of_a_set(double seconds_of_a_run) { return 3 * seconds_of_a_run; }

ResultVerdict passed() { return {}; }
ResultVerdict refused(std::string reason) {
  return {ResultVerdict::Kind::refused, std::move(reason)};
}
ResultVerdict impossible(std::string reason) {
  return {ResultVerdict::Kind::impossible, std::move(reason)};
}

SampledTolerance tolerance_of(const ResultCheckRequest& request) {
  return tolerance_for(request.original.graph, request.comparison);
}

/// Options of the comparison with another end.
SampledCheckOptions until(SampledCheckOptions options, const Deadline& deadline) {
  options.deadline = deadline.at();
  return options;
}

// ---- The steps --------------------------------------------------------------------------------

ResultVerdict check_form(const ResultCheckRequest& request) {
  const auto formed = lemma::check(request.result, Stage::imported);
  return formed ? passed() : refused(formed.error().message);
}

ResultVerdict replay_explanation(const ResultCheckRequest& request) {
  const auto holds = checker::check_explanation(request.explanation, request.rules.table,
                                                request.rules.bitwise, {{}, true});
  return holds ? passed() : refused("its explanation does not hold: " + holds.error().message);
}

/// The file is read, and is what was to be written. `written` takes what it holds.
ResultVerdict check_file(const ResultCheckRequest& request, std::optional<OnnxModel>& written) {
  auto model =
      read_back(request.result_file, request.result, request.opaque_outputs, request.reading);
  if (!model) return refused("the file does not hold it: " + model.error().message);
  written = std::move(*model);
  if (request.on_written_graph) request.on_written_graph(written->graph);
  if (request.admits)
    if (const auto fits = request.admits(written->graph); !fits)
      return refused("the target cannot run it: " + fits.error().message);
  if (const std::string changed = changed_opaque_node(request.original, *written); !changed.empty())
    return refused(changed + " is not what it was");
  return passed();
}

ResultVerdict compare_samples(const ResultCheckRequest& request, const OnnxModel& written,
                              SampledCheck& comparison) {
  if (const std::string value = value_that_is_not_compared(request.original, written);
      !value.empty())
    return impossible(value + " can be compared neither by computing it nor by where it is from");
  if (!request.reference.is_computed() && !request.second_judge) return impossible(no_time);
  auto checked =
      request.reference.compare(written.graph, until(request.comparison, request.deadline));
  if (!checked)
    return impossible(request.deadline.passed()
                          ? no_time
                          : "the check of the result is impossible: " + checked.error().message);
  comparison = std::move(*checked);
  return comparison.passed ? passed()
                           : refused("it differs from its original: " + comparison.difference);
}

/// Opaque nodes are computed here; the comparison of samples cuts the graphs at them.
ResultVerdict run_both_whole(const ResultCheckRequest& request, CheckReport& report) {
  const Deadline end = request.deadline.within(0.25 * request.deadline.remaining());
  const auto sets = request.reference.inputs_for_second_judge(1, until(request.comparison, end));
  if (sets.empty() && !request.original.graph.inputs().empty()) {
    report.whole_run = name(WholeRunVerdict::not_available);
    report.whole_run_message = "there are no inputs";
    return passed();
  }
  const auto varied =
      variants_of(sets.empty() ? NamedValues() : values_of(sets.front()), request.comparison.seed);
  WholeRunRequest running;
  running.original = request.original_file;
  running.result = request.result_file;
  running.sets = varied;
  running.reading = request.reading;
  running.tolerance = tolerance_of(request);
  running.threads = request.comparison.threads;
  running.deadline = end.at();
  const WholeRunAnswer answer = run_whole(running);
  report.whole_run = name(answer.verdict);
  report.whole_run_message = answer.message;
  if (answer.verdict == WholeRunVerdict::agrees && !answer.untaken.empty())
    report.whole_run_message = fmt::format("on none of {} sets of inputs these are run: {}",
                                           answer.sets, fmt::join(answer.untaken, "; "));
  return answer.verdict == WholeRunVerdict::differs
             ? refused("run whole it gives something else: " + answer.message)
             : passed();
}

/// How many sets of inputs there is time for.
std::size_t sets_within(double seconds, const SecondJudgeRequest& judge) {
  return static_cast<std::size_t>(
      std::clamp((seconds - 0.3 - judge.seconds_to_load) /
                     std::max(seconds_of_a_set(judge.seconds_of_a_run), 1e-6),
                 1.0 * least_sets, 1.0 * most_sets));
}

ResultVerdict ask_onnx_runtime(const ResultCheckRequest& request, const SecondJudgeRequest& judge,
                               CheckReport& report) {
  JudgeRequest asked;
  asked.original = std::filesystem::absolute(request.original_file);
  asked.result = std::filesystem::absolute(request.result_file);
  const double seconds = std::min(second_judge_seconds, judge.deadline.remaining());
  // Which adversarial inputs say something takes a while to find out.
  const Deadline looking = judge.deadline.within(0.25 * judge.deadline.remaining());
  for (const auto& inputs : request.reference.inputs_for_second_judge(
           sets_within(0.75 * seconds, judge), until(request.comparison, looking)))
    asked.sets.push_back(values_of(inputs));
  if (!judge.inputs.empty()) asked.sets.push_back(values_of(judge.inputs));
  asked.tolerance = tolerance_of(request);
  asked.threads = request.comparison.threads;
  asked.scratch_folder = judge.scratch_folder;
  asked.time_limit_seconds = std::min(second_judge_seconds, judge.deadline.remaining());
  report.second = ask_second_judge(judge.worker, asked);
  // Inputs that are integers, as words are, say nothing of rounding: here weights are changed, too.
  if (report.second.verdict == JudgeVerdict::differs && asked.tolerance.knows_scale()) {
    asked.allowances = request.reference.allowances(until(request.comparison, judge.deadline));
    asked.time_limit_seconds = std::min(second_judge_seconds, judge.deadline.remaining());
    if (!asked.allowances.empty()) report.second = ask_second_judge(judge.worker, asked);
  }
  report.second_judge = name(report.second.verdict);
  if (report.second.verdict == JudgeVerdict::differs)
    return refused("ONNX Runtime computes something else: " + report.second.message);
  // It is the only judge where nothing was computed here.
  return report.second.verdict == JudgeVerdict::agrees || request.reference.is_computed()
             ? passed()
             : impossible(no_time +
                          ", and ONNX Runtime does not compare: " + report.second.message);
}

}  // namespace

ResultVerdict check_result(const ResultCheckRequest& request, CheckReport& report) {
  std::optional<OnnxModel> written;
  struct Step {
    std::string_view progress;  // empty: too short to be told
    bool is_wanted;
    std::function<ResultVerdict()> run;
  };
  const std::vector<Step> steps = {
      {"", true, [&] { return check_form(request); }},
      {"replaying the explanation", true, [&] { return replay_explanation(request); }},
      {"reading back what was written", true, [&] { return check_file(request, written); }},
      {"comparing with the original", true,
       [&] { return compare_samples(request, *written, report.comparison); }},
      {"running both whole",
       has_opaque_nodes(request.original.graph) && request.reference.is_computed(),
       [&] { return run_both_whole(request, report); }},
      {"asking ONNX Runtime", request.second_judge.has_value(),
       [&] { return ask_onnx_runtime(request, *request.second_judge, report); }},
  };
  for (const Step& step : steps) {
    if (!step.is_wanted) continue;
    if (request.on_step && !step.progress.empty()) request.on_step(std::string(step.progress));
    if (ResultVerdict verdict = step.run(); verdict.kind != ResultVerdict::Kind::passed)
      return verdict;
  }
  return passed();
}

double second_judge_allowance(double seconds_of_a_run, double seconds_to_load) {
  const std::size_t sets = seconds_of_a_run > 0.02 ? least_sets : most_sets;
  return 0.3 + seconds_to_load + static_cast<double>(sets) * seconds_of_a_set(seconds_of_a_run);
}

}  // namespace lemma
