#include "ir/constraints.h"

#include <fmt/format.h>

namespace lemma {
namespace {

std::optional<bool> equality(const Dimension& a, const Dimension& b) {
  if (a == b) return true;
  if ((a - b).is_constant()) return false;
  return std::nullopt;
}

std::optional<bool> is_not_above(const Dimension& a, const Dimension& b) {
  const Dimension room = b - a;
  if (lower_bound(room).value_or(-1) >= 0) return true;
  if (room.is_constant()) return false;
  return std::nullopt;
}

std::optional<bool> divisibility(const Dimension& a, const Dimension& b) {
  if (a.is(0)) return false;
  if (lower_bound(a).value_or(0) < 1) return std::nullopt;
  return equality(a * floor_div(b, a), b);
}

std::optional<bool> either(std::optional<bool> first, std::optional<bool> other) {
  if (first == true || other == true) return true;
  if (first == false && other == false) return false;
  return std::nullopt;
}

}  // namespace

std::optional<bool> truth(const Constraint& constraint) {
  const auto& [kind, a, b] = constraint;
  switch (kind) {
    case ConstraintKind::equal: return equality(a, b);
    case ConstraintKind::broadcasts:
      return either(equality(a, b), either(equality(a, 1), equality(b, 1)));
    case ConstraintKind::expands: return either(equality(a, b), equality(a, 1));
    case ConstraintKind::at_most: return is_not_above(a, b);
    case ConstraintKind::divides: return divisibility(a, b);
  }
  return std::nullopt;
}

Constraint substitute(const Constraint& constraint, const DimensionBindings& bindings) {
  return {constraint.kind, substitute(constraint.a, bindings), substitute(constraint.b, bindings)};
}

std::string text(const Constraint& constraint) {
  const std::string a = constraint.a.text(), b = constraint.b.text();
  switch (constraint.kind) {
    case ConstraintKind::equal: return fmt::format("{} = {}", a, b);
    case ConstraintKind::broadcasts: return fmt::format("{} = {}, or one of them is 1", a, b);
    case ConstraintKind::expands: return fmt::format("{} = {}, or {} = 1", a, b, a);
    case ConstraintKind::at_most: return fmt::format("{} <= {}", a, b);
    case ConstraintKind::divides: return fmt::format("{} divides {}", a, b);
  }
  return "";
}

}  // namespace lemma
