#pragma once
// Rules as text for egg and for egglog, and read again.
//
// egg (Willsey et al., POPL 2021): a line for each rule. Sides are egg's patterns and multi-patterns; conditions follow,
// which whoever applies the rule has to decide from an analysis of shapes.
//
//   NAME; (Add ?x ?y) <=> (Add ?y ?x) if (tensor ?x "" (list ?m ?n)) if (tensor ?y "" (list ?m ?n))
//   NAME; ?root-0 = (MatMul ?x ?a) , ?root-1 = (MatMul ?x ?b)
//     => ?root-0 = (output 0 ...) , ?root-1 = (output 1 ...) if ...       (one line)
//
// egglog (Zhang et al., PLDI 2023): a program of sorts, constructors, relations and a ruleset of each rule's name.
// Constructors are named by head and numbers of operands, since egglog's have fixed ones: `Concat/1/2` has one attribute and
// two tensors. Facts are relations, which an analysis has to fill.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma::exchange {

enum class RewriteFormat { egg, egglog };

struct WrittenRewrites {
  std::string text;
  std::size_t count = 0;
  std::vector<std::string> left_out;  // "NAME: why"
};
WrittenRewrites write_rewrites(const std::vector<Substitution>& rules, RewriteFormat format);

/// Reads what write_rewrites() wrote. Errors are "file:line: what is wrong".
Result<std::vector<Substitution>> read_rewrites(std::string_view text, RewriteFormat format,
                                                const std::string& file);

}  // namespace lemma::exchange
