#pragma once
// The digests of what the operators mean (rule_language/operator_meaning.h), computed when Lemma is built: by the
// program lemma-operator-digests, from the same library of operators, and anew whenever that library changes.

#include <span>
#include <string_view>

namespace lemma {

/// The digests by the position of the operator in all_operators().
std::span<const std::string_view> operator_digests();

}  // namespace lemma
