#include "backend/blocks/tiled_product.h"

#include <algorithm>
#include <bit>

#include "base/half_precision.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using lowering::VariableSet;
using Kind = ExpressionKind;

constexpr std::int64_t most_lines = std::int64_t{1}
                                    << 30;  // numbers of rows, columns and terms have 32 bits

bool has_reduction(const LoweredOutput& nest, TermNumber root) {
  const std::vector<bool> is_below = terms_below(nest, root);
  for (TermNumber id = 0; id <= root; ++id)
    if (is_below[id] && is_reduction(nest.graph.term(id).kind)) return true;
  return false;
}

/// The terms of one element of a reduction.
std::int64_t term_count(const LoweredOutput& nest, const Term& reduction) {
  std::int64_t count = 1;
  for (const LoopVariable v : reduction.bound)
    if (count < most_lines) count *= nest.graph.extent(v);
  return count;
}

VariableSet axes_of(const LoweredOutput& nest) {
  VariableSet axes = 0;
  for (const LoopVariable axis : nest.axes) axes |= lowering::set_of(axis);
  return axes;
}

bool is_product_sum(const LoweredOutput& nest, TermNumber id) {
  const Term& sum = nest.graph.term(id);
  const auto product = lowering::summed_product(nest.graph, sum);
  return product && sum.lanes == lowering::LaneKind::f32 && (sum.depends & ~axes_of(nest)) == 0 &&
         !has_reduction(nest, product->front()) && !has_reduction(nest, product->back());
}

/// The sum of products with the most terms, if what is reduced beside it is little.
std::optional<TermNumber> largest_sum(const LoweredOutput& nest) {
  const std::vector<bool> is_used = terms_below(nest, nest.root);
  std::optional<TermNumber> largest;
  std::int64_t most = 0;
  for (TermNumber id = 0; id <= nest.root; ++id) {
    if (!is_used[id] || !is_product_sum(nest, id)) continue;
    const std::int64_t count = term_count(nest, nest.graph.term(id));
    if (count <= most) continue;
    largest = id;
    most = count;
  }
  if (!largest) return std::nullopt;
  for (TermNumber id = 0; id <= nest.root; ++id)
    if (is_used[id] && id != *largest && is_reduction(nest.graph.term(id).kind) &&
        term_count(nest, nest.graph.term(id)) > most / 4)
      return std::nullopt;
  return largest;
}

/// Whether elements of a type of two bytes, which are computed with in f32, have values of that type.
bool is_rounded(const LoweredOutput& nest, TermNumber id, DataType type) {
  const Term& term = nest.graph.term(id);
  switch (term.kind) {
    case Kind::read: return nest.graph.inputs()[term.input].type == type;
    case Kind::cast: return term.type == type;
    case Kind::real_constant: {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(term.bits));
      return value == (type == DataType::f16
                           ? half_precision::f16_to_f32(half_precision::f32_to_f16(value))
                           : half_precision::bf16_to_f32(half_precision::f32_to_bf16(value)));
    }
    case Kind::select:
      return is_rounded(nest, term.operands[1], type) && is_rounded(nest, term.operands[2], type);
    case Kind::minimum:
    case Kind::maximum:
      return is_rounded(nest, term.operands[0], type) && is_rounded(nest, term.operands[1], type);
    default: return false;
  }
}

TileArithmetic arithmetic_of(const LoweredOutput& nest, TermNumber left, TermNumber right,
                             const ProductLimits& limits) {
  const auto both_are = [&](DataType type) {
    return is_rounded(nest, left, type) && is_rounded(nest, right, type);
  };
  if (limits.has_matrix_units && both_are(DataType::f16)) return TileArithmetic::f16;
  if (limits.has_matrix_units && both_are(DataType::bf16)) return TileArithmetic::bf16;
  const bool is_f32 =
      nest.graph.term(left).type == DataType::f32 && nest.graph.term(right).type == DataType::f32;
  return is_f32 && limits.takes_tf32 ? TileArithmetic::tf32 : TileArithmetic::f32;
}

/// The element type of tiles.
DataType tile_type(TileArithmetic arithmetic) {
  return arithmetic == TileArithmetic::f16    ? DataType::f16
         : arithmetic == TileArithmetic::bf16 ? DataType::bf16
                                              : DataType::f32;
}

bool is_tensor_read(const LoweredOutput& nest, TermNumber id) {
  const Term& read = nest.graph.term(id);
  if (read.kind != Kind::read) return false;
  const DataType type = nest.graph.inputs()[read.input].type;
  if (type != DataType::f32 && type != DataType::f16 && type != DataType::bf16) return false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!nest.graph.is_inside(read, axis)) return false;
  const Linear address = nest.graph.address(read);
  return std::all_of(address.terms.begin(), address.terms.end(),
                     [](const auto& term) { return term.first < lowering::first_term_atom; });
}

/// Variables whose elements are counted as one number, the last one fastest, and the most that a task has of each.
struct Counted {
  std::vector<LoopVariable> variables;
  std::vector<std::int64_t> parts;
};

/// How many elements may be taken at once along the number: each is next to the one before in memory, in every task.
std::int64_t width_along(const LoweredOutput& nest, const Linear& address, const Counted& counted,
                         std::int64_t most) {
  std::int64_t run = 1, cut = 1,
               rest = 0;  // elements of whole axes, of the axis that is cut, and of its last part
  VariableSet covered = 0;
  for (std::size_t i = counted.variables.size(); i-- > 0;) {
    const LoopVariable v = counted.variables[i];
    if (address.coefficient(v) != run) break;
    covered |= lowering::set_of(v);
    const std::int64_t extent = nest.graph.extent(v);
    cut = run * counted.parts[i];
    rest = run * (extent % counted.parts[i]);
    run *= extent;
    if (counted.parts[i] != extent) break;
  }
  for (std::int64_t width = most; width > 1; width /= 2) {
    bool fits = cut % width == 0 && rest % width == 0 && address.constant % width == 0;
    for (const auto& [atom, factor] : address.terms)
      fits = fits && ((covered & lowering::set_of(atom)) != 0 || factor % width == 0);
    if (fits) return width;
  }
  return 1;
}

class Finder {
 public:
  Finder(const LoweredOutput& nest, const std::vector<std::int64_t>& parts,
         const ProductLimits& limits)
      : nest_(nest), parts_(parts), limits_(limits) {}

  std::optional<TiledProduct> run() {
    const auto sum = largest_sum(nest_);
    if (!sum) return std::nullopt;
    product_.sum = *sum;
    const Term& body = nest_.graph.term(nest_.graph.term(*sum).operands[0]);
    product_.left.term = body.operands[0];
    product_.right.term = body.operands[1];
    if (!find_axes()) return std::nullopt;
    const TileArithmetic arithmetic =
        arithmetic_of(nest_, product_.left.term, product_.right.term, limits_);
    find_access(product_.left, arithmetic);
    find_access(product_.right, arithmetic);
    const ProductShape shape = {count(product_.left.lines), count(product_.right.lines),
                                term_count(nest_, nest_.graph.term(*sum))};
    if (std::max({shape.rows, shape.columns, shape.terms}) >= most_lines) return std::nullopt;
    const auto tiles =
        choose_tiles(shape, arithmetic, product_.left.access, product_.right.access, limits_.tiles);
    if (!tiles) return std::nullopt;
    product_.tiles = *tiles;
    return product_;
  }

 private:
  bool find_axes() {
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) {
      const VariableSet variable = lowering::set_of(nest_.axes[axis]);
      const bool in_left = (nest_.graph.term(product_.left.term).depends & variable) != 0;
      const bool in_right = (nest_.graph.term(product_.right.term).depends & variable) != 0;
      if (!in_left && !in_right) return false;
      (in_left && in_right ? product_.batches
       : in_left           ? product_.left.lines
                           : product_.right.lines)
          .push_back(axis);
    }
    if (product_.left.lines.empty() || product_.right.lines.empty()) return false;
    if (product_.left.lines.back() > product_.right.lines.back())
      std::swap(product_.left, product_.right);
    return true;
  }

  std::int64_t count(const std::vector<std::size_t>& axes) const {
    std::int64_t result = 1;
    for (const std::size_t axis : axes)
      if (result < most_lines) result *= parts_[axis];
    return result;
  }

  /// Elements are taken in the direction in which more are side by side in memory.
  void find_access(Factor& factor, TileArithmetic arithmetic) const {
    factor.is_read = is_tensor_read(nest_, factor.term);
    if (!factor.is_read) return;
    const Term& read = nest_.graph.term(factor.term);
    const DataType type = nest_.graph.inputs()[read.input].type;
    const auto bytes = static_cast<std::int64_t>(byte_size(type));
    const Linear address = nest_.graph.address(read);
    Counted lines, terms;
    for (const std::size_t axis : factor.lines) {
      lines.variables.push_back(nest_.axes[axis]);
      lines.parts.push_back(parts_[axis]);
    }
    for (const LoopVariable v : nest_.graph.term(product_.sum).bound) {
      terms.variables.push_back(v);
      terms.parts.push_back(nest_.graph.extent(v));
    }
    constexpr std::int64_t most_bytes = 16;
    const std::int64_t by_lines = width_along(nest_, address, lines, most_bytes / bytes),
                       by_terms = width_along(nest_, address, terms, most_bytes / bytes);
    const bool are_lines_next = address.coefficient(lines.variables.back()) == 1;
    factor.access.lines_together =
        by_lines > by_terms ||
        (by_lines == by_terms &&
         (are_lines_next || address.coefficient(terms.variables.back()) != 1));
    factor.access.width = std::max(by_lines, by_terms);
    factor.is_in_block = !limits_.is_in_block.empty() && limits_.is_in_block[read.input];
    factor.access.is_copied =
        !factor.is_in_block && type == tile_type(arithmetic) && factor.access.width * bytes >= 4;
  }

  const LoweredOutput& nest_;
  const std::vector<std::int64_t>& parts_;
  const ProductLimits& limits_;
  TiledProduct product_;
};

}  // namespace

std::vector<bool> terms_below(const LoweredOutput& nest, TermNumber root) {
  std::vector<bool> is_below(nest.graph.size(), false);
  is_below[root] = true;
  const auto take = [&is_below](const Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= lowering::first_term_atom) is_below[atom - lowering::first_term_atom] = true;
  };
  for (TermNumber id = root + 1; id-- > 0;) {
    if (!is_below[id]) continue;
    const Term& term = nest.graph.term(id);
    for (const TermNumber operand : term.operands) is_below[operand] = true;
    take(term.linear);
    for (const Linear& index : term.indices) take(index);
  }
  return is_below;
}

std::optional<TiledProduct> find_tiled_product(const LoweredOutput& nest,
                                               const std::vector<std::int64_t>& parts,
                                               const ProductLimits& limits) {
  return Finder(nest, parts, limits).run();
}

}  // namespace lemma::backend
