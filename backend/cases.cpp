#include "backend/cases.h"

#include <algorithm>

#include "lowering/regions.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

constexpr std::int64_t most_cases = 64;

/// An axis that a condition compares with a number.
struct Comparison {
  LoopVariable axis = 0;
  std::int64_t number = 0;
};

std::optional<Comparison> comparison_of(const LoweredOutput& nest, TermNumber condition) {
  const Term& term = nest.graph.term(condition);
  if (term.kind != Kind::equal || !lowering::compares_linear(nest.graph, term)) return std::nullopt;
  const Linear difference = lowering::difference(nest.graph, term);
  if (difference.terms.size() != 1) return std::nullopt;
  const auto [axis, factor] = difference.terms.front();
  if ((factor != 1 && factor != -1) ||
      std::find(nest.axes.begin(), nest.axes.end(), axis) == nest.axes.end())
    return std::nullopt;
  return Comparison{axis, -factor * difference.constant};
}

class CaseFinder {
 public:
  explicit CaseFinder(const LoweredOutput& nest) : nest_(nest) {}

  std::optional<Cases> find() {
    std::vector<bool> is_choice(nest_.graph.size(), false);
    std::vector<TermNumber> values;
    find_axes(is_choice, values);
    if (axes_ == 0) return std::nullopt;
    // The formulas themselves are the same for all elements along the axes.
    for (const TermNumber value : values)
      if ((nest_.graph.term(value).depends & axes_) != 0) return std::nullopt;
    Cases result;
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) {
      if ((axes_ & lowering::set_of(nest_.axes[axis])) == 0) continue;
      result.axes.push_back(axis);
      count *= nest_.graph.extent(nest_.axes[axis]);
      if (count > most_cases) return std::nullopt;
    }
    for (std::int64_t number = 0; number < count; ++number)
      result.values.push_back(value_of(result.axes, number));
    return result;
  }

 private:
  /// The axes that are compared, and what is left to choose from.
  void find_axes(std::vector<bool>& is_choice, std::vector<TermNumber>& values) {
    is_choice[nest_.root] = true;
    for (TermNumber id = nest_.root + 1; id-- > 0;) {
      if (!is_choice[id]) continue;
      const Term& term = nest_.graph.term(id);
      const auto comparison =
          term.kind == Kind::select ? comparison_of(nest_, term.operands[0]) : std::nullopt;
      if (!comparison) {
        values.push_back(id);
        continue;
      }
      axes_ |= lowering::set_of(comparison->axis);
      is_choice[term.operands[1]] = is_choice[term.operands[2]] = true;
    }
  }

  TermNumber value_of(const std::vector<std::size_t>& axes, std::int64_t number) const {
    std::vector<std::int64_t> places(nest_.graph.variable_count(), 0);
    for (std::size_t i = axes.size(); i-- > 0;) {
      const LoopVariable axis = nest_.axes[axes[i]];
      places[axis] = number % nest_.graph.extent(axis);
      number /= nest_.graph.extent(axis);
    }
    TermNumber id = nest_.root;
    while (nest_.graph.term(id).kind == Kind::select) {
      const Term& term = nest_.graph.term(id);
      const auto comparison = comparison_of(nest_, term.operands[0]);
      if (!comparison) break;
      id = term.operands[places[comparison->axis] == comparison->number ? 1 : 2];
    }
    return id;
  }

  const LoweredOutput& nest_;
  lowering::VariableSet axes_ = 0;
};

}  // namespace

std::optional<Cases> find_cases(const LoweredOutput& nest) { return CaseFinder(nest).find(); }

}  // namespace lemma::backend
