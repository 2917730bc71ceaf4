#include "pipeline/whole_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "runner/run_graph.h"

namespace lemma {

namespace {

using Values = std::vector<RunTimeValue>;

/// Larger contents are no parameters of operators.
constexpr std::size_t largest_bound = 4096;
/// A loop that takes more steps on generated inputs says nothing.
constexpr std::int64_t most_steps = 10'000;

struct Outputs {
  std::vector<std::string> names;
  Values values;
};

Result<Outputs> run_file(const std::filesystem::path& file, const WholeRunRequest& request) {
  ImportOptions options = request.reading;
  options.trusts_declarations = false;
  options.shapes.clear();
  options.bound_inputs.clear();
  for (const auto& [name, tensor] : request.inputs) {
    options.shapes.emplace(name, *tensor.type().shape);
    if (tensor.bytes().size() <= largest_bound)
      options.bound_inputs.emplace(name, tensor.constant());
  }
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, options));
  Values inputs;
  for (const NodeId id : model.graph.inputs()) {
    const std::string& name = model.graph.input_name(model.graph.node(id));
    const auto given = std::find_if(request.inputs.begin(), request.inputs.end(),
                                    [&name](const auto& input) { return input.name == name; });
    if (given == request.inputs.end()) return unsupported(fmt::format("no input '{}'", name));
    inputs.emplace_back(given->value.constant());
  }
  runner::RunOptions running;
  running.threads = request.threads;
  running.deadline = request.deadline;
  running.step_limit = most_steps;
  LEMMA_ASSIGN_OR_RETURN(Values values,
                         runner::run_graph(model.graph, model.envelope, inputs, running));
  Outputs outputs;
  for (const GraphOutput& output : model.graph.outputs()) outputs.names.push_back(output.name);
  outputs.values = std::move(values);
  return outputs;
}

/// Empty if all elements that are finite in the original are near enough.
std::string difference_of_reals(const std::vector<double>& before, const std::vector<double>& after,
                                const SampledTolerance& tolerance) {
  const interpreter::Tolerance allowed = tolerance_of_output(tolerance, before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i])) continue;
    if (!(std::abs(after[i] - before[i]) <=
          allowed.absolute + allowed.relative * std::abs(before[i])))
      return fmt::format("element {} is {}, not {}", i, after[i], before[i]);
  }
  return "";
}

// NOLINTNEXTLINE(misc-no-recursion): values are nested as deeply as files can say.
std::string difference(const RunTimeValue& before, const RunTimeValue& after,
                       const SampledTolerance& tolerance) {
  const auto *first = before.sequence(), *second = after.sequence();
  if (first != nullptr && second != nullptr && first->size() == second->size()) {
    for (std::size_t i = 0; i < first->size(); ++i)
      if (auto found = difference((*first)[i], (*second)[i], tolerance); !found.empty())
        return fmt::format("in element {}: {}", i, found);
    return "";
  }
  if (text(before) != text(after))
    return fmt::format("it is {}, not {}", text(after), text(before));
  if (before.strings() != nullptr)
    return *before.strings() == *after.strings() ? "" : "its strings differ";
  if (before.tensor() == nullptr) return "";
  const Constant &a = *before.tensor(), &b = *after.tensor();
  if (is_real(a.type().data_type)) return difference_of_reals(a.reals(), b.reals(), tolerance);
  return a == b ? "" : "its elements differ";
}

}  // namespace

std::string_view name(WholeRunVerdict verdict) {
  constexpr std::array<std::string_view, 3> names = {"not available", "agrees", "differs"};
  return names[static_cast<std::size_t>(verdict)];
}

WholeRunAnswer run_whole(const WholeRunRequest& request) {
  const auto before = run_file(request.original, request);
  if (!before) return {WholeRunVerdict::not_available, before.error().message};
  const auto after = run_file(request.result, request);
  const bool is_late = request.deadline && std::chrono::steady_clock::now() > *request.deadline;
  if (!after && is_late) return {WholeRunVerdict::not_available, "there was too little time"};
  if (!after) return {WholeRunVerdict::differs, "it cannot be run: " + after.error().message};
  for (std::size_t i = 0; i < before->names.size(); ++i) {
    const auto found = std::find(after->names.begin(), after->names.end(), before->names[i]);
    if (found == after->names.end())
      return {WholeRunVerdict::differs, fmt::format("it has no output '{}'", before->names[i])};
    const auto at = static_cast<std::size_t>(found - after->names.begin());
    if (const auto what = difference(before->values[i], after->values[at], request.tolerance);
        !what.empty())
      return {WholeRunVerdict::differs, fmt::format("output '{}': {}", before->names[i], what)};
  }
  return {WholeRunVerdict::agrees, ""};
}

}  // namespace lemma
