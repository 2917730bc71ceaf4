#include "verifier/index/comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "verifier/index/equality.h"
#include "verifier/index/reindexing.h"
#include "verifier/index/solver.h"
#include "verifier/index/splitting.h"

namespace lemma::verifier::index {
namespace {

void add_splits(const ComposedOutput& left, const ComposedOutput& right, IndexSplits& splits) {
  for (const ComposedOutput* side : {&left, &right}) {
    std::vector<Dimension> values;
    for (const Piece& piece : side->value)
      std::ranges::move(dimensions_of(piece.value, piece.guard), std::back_inserter(values));
    for (const Bound& axis : side->axes)
      for (const Dimension& divisor : wanted_splits(values, axis)) {
        const auto divides = [&](const Bound& other) {
          return other.name == axis.name && exact_div(other.extent, divisor);
        };
        if (!std::ranges::any_of(left.axes, divides) || !std::ranges::any_of(right.axes, divides))
          continue;
        splits.emplace(axis.name, divisor);
        break;
      }
  }
}

bool have_same_text(const Pieces& a, const Pieces& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
    return x.guard->text == y.guard->text && x.value.text == y.value.text;
  });
}

}  // namespace

ComposedSides compose_split(const ComposeSides& compose_sides) {
  IndexSplits splits;
  constexpr int most_rounds = 4;
  for (int round = 0;; ++round) {
    ComposedSides sides = compose_sides(splits);
    const std::size_t before = splits.size();
    for (std::size_t i = 0; i < sides.first.size() && round < most_rounds; ++i)
      add_splits(sides.first[i], sides.second[i], splits);
    if (splits.size() == before) return sides;
  }
}

bool are_equal_sizes(const Known& known, const Dimension& a, const Dimension& b) {
  if (known.implies(equal(a, b))) return true;
  std::vector<Dimension> divisors;
  const Formula merged =
      equal(with_merged_quotients(a, divisors), with_merged_quotients(b, divisors));
  return known.implies(merged) &&
         std::all_of(divisors.begin(), divisors.end(), [&known](const Dimension& divisor) {
           return known.implies(less(0, divisor));
         });
}

std::optional<std::string> objection_to_values(const Known& known, const Pieces& left,
                                               const Pieces& right) {
  if (have_same_text(left, right)) return std::nullopt;
  for (const Piece& a : left)
    for (const Piece& b : right) {
      std::vector<Formula> facts = known.facts();
      const Formula guard = both(a.guard, b.guard);
      if (!is_always(guard) && contradicts(facts, guard)) continue;
      facts.push_back(guard);
      if (are_equal(a.value, b.value, facts) || are_equal_by_cases(a.value, b.value, facts))
        continue;
      return fmt::format("not seen to be equal where {}\n    left:  {}\n    right: {}",
                         facts.back()->text, without_empty_terms(a.value, facts).text,
                         without_empty_terms(b.value, facts).text);
    }
  return std::nullopt;
}

}  // namespace lemma::verifier::index
