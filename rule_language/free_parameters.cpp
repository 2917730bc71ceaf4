#include "rule_language/free_parameters.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

class FreeBinder {
 public:
  FreeBinder(const Substitution& rule, std::span<const MatchedNode> nodes,
             std::span<const std::int64_t> target_values, std::vector<Shape> shapes)
      : rule_(rule), nodes_(nodes), target_values_(target_values), shapes_(std::move(shapes)) {}

  std::vector<RuleBindings> run(RuleBindings start) {
    choose(0, std::move(start));
    return std::move(ways_);
  }

 private:
  /// Chooses for the free parameters from this one on. The depth of the recursion is their number.
  void choose(std::size_t which, RuleBindings bindings) {
    if (!detail::bind_what_follows(rule_, shapes_, nodes_, bindings)) return;
    while (which < rule_.free.size() &&
           detail::value_of(rule_.free[which].expression, bindings).has_value())
      ++which;
    if (which == rule_.free.size()) {
      if (detail::bindings_fit(rule_, shapes_, nodes_, bindings))
        ways_.push_back(std::move(bindings));
      return;
    }
    for (const std::int64_t value : values(rule_.free[which], bindings)) {
      if (ways_.size() == most_free_ways || ++tried_ > most_free_trials) return;
      RuleBindings with_value = bindings;
      if (detail::solve_for(rule_.free[which].expression, value, with_value))
        choose(which + 1, std::move(with_value));
    }
  }

  std::vector<std::int64_t> values(const FreeParameter& free, const RuleBindings& bindings) const {
    switch (free.source) {
      case FreeParameter::Source::list: return free.values;
      case FreeParameter::Source::target: return {target_values_.begin(), target_values_.end()};
      case FreeParameter::Source::any: return range_of(detail::name_of(free), bindings);
      case FreeParameter::Source::divisors: break;
    }
    const std::optional<Dimension> size = size_of(free, bindings);
    return size ? divisors_of_size(*size, free.most) : std::vector<std::int64_t>();
  }

  /// The lengths that a group may have, or the integers that a parameter may be.
  std::vector<std::int64_t> range_of(const std::string& name, const RuleBindings& bindings) const {
    std::int64_t begin = 0, end = 0;
    for (const RuleGroup& group : rule_.groups) {
      if (group.name != name) continue;
      begin = static_cast<std::int64_t>(group.minimum);
      end = static_cast<std::int64_t>(group.maximum) + 1;
    }
    for (const RuleParameter& parameter : rule_.parameters) {
      if (parameter.name != name) continue;
      const auto first = evaluate_dimension(parameter.bounds[0], bindings);
      const auto past = evaluate_dimension(parameter.bounds[1], bindings);
      if (!first || !past || !first->is_constant() || !past->is_constant()) return {};
      const Dimension count = *past - *first;
      if (!count.is_valid()) return {};
      begin = first->offset();
      end = begin + std::min(count.offset(), static_cast<std::int64_t>(most_free_trials));
    }
    std::vector<std::int64_t> result;
    for (std::int64_t value = begin; value < end; ++value) result.push_back(value);
    return result;
  }

  std::optional<Dimension> size_of(const FreeParameter& free, const RuleBindings& bindings) const {
    if (const auto known = evaluate_dimension(free.size, bindings)) return *known;
    const auto place = detail::place_of_size(rule_, free.size);
    if (!place) return std::nullopt;
    const std::vector<RuleExpression>& declared = rule_.inputs[place->input].shape;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < place->item; ++i) {
      if (declared[i].kind != RuleExpression::Kind::splice) {
        ++axis;
        continue;
      }
      const auto group = bindings.groups.find(declared[i].name);
      if (group == bindings.groups.end()) return std::nullopt;
      axis += group->second.size();
    }
    const Shape& shape = shapes_[place->input];
    return axis < shape.size() ? std::optional(shape[axis]) : std::nullopt;
  }

  const Substitution& rule_;
  std::span<const MatchedNode> nodes_;
  std::span<const std::int64_t> target_values_;
  std::vector<Shape> shapes_;
  std::vector<RuleBindings> ways_;
  std::size_t tried_ = 0;
};

}  // namespace

std::vector<std::int64_t> divisors_of_size(const Dimension& size, std::size_t most) {
  std::vector<std::int64_t> result;
  if (size.is_constant() && size.offset() <= 0) return result;
  for (std::int64_t value = 2; value <= largest_free_divisor && result.size() < most; ++value)
    if (exact_div(size, Dimension(value))) result.push_back(value);
  return result;
}

std::vector<RuleBindings> bind_freely(const Substitution& rule,
                                      std::span<const TensorType* const> input_types,
                                      std::span<const MatchedNode> nodes,
                                      std::span<const std::int64_t> target_values) {
  RuleBindings start;
  auto shapes = detail::shapes_of_inputs(rule, input_types, start);
  if (!shapes) return {};
  return FreeBinder(rule, nodes, target_values, std::move(*shapes)).run(std::move(start));
}

}  // namespace lemma
