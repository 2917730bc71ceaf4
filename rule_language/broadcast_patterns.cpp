#include "rule_language/broadcast_patterns.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/operator.h"

namespace lemma {
namespace {

using Ranks = std::map<std::string, std::size_t>;

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
  return op.has(elementwise) || op.has(broadcasting);
}

/// Leaves all axes where they are, counted from the end, and relates none of different groups.
bool leaves_axes(const Substitution& rule, const RuleTerm& term) {
  if (!record(term.op).has(keeps_axes)) return false;
  const std::set<std::string> groups = groups_below(rule, term.operands[0]);
  return std::all_of(term.operands.begin(), term.operands.end(),
                     [&](TermId operand) { return groups_below(rule, operand) == groups; });
}

/// How many axes stand after each group; an error if that differs from input to input.
Result<std::map<std::string, std::size_t>> axes_after(const Substitution& rule,
                                                      const Ranks& ranks) {
  std::map<std::string, std::size_t> result;
  for (const RuleInput& input : rule.inputs) {
    std::size_t after = 0;
    for (std::size_t i = input.shape.size(); i-- > 0;) {
      const RuleExpression& item = input.shape[i];
      if (item.kind != RuleExpression::Kind::splice) {
        ++after;
        continue;
      }
      if (!result.try_emplace(item.name, after).second && result.at(item.name) != after)
        return bad_input(
            "the left side is well typed for some sizes only, and a group stands at several "
            "places");
      after += ranks.at(item.name);
    }
  }
  return result;
}

/// The groups aligned at each axis, counted from the beginning of their common end.
std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string>> aligned_axes(
    const AlignedClasses& classes, const Ranks& ranks) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string>> result;
  for (const auto& [name, rank] : ranks)
    for (std::size_t from_end = 1; from_end <= rank; ++from_end)
      result[{classes.at(name), from_end}].push_back(name);
  return result;
}

}  // namespace

Result<AlignedClasses> alignment(const Substitution& rule, const Ranks& ranks) {
  LEMMA_ASSIGN_OR_RETURN(const auto after, axes_after(rule, ranks));
  std::map<std::string, std::size_t> classes;
  for (const RuleGroup& group : rule.groups) classes.emplace(group.name, classes.size());
  std::set<std::pair<std::string, std::string>> met;
  for (const TermId id : terms_below(rule, rule.left)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input || groups_below(rule, id).empty()) continue;
    if (!broadcasts(term) && !leaves_axes(rule, term))
      return bad_input(
          fmt::format("the left side is well typed for some sizes only, and {} does "
                      "more than broadcast",
                      record(term.op).name));
    const std::set<std::string> groups = groups_below(rule, id);
    for (const std::string& first : groups)
      for (const std::string& other : groups) {
        if (after.contains(first) && after.contains(other) && after.at(first) != after.at(other)) {
          const auto end = [&](const std::string& name) { return after.at(name) + ranks.at(name); };
          if (after.at(first) < end(other) && after.at(other) < end(first))
            return bad_input("the left side is well typed for some sizes only, and groups overlap");
          continue;
        }
        met.emplace(first, other);
        const auto [target, old] = std::minmax({classes.at(other), classes.at(first)});
        for (auto& [name, number] : classes)
          if (number == old) number = target;
      }
  }
  // Of [7], [1] and [2] the first two fit, and the last two: sizes that fit with a third one need not
  // fit with each other.
  for (const auto& [first, its_class] : classes)
    for (const auto& [other, class_of_other] : classes)
      if (its_class == class_of_other && ranks.at(first) > 0 && ranks.at(other) > 0 &&
          !met.contains({first, other}) && first != other)
        return bad_input(fmt::format(
            "the left side is well typed for some sizes only, and {} and {} do not meet", first,
            other));
  return classes;
}

std::size_t count_patterns(const AlignedClasses& classes, const Ranks& ranks) {
  std::size_t count = 1;
  for (const auto& [axis, groups] : aligned_axes(classes, ranks)) {
    std::size_t more = 0;
    if (__builtin_mul_overflow(count, (std::size_t{1} << groups.size()) - 1, &more))
      return std::numeric_limits<std::size_t>::max();
    count = more;
  }
  return count;
}

std::map<std::string, Shape, std::less<>> broadcast_pattern(const AlignedClasses& classes,
                                                            const Ranks& ranks,
                                                            std::size_t number) {
  std::map<std::string, Shape, std::less<>> result;
  for (const auto& [name, rank] : ranks) result[name] = Shape(rank);
  for (const auto& [axis, groups] : aligned_axes(classes, ranks)) {
    const std::size_t choices = (std::size_t{1} << groups.size()) - 1;
    const std::size_t mask = number % choices + 1;
    number /= choices;
    const Dimension size = Dimension::symbol(fmt::format("axis.{}.{}", axis.first, axis.second));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Shape& shape = result[groups[i]];
      shape[shape.size() - axis.second] = (mask >> i & 1U) != 0 ? size : Dimension(1);
    }
  }
  return result;
}

}  // namespace lemma
