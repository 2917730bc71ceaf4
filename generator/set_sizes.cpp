#include "generator/set_sizes.h"

#include <numeric>
#include <optional>
#include <set>

namespace lemma::generator {
namespace {

using Kind = RuleExpression::Kind;

std::optional<std::int64_t> number_in(const RuleExpression& item) {
  const auto value = evaluate_dimension(item, {});
  return value && value->is_constant() ? std::optional(value->offset()) : std::nullopt;
}

/// What an axis is divisible by: 2 for 2*p.
std::int64_t factor_of(const RuleExpression& item) {
  if (item.kind != Kind::multiply) return 1;
  std::int64_t factor = 1;
  for (const RuleExpression& part : item.arguments) factor *= number_in(part).value_or(1);
  return factor;
}

/// Whether an operand can be the input. Names stand for sizes above 1 that no operator fixes.
bool may_be(const std::vector<RuleExpression>& operand, const std::vector<InputSize>& input) {
  if (operand.size() != input.size()) return false;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    if (operand[i].kind == Kind::splice) return false;
    const auto number = number_in(operand[i]);
    if (number && (!input[i].name.empty() || *number != input[i].number)) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::int64_t> choose_sizes(const std::vector<std::vector<InputSize>>& inputs,
                                                 const std::vector<Substitution>& operators) {
  std::map<std::string, std::int64_t> factors;
  std::vector<std::string> names;  // in the order in which the set has them
  for (const std::vector<InputSize>& input : inputs)
    for (const InputSize& size : input)
      if (!size.name.empty() && factors.try_emplace(size.name, 1).second)
        names.push_back(size.name);
  for (const Substitution& rule : operators)
    for (const RuleInput& operand : rule.inputs)
      for (const std::vector<InputSize>& input : inputs)
        for (std::size_t i = 0; may_be(operand.shape, input) && i < input.size(); ++i)
          if (!input[i].name.empty()) {
            std::int64_t& factor = factors[input[i].name];
            factor = std::lcm(factor, factor_of(operand.shape[i]));
          }
  std::map<std::string, std::int64_t> result;
  std::set<std::int64_t> taken;
  for (const std::string& name : names) {
    std::int64_t size = factors[name];
    while (size < 2 || taken.contains(size)) size += factors[name];
    taken.insert(size);
    result[name] = size;
  }
  return result;
}

}  // namespace lemma::generator
