#pragma once
// The sizes of a rule's terms, as polynomials over its variables.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dimension.h"
#include "rule_language/substitution.h"

namespace lemma::partial {

/// Each variable stands for itself.
RuleBindings symbols_of(const Substitution& rule);

/// The shape of a term of a rule without groups; nothing if it is not well typed.
std::optional<Shape> shape_of(const Substitution& rule, TermId term);

/// An attribute of a term that is a list of sizes.
std::optional<Shape> sizes_of_attribute(const Substitution& rule, const RuleTerm& term,
                                        std::string_view name);

/// What is added to variables: numbers, and other variables.
using Shifts = std::map<std::string, Dimension>;

/// The least shifts that make each of the sizes at least 0 for all values of the variables; nothing if none are seen.
std::optional<Shifts> shifts_for(const std::vector<Dimension>& sizes);
Dimension shifted(const Dimension& size, const Shifts& shifts);

}  // namespace lemma::partial
