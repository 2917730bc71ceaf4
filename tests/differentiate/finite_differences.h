#pragma once
// Gradients of operators compared with differences of their values, in f64, on applications of all kinds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "differentiate/gradient_records.h"
#include "facts/operator_instances.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma::differentiate {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

/// Random choices that depend on a seed only.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(interpreter::random_word(seed_, 7, counter_++) %
                                     static_cast<std::uint64_t>(limit));
  }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(below(1 << 30)) / (1 << 30);
  }

 private:
  std::uint64_t seed_, counter_ = 0;
};

inline void note_symbols(const AttributeValue& value, std::map<std::string, int>& counts) {
  if (const auto* size = std::get_if<Dimension>(&value)) collect_symbols(*size, counts);
  if (const auto* list = std::get_if<Shape>(&value))
    for (const Dimension& size : *list) collect_symbols(size, counts);
}

inline AttributeValue substituted(const AttributeValue& value, const DimensionBindings& sizes) {
  if (const auto* size = std::get_if<Dimension>(&value)) return substitute(*size, sizes);
  const auto* list = std::get_if<Shape>(&value);
  if (list == nullptr) return value;
  Shape result;
  for (const Dimension& size : *list) result.push_back(substitute(size, sizes));
  return result;
}

/// Sizes in place of symbols.
inline OperatorInstance with_sizes(OperatorInstance instance, Choices& choices) {
  static constexpr std::int64_t sizes[] = {2, 3, 1, 2, 4, 3, 0, 2, 1, 3};
  std::map<std::string, int> counts;
  for (const TensorType& type : instance.inputs)
    if (type.shape) note_symbols(*type.shape, counts);
  for (const auto& [name, value] : instance.attributes) note_symbols(value, counts);
  DimensionBindings bindings;
  for (const auto& [name, count] : counts) bindings[name] = sizes[choices.below(10)];
  for (TensorType& type : instance.inputs)
    if (type.shape) type.shape = std::get<Shape>(substituted(*type.shape, bindings));
  Attributes attributes;
  for (const auto& [name, value] : instance.attributes)
    attributes.set(name, substituted(value, bindings));
  instance.attributes = std::move(attributes);
  return instance;
}

/// Instances that the shape rule accepts, an even sample.
inline std::vector<OperatorInstance> accepted_instances(const OperatorRecord& op,
                                                        std::size_t limit) {
  std::vector<OperatorInstance> all;
  visit_instances(op, [&](const OperatorInstance& instance) {
    const auto attributes =
        complete_attributes(op, instance.inputs, instance.attributes, instance.output_count);
    if (!attributes) return false;
    if (!infer_types(op, {instance.inputs, *attributes, instance.output_count})) return false;
    all.push_back(instance);
    return true;
  });
  std::vector<OperatorInstance> result;
  const std::size_t step = all.size() / limit + 1;
  for (std::size_t i = 0; i < all.size(); i += step) result.push_back(all[i]);
  return result;
}

/// Applications that the family of instances has with integers only.
inline void add_scatters(const OperatorRecord& op, std::vector<OperatorInstance>& instances) {
  const Dimension n = Dimension::symbol("N"), m = Dimension::symbol("M");
  const bool by_position = op.name == "ScatterElements";
  if (!by_position && op.name != "ScatterND") return;
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    OperatorInstance instance;
    instance.inputs = {{DataType::f32, Shape{n + 2, m}},
                       {DataType::i64, by_position ? Shape{n, m} : Shape{n, 1}},
                       {DataType::f32, Shape{n, m}}};
    instance.attributes = {{"reduction", std::string(reduction)}};
    instances.push_back(std::move(instance));
  }
}

inline std::string describe(const OperatorRecord& op, const OperatorInstance& instance) {
  std::string result(op.name);
  result += lemma::text(instance.attributes);
  for (const TensorType& type : instance.inputs) result += " " + lemma::text(type);
  return result;
}

/// Intervals that operands are drawn from: all functions are defined on one of them.
struct Interval {
  double low, high;
};
inline constexpr Interval intervals[] = {{-1.5, 1.5}, {0.2, 0.9}, {1.2, 2.5}};

/// An operator applied to inputs, with gradients for its outputs, and the gradient of one operand.
struct Application {
  Graph forward, backward;
  std::vector<std::string> names;  // of the operands; empty for absent ones
  std::vector<std::string> gradient_names;
};

inline Result<Application> apply(const OperatorRecord& op, const OperatorInstance& instance,
                                 std::uint32_t operand) {
  Application result;
  std::vector<ValueId> forward, backward;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const TensorType& type = instance.inputs[i];
    const bool absent = type.data_type == DataType::undefined;
    result.names.push_back(absent ? "" : fmt::format("x{}", i));
    forward.push_back(ValueId::none());
    backward.push_back(ValueId::none());
    if (absent) continue;
    LEMMA_ASSIGN_OR_RETURN(forward.back(), result.forward.add_input(result.names.back(), type));
    LEMMA_ASSIGN_OR_RETURN(backward.back(), result.backward.add_input(result.names.back(), type));
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                         result.forward.add_operation(operator_named(op.name), forward,
                                                      instance.attributes, instance.output_count));
  const Node applied = result.forward.node(node);
  std::size_t gradients = 0;
  for (std::uint32_t i = 0; i < applied.output_count; ++i) {
    const TensorType type = result.forward.type(applied.output(i));
    LEMMA_RETURN_IF_ERROR(result.forward.add_output(fmt::format("y{}", i), applied.output(i)));
    result.gradient_names.push_back(is_real(type.data_type) ? fmt::format("g{}", i) : "");
    backward.push_back(ValueId::none());
    if (!is_real(type.data_type)) continue;
    gradients = i + 1;
    LEMMA_ASSIGN_OR_RETURN(backward.back(),
                           result.backward.add_input(result.gradient_names.back(), type));
  }
  backward.resize(backward.size() - applied.output_count + gradients);
  const auto gradient = find_operator(gradient_name(op.name, operand));
  if (!gradient) return unsupported("there is no gradient");
  LEMMA_ASSIGN_OR_RETURN(
      const NodeId added,
      result.backward.add_operation(
          *gradient, backward,
          gradient_attributes(op, applied.attributes, applied.output_count, gradients)));
  LEMMA_RETURN_IF_ERROR(result.backward.add_output("dx", result.backward.node(added).output()));
  return result;
}

struct Comparison {
  enum class Outcome { agrees, differs, undefined } outcome = Outcome::undefined;
  std::string description;
};

class Sample {
 public:
  Sample(const Application& application, const OperatorInstance& instance, std::uint32_t operand,
         Interval interval, std::uint64_t seed)
      : application_(application), operand_(operand), seed_(seed) {
    interpreter::RandomRange range{interval.low, interval.high, 0, 1};
    for (std::size_t i = 0; i < instance.inputs.size(); ++i)
      if (!application.names[i].empty()) add(application.names[i], instance.inputs[i], range);
  }

  Comparison compare() {
    const auto values = run(application_.forward, operands_);
    if (!values) return {Comparison::Outcome::undefined, values.error().message};
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (application_.gradient_names[i].empty()) continue;
      weights_.push_back(interpreter::random_tensor((*values)[i].data_type(), (*values)[i].sizes(),
                                                    seed_, 50 + i, {}, Domain::f64));
      all_.push_back({application_.gradient_names[i], weights_.back()});
    }
    const auto gradient = run(application_.backward, all_);
    if (!gradient)
      return {gradient.error().kind == ErrorKind::unsupported ? Comparison::Outcome::undefined
                                                              : Comparison::Outcome::differs,
              gradient.error().message};
    const std::vector<double> dx = (*gradient)[0].reals();
    const Tensor& x = operands_[place_].value;
    if ((*gradient)[0].sizes() != x.sizes()) return {Comparison::Outcome::differs, "the shape"};
    for (std::uint64_t direction = 0; direction < 2; ++direction) {
      const Tensor u = interpreter::random_tensor(x.data_type(), x.sizes(), seed_, 90 + direction,
                                                  {}, Domain::f64);
      const std::vector<double> step = u.reals();
      double product = 0, size = 0;
      for (std::size_t i = 0; i < dx.size(); ++i) {
        product += dx[i] * step[i];
        size += std::abs(dx[i] * step[i]);
      }
      const auto coarse = difference(step, 2e-5), fine = difference(step, 1e-5);
      if (!coarse || !fine) return {Comparison::Outcome::undefined, "near an undefined point"};
      const double tolerance = 2e-5 * (1 + size + std::abs(*fine));
      // At a kink the differences do not agree among themselves.
      if (!(std::abs(*coarse - *fine) <= tolerance / 4))
        return {Comparison::Outcome::undefined, "the differences do not converge"};
      if (!(std::abs(product - *fine) <= tolerance))
        return {Comparison::Outcome::differs, fmt::format("{} instead of {}", product, *fine)};
    }
    return {Comparison::Outcome::agrees, {}};
  }

 private:
  static Result<std::vector<Tensor>> run(const Graph& graph,
                                         const std::vector<NamedTensor>& inputs) {
    interpreter::RunOptions options;
    options.domain = Domain::f64;
    options.threads = 1;
    return interpreter::run(graph, inputs, options);
  }

  void add(const std::string& name, const TensorType& type, const interpreter::RandomRange& range) {
    interpreter::Sizes sizes;
    for (const Dimension& size : *type.shape) sizes.push_back(size.offset());
    Tensor value = interpreter::random_tensor(type.data_type, sizes, seed_,
                                              interpreter::stream_of(name), range, Domain::f64);
    if (is_real(type.data_type)) {
      // Of all bits: numbers of a narrow type are often equal, which is where functions have no derivative.
      const Tensor wide = interpreter::random_tensor(DataType::f64, sizes, seed_,
                                                     interpreter::stream_of(name), range);
      value = Tensor::uninitialized(type.data_type, sizes, Domain::f64);
      std::copy(wide.bytes().begin(), wide.bytes().end(), value.writable_bytes().begin());
    }
    if (name == application_.names[operand_]) place_ = operands_.size();
    operands_.push_back({name, value});
    all_.push_back({name, value});
  }

  /// The slope of the weighted sum of the outputs along a direction.
  std::optional<double> difference(const std::vector<double>& step, double h) {
    double result = 0;
    for (const double sign : {1.0, -1.0}) {
      const Tensor& x = operands_[place_].value;
      std::vector<double> moved = x.reals();
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += sign * h * step[i];
      std::vector<NamedTensor> inputs = operands_;
      inputs[place_].value = Tensor::uninitialized(x.data_type(), x.sizes(), Domain::f64);
      std::copy_n(reinterpret_cast<const std::byte*>(moved.data()), moved.size() * sizeof(double),
                  inputs[place_].value.writable_bytes().data());
      const auto values = run(application_.forward, inputs);
      if (!values) return std::nullopt;
      std::size_t weight = 0;
      for (std::size_t i = 0; i < values->size(); ++i) {
        if (application_.gradient_names[i].empty()) continue;
        const std::vector<double> y = (*values)[i].reals(), w = weights_[weight++].reals();
        for (std::size_t k = 0; k < y.size(); ++k) result += sign * y[k] * w[k];
      }
    }
    if (!std::isfinite(result)) return std::nullopt;
    return result / (2 * h);
  }

  const Application& application_;
  std::uint32_t operand_;
  std::uint64_t seed_;
  std::size_t place_ = 0;
  std::vector<NamedTensor> operands_, all_;
  std::vector<Tensor> weights_;
};

/// What came of an operand of an operator.
struct OperandReport {
  int agree = 0, empty = 0;  // of those that agree, with an empty or one-element operand
  int undefined = 0;
  std::vector<std::string> failures;
  std::string last_undefined;
  std::string refusal;  // of the first application without a gradient
};

inline bool is_small(const OperatorInstance& instance) {
  double elements = 0;
  for (const TensorType& type : instance.inputs) {
    if (!type.shape) continue;
    double count = 1;
    for (const Dimension& size : *type.shape) {
      if (!size.is_constant() || size.offset() < 0) return false;
      count *= static_cast<double>(size.offset());
    }
    elements += count;
  }
  return elements <= 2500;
}

/// Compares until so many agree, or so many tries are over.
inline OperandReport compare_operand(const OperatorRecord& op,
                                     const std::vector<OperatorInstance>& instances,
                                     std::uint32_t operand, int wanted) {
  OperandReport report;
  std::vector<const OperatorInstance*> usable;
  for (const OperatorInstance& instance : instances)
    if (operand < instance.inputs.size() && is_real(instance.inputs[operand].data_type))
      usable.push_back(&instance);
  for (int round = 0; !usable.empty() && report.agree < wanted && round < 12 * wanted; ++round) {
    const std::uint64_t seed = 1000 * operand + static_cast<std::uint64_t>(round);
    Choices choices(seed + interpreter::stream_of(op.name));
    const OperatorInstance instance = with_sizes(
        *usable[static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(usable.size())))],
        choices);
    if (!is_small(instance)) continue;
    const auto attributes =
        complete_attributes(op, instance.inputs, instance.attributes, instance.output_count);
    if (!attributes) continue;
    const auto types = infer_types(op, {instance.inputs, *attributes, instance.output_count});
    if (!types) continue;
    const bool any_real = std::any_of(types->begin(), types->end(), [](const TensorType& type) {
      return is_real(type.data_type);
    });
    if (!any_real) continue;
    const auto application = apply(op, instance, operand);
    if (!application) {
      if (report.refusal.empty())
        report.refusal = describe(op, instance) + ": " + application.error().message;
      continue;
    }
    Sample sample(*application, instance, operand, intervals[choices.below(3)], seed);
    const Comparison comparison = sample.compare();
    if (comparison.outcome == Comparison::Outcome::undefined) {
      ++report.undefined;
      report.last_undefined = describe(op, instance) + ": " + comparison.description;
    }
    if (comparison.outcome == Comparison::Outcome::differs)
      report.failures.push_back(describe(op, instance) + ": " + comparison.description);
    if (comparison.outcome == Comparison::Outcome::agrees) {
      ++report.agree;
      bool few = false;
      for (const Dimension& size : *instance.inputs[operand].shape) few = few || size.offset() <= 1;
      if (few) ++report.empty;
    }
  }
  return report;
}

}  // namespace lemma::differentiate
