#include "backend/layout/integer_weights.h"

#include <algorithm>

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

/// Evaluates terms, each once for an element.
class IntegerTerms {
 public:
  IntegerTerms(const LoweredOutput& nest, std::vector<std::vector<std::int64_t>> inputs)
      : graph_(nest.graph),
        root_(nest.root),
        inputs_(std::move(inputs)),
        variables_(nest.graph.variable_count(), 0),
        values_(nest.graph.size(), 0) {}

  static bool has(const LoweredOutput& nest) {
    for (TermNumber id = 0; id <= nest.root; ++id) {
      const Term& term = nest.graph.term(id);
      if (is_real(term.type)) return false;
      switch (term.kind) {
        case Kind::integer_constant:
        case Kind::index:
        case Kind::read:
        case Kind::cast:
        case Kind::add:
        case Kind::subtract:
        case Kind::multiply:
        case Kind::less:
        case Kind::less_equal:
        case Kind::equal:
        case Kind::select: break;
        default: return false;
      }
    }
    return true;
  }

  void set(lowering::LoopVariable variable, std::int64_t value) { variables_[variable] = value; }

  std::int64_t value() {
    for (TermNumber id = 0; id <= root_; ++id) values_[id] = value_of(graph_.term(id));
    return values_[root_];
  }

 private:
  std::int64_t value_of(const Linear& form) const {
    std::int64_t sum = form.constant;
    for (const auto& [atom, factor] : form.terms)
      sum +=
          factor * (atom < lowering::first_term_atom ? variables_[atom]
                                                     : values_[atom - lowering::first_term_atom]);
    return sum;
  }

  std::int64_t value_of(const Term& term) const {
    const auto operand = [&](std::size_t i) { return values_[term.operands[i]]; };
    switch (term.kind) {
      case Kind::integer_constant: return static_cast<std::int64_t>(term.bits);
      case Kind::index: return value_of(term.linear);
      case Kind::read: return element(term);
      case Kind::add: return operand(0) + operand(1);
      case Kind::subtract: return operand(0) - operand(1);
      case Kind::multiply: return operand(0) * operand(1);
      case Kind::less: return operand(0) < operand(1) ? 1 : 0;
      case Kind::less_equal: return operand(0) <= operand(1) ? 1 : 0;
      case Kind::equal: return operand(0) == operand(1) ? 1 : 0;
      case Kind::select: return operand(operand(0) != 0 ? 1 : 2);
      default: return operand(0);
    }
  }

  /// 0 outside: a choice excludes it.
  std::int64_t element(const Term& read) const {
    const lowering::Sizes& sizes = graph_.inputs()[read.input].sizes;
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const std::int64_t index = value_of(read.indices[axis]);
      if (index < 0 || index >= sizes[axis]) return 0;
      place = place * sizes[axis] + index;
    }
    return inputs_[read.input][static_cast<std::size_t>(place)];
  }

  const lowering::TermGraph& graph_;
  TermNumber root_;
  std::vector<std::vector<std::int64_t>> inputs_;
  std::vector<std::int64_t> variables_, values_;
};

template <typename T>
Constant narrowed(DataType type, const lowering::Sizes& sizes,
                  const std::vector<std::int64_t>& elements) {
  std::vector<T> result;
  result.reserve(elements.size());
  for (const std::int64_t element : elements) result.push_back(static_cast<T>(element));
  return Constant::of(type, sizes, result);
}

}  // namespace

std::optional<Constant> integer_weights(const Computation& computation,
                                        const std::vector<Buffer>& buffers,
                                        const lowering::Sizes& sizes) {
  std::vector<std::vector<std::int64_t>> inputs;
  for (const BufferNumber operand : computation.operands) {
    inputs.emplace_back();
    if (operand == no_buffer) continue;
    const Buffer& buffer = buffers[operand];
    if (buffer.memory != Memory::weights || !buffer.contents || is_real(buffer.type) ||
        bits(buffer.type) % 8 != 0)
      return std::nullopt;
    inputs.back() = buffer.contents->integers();
  }
  const auto nest = nest_of(computation);
  if (!nest || !IntegerTerms::has(*nest)) return std::nullopt;
  IntegerTerms terms(*nest, std::move(inputs));
  std::int64_t count = 1;
  for (const std::int64_t size : nest->sizes) count *= size;
  std::vector<std::int64_t> elements;
  elements.reserve(static_cast<std::size_t>(count));
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number;
    for (std::size_t axis = nest->axes.size(); axis-- > 0;) {
      const std::int64_t extent = nest->graph.extent(nest->axes[axis]);
      terms.set(nest->axes[axis], rest % extent);
      rest /= extent;
    }
    elements.push_back(terms.value());
  }
  switch (nest->type) {
    case DataType::i16: return narrowed<std::int16_t>(nest->type, sizes, elements);
    case DataType::i8: return narrowed<std::int8_t>(nest->type, sizes, elements);
    case DataType::u8: return narrowed<std::uint8_t>(nest->type, sizes, elements);
    default: return std::nullopt;
  }
}

}  // namespace lemma::backend
