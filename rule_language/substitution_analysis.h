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

/// Checks that the left side by itself binds all variables and inputs, as matching it needs. The right
/// side of an equation that is searched forward only may not.
Result<void> check_left_binds(const Substitution& substitution);

/// The one variable of `free.expression`, a sum, difference or product of it and numbers, or its length; empty if it is
/// anything else.
std::string name_of(const FreeParameter& free);
/// Whether rule.free[which] is about what can be free, and about nothing that is free already.
Result<void> check_may_be_free(const Substitution& rule, std::size_t which);
/// Whether the left side leaves a free parameter open, so that matching it needs values.
bool takes_free_values(const Substitution& rule);
/// An item of a declared shape that is written like `size`: matching knows what `k*m` is before it knows k and m.
struct PlaceOfSize {
  std::uint32_t input = 0;
  std::size_t item = 0;
};
std::optional<PlaceOfSize> place_of_size(const Substitution& rule, const RuleExpression& size);

// The parts of bind_variables().

/// Binds all that follows from shapes, attributes and what is bound already; false if something differs.
bool bind_what_follows(const Substitution& rule, std::span<const Shape> shapes,
                       std::span<const MatchedNode> nodes, RuleBindings& bindings);
/// Gives the variable of an expression the value that makes the expression `value`; false if there is none.
bool solve_for(const RuleExpression& expression, std::int64_t value, RuleBindings& bindings);
/// Whether everything has a value, and all agrees that the rule asks for.
bool bindings_fit(const Substitution& rule, std::span<const Shape> shapes,
                  std::span<const MatchedNode> nodes, RuleBindings& bindings);
/// The shapes of the inputs, and the values of `type` parameters; nothing if a type is unknown or does not fit.
std::optional<std::vector<Shape>> shapes_of_inputs(const Substitution& rule,
                                                   std::span<const TensorType* const> input_types,
                                                   RuleBindings& bindings);

/// `len(B)` of a group or list variable B.
bool is_length_of_variable(const RuleExpression& expression);
/// The value of an expression as it comes, of no particular kind. Nothing if a variable in it has no
/// value, or it cannot be computed: matching asks this so often that messages would cost more than it.
std::optional<AttributeValue> value_of(const RuleExpression& expression,
                                       const RuleBindings& bindings);

const AttributeSpecification* find_attribute(const OperatorRecord& record, std::string_view name);

}  // namespace lemma::detail
