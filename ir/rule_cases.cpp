#include "ir/rule_cases.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "ir/substitution_analysis.h"

namespace lemma {
namespace {

constexpr std::size_t case_limit = 20'000;

using Choice = std::vector<std::pair<std::string, AttributeValue>>;

Shape symbols(const std::string& name, std::size_t count) {
  Shape result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(Dimension::symbol(fmt::format("{}.{}", name, i)));
  return result;
}

// ---- Groups that are broadcast against each other ---------------------------------------------

/// The groups that stand in each input's shape, and in the shape of an Expand.
std::set<std::string> groups_below(const Substitution& rule, TermId id) {
  std::set<std::string> result;
  std::vector<TermId> open = {id};
  const auto collect = [&result](const std::vector<RuleExpression>& list) {
    for (const RuleExpression& item : list)
      if (item.kind == RuleExpression::Kind::splice) result.insert(item.name);
  };
  while (!open.empty()) {
    const RuleTerm& term = rule.terms[open.back().v];
    open.pop_back();
    if (term.is_input) collect(rule.inputs[term.input].shape);
    for (const auto& [name, expression] : term.attributes) collect(expression.arguments);
    for (const TermId operand : term.operands)
      if (!operand.is_none()) open.push_back(operand);
  }
  return result;
}

std::vector<TermId> terms_below(const Substitution& rule, const std::vector<TermId>& roots) {
  std::vector<char> seen(rule.terms.size(), 0);
  for (const TermId root : roots) seen[root.v] = 1;
  std::vector<TermId> result;
  for (std::uint32_t i = static_cast<std::uint32_t>(rule.terms.size()); i-- > 0;) {
    if (seen[i] == 0) continue;
    result.push_back({i});
    for (const TermId operand : rule.terms[i].operands)
      if (!operand.is_none()) seen[operand.v] = 1;
  }
  return result;
}

bool broadcasts(const RuleTerm& term) {
  const OperatorRecord& op = record(term.op);
  return op.has(elementwise) || op.name == "MatMul" || op.name == "Expand";
}

/// Which groups are aligned with each other: a number for each, that of the first one in order of
/// declaration. An error where alignment at the
/// end of the groups is not all that relates them.
Result<std::map<std::string, std::size_t>> alignment(const Substitution& rule) {
  std::map<std::string, std::size_t> classes;
  for (const RuleGroup& group : rule.groups) classes.emplace(group.name, classes.size());
  for (const TermId id : terms_below(rule, rule.left)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input) continue;
    if (!broadcasts(term))
      return bad_input(
          fmt::format("the left side is well typed for some sizes only, and {} does "
                      "more than broadcast",
                      record(term.op).name));
    const std::set<std::string> groups = groups_below(rule, id);
    if (groups.empty()) continue;
    std::size_t target = classes.size();
    for (const std::string& group : groups) target = std::min(target, classes.at(group));
    for (const std::string& group : groups) {
      const std::size_t old = classes.at(group);
      for (auto& [name, number] : classes)
        if (number == old) number = target;
    }
  }
  std::map<std::size_t, std::size_t> sizes_after;  // by class: axes after the group
  for (const RuleInput& input : rule.inputs)
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      if (input.shape[i].kind != RuleExpression::Kind::splice) continue;
      const std::size_t after = input.shape.size() - 1 - i;
      const auto [where, inserted] =
          sizes_after.try_emplace(classes.at(input.shape[i].name), after);
      if (i != 0 || (!inserted && where->second != after))
        return bad_input(
            "the left side is well typed for some sizes only, and its groups are not "
            "the first axes of inputs with equally many others");
    }
  return classes;
}

/// All ways in which aligned axes may have the common size or 1; at least one has the common size.
std::vector<std::map<std::string, Shape, std::less<>>> broadcast_patterns(
    const std::map<std::string, std::size_t>& classes,
    const std::map<std::string, std::size_t>& ranks) {
  std::vector<std::map<std::string, Shape, std::less<>>> result(1);
  for (const auto& [name, rank] : ranks) result[0][name] = Shape(rank);
  std::size_t deepest = 0;
  for (const auto& [name, rank] : ranks) deepest = std::max(deepest, rank);
  const std::set<std::size_t> numbers = [&classes] {
    std::set<std::size_t> all;
    for (const auto& [name, number] : classes) all.insert(number);
    return all;
  }();
  for (const std::size_t number : numbers)
    for (std::size_t from_end = 1; from_end <= deepest; ++from_end) {
      std::vector<std::string> aligned;
      for (const auto& [name, rank] : ranks)
        if (classes.at(name) == number && rank >= from_end) aligned.push_back(name);
      if (aligned.empty()) continue;
      const Dimension size = Dimension::symbol(fmt::format("axis{}.{}", number, from_end));
      std::vector<std::map<std::string, Shape, std::less<>>> next;
      for (const auto& before : result)
        for (std::uint32_t mask = 1; mask < (1U << aligned.size()); ++mask) {
          next.push_back(before);
          for (std::size_t i = 0; i < aligned.size(); ++i) {
            Shape& shape = next.back()[aligned[i]];
            shape[shape.size() - from_end] = (mask >> i & 1U) != 0 ? size : Dimension(1);
          }
        }
      result = std::move(next);
    }
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
                                              const RuleBindings& bindings) {
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
      if (length > 6) return bad_input(fmt::format("too many permutations of {} axes", length));
      Integers order(static_cast<std::size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      do values.emplace_back(order);
      while (std::next_permutation(order.begin(), order.end()));
      break;
    }
    case Range::integer: {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t first, bound(parameter, 0, bindings));
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t end, bound(parameter, 1, bindings));
      for (std::int64_t i = first; i < end; ++i) values.emplace_back(i);
      break;
    }
    case Range::real:
      for (const double value : real_samples) values.emplace_back(value);
      break;
    case Range::strings:
      for (const std::string& value : parameter.strings) values.emplace_back(value);
      break;
  }
  return values;
}

/// Bindings for every choice of the parameters' values.
Result<std::vector<RuleBindings>> with_parameters(const Substitution& rule, RuleBindings start) {
  std::vector<RuleBindings> result = {std::move(start)};
  for (const RuleParameter& parameter : rule.parameters) {
    std::vector<RuleBindings> next;
    for (const RuleBindings& before : result) {
      LEMMA_ASSIGN_OR_RETURN(const std::vector<AttributeValue> values,
                             values_of(parameter, before));
      for (const AttributeValue& value : values) {
        next.push_back(before);
        next.back().parameters[parameter.name] = value;
      }
    }
    if (next.size() > case_limit) return bad_input("too many cases");
    result = std::move(next);
  }
  return result;
}

// ---- Conditions -------------------------------------------------------------------------------

bool depends_on_sizes(const RuleExpression& expression, const RuleBindings& bindings) {
  if (const auto value = evaluate_dimension(expression, bindings)) return !value->is_constant();
  if (const auto list = evaluate_attribute(expression, AttributeKind::dimensions, bindings))
    return !is_constant(std::get<Shape>(*list));
  return false;
}

/// Whether some condition is false in this case. One that depends on sizes is not: the proof does
/// without it, and so shows more than is claimed.
bool is_excluded(Substitution rule, const RuleBindings& bindings) {
  const std::vector<RuleCondition> conditions = std::move(rule.conditions);
  for (const RuleCondition& condition : conditions) {
    rule.conditions = {condition};
    if (conditions_hold(rule, bindings)) continue;
    const bool open =
        std::any_of(condition.arguments.begin(), condition.arguments.end(),
                    [&bindings](const RuleExpression& e) { return depends_on_sizes(e, bindings); });
    if (!open) return true;
  }
  return false;
}

// ---- Cases ------------------------------------------------------------------------------------

void bind_dimensions(const Substitution& rule, RuleBindings& bindings) {
  for (const std::string& name : dimension_variables(rule))
    bindings.dimensions.emplace(name, Dimension::symbol(name));
}

bool is_well_typed(const Substitution& rule, const RuleCase& one) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < one.inputs.size(); ++i)
    inputs.push_back(*graph.add_input(rule.inputs[i].name, one.inputs[i]));
  return instantiate(rule, rule.left, inputs, one.bindings, graph).has_value();
}

/// The cases for one choice of ranks. `fits` is false if a left side is not well typed.
Result<std::vector<RuleCase>> cases_with_groups(const Substitution& rule,
                                                std::map<std::string, Shape, std::less<>> groups,
                                                bool& fits) {
  RuleBindings start;
  start.groups = std::move(groups);
  bind_dimensions(rule, start);
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleBindings> choices,
                         with_parameters(rule, std::move(start)));
  std::vector<RuleCase> result;
  for (RuleBindings& bindings : choices) {
    if (is_excluded(rule, bindings)) continue;
    RuleCase one;
    LEMMA_ASSIGN_OR_RETURN(one.inputs, input_types(rule, bindings));
    one.text = describe(rule, bindings);
    one.bindings = std::move(bindings);
    fits = fits && is_well_typed(rule, one);
    if (!fits) return result;
    result.push_back(std::move(one));
  }
  return result;
}

Result<void> add_cases(const Substitution& rule, const std::map<std::string, std::size_t>& ranks,
                       std::vector<RuleCase>& result) {
  std::map<std::string, Shape, std::less<>> unrelated;
  for (const auto& [name, rank] : ranks) unrelated[name] = symbols(name, rank);
  bool fits = true;
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> cases, cases_with_groups(rule, unrelated, fits));
  if (!fits) {
    cases.clear();
    LEMMA_ASSIGN_OR_RETURN(const auto classes, alignment(rule));
    for (auto& groups : broadcast_patterns(classes, ranks)) {
      bool pattern_fits = true;
      LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> more,
                             cases_with_groups(rule, groups, pattern_fits));
      if (!pattern_fits) return bad_input("the left side is not well typed for unrelated sizes");
      std::move(more.begin(), more.end(), std::back_inserter(cases));
    }
  }
  std::move(cases.begin(), cases.end(), std::back_inserter(result));
  if (result.size() > case_limit) return bad_input("too many cases");
  return {};
}

}  // namespace

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
        parameter.range != RuleParameter::Range::dimension)
      result += fmt::format("{}{}={}", result.empty() ? "" : ", ", parameter.name,
                            text(bindings.parameters.at(parameter.name)));
  return result;
}

Result<std::vector<RuleCase>> forward_cases(const Substitution& rule) {
  std::vector<RuleCase> result;
  std::map<std::string, std::size_t> ranks;
  for (const RuleGroup& group : rule.groups) ranks[group.name] = group.minimum;
  while (true) {
    auto added = add_cases(rule, ranks, result);
    if (!added) return tl::unexpected(std::move(added.error()));
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
    if (digit == rule.groups.size()) break;
  }
  if (result.empty()) return bad_input("no choice of ranks and parameters meets the conditions");
  return result;
}

Result<std::vector<RuleCase>> required_cases(const Substitution& rule) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> result, forward_cases(rule));
  if (!rule.bidirectional) return result;
  std::set<std::string> known;
  for (const RuleCase& one : result) known.insert(one.text);
  LEMMA_ASSIGN_OR_RETURN(std::vector<RuleCase> backward, forward_cases(reversed(rule)));
  for (RuleCase& one : backward)
    if (known.insert(one.text).second) result.push_back(std::move(one));
  return result;
}

}  // namespace lemma
