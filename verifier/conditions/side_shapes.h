#pragma once
// The equations between sizes that one side of a rule needs, for arbitrary symbols: the constraints
// of the records. Unlike shape inference it continues where sizes differ, and reports the equation.
// There is no broadcasting: sizes that meet must be equal.

#include <optional>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::verifier {

/// Each must be 0.
using Zeros = std::vector<Dimension>;

/// The outputs of one application, and what it demands.
struct ApplicationTypes {
  std::vector<TensorType> outputs;
  std::vector<Constraint> demands;

  /// The demands that sizes are equal, as what is 0.
  Zeros zeros() const;
};
Result<ApplicationTypes> types_of_application(const OperatorRecord& op,
                                              const std::vector<TensorType>& operands,
                                              const Attributes& attributes,
                                              std::size_t output_count = 1);

struct SideShapes {
  std::vector<std::optional<Shape>> of_terms;  // by term; of the outputs and what they need
  Zeros zeros;                                 // sizes are equal where all of them are 0
  std::vector<Constraint> divisions;           // sizes that have to be multiples of others
};

/// A dimension that is no polynomial, such as the number of groups of a Conv, is passed over together with what it
/// is compared to, unless a shape depends on it.
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
