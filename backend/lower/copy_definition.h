#pragma once
// Copies of expressions from one definition to another, with something else in the place of some of them.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/definition.h"

namespace lemma::backend {

/// What takes the place of an expression, given the copies of its operands; nothing if it is copied.
using Replace =
    std::function<std::optional<Expression>(ExpressionId, const std::vector<Expression>&)>;

/// The replacement of nothing.
inline std::optional<Expression> copies_all(ExpressionId, const std::vector<Expression>&) {
  return std::nullopt;
}

class DefinitionCopier {
 public:
  /// `variables`: what takes the place of variables; others are copied.
  DefinitionCopier(DefinitionBuilder& builder, const Definition& definition,
                   std::map<std::uint32_t, Expression> variables, Replace replace)
      : builder_(builder),
        definition_(definition),
        variables_(std::move(variables)),
        replace_(std::move(replace)) {}

  Expression copy(ExpressionId root);

 private:
  Expression variable(VariableId id);
  Expression copy_node(ExpressionId id, std::vector<Expression> operands);

  DefinitionBuilder& builder_;
  const Definition& definition_;
  std::map<std::uint32_t, Expression> variables_;
  Replace replace_;
};

/// A definition of one output, copied with replacements that `make_replace` makes for the new definition's builder.
Definition copied_output(const Definition& definition, std::uint32_t output,
                         const std::function<Replace(DefinitionBuilder&)>& make_replace);

/// Whether the root depends on each expression.
std::vector<bool> reachable_expressions(const Definition& definition, ExpressionId root);

/// The variables that are free in each expression, by number.
std::vector<std::vector<bool>> free_variables(const Definition& definition);

/// Reductions that are not inside of others, the last ones first.
std::vector<ExpressionId> outermost_reductions(const Definition& definition, ExpressionId root);

}  // namespace lemma::backend
