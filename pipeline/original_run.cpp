#include "pipeline/original_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/check_inputs.h"
#include "check/runnable_inputs.h"

namespace lemma {

using interpreter::NamedTensor;

namespace {

constexpr double most_trying_seconds = 3;
constexpr double trying = 0.1;  // of the time that is left
/// What ONNX Runtime takes for each node (24,000 in 16 s), and the part of the time in which it may do so for a model that is
/// not timed.
constexpr double seconds_to_load_a_node = 0.7e-3, most_loading = 0.25;
constexpr double longest_run = 0.02;  // the same: a few dozen runs are needed

}  // namespace

Result<OriginalRun> run_original(const Job& job, const Deadline& deadline) {
  job.stage("computing the original");
  const double before = deadline.remaining();
  const bool has_other_judge = job.asks_second_judge() && job.worker != nullptr;
  const Deadline end = deadline.within((has_other_judge ? 0.3 : 0.45) * before);
  auto reference = SampledReference::compute(job.model.graph, job.comparison(end));
  if (!reference && end.passed() && !deadline.passed() && has_other_judge)
    if (auto inputs = SampledReference::of_inputs(job.model.graph, job.comparison(deadline)))
      return OriginalRun{std::move(*inputs), 0};
  if (!reference)
    return bad_input(end.passed() ? "the time limit leaves no room for the check"
                                  : "the check is impossible: " + reference.error().message);
  return OriginalRun{std::move(*reference), before - deadline.remaining()};
}

std::string sizes_of(std::span<const NamedTensor> inputs) {
  std::vector<std::string> texts;
  for (const NamedTensor& input : inputs)
    texts.push_back(fmt::format("{}:{}", input.name, fmt::join(input.value.sizes(), ",")));
  return fmt::format("{}", fmt::join(texts, " "));
}

DimensionBindings symbols_in(const Job& job, std::span<const NamedTensor> inputs) {
  const auto types = interpreter::input_types(job.model.graph, inputs);
  if (!types) return {};
  return interpreter::bind_symbols(job.model.graph, *types).value_or(DimensionBindings());
}

namespace {

/// Random inputs of these sizes. Empty: the sizes are all given anyway, or the inputs would be too large.
std::vector<NamedTensor> inputs_at(const Job& job, SizesOfSymbols sizes) {
  constexpr std::int64_t most_elements = 1 << 24;
  const bool leaves_some_open = std::any_of(sizes.begin(), sizes.end(), [&job](const auto& entry) {
    return !job.sizes.contains(entry.first);
  });
  if (!leaves_some_open) return {};
  for (const auto& [symbol, size] : job.sizes) sizes.insert_or_assign(symbol, size);
  InputPlan plan;
  plan.sizes = std::move(sizes);
  plan.seed = job.options.check.seed;
  return make_inputs(job.model.graph, plan, {}, most_elements).value_or(std::vector<NamedTensor>());
}

RunnableInputsRequest running(const Job& job, std::vector<std::vector<NamedTensor>> first,
                              const Deadline& deadline) {
  RunnableInputsRequest request;
  request.model = job.file;
  std::erase_if(first, [](const auto& inputs) { return inputs.empty(); });
  request.first = std::move(first);
  request.sizes = job.sizes;
  request.seed = job.options.check.seed;
  request.threads = job.options.threads;
  request.seconds = std::min(most_trying_seconds, trying * deadline.remaining());
  request.longest_run = longest_run * deadline.remaining();
  return request;
}

}  // namespace

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
  // Where nothing is timed, small inputs do.
  const bool is_timed = models != nullptr && options.timing.measures && !options.cleans;
  const auto nodes = static_cast<double>(job.model.graph.live_nodes().size());
  if (!is_timed && seconds_to_load_a_node * nodes > most_loading * deadline.remaining())
    return result;
  job.stage("running the original in ONNX Runtime");
  const UsualSizes usual = is_timed ? usual_sizes(job.model.graph) : UsualSizes();
  const std::vector<NamedTensor> typical = inputs_at(job, usual.typical);
  const SizesOfSymbols smaller = smaller_sizes(usual.typical);
  RunnableInputsRequest request = running(
      job,
      {typical, inputs_at(job, smaller), inputs_at(job, smaller_sizes(smaller)), result.values},
      deadline);
  if (!typical.empty() && usual.other != usual.typical) request.also = inputs_at(job, usual.other);
  RunnableInputs runnable = find_runnable_inputs(*job.worker, job.model.graph, request);
  if (!runnable.inputs.empty()) {
    result.run_in_onnx_runtime = true;
    result.values = std::move(runnable.inputs);
    if (runnable.runs_also) result.of_other_sizes = std::move(request.also);
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
