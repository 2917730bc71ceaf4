#include "verifier/conditions/infer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/operator.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"
#include "system/clock.h"
#include "verifier/conditions/equations.h"
#include "verifier/conditions/side_shapes.h"
#include "verifier/index/obligations.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/sampling.h"

namespace lemma::verifier {
namespace {

constexpr std::size_t instances_wanted = 240, attempts = 12'000, tried = 8;

/// The dimension variables in the order in which they are declared.
std::vector<std::string> variables_in_order(const Substitution& rule) {
  const std::vector<std::string> known = dimension_variables(rule);
  std::vector<std::string> result;
  const auto visit = [&](const RuleExpression& e) {
    if (e.kind == RuleExpression::Kind::variable &&
        std::find(known.begin(), known.end(), e.name) != known.end() &&
        std::find(result.begin(), result.end(), e.name) == result.end())
      result.push_back(e.name);
  };
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape) detail::for_each_expression(item, visit);
  return result;
}

RuleExpression expression(const std::string& text) {
  return parse_rule_expression(text).value();  // of size_text: it is one
}

RuleCondition equality(const std::string& name, const Dimension& value) {
  return {RuleCondition::Kind::equal, "", {expression(name), expression(size_text(value))}};
}

void replace_variable(RuleExpression& in, const std::string& name, const RuleExpression& by) {
  if (in.kind == RuleExpression::Kind::variable && in.name == name) {
    in = by;
    return;
  }
  for (RuleExpression& argument : in.arguments) replace_variable(argument, name, by);
}

/// Wherever it stands in the rule.
void replace_variable(Substitution& rule, const std::string& name, const RuleExpression& by) {
  for (RuleInput& input : rule.inputs)
    for (RuleExpression& item : input.shape) replace_variable(item, name, by);
  for (RuleTerm& term : rule.terms)
    for (auto& [attribute, value] : term.attributes) replace_variable(value, name, by);
  for (FreeParameter& free : rule.free) {
    replace_variable(free.expression, name, by);
    replace_variable(free.size, name, by);
  }
  for (RuleCondition& condition : rule.conditions)
    for (RuleExpression& argument : condition.arguments) replace_variable(argument, name, by);
}

bool is_dimension(const RuleParameter& parameter) {
  return parameter.range == RuleParameter::Range::dimension;
}

/// The values of dimension variables and of parameters that are dimensions.
DimensionBindings dimensions_of(const RuleBindings& bindings) {
  DimensionBindings result = bindings.dimensions;
  for (const auto& [name, value] : bindings.parameters)
    if (const auto* dimension = std::get_if<Dimension>(&value)) result.emplace(name, *dimension);
  return result;
}

/// "n == 1" or "n == m"
struct Atom {
  std::string name;
  Dimension value;
};

class ConditionSearch {
 public:
  ConditionSearch(const Substitution& rule, const AxiomSet& axioms)
      : rule_(rule), axioms_(axioms), names_(variables_in_order(rule)) {
    for (const RuleParameter& parameter : rule.parameters) names_.push_back(parameter.name);
    for (const RuleGroup& group : rule.groups) {
      Shape shape;
      for (std::size_t i = 0; i < group.minimum; ++i)
        shape.push_back(Dimension::symbol(fmt::format("{}.{}", group.name, i)));
      ranks_.groups[group.name] = shape;
    }
  }

  /// Nothing if no condition was found.
  std::optional<ConditionedRule> run() {
    if (rule_.bidirectional ||
        !std::all_of(rule_.parameters.begin(), rule_.parameters.end(), is_dimension))
      return std::nullopt;
    const auto defined = solved({});
    if (!defined) return std::nullopt;
    auto base = conditioned(*defined);
    if (!base) return std::nullopt;
    if (!base->added.empty()) {
      base->verdict = prove(base->rule, axioms_);
      if (!is_refuted(base->verdict)) return base;
    }
    return search(base->rule, *defined);
  }

 private:
  // ---- Equations ------------------------------------------------------------------------------

  RuleBindings bindings(const SizeEquations& equations) const {
    RuleBindings result = ranks_;
    for (const std::string& name : names_)
      result.dimensions[name] = equations.reduced(Dimension::symbol(name));
    for (const RuleParameter& parameter : rule_.parameters) {
      result.parameters[parameter.name] = result.dimensions.at(parameter.name);
      result.dimensions.erase(parameter.name);
    }
    return result;
  }

  /// What both sides need, together with `atoms`, solved; nothing if that cannot be.
  std::optional<SizeEquations> solved(const std::vector<Atom>& atoms) const {
    SizeEquations equations(names_);
    for (const Atom& atom : atoms) equations.add(Dimension::symbol(atom.name) - atom.value);
    for (std::size_t before = names_.size() + 1; before != equations.solved().size();) {
      before = equations.solved().size();
      if (!add_needs(equations)) return std::nullopt;
      equations.solve(true);
    }
    for (const Dimension& zero : equations.open())
      if (zero.is_constant()) return std::nullopt;
    return equations;
  }

  bool add_needs(SizeEquations& equations) const {
    const RuleBindings now = bindings(equations);
    const auto left = shapes_of(rule_, rule_.left, now), right = shapes_of(rule_, rule_.right, now);
    if (!left || !right) return false;
    for (const SideShapes* side : {&*right, &*left})
      for (const Dimension& zero : side->zeros) equations.add(zero);
    for (std::size_t i = 0; i < rule_.left.size(); ++i) {
      const Shape &a = *left->of_terms[rule_.left[i].v], &b = *right->of_terms[rule_.right[i].v];
      if (a.size() != b.size()) return false;
      for (std::size_t j = 0; j < a.size(); ++j) equations.add(b[j] - a[j]);
    }
    return true;
  }

  // ---- Rules with conditions ------------------------------------------------------------------

  std::optional<ConditionedRule> conditioned(const SizeEquations& equations) const {
    ConditionedRule result{rule_, {}, Unknown{}, Unknown{}};
    for (const std::string& name : names_) {
      const auto entry = equations.solved().find(name);
      if (entry == equations.solved().end()) continue;
      result.rule.conditions.push_back(equality(name, entry->second));
      result.added.push_back(fmt::format("{} == {}", name, size_text(entry->second)));
    }
    write_channels_by_group(equations, result.rule);
    auto parsed = parse_substitutions(text(result.rule), "conditions");
    if (!parsed || parsed->size() != 1) return std::nullopt;
    parsed->at(0).line = rule_.line;
    result.rule = std::move(parsed->at(0));
    return result;
  }

  /// Writes declared shapes in which it shows that a size of the left side has to be a multiple of another, as
  /// output channels of the number of groups, now that this number is known: the claim stays the same.
  void write_channels_by_group(const SizeEquations& equations, Substitution& rule) const {
    const RuleBindings now = bindings(equations);
    const auto left = shapes_of(rule_, rule_.left, now);
    if (!left) return;
    std::map<std::string, Dimension> groups;  // by output channels
    for (const Constraint& division : left->divisions) {
      const auto channels = division.b.as_symbol();
      if (!division.a.is_constant() && channels) groups.emplace(*channels, division.a);
    }
    for (const auto& [channels, group] : groups) {
      const RuleExpression by =
          expression(fmt::format("({})*{}_of_group", size_text(group), channels));
      replace_variable(rule, channels, by);
    }
  }

  // ---- Search ---------------------------------------------------------------------------------

  std::vector<Atom> atoms(const SizeEquations& defined) const {
    std::vector<Atom> result;
    std::vector<std::string> free;
    for (const std::string& name : names_)
      if (!defined.solved().contains(name)) free.push_back(name);
    for (std::size_t i = 0; i < free.size(); ++i) {
      result.push_back({free[i], Dimension(1)});
      for (std::size_t j = 0; j < i; ++j) result.push_back({free[i], Dimension::symbol(free[j])});
    }
    return result;
  }

  static bool meets(const LabelledInstance& instance, const Atom& atom) {
    const DimensionBindings values = dimensions_of(instance.bindings);
    const auto own = values.find(atom.name);
    return own != values.end() && own->second == substitute(atom.value, values);
  }

  struct Candidate {
    std::vector<Atom> atoms;
    std::size_t kept = 0;  // instances on which the sides agree and that meet the atoms
  };

  /// One or two atoms that no counterexample meets; those that keep most come first.
  static std::vector<Candidate> candidates(const std::vector<Atom>& atoms,
                                           const std::vector<LabelledInstance>& instances) {
    std::vector<std::vector<bool>> met(atoms.size());
    for (std::size_t i = 0; i < atoms.size(); ++i)
      for (const LabelledInstance& instance : instances)
        met[i].push_back(meets(instance, atoms[i]));
    std::vector<Candidate> result;
    const auto consider = [&](std::size_t i, std::size_t j) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < instances.size(); ++k) {
        if (!met[i][k] || !met[j][k]) continue;
        if (!instances[k].holds) return;
        ++kept;
      }
      if (kept < 2) return;
      result.push_back({{atoms[i]}, kept});
      if (i != j) result.back().atoms.push_back(atoms[j]);
    };
    for (std::size_t i = 0; i < atoms.size(); ++i) consider(i, i);
    for (std::size_t i = 0; i < atoms.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) consider(j, i);
    std::stable_sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
      return a.kept != b.kept ? a.kept > b.kept : a.atoms.size() < b.atoms.size();
    });
    return result;
  }

  std::optional<ConditionedRule> search(const Substitution& base, const SizeEquations& defined) {
    const auto instances = label_instances(base, {instances_wanted, attempts, 7});
    std::vector<Candidate> ordered = candidates(atoms(defined), instances);
    if (ordered.size() > tried) ordered.resize(tried);
    for (const Candidate& candidate : ordered) {
      const auto equations = solved(candidate.atoms);
      auto result = equations ? conditioned(*equations) : std::nullopt;
      if (!result) continue;
      result->verdict = prove(result->rule, axioms_);
      if (is_proved(result->verdict)) return result;
    }
    return std::nullopt;
  }

  const Substitution& rule_;
  const AxiomSet& axioms_;
  std::vector<std::string> names_;
  RuleBindings ranks_;
};

}  // namespace

namespace {

Substitution with_defined(Substitution rule, const std::function<bool(const RuleInput&)>& wanted) {
  for (RuleInput& input : rule.inputs) input.defined = input.defined || wanted(input);
  return rule;
}

/// Dimension variables and parameters that are dimensions.
std::vector<std::string> size_names(const Substitution& rule) {
  std::vector<std::string> result = variables_in_order(rule);
  for (const RuleParameter& parameter : rule.parameters)
    if (is_dimension(parameter)) result.push_back(parameter.name);
  return result;
}

/// The names of the sizes by which attributes divide, in the order in which the rule is written.
std::vector<std::string> sizes_in_divisors(const Substitution& rule) {
  std::vector<std::string> result;
  const auto visit = [&](const RuleExpression& e) {
    const bool divides = e.kind == RuleExpression::Kind::call && e.arguments.size() == 2 &&
                         (e.name == "divide" || e.name == "floordiv" || e.name == "floormod");
    if (!divides) return;
    detail::for_each_expression(e.arguments[1], [&](const RuleExpression& part) {
      if (part.kind == RuleExpression::Kind::variable &&
          std::find(result.begin(), result.end(), part.name) == result.end())
        result.push_back(part.name);
    });
  };
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes) detail::for_each_expression(value, visit);
  const std::vector<std::string> sizes = size_names(rule);
  std::erase_if(result, [&](const std::string& name) {
    return std::find(sizes.begin(), sizes.end(), name) == sizes.end();
  });
  return result;
}

/// The rule for positive values of these sizes: `n` becomes `n_less_1 + 1`.
ConditionedRule with_positive(const Substitution& rule, const std::vector<std::string>& names) {
  ConditionedRule result{rule, {}, Unknown{}, Unknown{}};
  const std::vector<std::string> sizes = size_names(rule);
  for (const std::string& name : names) {
    // A size of that name would be taken for it.
    if (std::find(sizes.begin(), sizes.end(), name + "_less_1") != sizes.end()) continue;
    replace_variable(result.rule, name, expression(name + "_less_1 + 1"));
    for (RuleParameter& parameter : result.rule.parameters)
      if (parameter.name == name) parameter.name += "_less_1";
    result.added.push_back(name + " >= 1");
  }
  const auto parsed = parse_substitutions(text(result.rule), "conditions");
  if (!parsed || parsed->size() != 1) return {rule, {}, Unknown{}, Unknown{}};
  const int line = result.rule.line;
  result.rule = parsed->front();
  result.rule.line = line;
  return result;
}

using Names = std::vector<std::string>;

/// Sets of one or two sizes of which some one is 0 in each counterexample; those that keep most of the instances on
/// which the sides agree come first.
std::vector<Names> sizes_that_are_empty(const Substitution& rule) {
  const auto instances = label_instances(rule, {instances_wanted, attempts, 7});
  const Names names = size_names(rule);
  std::vector<std::pair<std::size_t, Names>> subsets;
  const auto consider = [&](const Names& set) {
    std::size_t kept = 0;
    for (const LabelledInstance& instance : instances) {
      const DimensionBindings values = dimensions_of(instance.bindings);
      const bool is_positive = std::none_of(set.begin(), set.end(), [&](const std::string& name) {
        const auto value = values.find(name);
        return value == values.end() || value->second.is(0);
      });
      if (!is_positive) continue;
      if (!instance.holds) return;
      ++kept;
    }
    if (kept >= 2) subsets.emplace_back(kept, set);
  };
  for (std::size_t i = 0; i < names.size(); ++i) consider({names[i]});
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) consider({names[j], names[i]});
  std::stable_sort(subsets.begin(), subsets.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.size() < b.second.size();
  });
  std::vector<Names> result;
  for (auto& [kept, set] : subsets)
    if (result.size() < tried) result.push_back(std::move(set));
  return result;
}

/// Whether the rule has a proof, from axioms as the verdict says or from definitions.
bool has_a_proof(const Substitution& rule, const Verdict& verdict) {
  return is_proved(verdict) || (!is_refuted(verdict) && prove_by_index(rule).proved);
}

/// A rule that is false for empty tensors only, such as a division into no parts.
std::optional<ConditionedRule> proved_for_positive(const Substitution& rule,
                                                   const AxiomSet& axioms) {
  for (const Names& names : sizes_that_are_empty(rule)) {
    ConditionedRule result = with_positive(rule, names);
    if (result.added.size() != names.size()) continue;
    result.verdict = prove(result.rule, axioms);
    if (has_a_proof(result.rule, result.verdict)) return result;
  }
  return std::nullopt;
}

/// `base` proved as it is or under conditions that are added to its own; nothing if none is found.
std::optional<ConditionedRule> proved_or_conditioned(ConditionedRule base, const AxiomSet& axioms) {
  base.verdict = prove(base.rule, axioms);
  if (is_proved(base.verdict)) return base;
  auto conditioned = ConditionSearch(base.rule, axioms).run();
  if (conditioned)
    conditioned->added.insert(conditioned->added.begin(), base.added.begin(), base.added.end());
  return conditioned;
}

/// Inputs do not stay declared defined that the index prover finds not to be needed, if the rule is proved
/// without; first all of them together, then one after the other.
void drop_idle_definedness(const Substitution& original, const AxiomSet& axioms,
                           const Obligations& obligations, ConditionedRule& conditioned) {
  if (!obligations.claim_holds) return;
  std::set<std::string> needed = obligations.forward.defined;
  if (conditioned.rule.bidirectional)
    needed.insert(obligations.backward.defined.begin(), obligations.backward.defined.end());
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < original.inputs.size(); ++i)
    if (!original.inputs[i].defined && !needed.contains(original.inputs[i].name)) idle.push_back(i);
  const auto dropped = [&](std::span<const std::size_t> inputs) {
    Substitution fewer = conditioned.rule;
    for (const std::size_t i : inputs) fewer.inputs[i].defined = false;
    Verdict verdict = prove(fewer, axioms);
    const bool holds =
        is_proved(conditioned.verdict) ? is_proved(verdict) : has_a_proof(fewer, verdict);
    if (!holds) return false;
    conditioned.rule = std::move(fewer);
    conditioned.verdict = std::move(verdict);
    return true;
  };
  if (idle.empty() || dropped(idle) || idle.size() == 1) return;
  for (const std::size_t& input : idle) dropped({&input, 1});
}

}  // namespace

ConditionedRule prove_under_conditions(const Substitution& rule, const AxiomSet& axioms) {
  ConditionedRule as_it_is{rule, {}, prove(rule, axioms), Unknown{}};
  if (is_proved(as_it_is.verdict)) return as_it_is;
  // Conditions on sizes are looked for with all inputs defined; how many of them have to be is decided
  // at the end.
  const Substitution all = with_defined(rule, [](const RuleInput&) { return true; });
  std::optional<ConditionedRule> conditioned;
  ConditionedRule given{all, {}, prove(all, axioms), Unknown{}};
  const bool is_false = is_refuted(given.verdict);
  if (is_proved(given.verdict)) conditioned = std::move(given);
  ConditionedRule positive = with_positive(all, sizes_in_divisors(all));
  if (!conditioned && !positive.added.empty())
    conditioned = proved_or_conditioned(std::move(positive), axioms);
  if (!conditioned && is_false) conditioned = proved_for_positive(all, axioms);
  if (!conditioned) conditioned = ConditionSearch(all, axioms).run();
  if (!conditioned) return as_it_is;
  const double before = thread_processor_seconds();
  const Obligations obligations = obligations_of(conditioned->rule);
  conditioned->index_seconds = thread_processor_seconds() - before;
  drop_idle_definedness(rule, axioms, obligations, *conditioned);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    if (conditioned->rule.inputs[i].defined && !rule.inputs[i].defined)
      conditioned->added.push_back("defined " + rule.inputs[i].name);
  conditioned->unconditional = std::move(as_it_is.verdict);
  return std::move(*conditioned);
}

std::string condition_text(const Substitution& rule) {
  std::vector<std::string> conditions;
  for (const RuleCondition& condition : rule.conditions) {
    Substitution narrowed = rule;
    narrowed.conditions = {condition};
    const std::string all = text(narrowed);
    const std::size_t begin = all.find("  where ") + 8;
    conditions.push_back(all.substr(begin, all.find('\n', begin) - begin));
  }
  return fmt::format("{}", fmt::join(conditions, ", "));
}

}  // namespace lemma::verifier
