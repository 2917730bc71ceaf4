#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "database/axes.h"
#include "database/expressions.h"
#include "database/proposals.h"
#include "database/trial.h"
#include "ir/operator.h"
#include "rule_language/axis_wise.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

using Kind = RuleExpression::Kind;
using Items = std::vector<RuleExpression>;

// ---- Between the axes that are named ----------------------------------------------------------

/// "len(A) + len(B) + 2": the axis after so many groups and named axes.
RuleExpression axis_after(const std::vector<std::string>& groups, std::int64_t named) {
  std::optional<RuleExpression> result;
  const auto add = [&result](RuleExpression e) {
    result = result ? sum(std::move(*result), std::move(e)) : std::move(e);
  };
  for (const std::string& group : groups)
    if (!group.empty()) add(length_of(group));
  if (named > 0 || !result) add(literal(named));
  return *result;
}

/// The positions that are named, and a choice of gaps before, between and after them that become
/// groups: the first one of up to `most` axes, the others of up to `most_later`.
class GapProposal {
 public:
  GapProposal(const Substitution& rule, const AxisUses& uses, std::vector<std::int64_t> named,
              std::size_t gaps, std::size_t most, std::size_t most_later)
      : rule_(rule),
        uses_(uses),
        named_(std::move(named)),
        chosen_(gaps),
        most_(most),
        most_later_(most_later) {}

  std::optional<Substitution> make() {
    const std::size_t count = named_.size() + 1;
    const auto first = static_cast<std::size_t>(std::countr_zero(chosen_));
    for (std::size_t gap = 0; gap < count; ++gap)
      groups_.push_back((chosen_ >> gap & 1U) != 0
                            ? add_group(rule_, 0, gap == first ? most_ : most_later_)
                            : "");
    for (std::size_t i = 0; i < rule_.inputs.size(); ++i)
      if (uses_.input_ranks[i] == uses_.most && !set_shape(rule_.inputs[i].shape))
        return std::nullopt;
    for (const AxisUse& use : uses_.axes) {
      if (use.rank != uses_.most) return std::nullopt;
      set_axes(use);
    }
    return std::move(rule_);
  }

 private:
  /// First axis of a gap, and the one after it.
  std::pair<std::size_t, std::size_t> bounds(std::size_t gap) const {
    const std::size_t begin = gap == 0 ? 0 : static_cast<std::size_t>(named_[gap - 1]) + 1;
    const std::size_t end =
        gap == named_.size() ? uses_.most : static_cast<std::size_t>(named_[gap]);
    return {begin, end};
  }

  /// A gap becomes a group if it holds the same sizes in all inputs.
  bool set_shape(Items& shape) {
    Items result;
    for (std::size_t gap = 0; gap < groups_.size(); ++gap) {
      const auto [begin, end] = bounds(gap);
      const Items inside(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end));
      if (groups_[gap].empty())
        result.insert(result.end(), inside.begin(), inside.end());
      else if (contents_.try_emplace(gap, inside).first->second == inside)
        result.push_back(splice(groups_[gap]));
      else
        return false;
      if (gap < named_.size()) result.push_back(shape[static_cast<std::size_t>(named_[gap])]);
    }
    shape = std::move(result);
    return true;
  }

  void set_axes(const AxisUse& use) {
    Items values;
    for (const std::int64_t axis : use.axes) {
      std::vector<std::string> before;
      std::int64_t fixed = 0;
      for (std::size_t gap = 0; gap < groups_.size(); ++gap) {
        const auto [begin, end] = bounds(gap);
        if (static_cast<std::int64_t>(begin) > axis) break;
        if (groups_[gap].empty())
          fixed +=
              std::min(static_cast<std::int64_t>(end), axis) - static_cast<std::int64_t>(begin);
        else
          before.push_back(groups_[gap]);
        if (gap < named_.size() && named_[gap] < axis) ++fixed;
      }
      values.push_back(axis_after(before, fixed));
    }
    RuleExpression& place = rule_.terms[use.term].attributes[use.attribute].second;
    place = use.is_list ? list(std::move(values)) : std::move(values[0]);
  }

  Substitution rule_;
  const AxisUses& uses_;
  std::vector<std::int64_t> named_;
  std::size_t chosen_, most_, most_later_;
  std::vector<std::string> groups_;  // by gap; empty if it stays
  std::map<std::size_t, Items> contents_;
};

}  // namespace

std::vector<Proposal> between_named_axes(const Substitution& given) {
  std::vector<Proposal> result;
  Substitution rule = given;
  const auto uses = axis_uses(rule);
  if (!uses || uses->axes.empty() || !uses->permutations.empty()) return result;
  std::set<std::int64_t> named;
  for (const AxisUse& use : uses->axes) named.insert(use.axes.begin(), use.axes.end());
  if (*named.rbegin() >= static_cast<std::int64_t>(uses->most) || named.size() > 3) return result;
  const std::vector<std::int64_t> positions(named.begin(), named.end());
  const std::size_t all = (std::size_t{1} << (positions.size() + 1)) - 1;
  const auto propose = [&](std::size_t gaps, std::size_t most, std::size_t most_later) {
    if (auto proposal = GapProposal(rule, *uses, positions, gaps, most, most_later).make())
      result.push_back({"any number of axes around those named", std::move(*proposal)});
  };
  const auto last = static_cast<std::int64_t>(uses->most) - 1;
  // Elementwise axioms are for up to eight axes, and rules with leading axes for up to five: four before the last.
  if (positions.size() == 1) propose(all, 4, 4);
  for (std::size_t gaps = all; gaps > 0; --gaps) {
    const std::size_t usual = std::popcount(gaps) > 2 ? 2 : 3;
    const bool is_last = gaps == 1 && positions == std::vector{last};
    if (std::popcount(gaps) > 1 || is_last) propose(gaps, usual + 1, usual);
    propose(gaps, usual, usual);
  }
  return result;
}

// ---- Whole shapes ---------------------------------------------------------------------------------

namespace {

/// Every list of sizes becomes a group; equal lists the same one, or each its own.
Substitution with_whole_shapes(Substitution rule, bool own, bool scalars, std::size_t most) {
  std::map<std::string, std::string> groups;
  const auto group_for = [&](const Items& items, bool shared) {
    const std::string key = text(list(items));
    if (shared)
      if (const auto known = groups.find(key); known != groups.end()) return known->second;
    // Of several groups the first may have more axes, so that there are not too many cases.
    return groups[key] = add_group(
               rule, 0, std::max<std::size_t>(most, rule.groups.empty() && most != 3 ? 4 : most));
  };
  for (RuleInput& input : rule.inputs)
    if (!input.shape.empty() || scalars) input.shape = {splice(group_for(input.shape, !own))};
  for (RuleTerm& term : rule.terms)
    for (auto& [name, value] : term.attributes)
      if (!term.is_input && value.kind == Kind::list && is_shape_attribute(term, name) &&
          (!value.arguments.empty() || scalars))
        value.arguments = {splice(group_for(value.arguments, true))};
  return rule;
}

/// Each input of any shape, or equal ones of one shape, and attributes as they are, where axes are treated alike.
/// Scalars may stay so.
std::optional<Substitution> with_all_axes(Substitution rule, bool own, bool scalars) {
  std::map<std::string, std::string> groups;
  for (RuleInput& input : rule.inputs) {
    if (input.shape.empty() && !scalars) continue;
    std::string& group = groups[own ? input.name : text(list(input.shape))];
    if (group.empty()) group = add_group(rule, 0, most_axes_of_group);
    input.shape = {splice(group)};
  }
  tidy(rule);
  if (!is_proved_for_scalars(rule)) return std::nullopt;
  return rule;
}

std::vector<std::int64_t> composed(const std::vector<std::int64_t>& p,
                                   const std::vector<std::int64_t>& q) {
  std::vector<std::int64_t> result;
  for (const std::int64_t axis : q) result.push_back(p[static_cast<std::size_t>(axis)]);
  return result;
}

std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& p) {
  std::vector<std::int64_t> result(p.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    result[static_cast<std::size_t>(p[i])] = static_cast<std::int64_t>(i);
  return result;
}

/// What a permutation may be, given those before it; the most general first.
struct KnownPermutation {
  std::vector<std::int64_t> value;
  RuleExpression expression;
};
std::vector<RuleExpression> computed_permutations(const std::vector<KnownPermutation>& known,
                                                  const std::vector<std::int64_t>& value) {
  std::vector<RuleExpression> result;
  for (const KnownPermutation& permutation : known)
    for (const KnownPermutation& other : known)
      if (composed(permutation.value, other.value) == value)
        result.push_back(call("compose", {permutation.expression, other.expression}));
  for (const KnownPermutation& permutation : known)
    if (inverse_of(permutation.value) == value)
      result.push_back(call("inverse", {permutation.expression}));
  for (const KnownPermutation& permutation : known)
    if (permutation.value == value) result.push_back(permutation.expression);
  return result;
}

/// Permutations become parameters, or what can be computed from those before, in all ways that
/// agree with their values.
void add_permutations(const Substitution& rule, const AxisUses& uses, const RuleExpression& rank,
                      std::size_t next, const std::vector<KnownPermutation>& known,
                      std::vector<Substitution>& result) {
  constexpr std::size_t most = 40;
  if (result.size() >= most) return;
  if (next == uses.permutations.size()) {
    result.push_back(rule);
    return;
  }
  const AxisUse& use = uses.permutations[next];
  const bool is_identity = std::is_sorted(use.axes.begin(), use.axes.end());
  const auto go_on = [&](Substitution changed, const RuleExpression& value,
                         const std::vector<KnownPermutation>& now) {
    changed.terms[use.term].attributes[use.attribute].second = value;
    add_permutations(changed, uses, rank, next + 1, now, result);
  };
  RuleParameter parameter;
  parameter.name = fresh_name(rule, "p");
  parameter.range = RuleParameter::Range::permutation;
  parameter.bounds = {rank};
  Substitution with_new = rule;
  with_new.parameters.push_back(parameter);
  std::vector<KnownPermutation> more = known;
  more.push_back({use.axes, variable(parameter.name)});
  go_on(std::move(with_new), variable(parameter.name), more);
  if (is_identity) go_on(rule, call("identity", {rank}), known);
  for (const RuleExpression& value : computed_permutations(known, use.axes))
    go_on(rule, value, known);
}

std::vector<Substitution> with_permutations(const Substitution& rule, const AxisUses& uses,
                                            const RuleExpression& rank) {
  std::vector<Substitution> result;
  add_permutations(rule, uses, rank, 0, {}, result);
  return result;
}

/// Axes that operators name are `axis`, or where a permutation puts it.
std::optional<Substitution> axes_after_permutation(Substitution rule, const AxisUses& uses,
                                                   std::int64_t axis, const std::string& before) {
  const AxisUse& first = uses.permutations[0];
  const RuleExpression permutation = rule.terms[first.term].attributes[first.attribute].second;
  for (const AxisUse& use : uses.axes) {
    RuleExpression value = length_of(before);
    if (use.axes[0] != axis) {
      if (first.axes[static_cast<std::size_t>(use.axes[0])] != axis) return std::nullopt;
      value = call("index_of", {permutation, std::move(value)});
    }
    RuleExpression& place = rule.terms[use.term].attributes[use.attribute].second;
    place = use.is_list ? list({std::move(value)}) : std::move(value);
  }
  return rule;
}

/// [A.., n, C..] with an axis that an operator names, and permutations of all of them.
std::vector<Substitution> permuted_around_axis(const Substitution& given, const AxisUses& uses,
                                               std::int64_t axis) {
  Substitution rule = given;
  const std::string before = add_group(rule, 0, 2), after = add_group(rule, 0, 2);
  std::optional<Items> front, back;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    Items& shape = rule.inputs[i].shape;
    if (shape.size() != uses.most) continue;
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    const Items own_front(shape.begin(), at), own_back(at + 1, shape.end());
    if (front.value_or(own_front) != own_front || back.value_or(own_back) != own_back) return {};
    front = own_front, back = own_back;
    shape = {splice(before), *at, splice(after)};
  }
  const RuleExpression rank = sum(sum(length_of(before), literal(1)), length_of(after));
  std::vector<Substitution> result;
  for (Substitution& permuted : with_permutations(rule, uses, rank))
    if (auto changed = axes_after_permutation(std::move(permuted), uses, axis, before))
      result.push_back(std::move(*changed));
  return result;
}

std::vector<Proposal> permuted_around_axes(const Substitution& rule, const AxisUses& uses) {
  std::vector<Proposal> result;
  std::set<std::int64_t> axes;
  for (const AxisUse& use : uses.axes) {
    if (use.axes.size() != 1 || use.rank != uses.most) return result;
    axes.insert(use.axes[0]);
  }
  for (const std::int64_t axis : axes)
    for (Substitution& permuted : permuted_around_axis(rule, uses, axis))
      result.push_back({"any permutation", std::move(permuted)});
  return result;
}

/// Lists with an element, or two, for each axis: parameters, and those of equal numbers.
void lists_as_long(Substitution& rule, std::size_t rank, const std::string& group) {
  const auto length = [&](std::int64_t count) -> std::optional<RuleExpression> {
    const auto axes = static_cast<std::int64_t>(rank);
    if (axes < 2) return std::nullopt;
    if (count == axes) return length_of(group);
    if (count == 2 * axes) return product(literal(2), length_of(group));
    return std::nullopt;
  };
  for (RuleParameter& parameter : rule.parameters) {
    if (parameter.range != RuleParameter::Range::dimensions) continue;
    const auto count = integer_of(parameter.bounds[0]);
    if (const auto now = count ? length(*count) : std::nullopt) parameter.bounds = {*now};
  }
  for (RuleTerm& term : rule.terms)
    for (auto& [name, value] : term.attributes) {
      if (term.is_input || value.kind != Kind::list || value.arguments.empty() ||
          is_shape_attribute(term, name))
        continue;
      const RuleExpression first = value.arguments[0];
      const auto now = length(static_cast<std::int64_t>(value.arguments.size()));
      if (now && integer_of(first) &&
          std::all_of(value.arguments.begin(), value.arguments.end(),
                      [&first](const RuleExpression& e) { return e == first; }))
        value = call("repeat", {first, *now});
    }
}

}  // namespace

namespace {

/// Whether there is a Reshape, or another operator to which a shape is given.
bool names_shapes(const Substitution& rule) {
  return std::any_of(rule.terms.begin(), rule.terms.end(), [](const RuleTerm& term) {
    return !term.is_input && std::any_of(term.attributes.begin(), term.attributes.end(),
                                         [&term](const auto& attribute) {
                                           return is_shape_attribute(term, attribute.first) &&
                                                  !attribute.second.arguments.empty();
                                         });
  });
}

}  // namespace

std::vector<Proposal> whole_shapes(const Substitution& given) {
  std::vector<Proposal> result;
  Substitution rule = given;
  const auto uses = axis_uses(rule);
  if (!uses) return result;
  if (!uses->axes.empty()) {
    if (uses->permutations.empty()) return result;
    return permuted_around_axes(rule, *uses);
  }
  const auto add = [&](bool own, bool scalars, std::size_t most) {
    Substitution changed = with_whole_shapes(rule, own, scalars, most);
    if (!changed.groups.empty()) lists_as_long(changed, uses->most, changed.groups[0].name);
    if (uses->permutations.empty()) {
      result.push_back({"any number of axes", std::move(changed), !own});
      return;
    }
    if (changed.groups.empty()) return;
    const RuleExpression rank = length_of(changed.groups[0].name);
    for (Substitution& permuted : with_permutations(changed, *uses, rank))
      result.push_back({"any permutation", std::move(permuted)});
  };
  if (uses->permutations.empty())
    for (const bool scalars : {true, false})
      for (const bool own : {true, false})
        if (auto changed = with_all_axes(rule, own, scalars))
          result.push_back({"any number of axes", std::move(*changed)});
  const std::size_t count = rule.inputs.size();
  const std::size_t most = count > 2 ? 2 : 4;
  if (count > 1 && count <= 4) add(true, true, most);
  if (uses->permutations.empty() && with_whole_shapes(rule, false, true, 8).groups.size() == 1)
    for (const std::size_t wide : {8, 5}) add(false, true, wide);
  if (!uses->permutations.empty()) add(false, true, 5);
  if (uses->permutations.empty() && names_shapes(rule)) add(false, true, 6);
  add(false, true, most);
  add(false, false, most);
  add(false, false, 3);  // where four axes are too many for the prover
  return result;
}

// ---- Spatial axes -----------------------------------------------------------------------------------

namespace {

/// [c, 1, 1]: as many ones at the end as there are spatial axes.
void ones_for_spatial_axes(RuleExpression& shape, const std::string& group) {
  if (shape.kind != Kind::list || shape.arguments.size() < 2) return;
  Items& items = shape.arguments;
  if (integer_of(items[items.size() - 1]) != 1 || integer_of(items[items.size() - 2]) != 1) return;
  items.resize(items.size() - 2);
  shape = call("concat", {shape, call("repeat", {literal(1), length_of(group)})});
}

}  // namespace

std::vector<Proposal> spatial_axes(const Substitution& given) {
  std::vector<Proposal> result;
  Substitution rule = given;
  const bool has_window = std::any_of(rule.terms.begin(), rule.terms.end(), [](const RuleTerm& t) {
    return !t.is_input && record(t.op).has(spatial);
  });
  const auto uses = axis_uses(rule);
  if (!has_window || !uses || !uses->permutations.empty()) return result;
  std::map<std::string, std::string> groups;
  std::string first;
  for (RuleInput& input : rule.inputs) {
    if (input.shape.size() != 4) continue;
    const Items last(input.shape.end() - 2, input.shape.end());
    std::string& group = groups[text(list(last))];
    if (group.empty()) group = add_group(rule, 1, 3);
    if (first.empty()) first = group;
    input.shape.resize(2);
    input.shape.push_back(splice(group));
  }
  if (first.empty()) return result;
  for (const auto& [key, group] : groups)
    if (group != first)
      rule.conditions.push_back(
          {RuleCondition::Kind::equal, "", {length_of(group), length_of(first)}});
  for (RuleParameter& parameter : rule.parameters) {
    if (parameter.range != RuleParameter::Range::dimensions) continue;
    const auto length = integer_of(parameter.bounds[0]);
    if (length == 2) parameter.bounds = {length_of(first)};
    if (length == 4) parameter.bounds = {product(literal(2), length_of(first))};
  }
  for (const AxisUse& use : uses->axes)
    for (const std::int64_t axis : use.axes)
      if (axis > 1) return result;
  for (RuleTerm& term : rule.terms)
    for (auto& [name, value] : term.attributes)
      if (!term.is_input && is_shape_attribute(term, name)) ones_for_spatial_axes(value, first);
  for (const std::size_t least : {0, 1})
    for (const std::size_t most : {3, 2}) {
      for (RuleGroup& group : rule.groups) group.minimum = least, group.maximum = most;
      result.push_back({"any number of spatial axes", rule});
    }
  return result;
}

std::vector<Proposal> axes_as_groups(const Substitution& rule) {
  std::vector<Proposal> result;
  for (const auto& part : {whole_shapes, between_named_axes, spatial_axes, leading_axes})
    for (Proposal& proposal : part(rule)) result.push_back(std::move(proposal));
  return result;
}

}  // namespace lemma::database
