#include "verifier/prover/rule_instances.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "interpreter/random.h"
#include "rule_language/rule_cases.h"

namespace lemma::verifier {
namespace {

/// Choices that are the same for a seed, everywhere.
class Chooser {
 public:
  explicit Chooser(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t word() { return interpreter::random_word(seed_, 0, counter_++); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(word() % count); }
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool once_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace

class RuleInstances::Drawing {
 public:
  Drawing(const Substitution& rule, std::uint64_t seed) : rule_(rule), choose_(seed) {}

  std::optional<RuleInstance> next(std::optional<std::size_t> only_empty,
                                   const InstanceVariety& variety) {
    instance_ = {};
    variety_ = variety;
    if (variety.wide)
      instance_.magnitude =
          static_cast<int>(choose_.once_in(2) ? choose_.in(2, 20) : choose_.in(21, 30));
    only_empty_ = only_empty;
    choose_groups();
    choose_dimensions();
    bind_equalities(rule_, instance_.bindings);
    if (!choose_inputs()) return std::nullopt;
    choose_target_shapes();
    if (!choose_parameters()) return std::nullopt;
    if (!conditions_hold(rule_, instance_.bindings)) return std::nullopt;
    return instance_;
  }

 private:
  /// Now and then nothing, and now and then more than a byte can count.
  std::int64_t size() {
    if (only_empty_) return choose_.in(1, 4);
    if (choose_.once_in(12)) return 0;
    if (choose_.once_in(60)) return choose_.in(257, 300);
    return choose_.once_in(6) ? 1 : choose_.in(1, 5);
  }

  /// Half of the time groups are aligned at their ends, so that they can be broadcast.
  void choose_groups() {
    const bool aligned = choose_.once_in(2);
    std::vector<std::int64_t> common(16);
    for (std::int64_t& value : common)
      value = !only_empty_ && choose_.once_in(16) ? 0 : choose_.in(1, 4);
    const std::size_t same_rank = choose_.below(4);
    const bool one_rank = choose_.once_in(2);
    for (const RuleGroup& group : rule_.groups) {
      const std::size_t usual = group.minimum + (rule_.groups.size() > 2 ? 2 : 4);
      const std::size_t most = choose_.once_in(10) ? group.maximum : std::min(group.maximum, usual);
      std::size_t rank = group.minimum + choose_.below(most - group.minimum + 1);
      if (one_rank) rank = std::clamp(same_rank, group.minimum, most);
      Shape shape(rank);
      for (std::size_t i = 0; i < rank; ++i)
        shape[i] = aligned ? (choose_.once_in(5) ? 1 : common[rank - 1 - i]) : size();
      instance_.bindings.groups[group.name] = std::move(shape);
    }
  }

  /// Groups that stand in attributes only: the shapes that a Reshape makes.
  void choose_target_shapes() {
    for (auto& [name, shape] : instance_.bindings.groups) {
      const auto stands_for = [&name = name](const RuleExpression& e) {
        return e.kind == RuleExpression::Kind::splice && e.name == name;
      };
      const bool in_input = std::any_of(
          rule_.inputs.begin(), rule_.inputs.end(), [&stands_for](const RuleInput& input) {
            return std::any_of(input.shape.begin(), input.shape.end(), stands_for);
          });
      if (!in_input) shape = choose_list(shape.size(), 1);
    }
  }

  void choose_dimensions() {
    std::vector<const RuleExpression*> open;
    for (const RuleInput& input : rule_.inputs)
      for (const RuleExpression& item : input.shape) open.push_back(&item);
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const RuleExpression& argument : open[i]->arguments) open.push_back(&argument);
      const std::string& name = open[i]->name;
      if (open[i]->kind != RuleExpression::Kind::variable || is_parameter(name) ||
          instance_.bindings.groups.contains(name))
        continue;
      const bool is_empty = only_empty_ == instance_.bindings.dimensions.size();
      instance_.bindings.dimensions.try_emplace(name, is_empty ? 0 : size());
    }
    // A dimension parameter may stand in shapes (the number of groups of a convolution).
    for (const RuleParameter& parameter : rule_.parameters)
      if (parameter.range == RuleParameter::Range::dimension)
        instance_.bindings.parameters[parameter.name] = small();
  }

  bool is_parameter(const std::string& name) const {
    return std::any_of(rule_.parameters.begin(), rule_.parameters.end(),
                       [&name](const RuleParameter& p) { return p.name == name; });
  }

  Dimension small() { return choose_.once_in(4) ? Dimension(0) : Dimension(choose_.in(1, 3)); }

  bool choose_inputs() {
    instance_.inputs.clear();
    for (const RuleInput& input : rule_.inputs) {
      RuleExpression list;
      list.kind = RuleExpression::Kind::list;
      list.arguments = input.shape;
      auto shape = evaluate_attribute(list, AttributeKind::dimensions, instance_.bindings);
      if (!shape) return false;
      const Dimension count = element_count(std::get<Shape>(*shape));
      if (!count.is_constant() || count.offset() > instance_element_limit) return false;
      if (!has_sizes(std::get<Shape>(*shape))) return false;
      instance_.inputs.push_back(
          {input.data_type == DataType::undefined ? variety_.real : input.data_type,
           std::get<Shape>(std::move(*shape))});
    }
    return true;
  }

  std::optional<std::size_t> bound(const RuleParameter& parameter, std::size_t i) const {
    const auto value = evaluate_dimension(parameter.bounds[i], instance_.bindings);
    if (!value || !value->is_constant() || value->offset() < 0 || value->offset() > 32)
      return std::nullopt;
    return static_cast<std::size_t>(value->offset());
  }

  bool choose_parameters() {
    for (const RuleParameter& parameter : rule_.parameters) {
      auto value = choose_parameter(parameter);
      if (!value) return false;
      instance_.bindings.parameters[parameter.name] = std::move(*value);
    }
    return true;
  }

  std::optional<AttributeValue> choose_parameter(const RuleParameter& parameter) {
    using Range = RuleParameter::Range;
    switch (parameter.range) {
      case Range::dimension: return instance_.bindings.parameters[parameter.name];
      case Range::dimensions: {
        const auto length = bound(parameter, 0);
        if (!length) return std::nullopt;
        return choose_list(*length, 3);
      }
      case Range::permutation: {
        const auto length = bound(parameter, 0);
        if (!length) return std::nullopt;
        Integers order(*length);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[choose_.below(i)]);
        return order;
      }
      case Range::integer: {
        const auto first = bound(parameter, 0), end = bound(parameter, 1);
        if (!first || !end || *first >= *end) return std::nullopt;
        return static_cast<std::int64_t>(*first + choose_.below(*end - *first));
      }
      case Range::real: {
        const double value = real();
        if (value != 0) instance_.spread = std::max(instance_.spread, std::abs(std::ilogb(value)));
        return value;
      }
      case Range::type: return variety_.real;
      case Range::strings: return parameter.strings[choose_.below(parameter.strings.size())];
    }
    return std::nullopt;
  }

  /// Integers most often: with others nothing can be computed exactly.
  double real() {
    if (variety_.wide && !choose_.once_in(4)) return any_real();
    if (choose_.once_in(8)) return 0.375 * static_cast<double>(choose_.in(-20, 20));
    if (choose_.once_in(8)) return 1000.0 * static_cast<double>(choose_.in(-3, 3));
    return static_cast<double>(choose_.in(-2, 3));
  }

  /// A number of any magnitude: mostly an integer, and half of the others of a magnitude that f64 can
  /// compute with.
  double any_real() {
    const double digits = static_cast<double>(choose_.in(1, 99)) * (choose_.once_in(2) ? 1 : -1);
    if (!choose_.once_in(3)) return std::ldexp(digits, static_cast<int>(choose_.in(0, 40)));
    if (choose_.once_in(2)) return std::ldexp(digits, static_cast<int>(choose_.in(-14, 7)));
    return std::ldexp(digits, static_cast<int>(choose_.in(-1000, 1000)));
  }

  /// Small numbers (strides, pads, ...), or a shape with as many elements as an input (of Reshape).
  Shape choose_list(std::size_t length, std::size_t shape_once_in) {
    Shape result(length);
    if (!instance_.inputs.empty() && choose_.once_in(shape_once_in) && length > 0) {
      const TensorType& input = instance_.inputs[choose_.below(instance_.inputs.size())];
      std::int64_t rest = element_count(*input.shape).offset();
      std::fill(result.begin(), result.end(), Dimension(1));
      for (std::int64_t factor = 2; rest > 1; ++factor)
        for (; rest % factor == 0; rest /= factor) {
          Dimension& place = result[choose_.below(length)];
          place = place * factor;
        }
      return result;
    }
    const bool positive = choose_.once_in(2);
    for (Dimension& value : result) value = positive ? Dimension(choose_.in(1, 3)) : small();
    return result;
  }

  const Substitution& rule_;
  Chooser choose_;
  std::optional<std::size_t> only_empty_;
  InstanceVariety variety_;
  RuleInstance instance_;
};

RuleInstances::RuleInstances(const Substitution& rule, std::uint64_t seed)
    : drawing_(std::make_unique<Drawing>(rule, seed)) {}

RuleInstances::~RuleInstances() = default;

std::optional<RuleInstance> RuleInstances::next(std::optional<std::size_t> only_empty,
                                                const InstanceVariety& variety) {
  return drawing_->next(only_empty, variety);
}

}  // namespace lemma::verifier
