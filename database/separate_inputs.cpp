#include <algorithm>
#include <vector>

#include "database/expressions.h"
#include "database/proposals.h"

namespace lemma::database {
namespace {

/// A rule whose terms are trees: each use of an input is a term of its own.
class Trees {
 public:
  explicit Trees(const Substitution& rule) : rule_(rule), trees_(rule) {
    trees_.terms.clear();
    for (TermId& root : trees_.left) root = copy(root);
    left_end_ = trees_.terms.size();
    for (TermId& root : trees_.right) root = copy(root);
  }

  std::size_t size() const { return trees_.terms.size(); }

  /// Terms for the uses of an input, on one side.
  std::vector<std::size_t> uses(std::uint32_t input, bool left) const {
    std::vector<std::size_t> result;
    for (std::size_t i = left ? 0 : left_end_; i < (left ? left_end_ : size()); ++i)
      if (trees_.terms[i].is_input && trees_.terms[i].input == input) result.push_back(i);
    return result;
  }

  /// The rule with another input in these places.
  Substitution with_other(std::uint32_t input, const std::vector<std::size_t>& places) const {
    Substitution result = trees_;
    RuleInput other = result.inputs[input];
    other.name = fresh_name(result, other.name);
    result.inputs.push_back(std::move(other));
    for (const std::size_t place : places)
      result.terms[place].input = static_cast<std::uint32_t>(result.inputs.size() - 1);
    return result;
  }

 private:
  /// Rules are a few operators deep.
  TermId copy(TermId id) {
    RuleTerm term = rule_.terms[id.v];
    for (TermId& operand : term.operands)
      if (!operand.is_none()) operand = copy(operand);
    trees_.terms.push_back(std::move(term));
    return {static_cast<std::uint32_t>(trees_.terms.size() - 1)};
  }

  const Substitution& rule_;
  Substitution trees_;
  std::size_t left_end_ = 0;
};

std::vector<std::size_t> chosen(const std::vector<std::size_t>& all, std::size_t mask) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((mask >> i & 1U) != 0) result.push_back(all[i]);
  return result;
}

}  // namespace

std::vector<Proposal> separate_inputs(const Substitution& rule) {
  constexpr std::size_t most_uses = 4, most_terms = 60;
  std::vector<Proposal> result;
  if (rule.left.size() > 1) return result;  // what outputs share is the point of such rules
  const Trees trees(rule);
  if (trees.size() > most_terms) return result;
  for (std::uint32_t input = 0; input < rule.inputs.size(); ++input) {
    const auto left = trees.uses(input, true), right = trees.uses(input, false);
    if (left.size() < 2 || right.empty() || left.size() > most_uses || right.size() > most_uses)
      continue;
    // The first use on the left keeps the input.
    for (std::size_t a = 2; a < std::size_t{1} << left.size(); a += 2)
      for (std::size_t b = 1; b < std::size_t{1} << right.size(); ++b) {
        std::vector<std::size_t> places = chosen(left, a);
        const auto more = chosen(right, b);
        places.insert(places.end(), more.begin(), more.end());
        result.push_back({"different inputs", trees.with_other(input, places)});
      }
  }
  return result;
}

}  // namespace lemma::database
