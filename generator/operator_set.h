#pragma once
// Operator sets, which the generator enumerates, as text (rules/operator_sets/*.set).
//
//   set small
//   input x y : [2, 3]              tensors of one shape, which terms start from
//   input p q : [m, n]              sizes without a number are chosen (generator/set_sizes.h): different ones, divisible
//                                   where an operator divides
//   weight a b : [3, 3]             the same; rules will ask that their value is known beforehand
//   limit elements 64               terms with larger values are not built
//   limit operators 3               of a term, if the command does not say (2)
//   free factors                    what `where` chooses, factors and gaps, becomes free parameters of rules
//                                   (docs/rules.md) that only one side need bind; choices of one value may be one
//
//   operator half                   an operator: one or several of the records', with their attributes
//     v : [m, n + p]                its operands, at most three
//     where n == p                  what the enumeration chooses; rules are written without it
//     let both = Split{axis=1, split=[n, p]}(v)
//     both#0 & both#1
//
// An operator is written as a rule is (rule_language/substitution.h), with one side only. The shapes of its
// operands say where it can be applied, and name the sizes: in a rule n and p are any sizes,
// although only n == p is enumerated. Where some operand of the set is declared a weight, `weight k : [...]`, such operands
// are computed from weights alone, and all others are not. An operator counts as one, whatever it is made of.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma::generator {

struct SetInput {
  std::string name;
  std::vector<std::int64_t> sizes;
  bool weight = false;
  std::size_t line = 0;  // where the file declares it, from 1
};

struct SetOperator {
  std::string name;
  /// Operands are its inputs, and its left side is what it computes.
  Substitution pattern;
  /// The same with the choices of `where` put in.
  Substitution enumerated;
  /// What `where` chooses, one number each.
  std::vector<std::pair<std::string, std::int64_t>> chosen;
  /// Exchanging the two operands changes nothing, by the record's flag.
  bool commutative = false;
  std::size_t line = 0;  // where the file declares it, from 1
};

struct OperatorSet {
  std::string name, file;
  std::vector<SetInput> inputs;
  std::vector<SetOperator> operators;
  std::int64_t largest_value = 256;  // elements
  std::size_t most_operators = 2;    // of a term, unless the options say otherwise
  /// The choices of `where` become parameters of rules that only one side may bind.
  bool has_free_factors = false;
  /// Some operand is declared a weight: then such operands are computed from weights alone, and all others are not.
  bool tells_weights_apart = false;
};

inline constexpr std::size_t most_operands = 3;
inline constexpr std::size_t most_inputs = 60;

/// "file:line"
std::string place(const OperatorSet& set, std::size_t line);

/// Errors are "file:line: what is wrong".
Result<OperatorSet> parse_operator_set(std::string_view text, std::string_view file);
Result<OperatorSet> read_operator_set(const std::filesystem::path& file);

}  // namespace lemma::generator
