#include "rule_language/rule_cases.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "rule_language/axis_wise.h"
#include "rule_language/broadcast_patterns.h"
#include "rule_language/real_parameters.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

constexpr std::size_t case_limit = 20'000;

using Ranks = std::map<std::string, std::size_t>;

Shape symbols(const std::string& name, std::size_t count) {
  Shape result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(Dimension::symbol(fmt::format("{}.{}", name, i)));
  return result;
}

// ---- Parameters -------------------------------------------------------------------------------

Result<std::int64_t> bound(const RuleParameter& parameter, std::size_t i,
                           const RuleBindings& bindings) {
  LEMMA_ASSIGN_OR_RETURN(const Dimension value, evaluate_dimension(parameter.bounds[i], bindings));
  if (!value.is_constant())
    return bad_input(fmt::format("the range of '{}' depends on sizes", parameter.name));
  return value.offset();
}

Result<std::vector<AttributeValue>> values_of(const RuleParameter& parameter,
                                              const RuleBindings& bindings,
                                              std::size_t real_parameters) {
  using Range = RuleParameter::Range;
  std::vector<AttributeValue> values;
  switch (parameter.range) {
    case Range::dimensions: {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t length, bound(parameter, 0, bindings));
      values.emplace_back(symbols(parameter.name, static_cast<std::size_t>(length)));
      break;
    }
    case Range::dimension: values.emplace_back(Dimension::symbol(parameter.name)); break;
    case Range::permutation: {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t length, bound(parameter, 0, bindings));
      Integers order(static_cast<std::size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      do values.emplace_back(order);
      while (std::next_permutation(order.begin(), order.end()));
      break;
    }
    case Range::integer: {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t first, bound(parameter, 0, bindings));
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t end, bound(parameter, 1, bindings));
      if (end > first + static_cast<std::int64_t>(case_limit))
        return bad_input(fmt::format("'{}' ranges over {} to {}: more than {} values",
                                     parameter.name, first, end - 1, case_limit));
      for (std::int64_t i = first; i < end; ++i) values.emplace_back(i);
      break;
    }
    case Range::real: values = real_parameter_values(real_parameters); break;
    case Range::type: values.emplace_back(DataType::f32); break;
    case Range::strings:
      for (const std::string& value : parameter.strings) values.emplace_back(value);
      break;
  }
  return values;
}

/// How many permutations a parameter ranges over; 1 for other parameters.
Result<std::size_t> permutations(const RuleParameter& parameter, const RuleBindings& bindings) {
  if (parameter.range != RuleParameter::Range::permutation ||
      bindings.parameters.contains(parameter.name))
    return 1;
  LEMMA_ASSIGN_OR_RETURN(const std::int64_t length, bound(parameter, 0, bindings));
  std::size_t count = 1;
  for (std::int64_t i = 2; i <= length; ++i) count *= static_cast<std::size_t>(i);
  return count;
}

/// Whether the real parameters that have no value yet are enough to fill the gaps that those before
/// leave.
bool can_be_gapless(const Substitution& rule, const RuleBindings& bindings) {
  std::vector<AttributeValue> taken;
  std::size_t open = 0;
  for (const RuleParameter& parameter : rule.parameters) {
    if (parameter.range != RuleParameter::Range::real) continue;
    const auto value = bindings.parameters.find(parameter.name);
    if (value == bindings.parameters.end())
      ++open;
    else
      taken.push_back(value->second);
  }
  return gaps_between(taken) <= open;
}

/// Bindings for every choice of the parameters' values; nothing if there are too many. Parameters
/// that have a value already keep it.
Result<std::optional<std::vector<RuleBindings>>> with_parameters(const Substitution& rule,
                                                                 RuleBindings start,
                                                                 std::size_t limit) {
  std::size_t choices = 1;
  for (const RuleParameter& parameter : rule.parameters) {
    LEMMA_ASSIGN_OR_RETURN(const std::size_t more, permutations(parameter, start));
    choices *= more;
    if (choices > limit) return std::nullopt;
  }
  const std::size_t real_parameters = count_real_parameters(rule);
  std::vector<RuleBindings> result = {std::move(start)};
  for (const RuleParameter& parameter : rule.parameters) {
    if (result[0].parameters.contains(parameter.name)) continue;
    const bool is_real = parameter.range == RuleParameter::Range::real;
    std::vector<RuleBindings> next;
    for (const RuleBindings& before : result) {
      LEMMA_ASSIGN_OR_RETURN(const std::vector<AttributeValue> values,
                             values_of(parameter, before, real_parameters));
      for (const AttributeValue& value : values) {
        next.push_back(before);
        next.back().parameters[parameter.name] = value;
        if (is_real && !can_be_gapless(rule, next.back())) next.pop_back();
      }
    }
    if (next.size() > limit) return std::nullopt;
    result = std::move(next);
    if (result.empty()) break;
  }
  return result;
}

// ---- Conditions -------------------------------------------------------------------------------

/// Whether a value says the same for all sizes.
bool is_closed(const AttributeValue& value) {
  if (const auto* size = std::get_if<Dimension>(&value)) return size->is_constant();
  const auto* list = std::get_if<Shape>(&value);
  return list == nullptr || is_constant(*list);
}

/// Whether some condition is false in this case, whatever the sizes are. A condition with an argument
/// that depends on sizes, or that cannot be evaluated on symbols, is open: the proof does without it
/// (unless it gives a variable its value), and so shows more than is claimed.
bool is_excluded(const Substitution& rule, const RuleBindings& bindings) {
  Substitution alone;  // conditions_hold() would ask for the ranges of parameters as well
  for (const RuleCondition& condition : rule.conditions) {
    const bool is_open = std::any_of(condition.arguments.begin(), condition.arguments.end(),
                                     [&bindings](const RuleExpression& argument) {
                                       const auto value = detail::value_of(argument, bindings);
                                       return !value || !is_closed(*value);
                                     });
    if (is_open) continue;
    alone.conditions = {condition};
    if (!conditions_hold(alone, bindings)) return true;
  }
  return false;
}

// ---- Cases ------------------------------------------------------------------------------------

void bind_dimensions(const Substitution& rule, RuleBindings& bindings) {
  for (const std::string& name : dimension_variables(rule))
    bindings.dimensions.emplace(name, Dimension::symbol(name));
}

enum class LeftSide { fits, does_not_fit, too_large };

/// Whether the left side is well typed; too large if a number of elements has too many terms.
LeftSide left_side(const Substitution& rule, const RuleCase& rule_case) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule_case.inputs.size(); ++i)
    inputs.push_back(*graph.add_input(rule.inputs[i].name, rule_case.inputs[i]));
  const auto values = instantiate(rule, rule.left, inputs, rule_case.bindings, graph);
  if (values) return LeftSide::fits;
  return values.error().message.ends_with("overflows") ? LeftSide::too_large
                                                       : LeftSide::does_not_fit;
}

/// The cases for one choice of ranks; nothing if there are too many. `fits` is false if a left side
/// is not well typed.
using SomeCases = Result<std::optional<std::vector<RuleCase>>>;
SomeCases cases_with_groups(const Substitution& rule,
                            std::map<std::string, Shape, std::less<>> groups,
                            const GivenParameters& given, std::size_t limit, bool& fits) {
  RuleBindings start;
  start.groups = std::move(groups);
  start.parameters = given;
  bind_dimensions(rule, start);
  LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleBindings>> choices,
                         with_parameters(rule, std::move(start), limit));
  if (!choices) return std::nullopt;
  std::vector<RuleCase> result;
  for (RuleBindings& bindings : *choices) {
    bind_equalities(rule, bindings);
    if (is_excluded(rule, bindings)) continue;
    RuleCase rule_case;
    LEMMA_ASSIGN_OR_RETURN(rule_case.inputs, input_types(rule, bindings));
    rule_case.text = describe(rule, bindings);
    rule_case.bindings = std::move(bindings);
    const LeftSide left = left_side(rule, rule_case);
    if (left == LeftSide::too_large) return std::nullopt;
    fits = fits && left == LeftSide::fits;
    if (!fits) return result;
    result.push_back(std::move(rule_case));
  }
  return result;
}

}  // namespace

Result<Graph> side_as_graph(const Substitution& rule, std::span<const TermId> roots,
                            std::span<const TensorType> inputs, const RuleBindings& bindings) {
  Graph graph;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, graph.add_input(rule.inputs[i].name, inputs[i]));
    values.push_back(value);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         instantiate(rule, roots, values, bindings, graph));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    LEMMA_RETURN_IF_ERROR(graph.add_output(fmt::format("y{}", i), outputs[i]));
  return graph;
}

std::vector<std::string> dimension_variables(const Substitution& rule) {
  const auto is_named = [](const auto& list, const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&name](const auto& x) { return x.name == name; });
  };
  std::set<std::string> names;
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape)
      detail::for_each_expression(item, [&](const RuleExpression& e) {
        if (e.kind == RuleExpression::Kind::variable && !is_named(rule.groups, e.name) &&
            !is_named(rule.parameters, e.name))
          names.insert(e.name);
      });
  return {names.begin(), names.end()};
}

void bind_equalities(const Substitution& rule, RuleBindings& bindings) {
  for (const RuleCondition& condition : rule.conditions) {
    if (condition.kind != RuleCondition::Kind::equal) continue;
    const RuleExpression& variable = condition.arguments[0];
    if (variable.kind != RuleExpression::Kind::variable) continue;
    const auto value = evaluate_dimension(condition.arguments[1], bindings);
    if (!value) continue;
    const auto known = bindings.dimensions.find(variable.name);
    if (known != bindings.dimensions.end()) known->second = *value;
    for (const RuleParameter& parameter : rule.parameters)
      if (parameter.name == variable.name && parameter.range == RuleParameter::Range::dimension)
        bindings.parameters[parameter.name] = *value;
  }
}

Result<std::vector<TensorType>> input_types(const Substitution& rule, const RuleBindings& bindings,
                                            DataType real) {
  std::vector<TensorType> types;
  for (const RuleInput& input : rule.inputs) {
    RuleExpression list;
    list.kind = RuleExpression::Kind::list;
    list.arguments = input.shape;
    LEMMA_ASSIGN_OR_RETURN(AttributeValue shape,
                           evaluate_attribute(list, AttributeKind::dimensions, bindings));
    types.push_back({input.data_type == DataType::undefined ? real : input.data_type,
                     std::get<Shape>(std::move(shape))});
  }
  return types;
}

std::string describe(const Substitution& rule, const RuleBindings& bindings) {
  std::string result;
  for (const RuleGroup& group : rule.groups)
    result += fmt::format("{}{}={}", result.empty() ? "" : ", ", group.name,
                          text(bindings.groups.at(group.name)));
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range != RuleParameter::Range::dimensions &&
        parameter.range != RuleParameter::Range::dimension &&
        parameter.range != RuleParameter::Range::type)
      result += fmt::format("{}{}={}", result.empty() ? "" : ", ", parameter.name,
                            case_text(bindings.parameters.at(parameter.name)));
  return result;
}

SomeCases cases_with_ranks(const Substitution& rule, const Ranks& ranks,
                           const GivenParameters& given, const CaseLimits& limits) {
  std::map<std::string, Shape, std::less<>> unrelated;
  for (const auto& [name, rank] : ranks) unrelated[name] = symbols(name, rank);
  bool fits = true;
  LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleCase>> cases,
                         cases_with_groups(rule, unrelated, given, limits.choices, fits));
  if (fits) return cases;
  std::vector<RuleCase> result;
  LEMMA_ASSIGN_OR_RETURN(const auto classes, alignment(rule, ranks));
  const std::size_t count = count_patterns(classes, ranks);
  if (count > limits.patterns && limits.sampled == 0) return std::nullopt;
  const std::size_t chosen = count > limits.patterns ? limits.sampled : count;
  for (std::size_t i = 0; i < chosen; ++i) {
    bool pattern_fits = true;
    // Spread over all numbers; every one of them if chosen is the count.
    const std::size_t number = count / chosen * i + i * (count % chosen) / chosen;
    LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleCase>> more,
                           cases_with_groups(rule, broadcast_pattern(classes, ranks, number), given,
                                             limits.choices, pattern_fits));
    if (!more) return std::nullopt;
    if (!pattern_fits) return bad_input("the left side is not well typed for unrelated sizes");
    std::move(more->begin(), more->end(), std::back_inserter(result));
  }
  return result;
}

namespace {

/// The first choice of parameters with which the left side fits.
std::optional<RuleCase> first_that_fits(const Substitution& rule,
                                        std::map<std::string, Shape, std::less<>> groups) {
  constexpr std::size_t most_choices = 1'000;
  RuleBindings start;
  start.groups = std::move(groups);
  bind_dimensions(rule, start);
  const auto choices = with_parameters(rule, std::move(start), most_choices);
  if (!choices || !*choices) return std::nullopt;
  for (RuleBindings bindings : **choices) {
    bind_equalities(rule, bindings);
    if (is_excluded(rule, bindings)) continue;
    auto inputs = input_types(rule, bindings);
    if (!inputs) continue;
    RuleCase rule_case{std::move(bindings), std::move(*inputs), {}};
    if (left_side(rule, rule_case) == LeftSide::fits) return rule_case;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RuleCase> example_case(const Substitution& rule) {
  for (const std::size_t wanted : {1U, 2U, 0U, 3U}) {
    Ranks ranks;
    std::map<std::string, Shape, std::less<>> unrelated;
    for (const RuleGroup& group : rule.groups) {
      ranks[group.name] = std::clamp(wanted, group.minimum, group.maximum);
      unrelated[group.name] = symbols(group.name, ranks[group.name]);
    }
    if (auto rule_case = first_that_fits(rule, std::move(unrelated))) return rule_case;
    const auto classes = alignment(rule, ranks);
    if (!classes) continue;
    // The last pattern: no axis has size 1.
    const std::size_t last = count_patterns(*classes, ranks) - 1;
    if (auto rule_case = first_that_fits(rule, broadcast_pattern(*classes, ranks, last)))
      return rule_case;
  }
  return std::nullopt;
}

Result<void> for_each_rank(const Substitution& rule,
                           const std::function<Result<void>(const Ranks&)>& visit) {
  Ranks ranks;
  for (const RuleGroup& group : rule.groups) ranks[group.name] = group.minimum;
  while (true) {
    LEMMA_RETURN_IF_ERROR(visit(ranks));
    // The next choice of ranks, counting up like an odometer.
    std::size_t digit = 0;
    for (; digit < rule.groups.size(); ++digit) {
      const RuleGroup& group = rule.groups[digit];
      if (ranks[group.name] < group.maximum) {
        ++ranks[group.name];
        break;
      }
      ranks[group.name] = group.minimum;
    }
    if (digit == rule.groups.size()) return {};
  }
}

namespace {

/// The cases in which no group has an axis.
Result<std::vector<RuleCase>> cases_of_scalars(const Substitution& rule) {
  Ranks ranks;
  for (const RuleGroup& group : rule.groups) ranks[group.name] = 0;
  LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleCase>> cases,
                         cases_with_ranks(rule, ranks, {}, {case_limit, case_limit}));
  if (!cases) return bad_input("too many cases");
  if (cases->empty()) return bad_input("no choice of ranks and parameters meets the conditions");
  return std::move(*cases);
}

}  // namespace

Result<std::vector<RuleCase>> cases_of(const Substitution& rule) {
  LEMMA_RETURN_IF_ERROR(check_reals_are_compared(rule, count_real_parameters(rule)));
  if (is_proved_for_scalars(rule)) return cases_of_scalars(rule);
  std::vector<RuleCase> result;
  LEMMA_RETURN_IF_ERROR(for_each_rank(rule, [&](const Ranks& ranks) -> Result<void> {
    CaseLimits limits{case_limit, case_limit};
    LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleCase>> cases,
                           cases_with_ranks(rule, ranks, {}, limits));
    if (!cases || result.size() + cases->size() > case_limit) return bad_input("too many cases");
    std::move(cases->begin(), cases->end(), std::back_inserter(result));
    return {};
  }));
  if (result.empty()) return bad_input("no choice of ranks and parameters meets the conditions");
  return result;
}

Result<std::vector<RuleCase>> required_cases(const Substitution& rule) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> result, cases_of(rule));
  if (!rule.bidirectional) return result;
  std::set<std::string> known;
  for (const RuleCase& rule_case : result) known.insert(rule_case.text);
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> backward, cases_of(reversed(rule)));
  for (RuleCase& rule_case : backward)
    if (known.insert(rule_case.text).second) result.push_back(std::move(rule_case));
  return result;
}

Result<std::vector<RuleCase>> covered_cases(const Substitution& rule) {
  if (!is_proved_for_scalars(rule)) return required_cases(rule);
  constexpr std::size_t patterns = 3;
  std::vector<RuleCase> result;
  LEMMA_RETURN_IF_ERROR(for_each_rank(rule, [&](const Ranks& ranks) -> Result<void> {
    const bool is_shown = std::all_of(ranks.begin(), ranks.end(), [](const auto& entry) {
      return entry.second < 2 || entry.second == 4 || entry.second == most_axes_of_group;
    });
    if (!is_shown) return {};
    LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<RuleCase>> cases,
                           cases_with_ranks(rule, ranks, {}, {patterns, case_limit, patterns}));
    if (!cases) return bad_input("too many cases");
    std::move(cases->begin(), cases->end(), std::back_inserter(result));
    return {};
  }));
  return result;
}

}  // namespace lemma
