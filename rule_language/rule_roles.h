#pragma once
// What a search uses a rule for (docs/rules.md, "Roles"). A rule states it in its line `role`; the claim, its proofs and
// its canonical text do not depend on that.

#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma {

std::string_view name(RuleRole role);
std::optional<RuleRole> rule_role_named(std::string_view name);
/// "general, simplification, ...": all names.
std::string rule_role_names();

bool has_role(const Substitution& rule, RuleRole role);

/// The runtimes that the rule is for: those whose own operators it speaks of, and those that alone have forms of an
/// operator that it makes in operator sets of ONNX without it. Empty: any target.
std::set<std::string_view> runtimes_of(const Substitution& rule);

/// Whether what the rule makes is a term of the left side of one of the rules for recurrences. Both have more than two
/// operators: a smaller one may be anything.
bool makes_form(const Substitution& rule, std::span<const Substitution* const> recurrences);

/// The rules, each with its roles: a rule that states none gets those that its terms suggest, beside the other rules.
std::vector<Substitution> with_roles(std::span<const Substitution> rules);

}  // namespace lemma
