#pragma once
// Copies of expressions, with others in place of variables.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/definition.h"

namespace lemma::differentiate {

/// A builder that knows the extents of its variables, and the expression of each.
class Workplace {
 public:
  DefinitionBuilder builder;
  /// What variables of another workplace are here where they are bound: one variable for all copies. Those of the sums
  /// around a copy are others.
  std::map<VariableId, Expression> bound_inside, bound_around;

  Expression variable(const Dimension& extent);
  Expression of(VariableId variable) const { return variables_[variable.v]; }
  VariableId id(Expression variable) const { return builder.node(variable.id()).variable; }
  const std::vector<Dimension>& extents() const { return extents_; }
  const Dimension& extent(VariableId variable) const { return extents_[variable.v]; }

 private:
  std::vector<Dimension> extents_;
  std::vector<Expression> variables_;
};

/// Copies expressions of one workplace to another, or to the same one. Variables that a reduction binds are new,
/// in the same one in every copy; those that are free are replaced.
class Copies {
 public:
  Copies(const Workplace& from, Workplace& to) : from_(from), to_(to) {}

  /// What stands for a variable from now on. All that are free in what is copied must have been replaced.
  void replace(VariableId variable, Expression value);
  Expression operator()(Expression expression) { return copy(expression.id()); }

 private:
  Expression copy(ExpressionId id);
  Expression copy_reduction(const ExpressionNode& node);

  const Workplace& from_;
  Workplace& to_;
  std::map<VariableId, Expression> values_;
  std::map<ExpressionId, Expression> known_;
};

}  // namespace lemma::differentiate
