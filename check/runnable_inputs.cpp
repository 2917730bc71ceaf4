#include "check/runnable_inputs.h"

#include <nlohmann/json.hpp>

#include "check/check_inputs.h"
#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma {

namespace {

using Inputs = std::vector<interpreter::NamedTensor>;

constexpr std::int64_t most_elements = 1 << 22;         // of an input
constexpr std::int64_t most_elements_in_all = 1 << 25;  // of all sets
constexpr std::size_t most_sets = 60;

std::vector<Inputs> sets_to_try(const Graph& graph, const RunnableInputsRequest& request) {
  std::vector<Inputs> sets;
  std::int64_t elements = 0;
  for (const InputPlan& plan : plans_to_run(graph, request.sizes, request.seed)) {
    auto inputs = make_inputs(graph, plan, {}, most_elements);
    if (!inputs) continue;
    for (const auto& input : *inputs) elements += input.value.element_count();
    if (elements > most_elements_in_all || sets.size() == most_sets) break;
    sets.push_back(std::move(*inputs));
  }
  return sets;
}

/// The position of the first set that can be run. `also`: tried too if that is 0; may be empty.
std::optional<std::size_t> first_that_runs(OnnxRuntimeWorker& worker,
                                           const RunnableInputsRequest& request,
                                           std::vector<Inputs> sets, const Inputs& also,
                                           RunnableInputs& result) {
  const std::size_t set_count = sets.size();
  if (!also.empty()) sets.push_back(also);
  const TemporaryDirectory scratch;
  if (!scratch.good()) return std::nullopt;
  const std::filesystem::path data = scratch.path() / "inputs";
  auto written = write_inputs(sets, data);
  if (!written) {
    result.failure = written.error().message;
    result.answered = worker.version(request.seconds).has_value();
    return std::nullopt;
  }
  nlohmann::json asked = {{"action", "first"},
                          {"model", std::filesystem::absolute(request.model).string()},
                          {"data", data.string()},
                          {"threads", request.threads},
                          {"longest_run", request.longest_run},
                          {"seconds", request.seconds}};
  if (!also.empty()) {
    asked["also"] = written->back();
    written->erase(set_count);
  }
  asked["sets"] = std::move(*written);
  // Loading and one run cannot be ended.
  const auto answer = worker.ask(asked, 3 * request.seconds + 10);
  if (!answer) {
    result.failure = answer.error().message;
    result.answered = worker.was_available();
    return std::nullopt;
  }
  result.answered = true;
  result.failure = answer->value("message", "");
  result.runs_also = answer->value("also", false);
  const int index = answer->value("index", -1);
  if (index < 0 || static_cast<std::size_t>(index) >= set_count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

}  // namespace

RunnableInputs find_runnable_inputs(OnnxRuntimeWorker& worker, const Graph& graph,
                                    const RunnableInputsRequest& request) {
  RunnableInputs result;
  if (const auto first = first_that_runs(worker, request, request.first, request.also, result)) {
    result.inputs = request.first[*first];
    return result;
  }
  if (!result.answered) return result;
  const std::vector<Inputs> sets = sets_to_try(graph, request);
  if (const auto runnable = first_that_runs(worker, request, sets, {}, result))
    result.inputs = sets[*runnable];
  return result;
}

}  // namespace lemma
