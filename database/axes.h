#pragma once
// Where the operators of a rule without groups name axes.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::database {

/// An attribute that names axes, or a permutation of them.
struct AxisUse {
  std::size_t term = 0, attribute = 0;  // positions in the rule
  std::vector<std::int64_t> axes;       // not negative
  bool is_list = false, is_permutation = false;
  std::size_t rank = 0;  // of the tensor whose axes they are
};

struct AxisUses {
  std::vector<AxisUse> axes, permutations;
  std::vector<std::size_t> input_ranks;
  std::size_t most = 0;  // the largest rank of an input
  /// All operations are elementwise, or named above.
  bool only_elementwise = true;
  std::vector<std::size_t> operand_ranks;  // of terms: that of operand 0
};

/// Nothing if the rule has groups, or an axis is not a number. Axes that an operator has by default
/// are written into `rule`.
std::optional<AxisUses> axis_uses(Substitution& rule);

/// The groups that new rules may have are named by a letter that is not taken.
std::string add_group(Substitution& rule, std::size_t minimum, std::size_t maximum);
RuleExpression length_of(const std::string& group);

/// Whether the attribute is the shape of the result.
bool is_shape_attribute(const RuleTerm& term, const std::string& name);

}  // namespace lemma::database
