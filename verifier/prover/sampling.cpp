#include "verifier/prover/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "interpreter/compare.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "ir/constant_expression.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_use.h"
#include "verifier/prover/counterexample.h"
#include "verifier/prover/rule_instances.h"

namespace lemma::verifier {
namespace {

using interpreter::Domain;
using interpreter::Tensor;

/// Whether the exponent of a power may be 0: pow(NaN, 0) is 1.
bool takes_powers(const Graph& graph, const Node& node) {
  const OperatorRecord& op = graph.op(node);
  if (op.define == nullptr) return false;
  const std::vector<TensorType> types = graph.input_types(node);
  const Definition definition = op.define({types, node.attributes, node.output_count});
  return std::any_of(definition.nodes().begin(), definition.nodes().end(),
                     [&definition](const ExpressionNode& expression) {
                       return expression.kind == ExpressionKind::power &&
                              !constant_value(definition, expression.operands[1]);
                     });
}

/// Real parameters up to 2^spread and down to 2^-spread can be computed with in f64.
constexpr int usual_spread = 11, largest_spread = 14;
constexpr double usual_tolerance = 1e-9, wide_tolerance = 1e-2;

// ---- Describing -------------------------------------------------------------------------------

std::string describe(const Substitution& rule, const RuleInstance& instance) {
  std::string result;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    result += fmt::format("{}{} : {}", result.empty() ? "" : ", ", rule.inputs[i].name,
                          text(instance.inputs[i]));
  for (const auto& [name, value] : instance.bindings.parameters)
    result += fmt::format(", {} = {}", name, text(value));
  return result;
}

std::string describe(const Substitution& rule, const std::vector<Tensor>& tensors) {
  std::string result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<double> values = tensors[i].reals();
    result += fmt::format("{}{} = [", i == 0 ? "" : ", ", rule.inputs[i].name);
    for (std::size_t j = 0; j < values.size() && j < 64; ++j)
      result += fmt::format("{}{}", j == 0 ? "" : " ", values[j]);
    result += values.size() > 64 ? " ...]" : "]";
  }
  return result;
}

// ---- Evaluating -------------------------------------------------------------------------------

/// A value for each variable, in the order of variable_names.
std::string witness(const Substitution& rule, const RuleBindings& bindings) {
  std::string result;
  for (const std::string& name : variable_names(rule)) {
    std::string value;
    if (const auto group = bindings.groups.find(name); group != bindings.groups.end())
      value = text(group->second);
    else if (const auto size = bindings.dimensions.find(name); size != bindings.dimensions.end())
      value = size->second.text();
    else
      value = text(bindings.parameters.at(name));
    result += fmt::format("{}{}={}", result.empty() ? "" : ", ", name, value);
  }
  return result;
}

/// Both sides of an instance as one graph.
struct EvaluatedSides {
  Graph graph;
  std::vector<ValueId> left, right;
};

bool is_small(const Graph& graph) {
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    const auto& shape = graph.type({v}).shape;
    const Dimension count = shape ? element_count(*shape) : Dimension(0);
    if (!count.is_constant() || count.offset() > instance_element_limit) return false;
  }
  return true;
}

class Evaluation {
 public:
  Evaluation(const Substitution& rule, const RuleInstance& instance, std::uint64_t seed)
      : rule_(rule), instance_(instance), seed_(seed) {}

  /// Whether the left side is well typed; a counterexample if then the right side is not, or has
  /// other types.
  bool build(std::optional<Refuted>& counterexample) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < instance_.inputs.size(); ++i)
      inputs.push_back(*sides_.graph.add_input(rule_.inputs[i].name, instance_.inputs[i]));
    auto left = instantiate(rule_, rule_.left, inputs, instance_.bindings, sides_.graph);
    if (!left || !is_small(sides_.graph)) return false;
    sides_.left = std::move(*left);
    auto right = instantiate(rule_, rule_.right, inputs, instance_.bindings, sides_.graph);
    if (!right) {
      counterexample =
          refuted({}, std::nullopt, "the right side is undefined: " + right.error().message);
      return true;
    }
    sides_.right = std::move(*right);
    for (std::size_t i = 0; i < sides_.left.size(); ++i) {
      const TensorType &l = sides_.graph.type(sides_.left[i]),
                       &r = sides_.graph.type(sides_.right[i]);
      if (l == r) continue;
      counterexample = refuted(
          {}, std::nullopt, fmt::format("output {} has the types {} and {}", i, text(l), text(r)));
      return true;
    }
    return true;
  }

  /// False if the contents could not be computed in any domain; `failure` says why.
  bool evaluate(std::optional<Refuted>& counterexample, std::string& failure) {
    add_outputs();
    if (computes_reals_only() && instance_.spread <= largest_spread)
      evaluate_undefined(counterexample);
    if (counterexample) return true;
    for (const Domain domain : {Domain::exact_integer, Domain::prime_field, Domain::f64}) {
      // The greatest of nothing is undefined, which only f64 can say.
      if (has_empty_input() && domain != Domain::f64) continue;
      if (domain == Domain::f64 && instance_.spread > largest_spread) {
        failure = "a number is too large or too small to be computed with in f64";
        continue;
      }
      const std::vector<Tensor> inputs = contents(domain);
      const auto outputs = outputs_in(domain, inputs);
      if (!outputs) {
        failure = outputs.error().message;
        continue;
      }
      compare(inputs, *outputs, domain, counterexample);
      return true;
    }
    return false;
  }

  /// False if an instance cannot be computed.
  bool round(RoundingError& result) {
    add_outputs();
    const std::vector<Tensor> inputs = many_magnitudes();
    const auto narrow = outputs_in(Domain::native, inputs), wide = outputs_in(Domain::f64, inputs);
    if (!narrow || !wide) return false;
    for (std::size_t i = 0; i + 1 < narrow->size(); i += 2) {
      const auto comparison = interpreter::compare((*narrow)[i + 1], (*narrow)[i], {});
      if (!comparison.equal && result.identical) {
        result.identical = false;
        result.difference = describe(rule_, instance_) + ": " + comparison.description;
      }
      result.left = std::max(result.left, relative_error((*narrow)[i], (*wide)[i]));
      result.right = std::max(result.right, relative_error((*narrow)[i + 1], (*wide)[i]));
    }
    return true;
  }

 private:
  /// Largest error over elements that are finite in both, relative to the largest magnitude.
  static double relative_error(const Tensor& narrow, const Tensor& wide) {
    if (!is_real(narrow.data_type())) return 0;
    const std::vector<double> values = narrow.reals(), reference = wide.reals();
    double error = 0, largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i]) || !std::isfinite(reference[i])) continue;
      error = std::max(error, std::abs(values[i] - reference[i]));
      largest = std::max(largest, std::abs(reference[i]));
    }
    return largest == 0 ? 0 : error / largest;
  }

  Result<std::vector<Tensor>> outputs_in(Domain domain, const std::vector<Tensor>& inputs) const {
    std::vector<interpreter::NamedTensor> named;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      named.push_back({rule_.inputs[i].name, inputs[i]});
    interpreter::RunOptions options;
    options.domain = domain;
    options.plain = true;
    options.threads = 1;
    options.infinities_are_undefined = domain == Domain::f64;
    return interpreter::run(sides_.graph, named, options);
  }

  void add_outputs() {
    for (std::size_t i = 0; i < sides_.left.size(); ++i) {
      (void)sides_.graph.add_output(fmt::format("left {}", i), sides_.left[i]);
      (void)sides_.graph.add_output(fmt::format("right {}", i), sides_.right[i]);
    }
  }

  /// Reals of either sign and of many magnitudes.
  std::vector<Tensor> many_magnitudes() const {
    std::vector<Tensor> result = contents(Domain::native);
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!is_real(result[i].data_type())) continue;
      std::vector<double> values = result[i].reals();
      for (std::size_t j = 0; j < values.size(); ++j) {
        const std::uint64_t word = interpreter::random_word(seed_, 1000 + i, j);
        values[j] = std::ldexp(values[j], static_cast<int>(word % 11) - 5);
      }
      result[i] = Tensor::from_reals(result[i].data_type(), result[i].sizes(), values);
    }
    return result;
  }

  std::vector<Tensor> contents(Domain domain) const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < instance_.inputs.size(); ++i) {
      const TensorType& type = instance_.inputs[i];
      // Half of the instances have negative reals too: undefined logarithms and roots must be so on
      // both sides.
      interpreter::RandomRange range{seed_ % 2 == 0 ? 0.25 : -2, 2, -4, 4};
      if (is_integer(type.data_type) && interpreter::random_word(seed_, 3000, i) % 4 == 0)
        range.integer_low = std::numeric_limits<std::int64_t>::min() / 4,
        range.integer_high = std::numeric_limits<std::int64_t>::max() / 4;
      if (type.data_type == DataType::boolean) range.integer_low = 0, range.integer_high = 1;
      const bool real = is_real(type.data_type);
      if (real && domain == Domain::exact_integer) {
        range.integer_high = INT64_C(1) << instance_.magnitude;
        range.integer_low = -range.integer_high;
      }
      result.push_back(interpreter::random_tensor(type.data_type, *constant_sizes(*type.shape),
                                                  seed_, i + 1, range,
                                                  real ? domain : Domain::native));
    }
    return result;
  }

  bool has_empty_input() const {
    return std::any_of(instance_.inputs.begin(), instance_.inputs.end(),
                       [](const TensorType& type) { return element_count(*type.shape).is(0); });
  }

  /// NaN stands for undefined elements; comparisons of reals do not pass it on.
  bool computes_reals_only() const {
    const Graph& graph = sides_.graph;
    return std::all_of(graph.nodes().begin(), graph.nodes().end(), [&graph](const Node& node) {
      if (node.kind != NodeKind::operation) return true;
      const bool takes_reals =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&graph](ValueId input) {
            return !input.is_none() && is_real(graph.type(input).data_type);
          });
      return !takes_reals ||
             (is_real(graph.type(node.output()).data_type) && !takes_powers(graph, node));
    });
  }

  /// Contents with undefined elements and zeros: where the left side is defined, the right side is.
  void evaluate_undefined(std::optional<Refuted>& counterexample) const {
    std::vector<Tensor> inputs = contents(Domain::f64);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_real(inputs[i].data_type())) continue;
      std::vector<double> values = inputs[i].reals();
      for (std::size_t j = 0; j < values.size(); ++j) {
        const std::uint64_t word = interpreter::random_word(seed_, 2000 + i, j);
        values[j] = 0.5 * (static_cast<double>(word % 9) - 4);
        if (word / 16 % 4 == 0 && !rule_.inputs[i].defined)
          values[j] = std::numeric_limits<double>::quiet_NaN();
      }
      std::memcpy(inputs[i].writable_bytes().data(), values.data(), 8 * values.size());
    }
    if (const auto outputs = outputs_in(Domain::f64, inputs))
      compare(inputs, *outputs, Domain::f64, counterexample);
  }

  void compare(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, Domain domain,
               std::optional<Refuted>& counterexample) const {
    const bool is_wide = domain == Domain::f64 && instance_.spread > usual_spread;
    if (is_wide && first_difference(outputs, domain, wide_tolerance).empty()) return;
    const std::string difference = first_difference(outputs, domain, usual_tolerance);
    if (!difference.empty()) counterexample = refuted(inputs, domain, difference);
  }

  Refuted refuted(const std::vector<Tensor>& inputs, std::optional<Domain> domain,
                  const std::string& difference) const {
    return {
        describe(rule_, instance_), inputs.empty() ? "" : describe(rule_, inputs), difference,
        counterexample_text(rule_, witness(rule_, instance_.bindings), domain, inputs, difference)};
  }

  const Substitution& rule_;
  const RuleInstance& instance_;
  std::uint64_t seed_;
  EvaluatedSides sides_;
};

}  // namespace

namespace {

constexpr std::size_t border_attempts = 20;

/// Samples for each dimension variable an instance in which it alone is 0, as far as the rule has
/// one.
void sample_empty_sizes(const Substitution& rule, std::uint64_t seed, Sampling& result) {
  RuleInstances instances(rule, seed);
  const std::size_t variables = dimension_variables(rule).size();
  for (std::size_t variable = 0; variable < variables; ++variable)
    for (std::size_t attempt = 0; attempt < border_attempts; ++attempt) {
      const auto instance = instances.next(variable);
      if (!instance) continue;
      Evaluation evaluation(rule, *instance, seed + attempt);
      if (!evaluation.build(result.counterexample)) continue;
      const bool done =
          result.counterexample || evaluation.evaluate(result.counterexample, result.failure);
      if (result.counterexample) return;
      if (done) break;
    }
}

}  // namespace

Sampling sample(const Substitution& rule, const SamplingOptions& options) {
  constexpr std::array types = {DataType::f64, DataType::f32, DataType::f16, DataType::bf16};
  Sampling result;
  RuleInstances instances(rule, options.seed);
  for (std::size_t attempt = 0; attempt < options.attempts && result.evaluated < options.wanted;
       ++attempt) {
    // The first instance is the witness, which is better small.
    const bool is_wide = result.evaluated > 0 && attempt % 2 == 1;
    const auto instance = instances.next(
        std::nullopt,
        is_wide ? InstanceVariety{true, types[attempt / 2 % types.size()]} : InstanceVariety{});
    if (!instance) continue;
    Evaluation evaluation(rule, *instance, options.seed + attempt);
    if (!evaluation.build(result.counterexample)) continue;
    if (result.counterexample) return result;
    if (evaluation.evaluate(result.counterexample, result.failure) && ++result.evaluated == 1)
      result.witness = witness(rule, instance->bindings);
    if (result.counterexample) return result;
  }
  sample_empty_sizes(rule, options.seed + options.attempts, result);
  return result;
}

RoundingError measure_rounding(const Substitution& rule, DataType real,
                               const SamplingOptions& options) {
  RoundingError result;
  Substitution typed = rule;
  for (RuleInput& input : typed.inputs)
    if (input.data_type == DataType::undefined) input.data_type = real;
  RuleInstances instances(typed, options.seed);
  for (std::size_t attempt = 0; attempt < options.attempts && result.instances < options.wanted;
       ++attempt) {
    const auto instance = instances.next(std::nullopt, {false, real});
    if (!instance) continue;
    Evaluation evaluation(typed, *instance, options.seed + attempt);
    std::optional<Refuted> counterexample;
    if (!evaluation.build(counterexample) || counterexample) continue;
    if (evaluation.round(result)) ++result.instances;
  }
  return result;
}

std::vector<LabelledInstance> label_instances(const Substitution& rule,
                                              const SamplingOptions& options) {
  std::vector<LabelledInstance> result;
  RuleInstances instances(rule, options.seed);
  for (std::size_t attempt = 0; attempt < options.attempts && result.size() < options.wanted;
       ++attempt) {
    const auto instance = instances.next();
    if (!instance) continue;
    std::optional<Refuted> counterexample;
    std::string failure;
    Evaluation evaluation(rule, *instance, options.seed + attempt);
    if (!evaluation.build(counterexample)) continue;
    if (!counterexample && !evaluation.evaluate(counterexample, failure)) continue;
    result.push_back({instance->bindings, !counterexample});
  }
  return result;
}

}  // namespace lemma::verifier
