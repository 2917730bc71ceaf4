#include "verifier/exchange/taso_instances.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lemma::exchange {
namespace {

using Range = RuleParameter::Range;

constexpr std::size_t most_instances = 48;
constexpr std::size_t more_axes = 1;  // than the fewest that a group has
constexpr std::int64_t most_length = 4;
constexpr std::int64_t most_integers = 3;

/// A bound of a range, as far as numbers of axes and earlier parameters decide it.
std::optional<std::int64_t> bound(const RuleExpression& expression, const RuleBindings& bindings) {
  const auto value = evaluate_dimension(expression, bindings);
  return value && value->is_constant() ? std::optional(value->offset()) : std::nullopt;
}

/// All permutations that exchange two neighbors.
std::vector<AttributeValue> permutations(std::int64_t length) {
  std::vector<AttributeValue> result;
  for (std::int64_t i = 0; i + 1 < length; ++i) {
    Integers order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i) + 1]);
    result.emplace_back(std::move(order));
  }
  return result;
}

std::vector<AttributeValue> values_of(const RuleParameter& parameter,
                                      const RuleBindings& bindings) {
  if (parameter.bounds.empty()) return {};
  const auto first = bound(parameter.bounds[0], bindings);
  if (!first || *first < 0 || *first > most_length) return {};
  std::vector<AttributeValue> result;
  switch (parameter.range) {
    case Range::dimensions:
      for (const std::int64_t number : {1, 0, 3})  // strides, pads, windows
        result.emplace_back(Shape(static_cast<std::size_t>(*first), Dimension(number)));
      return result;
    case Range::permutation: return permutations(*first);
    case Range::integer: {
      const auto end = bound(parameter.bounds[1], bindings);
      for (std::int64_t i = *first; end && i < std::min(*end, *first + most_integers); ++i)
        result.emplace_back(i);
      return result;
    }
    default: return {};
  }
}

/// Chooses values one after the other, parameters after all groups.
class Chooser {
 public:
  explicit Chooser(const Substitution& rule) : rule_(rule) {}

  std::vector<TasoInstance> run() {
    choose_length(0);
    return std::move(found_);
  }

 private:
  bool is_full() const { return found_.size() == most_instances; }

  void choose_length(std::size_t at) {
    if (is_full()) return;
    if (at == rule_.groups.size()) return choose_value(0);
    const RuleGroup& group = rule_.groups[at];
    const std::size_t most = std::min(group.maximum, group.minimum + more_axes);
    for (std::size_t length = group.minimum; length <= most; ++length) {
      instance_.lengths[group.name] = length;
      bindings_.groups[group.name] = Shape(length, Dimension::symbol(group.name));
      choose_length(at + 1);
    }
  }

  void choose_value(std::size_t at) {
    if (is_full()) return;
    if (at == rule_.parameters.size()) {
      found_.push_back(instance_);
      return;
    }
    const RuleParameter& parameter = rule_.parameters[at];
    const std::vector<AttributeValue> values = values_of(parameter, bindings_);
    if (values.empty()) return choose_value(at + 1);
    for (const AttributeValue& value : values) {
      instance_.parameters[parameter.name] = value;
      bindings_.parameters[parameter.name] = value;
      choose_value(at + 1);
    }
    instance_.parameters.erase(parameter.name);
    bindings_.parameters.erase(parameter.name);
  }

  const Substitution& rule_;
  TasoInstance instance_;
  RuleBindings bindings_;
  std::vector<TasoInstance> found_;
};

}  // namespace

std::vector<TasoInstance> taso_instances(const Substitution& rule) { return Chooser(rule).run(); }

}  // namespace lemma::exchange
