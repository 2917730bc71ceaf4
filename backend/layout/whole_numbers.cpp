#include "backend/layout/whole_numbers.h"

#include <algorithm>
#include <cmath>

#include "backend/lower/copy_definition.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;
using Range = std::optional<WholeRange>;

constexpr double greatest = 0x1p24;  // that f32 has with all numbers below it

Range bounded(double low, double high) {
  if (low < -greatest || high > greatest) return std::nullopt;
  return WholeRange{low, high};
}

/// All values of the type, if they are few.
Range range_of_type(DataType type) {
  switch (type) {
    case DataType::boolean: return WholeRange{0, 1};
    case DataType::u8: return WholeRange{0, 255};
    case DataType::i8: return WholeRange{-128, 127};
    default: return std::nullopt;
  }
}

/// 32 bits hold all numbers that are looked at.
bool holds(DataType type, const WholeRange& range) {
  if (type == DataType::f32 || type == DataType::f64 || type == DataType::i32 ||
      type == DataType::i64)
    return true;
  if (type == DataType::i16) return range.low >= -32768 && range.high <= 32767;
  const Range all = range_of_type(type);
  return type != DataType::boolean && all && range.low >= all->low && range.high <= all->high;
}

Range multiplied(const WholeRange& a, const WholeRange& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return bounded(low, high);
}

Range range_of_contents(const Buffer& buffer) {
  constexpr std::int64_t most_elements = 1 << 22;  // that are looked at one by one
  if (!buffer.contents || buffer.elements == 0 || buffer.elements > most_elements)
    return std::nullopt;
  const std::vector<double> elements = buffer.contents->reals();
  if (elements.empty() || !std::all_of(elements.begin(), elements.end(), [](double x) {
        return std::isfinite(x) && x == std::trunc(x);
      }))
    return std::nullopt;
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  return bounded(*low, *high);
}

class Ranges {
 public:
  Ranges(const Computation& computation, const WholeNumbers& buffers)
      : computation_(computation), definition_(computation.definition), buffers_(buffers) {}

  Range of(ExpressionId root) {
    const std::vector<bool> is_reached = reachable_expressions(definition_, root);
    known_.resize(root.v + 1);
    for (std::uint32_t i = 0; i <= root.v; ++i)
      if (is_reached[i]) known_[i] = of_node(definition_.nodes()[i]);
    return known_[root.v];
  }

 private:
  Range of_node(const ExpressionNode& node) const {
    const auto operand = [&](std::size_t i) -> const Range& { return known_[node.operands[i].v]; };
    switch (node.kind) {
      case Kind::integer_constant: return constant(static_cast<double>(node.integer), node.type);
      case Kind::real_constant: return constant(node.real, node.type);
      case Kind::read: return of_read(node);
      case Kind::cast:
        return operand(0) && holds(node.type, *operand(0)) ? operand(0) : std::nullopt;
      case Kind::select: return joined(operand(1), operand(2));
      case Kind::sum: return operand(0) ? added_up(node, *operand(0)) : std::nullopt;
      default: break;
    }
    if (node.operands.size() != 2 || !operand(0) || !operand(1)) return std::nullopt;
    const WholeRange &a = *operand(0), &b = *operand(1);
    switch (node.kind) {
      case Kind::add: return stored(bounded(a.low + b.low, a.high + b.high), node.type);
      case Kind::subtract: return stored(bounded(a.low - b.high, a.high - b.low), node.type);
      case Kind::multiply: return stored(multiplied(a, b), node.type);
      default: return std::nullopt;
    }
  }

  /// The sum of some of the terms is within these bounds as well.
  Range added_up(const ExpressionNode& sum, const WholeRange& term) const {
    double terms = 1;
    for (const VariableId v : sum.bound)
      terms *= static_cast<double>(definition_.extent(v).offset());
    return stored(bounded(std::min(0.0, terms * term.low), std::max(0.0, terms * term.high)),
                  sum.type);
  }

  /// Nothing where the type wraps or rounds it.
  static Range stored(const Range& range, DataType type) {
    return range && holds(type, *range) ? range : std::nullopt;
  }

  static Range constant(double value, DataType type) {
    if (!std::isfinite(value) || value != std::trunc(value)) return std::nullopt;
    return stored(bounded(value, value), type);
  }

  static Range joined(const Range& a, const Range& b) {
    if (!a || !b) return std::nullopt;
    return WholeRange{std::min(a->low, b->low), std::max(a->high, b->high)};
  }

  Range of_read(const ExpressionNode& node) const {
    const BufferNumber buffer = computation_.operands[node.input];
    return buffer < buffers_.size() ? buffers_[buffer] : range_of_type(node.type);
  }

  const Computation& computation_;
  const Definition& definition_;
  const WholeNumbers& buffers_;
  std::vector<Range> known_;  // by expression
};

}  // namespace

std::optional<WholeRange> range_of(const Computation& computation, ExpressionId id,
                                   const WholeNumbers& buffers) {
  return Ranges(computation, buffers).of(id);
}

WholeNumbers whole_numbers(const ComputationGraph& graph) {
  WholeNumbers ranges(graph.buffers.size());
  for (BufferNumber i = 0; i < graph.buffers.size(); ++i) {
    const Buffer& buffer = graph.buffers[i];
    if (buffer.memory == Memory::weights) ranges[i] = range_of_contents(buffer);
    if (!ranges[i]) ranges[i] = range_of_type(buffer.type);
  }
  for (const Computation& computation : graph.computations)
    if (!ranges[computation.result])
      ranges[computation.result] =
          range_of(computation, computation.definition.outputs()[computation.output].value, ranges);
  return ranges;
}

}  // namespace lemma::backend
