#include "pipeline/original_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/runnable_inputs.h"

namespace lemma {

namespace {

constexpr double most_trying_seconds = 3;
constexpr double trying = 0.1;  // of the time that is left

}  // namespace

Result<OriginalRun> run_original(const Job& job, const Deadline& deadline) {
  job.stage("computing the original");
  const double before = deadline.remaining();
  const Deadline end = deadline.within(0.45 * before);
  auto reference = SampledReference::compute(job.model.graph, job.comparison(end));
  if (!reference)
    return bad_input(end.passed() ? "the time limit leaves no room for the check"
                                  : "the check is impossible: " + reference.error().message);
  return OriginalRun{std::move(*reference), before - deadline.remaining()};
}

std::string sizes_of(const ModelInputs& inputs) {
  std::vector<std::string> texts;
  for (const interpreter::NamedTensor& input : inputs.values)
    texts.push_back(fmt::format("{}:{}", input.name, fmt::join(input.value.sizes(), ",")));
  return fmt::format("{}", fmt::join(texts, " "));
}

ModelInputs find_inputs(const Job& job, const SampledReference& reference, const ModelTimer* models,
                        const Deadline& deadline) {
  ModelInputs result;
  if (job.worker == nullptr && models == nullptr) return result;
  auto drawn = reference.inputs_for_second_judge(1, job.comparison(deadline));
  if (drawn.empty()) {
    result.message = "there are no inputs";
    return result;
  }
  result.values = std::move(drawn.front());
  const OptimizeOptions& options = job.options;
  if (job.worker == nullptr || options.own_target() != nullptr) return result;
  job.stage("running the original in ONNX Runtime");
  RunnableInputs runnable =
      find_runnable_inputs(*job.worker, job.model.graph,
                           {job.file, result.values, job.sizes, options.check.seed, options.threads,
                            std::min(most_trying_seconds, trying * deadline.remaining())});
  if (!runnable.inputs.empty()) {
    result.run_in_onnx_runtime = true;
    result.values = std::move(runnable.inputs);
    return result;
  }
  // Without its other outputs a model may need fewer inputs than the file.
  result.is_not_runnable = runnable.answered && !options.timing.replay && options.timing.measures &&
                           options.reading.outputs.empty();
  if (result.is_not_runnable)
    result.message = fmt::format(
        "ONNX Runtime cannot run it, so that no result can be timed; --sample-shape says which "
        "sizes the inputs have, --no-measure writes results that are not timed ({})",
        runnable.failure);
  return result;
}

}  // namespace lemma
