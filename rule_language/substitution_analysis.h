#pragma once
// Shared by the files that implement rule_language/substitution.h.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ir/operator.h"
#include "rule_language/substitution.h"

namespace lemma::detail {

/// Calls `visit` on an expression and everything inside it, outermost first.
void for_each_expression(const RuleExpression& expression,
                         const std::function<void(const RuleExpression&)>& visit);

/// Numbers the terms in the order in which they are first needed, left side before right, operands
/// before users, and drops those that are not needed. Gives every output of a node the same
/// output_count.
void number_terms(Substitution& substitution);

/// Terms from which a root is computed, ascending (operands first).
std::vector<TermId> reachable_terms(const Substitution& substitution,
                                    std::span<const TermId> roots);

/// Checks what can be said about a rule by itself: variables are known and bound by the left side
/// (by both sides for `=`), everything declared is used. The error is without file and line.
Result<void> check_substitution(const Substitution& substitution);

/// That the left side by itself binds all variables and inputs, as matching it needs. The right side of
/// an equation that is searched forward only may not.
Result<void> check_left_binds(const Substitution& substitution);

/// `len(B)` of a group or list variable B.
bool is_length_of_variable(const RuleExpression& expression);
/// The value of an expression as it comes, of no particular kind. Nothing if a variable in it has no
/// value, or it cannot be computed: matching asks this so often that messages would cost more than it.
std::optional<AttributeValue> value_of(const RuleExpression& expression,
                                       const RuleBindings& bindings);

const AttributeSpecification* find_attribute(const OperatorRecord& record, std::string_view name);

}  // namespace lemma::detail
