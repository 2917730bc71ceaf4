#pragma once
// Attributes that a rule leaves to their defaults, written out.

#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::database {

struct WrittenDefault {
  OperatorId op;
  std::string attribute;
  RuleExpression value;
};

/// Strides, pads, dilations, real numbers and the like that the rule does not write. Nothing is
/// written into rules with several cases.
std::vector<WrittenDefault> write_defaults(Substitution& rule);
/// Takes away again what still has its default.
void drop_defaults(Substitution& rule, const std::vector<WrittenDefault>& defaults);

}  // namespace lemma::database
