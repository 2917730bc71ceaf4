#include "verifier/prover/counterexample.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/quoted.h"
#include "interpreter/run.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_use.h"

namespace lemma::verifier {
namespace {

using interpreter::Domain;
using interpreter::Tensor;

constexpr std::string_view heading = "lemma counterexample 1";
constexpr Domain domains[] = {Domain::exact_integer, Domain::prime_field, Domain::f64};

/// Elements of real types are doubles in f64, and integers of 64 bits in the exact domains.
std::string elements_text(const Tensor& tensor) {
  std::string result;
  if (!is_real(tensor.data_type())) {
    for (const std::int64_t element : tensor.integers()) result += fmt::format(" {}", element);
    return result;
  }
  const std::byte* next = tensor.bytes().data();
  for (std::int64_t i = 0; i < tensor.element_count(); ++i, next += 8) {
    double real = 0;
    std::int64_t integer = 0;
    std::memcpy(&real, next, 8);
    std::memcpy(&integer, next, 8);
    result +=
        tensor.domain() == Domain::f64 ? fmt::format(" {}", real) : fmt::format(" {}", integer);
  }
  return result;
}

template <typename T>
Result<std::vector<T>> numbers(std::string_view written, std::int64_t count) {
  std::vector<T> result;
  for (const std::string_view word : words(written)) {
    if (word.empty()) continue;
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      return bad_input(fmt::format("'{}' is no number", word));
    result.push_back(value);
  }
  if (static_cast<std::int64_t>(result.size()) != count)
    return bad_input(fmt::format("{} elements are given, not {}", result.size(), count));
  return result;
}

template <typename T>
Tensor tensor_of_words(const TensorType& type, Domain domain, const std::vector<T>& values) {
  Tensor result = Tensor::uninitialized(type.data_type, *constant_sizes(*type.shape), domain);
  std::memcpy(result.writable_bytes().data(), values.data(), values.size() * 8);
  return result;
}

Result<Tensor> parse_elements(const TensorType& type, Domain domain, std::string_view written) {
  const std::int64_t count = element_count(*type.shape).offset();
  if (is_real(type.data_type) && domain == Domain::f64) {
    LEMMA_ASSIGN_OR_RETURN(const auto values, numbers<double>(written, count));
    return tensor_of_words(type, domain, values);
  }
  LEMMA_ASSIGN_OR_RETURN(const auto values, numbers<std::int64_t>(written, count));
  if (is_real(type.data_type)) return tensor_of_words(type, domain, values);
  return Tensor::from_integers(type.data_type, *constant_sizes(*type.shape), values);
}

/// Both sides at concrete values.
class CounterexampleReplay {
 public:
  explicit CounterexampleReplay(ReplayedCounterexample& result) : result_(result) {}

  Result<void> bind() {
    const std::vector<std::string> names = variable_names(result_.rule);
    LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(result_.values, names));
    for (std::size_t i = 0; i < names.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const RuleExpression value, parse_rule_expression(values[i]));
      LEMMA_RETURN_IF_ERROR(bind_variable(result_.rule, names[i], value, {}, bindings_));
    }
    if (!conditions_hold(result_.rule, bindings_))
      return bad_input("the values do not meet the conditions of the rule");
    LEMMA_ASSIGN_OR_RETURN(types_, input_types(result_.rule, bindings_));
    take_real_type();
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (!constant_sizes(*types_[i].shape)) return bad_input("a size is not a number");
      LEMMA_ASSIGN_OR_RETURN(const ValueId input,
                             graph_.add_input(result_.rule.inputs[i].name, types_[i]));
      inputs.push_back(input);
    }
    auto left = instantiate(result_.rule, result_.rule.left, inputs, bindings_, graph_);
    if (!left) return with_context("the left side is not defined", std::move(left.error()));
    const auto right = instantiate(result_.rule, result_.rule.right, inputs, bindings_, graph_);
    if (!right) {
      result_.evaluated = "the right side is undefined: " + right.error().message;
      return {};
    }
    for (std::size_t i = 0; i < left->size(); ++i) {
      const TensorType &l = graph_.type((*left)[i]), &r = graph_.type((*right)[i]);
      if (!(l == r) && result_.evaluated.empty())
        result_.evaluated = fmt::format("output {} has the types {} and {}", i, text(l), text(r));
      LEMMA_RETURN_IF_ERROR(graph_.add_output(fmt::format("left {}", i), (*left)[i]));
      LEMMA_RETURN_IF_ERROR(graph_.add_output(fmt::format("right {}", i), (*right)[i]));
    }
    return {};
  }

  Result<void> evaluate(Domain domain) {
    if (result_.inputs.size() != types_.size()) return bad_input("an input is missing, or stray");
    std::vector<interpreter::NamedTensor> inputs;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const std::string& name = result_.rule.inputs[i].name;
      const std::string before = fmt::format("{} {} =", name, text(types_[i]));
      std::string_view line = result_.inputs[i];
      if (!line.starts_with(before)) return bad_input(fmt::format("expected '{}'", before));
      LEMMA_ASSIGN_OR_RETURN(Tensor tensor,
                             parse_elements(types_[i], domain, line.substr(before.size())));
      inputs.push_back({name, std::move(tensor)});
    }
    interpreter::RunOptions options;
    options.domain = domain;
    options.plain = true;
    options.infinities_are_undefined = true;
    options.threads = 1;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           interpreter::run(graph_, inputs, options));
    result_.evaluated = first_difference(outputs, domain);
    return {};
  }

 private:
  /// Inputs without a type have the real type that is written with their elements.
  void take_real_type() {
    for (std::size_t i = 0; i < types_.size() && i < result_.inputs.size(); ++i) {
      if (result_.rule.inputs[i].data_type != DataType::undefined) continue;
      for (const DataType real : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16})
        if (result_.inputs[i].starts_with(
                fmt::format("{} {}[", result_.rule.inputs[i].name, name(real))))
          types_[i].data_type = real;
    }
  }

  ReplayedCounterexample& result_;
  RuleBindings bindings_;
  std::vector<TensorType> types_;
  Graph graph_;
};

/// The lines of the text after their first words.
struct CounterexampleParts {
  std::string rule;
  std::optional<std::string> domain;
  bool ended = false;
};

Result<CounterexampleParts> parse_lines(std::string_view written, ReplayedCounterexample& result) {
  CounterexampleParts parts;
  bool first = true;
  while (!written.empty()) {
    const std::size_t end = written.find('\n');
    if (end == std::string_view::npos || parts.ended)
      return bad_input("there is text after the end");
    const std::string line(written.substr(0, end));
    written.remove_prefix(end + 1);
    const auto after = [&line](std::string_view prefix) { return line.substr(prefix.size()); };
    if (first && line != heading)
      return bad_input(fmt::format("the first line is not '{}': another format", heading));
    if (line.starts_with("rule ") || line.starts_with("  "))
      parts.rule += line + "\n";
    else if (line.starts_with("values"))
      result.values = line == "values" ? "" : after("values ");
    else if (line.starts_with("domain "))
      parts.domain = after("domain ");
    else if (line.starts_with("input "))
      result.inputs.push_back(after("input "));
    else if (line.starts_with("difference "))
      result.difference = after("difference ");
    else if (line == "end")
      parts.ended = true;
    else if (!first)
      return bad_input(fmt::format("'{}' is no line of a counterexample", line));
    first = false;
  }
  if (!parts.ended) return bad_input("the end is missing");
  return parts;
}

}  // namespace

std::string counterexample_text(const Substitution& rule, const std::string& values,
                                std::optional<Domain> domain, const std::vector<Tensor>& inputs,
                                const std::string& difference) {
  std::string result =
      fmt::format("{}\n{}values{}{}\n", heading, text(rule), values.empty() ? "" : " ", values);
  if (domain) result += fmt::format("domain {}\n", interpreter::name(*domain));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result += fmt::format("input {} {} ={}\n", rule.inputs[i].name, text(inputs[i].type()),
                          elements_text(inputs[i]));
  return result + fmt::format("difference {}\nend\n", difference);
}

namespace {

/// The right side, with the element of the left side where that is undefined: nothing is claimed there.
Tensor where_defined(const Tensor& left, const Tensor& right) {
  const bool fits = is_real(left.data_type()) && left.type() == right.type() &&
                    left.domain() == right.domain() && left.domain() != Domain::native;
  if (!fits) return right;
  const std::vector<double> values = left.reals();
  if (std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    return right;
  Tensor result = Tensor::uninitialized(right.data_type(), right.sizes(), right.domain());
  const std::span<std::byte> bytes = result.writable_bytes();
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + 8 * i,
                (std::isfinite(values[i]) ? right : left).bytes().data() + 8 * i, 8);
  return result;
}

}  // namespace

std::string first_difference(const std::vector<Tensor>& outputs, Domain domain, double allowed) {
  const interpreter::Tolerance tolerance =
      domain == Domain::f64 ? interpreter::Tolerance{allowed, allowed} : interpreter::Tolerance{};
  for (std::size_t i = 0; i + 1 < outputs.size(); i += 2) {
    const Tensor right = where_defined(outputs[i], outputs[i + 1]);
    const auto comparison = interpreter::compare(right, outputs[i], tolerance);
    if (!comparison.equal)
      return fmt::format("output {}: {}{} (right and left side, in {})", i / 2,
                         comparison.type_difference, comparison.description,
                         interpreter::name(domain));
  }
  return "";
}

Result<ReplayedCounterexample> replay_counterexample(std::string_view written) {
  ReplayedCounterexample result;
  LEMMA_ASSIGN_OR_RETURN(const CounterexampleParts parts, parse_lines(written, result));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, parse_substitutions(parts.rule, "rule"));
  if (rules.size() != 1) return bad_input("one rule is wanted");
  result.rule = std::move(rules[0]);
  CounterexampleReplay replay(result);
  LEMMA_RETURN_IF_ERROR(replay.bind());
  if (!result.evaluated.empty() || !parts.domain) return result;
  for (const Domain domain : domains)
    if (interpreter::name(domain) == *parts.domain) {
      LEMMA_RETURN_IF_ERROR(replay.evaluate(domain));
      return result;
    }
  return bad_input(fmt::format("there is no domain '{}'", *parts.domain));
}

}  // namespace lemma::verifier
