#pragma once
// What sizes one side of a rule needs to be equal, for any symbols that its variables stand for.
// Unlike shape inference it goes on where sizes differ, and says where.

#include <optional>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/conditions/shape_rules.h"

namespace lemma::verifier {

struct SideShapes {
  std::vector<std::optional<Shape>> of_terms;  // by term; of the outputs and what they need
  Zeros zeros;                                 // the side is well typed where all are 0
};

/// Knows the operators of TASO's rules: elementwise ones (which must not broadcast), MatMul, Concat,
/// Split, Conv and Transpose. A group of a Conv that is no polynomial is passed over.
Result<SideShapes> shapes_of(const Substitution& rule, const std::vector<TermId>& roots,
                             const RuleBindings& bindings);

/// The value of an attribute of a term; nothing if it is not written, or has no value.
template <typename T>
std::optional<T> attribute_of(const RuleTerm& term, std::string_view name, AttributeKind kind,
                              const RuleBindings& bindings) {
  for (const auto& [written, expression] : term.attributes) {
    if (written != name) continue;
    const auto value = evaluate_attribute(expression, kind, bindings);
    if (value && std::holds_alternative<T>(*value)) return std::get<T>(*value);
  }
  return std::nullopt;
}

}  // namespace lemma::verifier
