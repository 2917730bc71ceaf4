#pragma once
// Sizes that an operator set names instead of giving numbers: `input x y : [m, n]`.
//
// A size is chosen so that the set's operators apply: where an operator takes an axis apart, as a Split into halves takes
// [m, 2*p], the size is a multiple. Different names get different numbers, so that no equality holds by coincidence of sizes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::generator {

/// One axis of an input: a number, or a name where it is not empty.
struct InputSize {
  std::int64_t number = 0;
  std::string name;
};

/// A number for each name, the smallest from 2 on. `operators` are with the choices of `where` put in.
std::map<std::string, std::int64_t> choose_sizes(const std::vector<std::vector<InputSize>>& inputs,
                                                 const std::vector<Substitution>& operators);

}  // namespace lemma::generator
