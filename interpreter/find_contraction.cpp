#include <algorithm>
#include <bit>

#include "interpreter/contraction.h"
#include "interpreter/elements.h"
#include "interpreter/matrix_kernel.h"
#include "lowering/sum_of_products.h"

namespace lemma::interpreter {

namespace {

using Kind = ExpressionKind;

constexpr std::int64_t least_side = 4;         // rows, columns and terms of a worthwhile product
constexpr std::int64_t least_products = 4096;  // below, packing costs more than it saves

/// A part of the product, with the guards that were moved to it.
struct Side {
  std::vector<TermNumber> factors, guards;
  VariableSet depends = 0;
};

class Finder {
 public:
  Finder(TermGraph& graph, const std::vector<LoopVariable>& axes, bool in_order)
      : graph_(graph), axes_(axes), in_order_(in_order) {
    for (const LoopVariable v : axes) all_axes_ |= set_of(v);
  }

  std::optional<Contraction> find(TermNumber root) {
    // Lowering never changes the order of a sum.
    if (!in_order_ && reduces_along_lanes(graph_, size_of(all_axes_))) return std::nullopt;
    std::vector<char> reached(graph_.size(), 0);
    reached[root] = 1;
    for (TermNumber id = root + 1; id-- > 0;) {
      if (reached[id] == 0) continue;
      const Term& term = graph_.term(id);
      if (term.kind == Kind::sum) {
        if (auto contraction = analyse(id)) return contraction;
      }
      if (is_reduction(term.kind)) continue;
      // What a guard may exclude is left alone: it need not be defined.
      const bool guards = term.kind == Kind::select || term.kind == Kind::logical_and;
      const std::size_t count = guards ? 1 : term.operands.size();
      for (std::size_t i = 0; i < count; ++i) reached[term.operands[i]] = 1;
    }
    return std::nullopt;
  }

 private:
  std::int64_t size_of(VariableSet variables) const {
    std::int64_t size = 1;
    for (LoopVariable v = 0; v < graph_.variable_count(); ++v)
      if ((variables & set_of(v)) != 0) size *= graph_.extent(v);
    return size;
  }

  std::optional<Contraction> analyse(TermNumber sum_id) {
    const Term sum = graph_.term(sum_id);
    if (matrix_kernel(sum.lanes).multiply == nullptr || (sum.depends & ~all_axes_) != 0)
      return std::nullopt;
    const auto products = lowering::sum_of_products(graph_, sum_id);
    Side left, right;
    if (!products || !divide(*products, left, right)) return std::nullopt;

    Contraction result;
    result.sum = sum_id;
    result.inner = sum.bound;
    VariableSet inner = 0;
    for (const LoopVariable v : sum.bound) inner |= set_of(v);
    // Columns are consecutive lanes: the side with the last axis of the output.
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      const bool in_left = (left.depends & set_of(axes_[axis])) != 0;
      const bool in_right = (right.depends & set_of(axes_[axis])) != 0;
      if (in_left == in_right) continue;
      if (in_left) std::swap(left, right);
      break;
    }
    for (const LoopVariable v : axes_) {
      const bool in_left = (left.depends & set_of(v)) != 0;
      const bool in_right = (right.depends & set_of(v)) != 0;
      if (in_left && in_right) result.batch.push_back(v);
      if (in_left && !in_right) result.rows.push_back(v);
      if (!in_left && in_right) result.columns.push_back(v);
    }
    const std::int64_t rows = size_of(left.depends & ~right.depends & all_axes_);
    const std::int64_t columns = size_of(right.depends & ~left.depends & all_axes_);
    const std::int64_t depth = size_of(inner);
    if (std::min({rows, columns, depth}) < least_side || rows * columns * depth < least_products)
      return std::nullopt;
    const bool rounds = sum.lanes == LaneKind::f32 || sum.lanes == LaneKind::f64;
    result.left_must_be_finite = rounds && !right.guards.empty();
    result.right_must_be_finite = rounds && !left.guards.empty();
    result.left = build(left, sum);
    result.right = build(right, sum);
    return result;
  }

  /// Factors and guards to the two sides; fails if there are no two sides.
  bool divide(const lowering::SumOfProducts& products, Side& left, Side& right) const {
    const std::vector<TermNumber>& factors = products.factors;
    std::size_t best_i = 0, best_j = 0;
    std::int64_t best = 1;
    for (std::size_t i = 0; i < factors.size(); ++i)
      for (std::size_t j = i + 1; j < factors.size(); ++j) {
        const VariableSet a = graph_.term(factors[i]).depends & all_axes_;
        const VariableSet b = graph_.term(factors[j]).depends & all_axes_;
        const std::int64_t score = std::min(size_of(a & ~b), size_of(b & ~a));
        if (score > best) {
          best = score;
          best_i = i;
          best_j = j;
        }
      }
    if (best_i == best_j) return false;
    left.depends = graph_.term(factors[best_i]).depends;
    right.depends = graph_.term(factors[best_j]).depends;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const VariableSet depends = graph_.term(factors[i]).depends;
      const bool to_right = i == best_j || (i != best_i && (depends & ~left.depends) != 0 &&
                                            (depends & ~right.depends) == 0);
      Side& side = to_right ? right : left;
      side.factors.push_back(factors[i]);
      side.depends |= depends;
    }
    for (const TermNumber guard : products.guards) {
      const VariableSet depends = graph_.term(guard).depends;
      if ((depends & ~left.depends) != 0 && (depends & ~right.depends) != 0) return false;
      ((depends & ~right.depends) == 0 ? right : left).guards.push_back(guard);
    }
    return true;
  }

  TermNumber build(const Side& side, const Term& sum) {
    TermNumber value = side.factors[0];
    auto add = [&](Kind kind, DataType type, std::vector<TermNumber> operands) {
      Term term;
      term.kind = kind;
      term.type = type;
      term.operands = std::move(operands);
      return graph_.add(std::move(term));
    };
    for (std::size_t i = 1; i < side.factors.size(); ++i)
      value = add(Kind::multiply, sum.type, {value, side.factors[i]});
    if (side.guards.empty()) return value;
    TermNumber guard = side.guards[0];
    for (std::size_t i = 1; i < side.guards.size(); ++i)
      guard = add(Kind::logical_and, DataType::boolean, {guard, side.guards[i]});
    Term zero;
    zero.kind = is_real(sum.type) ? Kind::real_constant : Kind::integer_constant;
    zero.type = sum.type;
    const TermNumber nothing = graph_.add(std::move(zero));
    return add(Kind::select, sum.type, {guard, value, nothing});
  }

  TermGraph& graph_;
  const std::vector<LoopVariable>& axes_;
  bool in_order_;
  VariableSet all_axes_ = 0;
};

}  // namespace

std::optional<Contraction> find_contraction(TermGraph& graph, TermNumber root,
                                            const std::vector<LoopVariable>& axes, bool in_order) {
  return Finder(graph, axes, in_order).find(root);
}

}  // namespace lemma::interpreter
