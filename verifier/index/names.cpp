// Names of variables that terms bind: which there are, other ones in their place, and substitution that catches none
// (declared in verifier/index/expression.h).

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "verifier/index/expression.h"

namespace lemma::verifier::index {
namespace {

void add_symbols(const Dimension& value, std::set<std::string>& names) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  for (const auto& [name, count] : symbols) names.insert(name);
}

void add_symbols(const Formula& formula, std::set<std::string>& names) {
  std::map<std::string, int> symbols;
  collect_symbols(formula, symbols);
  for (const auto& [name, count] : symbols) names.insert(name);
}

/// The bindings inside a reduction: its own variables hide others of their names, and get other
/// names where they would catch variables of what is put in. `is_used` tells of the reduction's body.
DimensionBindings inside(std::vector<Bound>& bound, const DimensionBindings& outer,
                         const std::function<bool(const std::string&)>& is_used) {
  DimensionBindings result = outer;
  for (const Bound& variable : bound) result.erase(variable.name);
  std::map<std::string, int> put_in;
  for (const auto& [name, value] : result) collect_all_symbols(value, put_in);
  for (Bound& variable : bound) {
    if (!put_in.contains(variable.name)) continue;
    const auto is_taken = [&](const std::string& name) {
      return put_in.contains(name) || is_used(name) ||
             std::any_of(bound.begin(), bound.end(),
                         [&name](const Bound& other) { return other.name == name; });
    };
    std::string name = variable.name;
    do name += "r";
    while (is_taken(name));
    result[variable.name] = Dimension::symbol(name);
    variable.name = name;
  }
  return result;
}

}  // namespace

void collect_names(const Factor& factor, std::set<std::string>& names) {
  for (const Dimension& index : factor.indices) add_symbols(index, names);
  for (const Bound& variable : factor.bound) {
    names.insert(variable.name);
    add_symbols(variable.extent, names);
  }
  add_symbols(factor.domain, names);
  for (const Polynomial& argument : factor.arguments)
    for (const Term& term : argument.terms) collect_names(term, names);
}

void collect_names(const Term& term, std::set<std::string>& names) {
  for (const Bound& variable : term.bound) {
    names.insert(variable.name);
    add_symbols(variable.extent, names);
  }
  add_symbols(term.domain, names);
  for (const FactorPointer& factor : term.factors) collect_names(*factor, names);
}

namespace {

/// Gives new names to those of the variables that are taken. `taken` grows by all names of the
/// variables, so that what is inside cannot bind one of them again; `used` are names that occur.
DimensionBindings rename_taken(std::vector<Bound>& bound, std::set<std::string>& taken,
                               const std::set<std::string>& used) {
  DimensionBindings result;
  for (Bound& variable : bound) {
    if (taken.contains(variable.name)) {
      std::string name = variable.name;
      do name += "m";
      while (taken.contains(name) || used.contains(name));
      result[variable.name] = Dimension::symbol(name);
      variable.name = name;
    }
    taken.insert(variable.name);
  }
  for (Bound& variable : bound) variable.extent = substituted(variable.extent, result);
  return result;
}

}  // namespace

Factor renamed_apart(const Factor& factor, const std::set<std::string>& names) {
  Factor result = factor;
  std::set<std::string> taken = names, used;
  collect_names(factor, used);
  const DimensionBindings bindings = rename_taken(result.bound, taken, used);
  result.domain = substitute(result.domain, bindings);
  for (Polynomial& argument : result.arguments) {
    std::vector<Term> terms;
    for (const Term& term : argument.terms)
      terms.push_back(renamed_apart(substitute(term, bindings), taken));
    argument = polynomial(std::move(terms));
  }
  return *finished(std::move(result));
}

Term renamed_apart(const Term& term, const std::set<std::string>& names) {
  Term result = term;
  std::set<std::string> taken = names, used;
  collect_names(term, used);
  const DimensionBindings bindings = rename_taken(result.bound, taken, used);
  result.domain = substitute(result.domain, bindings);
  for (FactorPointer& factor : result.factors)
    factor = finished(renamed_apart(*substitute(factor, bindings), taken));
  return finished(std::move(result));
}

FactorPointer substitute(const FactorPointer& factor, const DimensionBindings& outer) {
  Factor result = *factor;
  const DimensionBindings bindings =
      factor->bound.empty() ? outer : inside(result.bound, outer, [&](const std::string& name) {
        return depends_on(*factor, {{name, 1}});
      });
  for (Dimension& index : result.indices) index = substituted(index, bindings);
  for (Polynomial& argument : result.arguments) argument = substitute(argument, bindings);
  for (Bound& variable : result.bound) variable.extent = substituted(variable.extent, bindings);
  result.domain = substitute(result.domain, bindings);
  return finished(std::move(result));
}

Term substitute(const Term& term, const DimensionBindings& outer) {
  Term result = term;
  const DimensionBindings bindings =
      term.bound.empty() ? outer : inside(result.bound, outer, [&](const std::string& name) {
        return depends_on(term, {{name, 1}});
      });
  for (Bound& variable : result.bound) variable.extent = substituted(variable.extent, bindings);
  result.domain = substitute(term.domain, bindings);
  for (FactorPointer& factor : result.factors) factor = substitute(factor, bindings);
  return finished(std::move(result));
}

Polynomial substitute(const Polynomial& a, const DimensionBindings& bindings) {
  std::vector<Term> terms;
  for (const Term& term : a.terms) terms.push_back(substitute(term, bindings));
  return polynomial(std::move(terms));
}

}  // namespace lemma::verifier::index
