#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "database/axes.h"
#include "database/expressions.h"
#include "database/proposals.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

using Kind = RuleExpression::Kind;
using Items = std::vector<RuleExpression>;

/// What leads an input's axes: a group of its own, one that several share, another one that the others share, or none.
enum class Lead : std::uint8_t { none, own, shared, other };

/// The group that leads the axes of all inputs below a term; empty if there is none.
std::string group_below(const Substitution& rule, const RuleTerm& term,
                        const std::vector<std::string>& leads) {
  std::set<std::string> found;
  for (const TermId id : detail::reachable_terms(rule, term.operands))
    if (rule.terms[id.v].is_input) found.insert(leads[rule.terms[id.v].input]);
  return found.size() == 1 ? *found.begin() : "";
}

bool set_attributes(Substitution& rule, const AxisUses& uses, const std::vector<std::string>& leads,
                    std::size_t kept, std::int64_t front) {
  for (const AxisUse& use : uses.axes) {
    RuleExpression& place = rule.terms[use.term].attributes[use.attribute].second;
    Items values;
    for (const std::int64_t axis : use.axes) {
      const std::int64_t from_end = axis - static_cast<std::int64_t>(use.rank);
      if (axis <
          std::min(front, static_cast<std::int64_t>(use.rank) - static_cast<std::int64_t>(kept)))
        return false;
      values.push_back(literal(from_end));
    }
    place = use.is_list ? list(std::move(values)) : std::move(values[0]);
  }
  for (const AxisUse& use : uses.permutations) {
    // The axes in front stay where they are.
    const std::string group = group_below(rule, rule.terms[use.term], leads);
    if (group.empty() || use.rank < kept) return false;
    const std::size_t fixed = use.rank - kept;
    for (std::size_t i = 0; i < fixed; ++i)
      if (use.axes[i] != static_cast<std::int64_t>(i)) return false;
    const auto number = static_cast<std::int64_t>(kept);
    Items last;
    for (std::size_t i = fixed; i < use.axes.size(); ++i)
      last.push_back(literal(use.axes[i] - static_cast<std::int64_t>(fixed)));
    RuleExpression& place = rule.terms[use.term].attributes[use.attribute].second;
    if (kept == 2)
      place = call("swap_last_two", {sum(length_of(group), literal(number))});
    else
      place = call("concat", {call("identity", {length_of(group)}),
                              call("plus", {list(std::move(last)),
                                            call("repeat", {length_of(group), literal(number)})})});
  }
  return true;
}

/// Shapes that attributes name, made of the same sizes in front as the inputs.
void set_shape_attributes(Substitution& rule, const Items& front, const std::string& group) {
  for (RuleTerm& term : rule.terms)
    for (auto& [name, value] : term.attributes) {
      if (term.is_input || value.kind != Kind::list || !is_shape_attribute(term, name)) continue;
      Items& items = value.arguments;
      if (items.size() < front.size() || !std::equal(front.begin(), front.end(), items.begin()))
        continue;
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(front.size()));
      items.insert(items.begin(), splice(group));
    }
}

std::optional<Substitution> with_leading(const Substitution& given, const AxisUses& uses,
                                         const std::vector<Lead>& leads, std::size_t kept) {
  Substitution rule = given;
  std::string shared, other;
  std::vector<std::string> groups(leads.size());
  std::size_t own = 0;
  bool one_group = true;
  std::int64_t most_replaced = 0;
  Items front;
  for (const Lead lead : leads) own += lead == Lead::own ? 1 : 0;
  for (std::size_t i = 0; i < leads.size(); ++i) {
    if (leads[i] == Lead::none) continue;
    Items& shape = rule.inputs[i].shape;
    if (shape.size() < kept) return std::nullopt;
    std::string group;
    if (leads[i] == Lead::own) {
      group = add_group(rule, 0, own > 3 ? 1 : 3);
      one_group = false;
    } else {
      std::string& common = leads[i] == Lead::shared ? shared : other;
      if (common.empty()) common = add_group(rule, 0, 3);
      group = common;
      one_group = one_group && leads[i] == Lead::shared;
    }
    groups[i] = group;
    const auto end = shape.end() - static_cast<std::ptrdiff_t>(kept);
    front.assign(shape.begin(), end);
    most_replaced = std::max(most_replaced, static_cast<std::int64_t>(front.size()));
    shape.erase(shape.begin(), end);
    shape.insert(shape.begin(), splice(group));
  }
  if (!set_attributes(rule, uses, groups, kept, most_replaced)) return std::nullopt;
  if (one_group) set_shape_attributes(rule, front, shared);
  return rule;
}

}  // namespace

std::vector<Proposal> leading_axes(const Substitution& given) {
  std::vector<Proposal> result;
  Substitution rule = given;
  const auto uses = axis_uses(rule);
  if (!uses) return result;
  const std::size_t count = rule.inputs.size();
  const auto propose = [&](const std::vector<Lead>& leads, std::size_t kept) {
    const bool all =
        std::all_of(leads.begin(), leads.end(), [](Lead lead) { return lead == Lead::shared; });
    if (auto proposal = with_leading(rule, *uses, leads, kept))
      result.push_back({"any number of leading axes", std::move(*proposal), all});
  };
  for (std::size_t kept = 1; kept <= uses->most; ++kept) {
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < count; ++i)
      if (uses->input_ranks[i] >= kept && (count <= 6 || uses->input_ranks[i] == uses->most))
        able.push_back(i);
    if (able.size() > 6) continue;
    const auto leads_of = [&](std::size_t mask, Lead lead) {
      std::vector<Lead> leads(count, Lead::none);
      for (std::size_t i = 0; i < able.size(); ++i)
        if ((mask >> i & 1U) != 0) leads[able[i]] = lead;
      return leads;
    };
    const std::size_t all = (std::size_t{1} << able.size()) - 1;
    if (able.size() > 1 && able.size() <= 4) propose(leads_of(all, Lead::own), kept);
    // Two sets of inputs: what is multiplied with a batch may be another batch.
    for (std::size_t mask = all; able.size() > 2 && mask > all / 2; --mask) {
      std::vector<Lead> leads = leads_of(mask, Lead::shared);
      for (const std::size_t i : able)
        if (leads[i] == Lead::none) leads[i] = Lead::other;
      if (mask != all) propose(leads, kept);
    }
    std::vector<std::size_t> masks;
    for (std::size_t mask = all; mask > 0; --mask) masks.push_back(mask);
    std::stable_sort(masks.begin(), masks.end(), [](std::size_t a, std::size_t b) {
      return __builtin_popcountll(a) > __builtin_popcountll(b);
    });
    for (const std::size_t mask : masks) propose(leads_of(mask, Lead::shared), kept);
  }
  return result;
}

}  // namespace lemma::database
