#pragma once
// Instances of a rule that TASO's format can express.
//
// That format has numbers where our rules have parameters, and tensors of fixed rank. So a rule is exported once for each
// choice of a few small values: two numbers of axes for each group, permutations that exchange neighbors, lists of ones or
// zeros for strides and pads, integers of a range. What an instance leaves out, such as a condition, is not assumed: what
// TASO reads is proved by itself.

#include <map>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::exchange {

struct TasoInstance {
  std::map<std::string, std::size_t, std::less<>> lengths;        // of all groups
  std::map<std::string, AttributeValue, std::less<>> parameters;  // those that have numbers
};

/// At most 48, the one with the fewest axes first. Parameters that are one dimension have no value; where another one has
/// none that is tried, no instance gives it one.
std::vector<TasoInstance> taso_instances(const Substitution& rule);

}  // namespace lemma::exchange
