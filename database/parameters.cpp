#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "database/expressions.h"
#include "database/proposals.h"
#include "ir/operator.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

using Kind = RuleExpression::Kind;
using Range = RuleParameter::Range;

bool all_integers(const RuleExpression& e) {
  return e.kind == Kind::list && !e.arguments.empty() &&
         std::all_of(e.arguments.begin(), e.arguments.end(),
                     [](const RuleExpression& item) { return integer_of(item).has_value(); });
}

std::optional<AttributeKind> kind_of(const RuleTerm& term, const std::string& attribute) {
  const AttributeSpecification* specification = detail::find_attribute(record(term.op), attribute);
  if (specification == nullptr || names_axes(specification->role)) return std::nullopt;
  return specification->kind;
}

/// What a fixed value may become.
std::optional<RuleParameter> parameter_for(const RuleTerm& term, const std::string& attribute,
                                           const RuleExpression& value) {
  const auto kind = kind_of(term, attribute);
  if (!kind || attribute == "group") return std::nullopt;
  RuleParameter result;
  if (*kind == AttributeKind::real && value.kind == Kind::literal) {
    result.range = Range::real;
    return result;
  }
  if (*kind == AttributeKind::dimension && integer_of(value)) {
    result.range = Range::dimension;
    return result;
  }
  if (*kind == AttributeKind::dimensions && all_integers(value)) {
    result.range = Range::dimensions;
    result.bounds = {literal(static_cast<std::int64_t>(value.arguments.size()))};
    return result;
  }
  if (const auto flag = integer_of(value);
      *kind == AttributeKind::integer && flag && (*flag == 0 || *flag == 1)) {
    result.range = Range::integer;
    result.bounds = {literal(0), literal(2)};
    return result;
  }
  return std::nullopt;
}

struct Place {
  std::size_t term = 0, attribute = 0;
};

Substitution with_parameter(Substitution rule, const std::vector<Place>& places,
                            RuleParameter parameter) {
  parameter.name = fresh_name(rule, "p");
  for (const Place& place : places)
    rule.terms[place.term].attributes[place.attribute].second = variable(parameter.name);
  rule.parameters.push_back(std::move(parameter));
  return rule;
}

/// A list that is the sum of two others, element by element, as those of nested Pads.
void add_sums(const Substitution& rule, std::vector<Proposal>& result) {
  std::vector<std::pair<Place, std::vector<std::int64_t>>> lists;
  for (std::size_t i = 0; i < rule.terms.size(); ++i)
    for (std::size_t k = 0; k < rule.terms[i].attributes.size(); ++k) {
      const auto& [name, value] = rule.terms[i].attributes[k];
      if (kind_of(rule.terms[i], name) != AttributeKind::dimensions || !all_integers(value))
        continue;
      std::vector<std::int64_t> numbers;
      for (const RuleExpression& item : value.arguments) numbers.push_back(*integer_of(item));
      lists.push_back({{i, k}, std::move(numbers)});
    }
  const auto is_sum = [&](std::size_t a, std::size_t b, std::size_t c) {
    if (lists[a].second.size() != lists[b].second.size() ||
        lists[a].second.size() != lists[c].second.size())
      return false;
    bool changes = false;
    for (std::size_t i = 0; i < lists[a].second.size(); ++i) {
      if (lists[a].second[i] + lists[b].second[i] != lists[c].second[i]) return false;
      changes = changes || lists[a].second[i] != 0 || lists[b].second[i] != 0;
    }
    return changes;
  };
  for (std::size_t a = 0; a < lists.size(); ++a)
    for (std::size_t b = a + 1; b < lists.size(); ++b)
      for (std::size_t c = 0; c < lists.size(); ++c) {
        if (c == a || c == b || !is_sum(a, b, c)) continue;
        RuleParameter parameter;
        parameter.range = Range::dimensions;
        parameter.bounds = {literal(static_cast<std::int64_t>(lists[a].second.size()))};
        Substitution changed = with_parameter(rule, {lists[a].first}, parameter);
        changed = with_parameter(std::move(changed), {lists[b].first}, parameter);
        const auto count = changed.parameters.size();
        changed.terms[lists[c].first.term].attributes[lists[c].first.attribute].second =
            call("plus", {variable(changed.parameters[count - 2].name),
                          variable(changed.parameters[count - 1].name)});
        result.push_back({"parameters and their sum", std::move(changed)});
      }
}

/// Elements of lists that have a value, or stand at a position, become one parameter.
void add_elements(const Substitution& rule, std::vector<Proposal>& result) {
  std::map<std::string, Substitution> proposals;
  std::map<std::string, std::string> names;
  const auto put = [&](const std::string& key, std::size_t i, std::size_t k, std::size_t at) {
    const auto [proposal, inserted] = proposals.try_emplace(key, rule);
    Substitution& changed = proposal->second;
    if (inserted) {
      RuleParameter parameter;
      parameter.name = names[key] = fresh_name(rule, "p");
      parameter.range = Range::dimension;
      changed.parameters.push_back(parameter);
    }
    changed.terms[i].attributes[k].second.arguments[at] = variable(names[key]);
  };
  for (std::size_t i = 0; i < rule.terms.size(); ++i)
    for (std::size_t k = 0; k < rule.terms[i].attributes.size(); ++k) {
      const auto& [name, value] = rule.terms[i].attributes[k];
      if (kind_of(rule.terms[i], name) != AttributeKind::dimensions || value.kind != Kind::list)
        continue;
      for (std::size_t at = 0; at < value.arguments.size(); ++at) {
        const auto number = integer_of(value.arguments[at]);
        if (!number) continue;
        put(fmt::format("a {} {}", name, *number), i, k, at);
        put(fmt::format("b {} at {}", name, at), i, k, at);
      }
    }
  for (auto& [key, changed] : proposals)
    result.push_back({"parameter in a list", std::move(changed)});
}

}  // namespace

std::vector<Proposal> attribute_parameters(const Substitution& rule) {
  std::map<std::string, std::pair<RuleParameter, std::vector<Place>>> together;
  for (std::size_t i = 0; i < rule.terms.size(); ++i)
    for (std::size_t k = 0; k < rule.terms[i].attributes.size(); ++k) {
      const auto& [name, value] = rule.terms[i].attributes[k];
      const auto parameter = parameter_for(rule.terms[i], name, value);
      if (!parameter) continue;
      // Real numbers are one parameter wherever they stand; others by the name of the attribute.
      const std::string key = parameter->range == Range::real ? text(value) : name + text(value);
      auto& [common, places] = together[key];
      common = *parameter;
      places.push_back({i, k});
    }
  std::vector<Proposal> result;
  add_sums(rule, result);
  for (const auto& [key, group] : together)
    result.push_back({"parameter", with_parameter(rule, group.second, group.first)});
  for (const auto& [key, group] : together)
    for (const Place& place : group.second)
      if (group.second.size() > 1)
        result.push_back({"parameter", with_parameter(rule, {place}, group.first)});
  add_elements(rule, result);
  return result;
}

// ---- Convolutions in groups -------------------------------------------------------------------

namespace {

/// The attribute that says in how many groups an operator convolves.
std::optional<std::string> groups_attribute(const OperatorRecord& op) {
  for (const AttributeSpecification& specification : op.attributes)
    if (specification.role == AttributeRole::groups) return std::string(specification.name);
  return std::nullopt;
}

/// Inputs from which an operand of the convolutions is computed.
std::set<std::uint32_t> inputs_below(const Substitution& rule, const std::vector<TermId>& roots) {
  std::set<std::uint32_t> result;
  for (const TermId id : detail::reachable_terms(rule, roots))
    if (rule.terms[id.v].is_input) result.insert(rule.terms[id.v].input);
  return result;
}

}  // namespace

std::vector<Proposal> convolution_groups(const Substitution& rule) {
  Substitution changed = rule;
  std::vector<TermId> data, weights;
  const std::string group = fresh_name(rule, "g");
  for (RuleTerm& term : changed.terms) {
    if (term.is_input) continue;
    const auto attribute = groups_attribute(record(term.op));
    if (!attribute) continue;
    data.push_back(term.operands[0]);
    weights.push_back(term.operands[1]);
    const auto written = std::find_if(term.attributes.begin(), term.attributes.end(),
                                      [&](const auto& a) { return a.first == *attribute; });
    if (written == term.attributes.end())
      term.attributes.emplace_back(*attribute, variable(group));
    else if (integer_of(written->second) == 1)
      written->second = variable(group);
    else
      return {};
  }
  if (data.empty()) return {};
  const auto data_inputs = inputs_below(rule, data), weight_inputs = inputs_below(rule, weights);
  // Output channels are multiples of the number of groups, wherever they stand but in the second
  // axis of kernels and data.
  std::set<std::string> channels;
  for (const std::uint32_t input : weight_inputs)
    if (!rule.inputs[input].shape.empty())
      for (const std::string& name : names_in(rule.inputs[input].shape[0])) channels.insert(name);
  const auto scale_channels = [&](RuleExpression& e) {
    if (e.kind == Kind::variable && channels.contains(e.name))
      e = product(variable(group), variable(e.name));
  };
  const auto scale = [&](auto&& self, RuleExpression& e) -> void {
    if (e.kind == Kind::variable) return scale_channels(e);
    for (RuleExpression& argument : e.arguments) self(self, argument);
  };
  for (std::uint32_t i = 0; i < changed.inputs.size(); ++i)
    for (std::size_t axis = 0; axis < changed.inputs[i].shape.size(); ++axis) {
      RuleExpression& item = changed.inputs[i].shape[axis];
      const bool is_data = data_inputs.contains(i) && !weight_inputs.contains(i);
      if (axis == 1 && is_data)
        item = product(variable(group), item);
      else if (axis != 1 || !weight_inputs.contains(i))
        scale(scale, item);
    }
  for (RuleTerm& term : changed.terms)
    for (auto& [name, value] : term.attributes)
      if (name != "group") scale(scale, value);
  return {{"any number of groups", std::move(changed)}};
}

}  // namespace lemma::database
