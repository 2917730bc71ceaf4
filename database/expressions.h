#pragma once
// Helpers for the expressions of a rule.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::database {

RuleExpression literal(std::int64_t value);
RuleExpression variable(std::string name);
RuleExpression splice(std::string group);
RuleExpression list(std::vector<RuleExpression> elements);
RuleExpression call(std::string function, std::vector<RuleExpression> arguments);
RuleExpression sum(RuleExpression a, RuleExpression b);
RuleExpression product(RuleExpression a, RuleExpression b);

/// The value of an integer literal; nothing for anything else.
std::optional<std::int64_t> integer_of(const RuleExpression& expression);
/// The name of a plain variable; nothing for anything else.
std::optional<std::string> name_of(const RuleExpression& expression);

/// Calls `visit` on every expression of the rule (shapes, bounds, conditions, attributes), outermost
/// first; it may change what it sees.
void visit_expressions(Substitution& rule, const std::function<void(RuleExpression&)>& visit);
void visit_inside(RuleExpression& expression, const std::function<void(RuleExpression&)>& visit);

/// Variables and groups that occur in the expression, each once, in order.
std::vector<std::string> names_in(const RuleExpression& expression);

/// Names that are taken: inputs, variables, groups, parameters.
std::vector<std::string> all_names(const Substitution& rule);
/// "n", "n2", ...: the first that is not taken.
std::string fresh_name(const Substitution& rule, const std::string& stem);

}  // namespace lemma::database
