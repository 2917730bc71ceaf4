#pragma once
// Operators that are made on demand from others.

#include <optional>
#include <string>

#include "ir/operator.h"

namespace lemma {

/// What the meaning of such an operator follows from: another operator, and a way to make one of it, with its version. Two
/// of one way and version, made of operators of one meaning, mean the same.
struct DerivedOperator {
  OperatorId from;
  std::string way;
};

/// Nothing for an operator of the table. Made in made_operators/.
std::optional<DerivedOperator> derived_operator(const OperatorRecord& record);

}  // namespace lemma
