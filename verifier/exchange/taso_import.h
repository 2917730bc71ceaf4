#pragma once
// TASO's rules in our language.
//
// What TASO leaves unspecified is made explicit, and covers every possible meaning:
//   - Sizes are symbols, equal where the left side needs it. Tensors have the rank that the left
//     side gives them. Where only the right side does (a Concat of tensors of two axes), leading
//     axes are a group that a condition says to be empty. Where nothing does, the rank is open.
//   - Sizes are at least 1 where a product is divided by one: a kernel that is its own image
//     (group_1*c == c) has group_1 == 1.
//   - Elementwise operators do not broadcast.
//   - A convolution has as many groups as its input has channels for each one of the kernel: a
//     variable `group_1`, `group_2`, ... on the left, a quotient on the right. The output channels
//     are written as groups * channels of a group, unless another size stands for them.
//   - Kernels are of the size that is named, or else any odd one.
//   - SAME padding is for stride 1 and odd kernels (half the kernel on either side).
//   - Split has no position: it undoes the Concat of its axis, seen through the operators between.
//   - An activation is an operator of its own.

#include <string>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"
#include "verifier/exchange/taso_format.h"

namespace lemma::exchange {

/// An error says what is not well typed for any sizes, or what cannot be expressed.
Result<Substitution> import_rule(const TasoRule& rule, const std::string& name);

struct ImportedRules {
  std::vector<Substitution> rules;
  std::vector<std::string> left_out;  // "rule 7: ..."
};
/// Rules are named taso_000, taso_001, ... by their position.
ImportedRules import_rules(const std::vector<TasoRule>& rules);
/// The text of a file of rules.
std::string rules_text(const ImportedRules& imported, const std::string& source);

}  // namespace lemma::exchange
