#include "check/whole_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "check/rounding_spread.h"
#include "interpreter/random.h"
#include "runner/run_graph.h"

namespace lemma {

namespace {

using Values = std::vector<RunTimeValue>;

/// Larger contents are no parameters of operators.
constexpr std::size_t largest_bound = 4096;

struct Outputs {
  std::vector<std::string> names;
  Values values;
};

Result<Outputs> run_file(const std::filesystem::path& file, const NamedValues& given,
                         const WholeRunRequest& request, runner::BodyCoverage& coverage) {
  ImportOptions options = request.reading;
  options.trusts_declarations = false;
  options.shapes.clear();
  options.bound_inputs.clear();
  for (const auto& [name, value] : given) {
    const Constant* tensor = value.tensor();
    if (tensor == nullptr || request.containers.contains(name)) continue;
    options.shapes.emplace(name, *tensor->type().shape);
    if (tensor->bytes().size() <= largest_bound) options.bound_inputs.emplace(name, *tensor);
  }
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, options));
  Values inputs;
  for (const NodeId id : model.graph.inputs()) {
    const std::string& name = model.graph.input_name(model.graph.node(id));
    const auto given_input = std::find_if(
        given.begin(), given.end(), [&name](const auto& input) { return input.name == name; });
    if (given_input == given.end()) return unsupported(fmt::format("no input '{}'", name));
    inputs.push_back(given_input->value);
  }
  runner::RunOptions running;
  running.threads = request.threads;
  running.deadline = request.deadline;
  running.step_limit = request.step_limit;
  running.coverage = &coverage;
  LEMMA_ASSIGN_OR_RETURN(Values values,
                         runner::run_graph(model.graph, model.envelope, inputs, running));
  Outputs outputs;
  for (const GraphOutput& output : model.graph.outputs()) outputs.names.push_back(output.name);
  outputs.values = std::move(values);
  return outputs;
}

/// Empty if all elements that are finite in the original are near enough.
std::string difference_of_reals(const std::vector<double>& before, const std::vector<double>& after,
                                const SampledTolerance& tolerance, double& max_error) {
  const interpreter::Tolerance allowed = tolerance_of_output(tolerance, before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i])) continue;
    max_error = std::fmax(max_error, std::abs(after[i] - before[i]));
    if (!(std::abs(after[i] - before[i]) <=
          allowed.absolute + allowed.relative * std::abs(before[i])))
      return fmt::format("element {} is {}, not {}", i, after[i], before[i]);
  }
  return "";
}

// NOLINTNEXTLINE(misc-no-recursion): values are nested as deeply as files can say.
std::string difference(const RunTimeValue& before, const RunTimeValue& after,
                       const SampledTolerance& tolerance, double& max_error) {
  const auto *first = before.sequence(), *second = after.sequence();
  if (first != nullptr && second != nullptr && first->size() == second->size()) {
    for (std::size_t i = 0; i < first->size(); ++i)
      if (auto reason = difference((*first)[i], (*second)[i], tolerance, max_error);
          !reason.empty())
        return fmt::format("in element {}: {}", i, reason);
    return "";
  }
  if (text(before) != text(after))
    return fmt::format("it is {}, not {}", text(after), text(before));
  if (before.strings() != nullptr)
    return *before.strings() == *after.strings() ? "" : "its strings differ";
  if (before.tensor() == nullptr) return "";
  const Constant &a = *before.tensor(), &b = *after.tensor();
  if (is_real(a.type().data_type))
    return difference_of_reals(a.reals(), b.reals(), tolerance, max_error);
  return a == b ? "" : "its elements differ";
}

/// Runs both on one set after the other.
class WholeRun {
 public:
  explicit WholeRun(const WholeRunRequest& request) : request_(request) {}

  WholeRunAnswer run() {
    for (const NamedValues& inputs : request_.sets) {
      if (&inputs != &request_.sets.front() && (is_late() || has_enough())) break;
      if (!compare_on(inputs)) return std::move(answer_);
    }
    if (answer_.sets > 0) {
      answer_.verdict = WholeRunVerdict::agrees;
      answer_.message.clear();
    }
    for (const runner::BodyCoverage* coverage : {&original_bodies_, &result_bodies_})
      for (const auto& [place, is_taken] : *coverage)
        if (!is_taken) answer_.untaken.push_back(place);
    return std::move(answer_);
  }

 private:
  bool is_late() const {
    return request_.deadline && std::chrono::steady_clock::now() > *request_.deadline;
  }

  bool has_enough() const {
    const auto all_taken = [](const runner::BodyCoverage& coverage) {
      return std::all_of(coverage.begin(), coverage.end(),
                         [](const auto& body) { return body.second; });
    };
    return answer_.sets >= request_.enough_sets && all_taken(original_bodies_) &&
           all_taken(result_bodies_);
  }

  bool differs(std::string message) {
    answer_.verdict = WholeRunVerdict::differs;
    answer_.message = std::move(message);
    return false;
  }

  /// False where nothing more is to be asked.
  bool compare_on(const NamedValues& inputs) {
    const auto before = run_file(request_.original, inputs, request_, original_bodies_);
    if (!before) {
      if (answer_.message.empty()) answer_.message = before.error().message;
      return true;
    }
    const auto after = run_file(request_.result, inputs, request_, result_bodies_);
    if (!after && is_late()) {
      answer_.message = "there was too little time";
      return true;
    }
    if (!after) {
      answer_.result_is_unsupported = after.error().kind == ErrorKind::unsupported;
      return differs("it cannot be run: " + after.error().message);
    }
    for (std::size_t i = 0; i < before->names.size(); ++i) {
      const auto position = std::find(after->names.begin(), after->names.end(), before->names[i]);
      if (position == after->names.end())
        return differs(fmt::format("it has no output '{}'", before->names[i]));
      const auto at = static_cast<std::size_t>(position - after->names.begin());
      if (const auto what = difference(before->values[i], after->values[at], request_.tolerance,
                                       answer_.max_error);
          !what.empty() && !is_rounding(inputs, *before, i, after->values[at]))
        return differs(fmt::format("output '{}': {}", before->names[i], what));
    }
    ++answer_.sets;
    return true;
  }

  /// Whether a few roundings of the inputs move output i of the original as far.
  bool is_rounding(const NamedValues& inputs, const Outputs& before, std::size_t i,
                   const RunTimeValue& after) const {
    const Constant *expected = before.values[i].tensor(), *actual = after.tensor();
    if (!request_.tolerance.knows_scale() || expected == nullptr || actual == nullptr ||
        !(expected->type() == actual->type()) || !is_real(expected->type().data_type))
      return false;
    std::vector<interpreter::Tensor> moved;
    for (std::uint64_t seed = 0; seed < rounding_runs; ++seed) {
      NamedValues changed = inputs;
      for (NamedValue& input : changed)
        if (const Constant* tensor = input.value.tensor();
            tensor != nullptr && is_computable(tensor->type().data_type))
          input.value =
              changed_by_rounding({input.name, interpreter::Tensor::of(*tensor)}, seed).constant();
      runner::BodyCoverage ignored;
      const auto outputs = run_file(request_.original, changed, request_, ignored);
      if (outputs && outputs->values[i].tensor() != nullptr)
        moved.push_back(interpreter::Tensor::of(*outputs->values[i].tensor()));
    }
    const interpreter::Tensor wanted = interpreter::Tensor::of(*expected);
    OutputAllowance allowed{allowance_for(wanted.data_type(), spread_of(wanted, moved)), 0};
    allowed.relative = relative_allowance(wanted.data_type());
    return is_within(interpreter::Tensor::of(*actual), wanted, allowed);
  }

  static constexpr std::uint64_t rounding_runs = 3;
  const WholeRunRequest& request_;
  runner::BodyCoverage original_bodies_, result_bodies_;
  WholeRunAnswer answer_;
};

// ---- Inputs -------------------------------------------------------------------------------------

constexpr int variant_count = 12;

/// Real elements of a variant: as given, of one sign, larger, or 0.
double varied(double element, int variant) {
  switch (variant) {
    case 2: return -element;
    case 3: return 2 * element;
    case 4: return std::abs(element);
    case 5: return -std::abs(element);
    case 6: return 4 * element;
    case 7: return 0;
    case 8: return 1 + std::abs(element);
    case 9: return -1 - std::abs(element);
    default: return element;
  }
}

/// `position`: among the inputs of one element, so that several conditions go all ways.
RunTimeValue varied(const Constant& given, int variant, std::size_t position, std::uint64_t seed) {
  using interpreter::Tensor;
  const DataType type = given.type().data_type;
  const Tensor tensor = Tensor::of(given);
  if (is_real(type)) {
    std::vector<double> elements = tensor.reals();
    for (double& element : elements) element = varied(element, variant);
    return Tensor::from_reals(type, tensor.sizes(), elements).constant();
  }
  std::vector<std::int64_t> elements = tensor.integers();
  if (type != DataType::boolean) {
    constexpr std::array<std::int64_t, variant_count> counts = {1, 3, 1, 2, 0, 5, 4, 3, 2, 1, 0, 6};
    if (elements.size() == 1) elements[0] = counts[static_cast<std::size_t>(variant)];
    return Tensor::from_integers(type, tensor.sizes(), elements).constant();
  }
  if (elements.size() == 1)
    elements[0] =
        position < 3
            ? (variant >> position) & 1
            : static_cast<std::int64_t>(
                  interpreter::random_word(seed, position, static_cast<std::uint64_t>(variant)) &
                  1U);
  else if (variant % 2 == 1)
    for (std::int64_t& element : elements) element = element == 0 ? 1 : 0;
  return Tensor::from_integers(type, tensor.sizes(), elements).constant();
}

}  // namespace

std::string_view name(WholeRunVerdict verdict) {
  constexpr std::array<std::string_view, 3> names = {"not available", "agrees", "differs"};
  return names[static_cast<std::size_t>(verdict)];
}

WholeRunAnswer run_whole(const WholeRunRequest& request) { return WholeRun(request).run(); }

std::vector<NamedValues> variants_of(const NamedValues& inputs, std::uint64_t seed) {
  std::vector<NamedValues> sets = {inputs};
  if (inputs.empty()) return sets;
  for (int variant = 1; variant < variant_count; ++variant) {
    NamedValues set = inputs;
    std::size_t position = 0;
    for (NamedValue& input : set) {
      const Constant* tensor = input.value.tensor();
      if (tensor == nullptr || !is_computable(tensor->type().data_type)) continue;
      const bool is_condition =
          tensor->type().data_type == DataType::boolean && tensor->element_count() == 1;
      input.value = varied(*tensor, variant, position, seed);
      if (is_condition) ++position;
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace lemma
