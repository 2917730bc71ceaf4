#include "pipeline/result_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/opaque_pairs.h"
#include "check/whole_run.h"
#include "ir/check.h"

namespace lemma {

namespace {

constexpr double second_judge_seconds = 10;
constexpr std::size_t least_sets = 3, most_sets = 8;  // for the second judge

/// That the second judge may take for one set: both models run without the runtime's optimizations.
double seconds_of_a_set(double original_seconds) { return 3 * original_seconds; }

class ResultCheck {
 public:
  ResultCheck(const ResultCheckRequest& request, const StagedModel& staged, CheckReport& report)
      : request_(request), staged_(staged), options_(request.options), report_(report) {}

  ResultObjection run(const SearchResult& found, Trace& trace) {
    if (auto formed = lemma::check(found.graph, Stage::imported); !formed)
      return {formed.error().message, ""};
    stage("replaying the explanation");
    if (auto holds = checker::check_explanation(found.explanation, request_.rules.table,
                                                request_.rules.bitwise, {{}, true});
        !holds)
      return {"its explanation does not hold: " + holds.error().message, ""};
    stage("reading back what was written");
    const auto read = staged_.read_back(found.graph, options_.reading);
    if (!read) return {"the file does not hold it: " + read.error().message, ""};
    trace.add("written", read->graph);
    if (options_.target != nullptr)
      if (const auto fits = options_.target->admits(read->graph, options_.threads); !fits)
        return {"the target cannot run it: " + fits.error().message, ""};
    if (const std::string changed = changed_opaque_node(request_.original, *read); !changed.empty())
      return {changed + " is not what it was", ""};
    return compare(read->graph);
  }

 private:
  ResultObjection compare(const Graph& written) {
    stage("comparing with the original");
    auto checked = request_.reference.compare(written, comparison(request_.deadline));
    if (!checked)
      return {"", request_.deadline.passed()
                      ? "the time limit leaves no room for the check"
                      : "the check of the result is impossible: " + checked.error().message};
    report_.comparison = std::move(*checked);
    if (!report_.comparison.passed)
      return {"it differs from its original: " + report_.comparison.difference, ""};
    if (std::string objection = objection_of_whole_run(); !objection.empty())
      return {std::move(objection), ""};
    return {asks_second_judge(options_) ? objection_of_second_judge() : "", ""};
  }

  /// Opaque nodes are computed here; the comparison above cuts the graphs at them.
  std::string objection_of_whole_run() {
    if (request_.opaque_operators == 0) return "";
    stage("running both whole");
    const Deadline end = request_.deadline.within(0.25 * request_.deadline.remaining());
    const auto sets = request_.reference.inputs_for_second_judge(1, comparison(end));
    if (sets.empty() && !request_.original.graph.inputs().empty()) {
      report_.whole_run = name(WholeRunVerdict::not_available);
      report_.whole_run_message = "there are no inputs";
      return "";
    }
    WholeRunRequest request;
    request.original = request_.file;
    request.result = staged_.file();
    const auto varied =
        variants_of(sets.empty() ? NamedValues() : values_of(sets.front()), options_.check.seed);
    request.sets = varied;
    request.reading = options_.reading;
    request.tolerance = tolerance();
    request.threads = options_.threads;
    request.deadline = end.at();
    const WholeRunAnswer answer = run_whole(request);
    report_.whole_run = name(answer.verdict);
    report_.whole_run_message = answer.message;
    if (answer.verdict == WholeRunVerdict::agrees && !answer.untaken.empty())
      report_.whole_run_message = fmt::format("on none of {} sets of inputs these are run: {}",
                                              answer.sets, fmt::join(answer.untaken, "; "));
    return answer.verdict == WholeRunVerdict::differs
               ? "run whole it gives something else: " + answer.message
               : "";
  }

  /// As many as there is time for.
  std::size_t sets_within(double seconds) const {
    return static_cast<std::size_t>(
        std::clamp((seconds - 0.3 - request_.writing_seconds) /
                       std::max(seconds_of_a_set(request_.original_seconds), 1e-6),
                   1.0 * least_sets, 1.0 * most_sets));
  }

  std::string objection_of_second_judge() {
    stage("asking ONNX Runtime");
    JudgeRequest request;
    request.original = std::filesystem::absolute(request_.file);
    request.result = std::filesystem::absolute(staged_.file());
    // Which adversarial inputs say something takes a while to find out.
    const Deadline& end = request_.second_judge_deadline;
    for (const auto& inputs : request_.reference.inputs_for_second_judge(
             sets_within(0.75 * std::min(second_judge_seconds, end.remaining())),
             comparison(end.within(0.25 * end.remaining()))))
      request.sets.push_back(values_of(inputs));
    if (!request_.inputs.empty()) request.sets.push_back(values_of(request_.inputs));
    request.tolerance = tolerance();
    request.threads = options_.threads;
    request.scratch_folder = staged_.folder();
    request.time_limit_seconds = std::min(second_judge_seconds, end.remaining());
    report_.second = ask_second_judge(*request_.worker, request);
    report_.second_judge = name(report_.second.verdict);
    return report_.second.verdict == JudgeVerdict::differs
               ? "ONNX Runtime computes something else: " + report_.second.message
               : "";
  }

  SampledTolerance tolerance() const {
    return tolerance_for(request_.original.graph, comparison(request_.deadline));
  }

  SampledCheckOptions comparison(const Deadline& deadline) const {
    return check_options(options_, request_.sizes, deadline);
  }

  void stage(const std::string& what) const {
    if (options_.on_stage) options_.on_stage(what);
  }

  const ResultCheckRequest& request_;
  const StagedModel& staged_;
  const OptimizeOptions& options_;
  CheckReport& report_;
};

}  // namespace

SampledCheckOptions check_options(const OptimizeOptions& options, const SampleSizes& sizes,
                                  const Deadline& deadline) {
  SampledCheckOptions result = options.check;
  result.sizes = sizes;
  result.threads = options.threads;
  result.deadline = deadline.at();
  result.bitwise = options.rules.rounding_class == RoundingClass::bitwise;
  return result;
}

bool asks_second_judge(const OptimizeOptions& options) {
  return options.onnx_runtime && options.second_judge;
}

double second_judge_allowance(const OptimizeOptions& options, double original_seconds,
                              double writing_seconds) {
  if (!asks_second_judge(options)) return 0;
  const std::size_t sets = original_seconds > 0.02 ? least_sets : most_sets;
  return 0.3 + writing_seconds + static_cast<double>(sets) * seconds_of_a_set(original_seconds);
}

ResultObjection objection_to(const SearchResult& found, const StagedModel& staged,
                             const ResultCheckRequest& request, Trace& trace, CheckReport& report) {
  return ResultCheck(request, staged, report).run(found, trace);
}

}  // namespace lemma
