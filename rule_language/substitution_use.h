#pragma once
// Using a substitution at given terms: values for its variables, its guards, and its two sides.

#include <string>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Names that need values, beside the inputs: groups, parameters, dimensions of declared shapes.
std::vector<std::string> variable_names(const Substitution& rule);
/// Enters the value of an expression, over the variables in `values`, where its kind belongs.
Result<void> bind_variable(const Substitution& rule, const std::string& name,
                           const RuleExpression& expression, const RuleBindings& values,
                           RuleBindings& bindings);

/// What attributes of the terms below `roots` divide by (`divide`, `floordiv`, `floormod`): they have no
/// value where one of these is 0, which arithmetic with symbols does not see.
std::vector<Dimension> divisors_of(const Substitution& rule, const std::vector<TermId>& roots,
                                   const RuleBindings& bindings);
/// The same of declared shapes and conditions, which both sides share.
std::vector<Dimension> shared_divisors_of(const Substitution& rule, const RuleBindings& bindings);

/// A substitution at given terms.
struct SubstitutionUse {
  const Substitution* substitution = nullptr;
  std::vector<ValueId> inputs;
  RuleBindings bindings;
};

/// Whether it says something about these terms: element types, shapes, conditions, and no dimension
/// that may be negative.
Result<void> check_guards(const Graph& graph, const SubstitutionUse& use);

struct Sides {
  std::vector<ValueId> left, right;
};
/// Both sides, after check_guards; they have the same types.
Result<Sides> sides_of(Graph& graph, const SubstitutionUse& use);

/// An error names the first output whose types differ.
Result<void> check_same_types(const Graph& graph, const Sides& sides);

}  // namespace lemma
