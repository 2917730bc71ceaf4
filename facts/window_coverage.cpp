#include "facts/window_coverage.h"

#include <algorithm>
#include <map>
#include <optional>

namespace lemma {
namespace {

using Kind = ExpressionKind;

/// A sum of multiples of variables and an offset.
struct LinearForm {
  std::map<VariableId, std::int64_t> factors;
  Dimension offset;
};

/// What a guard says of one expression.
struct Limits {
  bool from_zero = false;
  std::optional<Dimension> size;
};

class Coverage {
 public:
  Coverage(const Definition& definition, const std::vector<VariableId>& bound,
           const DimensionBindings& sizes)
      : definition_(definition), bound_(bound), sizes_(sizes) {}

  bool decide(ExpressionId guard) {
    if (!collect(guard)) return false;
    std::map<VariableId, int> uses;
    for (const auto& [id, limits] : limits_) {
      const auto form = linear(id);
      if (!form) return false;
      std::optional<VariableId> own;
      for (const auto& [variable, factor] : form->factors) {
        if (factor < 0) return false;
        if (std::find(bound_.begin(), bound_.end(), variable) == bound_.end()) continue;
        // Two windows along one variable, or one along two, are not looked at.
        if (own || ++uses[variable] > 1) return false;
        own = variable;
      }
      if (!own || !passes(*form, *own, limits)) return false;
    }
    return true;
  }

 private:
  const ExpressionNode& node(ExpressionId id) const { return definition_.node(id); }

  bool at_least(const Dimension& value, std::int64_t bound) const {
    const auto low = lower_bound(sizes_.empty() ? value : substitute(value, sizes_));
    return low && *low >= bound;
  }

  std::optional<Dimension> size_of(ExpressionId id) const {
    const ExpressionNode& e = node(id);
    if (e.kind == Kind::integer_constant) return Dimension(e.integer);
    if (e.kind == Kind::extent) return e.extent;
    return std::nullopt;
  }

  bool collect(ExpressionId guard) {
    const ExpressionNode& e = node(guard);
    if (e.kind == Kind::logical_and) return collect(e.operands[0]) && collect(e.operands[1]);
    if (e.kind == Kind::less_equal) {
      const auto low = size_of(e.operands[0]);
      if (!low || !low->is(0)) return false;
      limits_[e.operands[1]].from_zero = true;
      return true;
    }
    if (e.kind != Kind::less) return false;
    limits_[e.operands[0]].size = size_of(e.operands[1]);
    return limits_[e.operands[0]].size.has_value();
  }

  std::optional<LinearForm> linear(ExpressionId id) const {
    const ExpressionNode& e = node(id);
    if (const auto size = size_of(id)) return LinearForm{{}, *size};
    if (e.kind == Kind::index) return LinearForm{{{e.variable, 1}}, Dimension(0)};
    if (e.kind != Kind::add && e.kind != Kind::subtract && e.kind != Kind::multiply)
      return std::nullopt;
    auto a = linear(e.operands[0]), b = linear(e.operands[1]);
    if (!a || !b) return std::nullopt;
    if (e.kind == Kind::multiply) return scaled(std::move(*a), *b);
    const std::int64_t sign = e.kind == Kind::add ? 1 : -1;
    for (const auto& [variable, factor] : b->factors) a->factors[variable] += sign * factor;
    a->offset = sign > 0 ? a->offset + b->offset : a->offset - b->offset;
    return a;
  }

  static std::optional<LinearForm> scaled(LinearForm a, const LinearForm& b) {
    if (!b.factors.empty() || !b.offset.is_constant()) return std::nullopt;
    const std::int64_t factor = b.offset.offset();
    if (factor < 0 || factor > 1'000'000) return std::nullopt;
    for (auto& [variable, own] : a.factors) own *= factor;
    a.offset = a.offset * b.offset;
    return a;
  }

  /// The largest value of factor * v, as far as it is seen: factor * floor(X / factor) is at most X.
  Dimension largest(VariableId variable, std::int64_t factor) const {
    const Dimension last = definition_.extent(variable) - 1;
    if (!last.is_constant() && last.terms().size() == 1) {
      const auto& term = last.terms().front();
      if (term.coefficient == 1 && term.atoms.size() == 1) {
        const Dimension::Atom& atom = *term.atoms.front();
        if (atom.kind == AtomKind::floor_div && atom.right.is(factor))
          return atom.left + Dimension(factor) * Dimension(last.offset());
      }
    }
    return last * Dimension(factor);
  }

  bool passes(const LinearForm& form, VariableId own, const Limits& limits) const {
    Dimension others(0);  // at most
    for (const auto& [variable, factor] : form.factors)
      if (variable != own) others = others + largest(variable, factor);
    const std::int64_t step = form.factors.at(own);
    const Dimension span = (definition_.extent(own) - 1) * Dimension(step);
    const bool last_is_not_before = at_least(form.offset + span, 0);
    if (!limits.size) return last_is_not_before;
    const Dimension room = *limits.size - 1 - others - form.offset;  // behind the first position
    const bool first_is_not_behind = at_least(room, 0);
    if (!limits.from_zero) return first_is_not_behind;
    if (!last_is_not_before || !first_is_not_behind) return false;
    // One of the ends lies inside, or no step leads over the whole.
    if (at_least(form.offset, 0) || at_least(room - span, 0)) return true;
    const bool has_elements =
        at_least(*limits.size, 1) || at_least(*limits.size - others, 1);  // others are not negative
    return has_elements && (step == 1 || at_least(*limits.size, step));
  }

  const Definition& definition_;
  const std::vector<VariableId>& bound_;
  const DimensionBindings& sizes_;
  std::map<ExpressionId, Limits> limits_;
};

}  // namespace

bool some_position_passes(const Definition& definition, ExpressionId guard,
                          const std::vector<VariableId>& bound, const DimensionBindings& sizes) {
  return Coverage(definition, bound, sizes).decide(guard);
}

}  // namespace lemma
