#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "backend/layout/byte_factor.h"
#include "backend/layout/integer_factors.h"
#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/layout/stored_groups.h"
#include "backend/layout/summed_factors.h"
#include "backend/lower/copy_definition.h"
#include "backend/lower/without_unread.h"
#include "backend/pairs.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using Kind = ExpressionKind;

constexpr double least_i16 = -32768, greatest_i16 = 32767;

/// What is subtracted from a sum of products, and how the factors lie in memory.
struct Correction {
  BufferNumber sums = no_buffer;  // of the weights
  std::vector<std::size_t> axes;  // of the result, that they depend on
  Computation factor;             // whose definition has the number that is multiplied with them
  std::int64_t offset = 0;        // is added to it
  std::optional<ExpressionId> subtracted = {};
};

/// The factors of a sum of products as they are stored.
struct Factors {
  std::vector<FactorTensor> tensors;
  std::vector<BufferNumber> buffers;
  std::int64_t elements = 2;  // of a group, which are the last axis
  std::vector<std::optional<Scale>> scales = {};
  std::optional<Correction> correction = {};
};

class Pairing {
 public:
  explicit Pairing(ComputationGraph graph) : integers_(std::move(graph)), store_(integers_) {}

  ComputationGraph run() {
    const std::vector<Computation> before = std::exchange(integers_.graph.computations, {});
    IntegerFactors factors(integers_, before);
    factors_ = &factors;
    for (const Computation& computation : before)
      if (!pair(computation)) integers_.graph.computations.push_back(computation);
    return without_unread(std::move(integers_.graph));
  }

 private:
  bool pair(const Computation& computation) {
    const Definition& definition = computation.definition;
    const auto product = find_product(computation, integers_.ranges);
    if (!product) return false;
    for (const VariableId k : definition.node(product->sum).bound) {
      if (definition.extent(k).offset() < 4) continue;
      auto factors = in_bytes(computation, *product, k);
      if (!factors) factors = in_halves(computation, *product, k);
      if (!factors) continue;
      integers_.graph.computations.push_back(with_groups(computation, *product, k, *factors));
      return true;
    }
    return false;
  }

  std::optional<Factors> factors_of(const Computation& computation, const SummedProduct& product,
                                    VariableId k, std::int64_t elements) const {
    Factors result;
    result.elements = elements;
    for (const ExpressionId operand : computation.definition.node(product.product).operands)
      if (auto factor = factor_of(computation, operand, k, elements))
        result.tensors.push_back(std::move(*factor));
    if (result.tensors.size() != 2) return std::nullopt;
    return result;
  }

  /// The factors in pairs of 16 bits.
  std::optional<Factors> in_halves(const Computation& computation, const SummedProduct& product,
                                   VariableId k) {
    auto factors = factors_of(computation, product, k, 2);
    if (!factors) return std::nullopt;
    const auto integers = all_in_integers(computation, product, *factors);
    if (integers.empty() || (product.is_scaled && !fits_halves(computation, product, integers)))
      return std::nullopt;
    for (const std::size_t side : {0U, 1U})
      factors->buffers.push_back(store_.stored_in_groups(in_type(integers[side], DataType::i16),
                                                         factors->tensors[side].axis, 2));
    return factors;
  }

  /// The factors in integers, with their scales in `factors`; nothing if there is none of one of them. What is no weight is
  /// looked at first: all the weights of other products would be looked at in vain.
  std::vector<Computation> all_in_integers(const Computation& computation,
                                           const SummedProduct& product, Factors& factors) {
    std::vector<Computation> result(2);
    factors.scales.assign(2, std::nullopt);
    for (const bool of_weights : {false, true})
      for (const std::size_t side : {0U, 1U}) {
        const FactorTensor& factor = factors.tensors[side];
        if (is_of_weights(factor.computation) != of_weights) continue;
        auto integers = factors_->in_integers(
            factor.computation,
            product.is_scaled ? axes_outside_sum(computation, product, factor) : std::nullopt);
        if (!integers) return {};
        result[side] = std::move(integers->computation);
        factors.scales[side] = std::move(integers->scale);
      }
    return result;
  }

  /// The axes of the factor along which the terms of a sum do not go.
  static std::optional<std::vector<std::size_t>> axes_outside_sum(const Computation& computation,
                                                                  const SummedProduct& product,
                                                                  const FactorTensor& factor) {
    const Definition& definition = computation.definition;
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < factor.indices.size(); ++axis) {
      const std::vector<bool> variables = variables_below(definition, factor.indices[axis]);
      const auto& bound = definition.node(product.sum).bound;
      if (std::none_of(bound.begin(), bound.end(),
                       [&variables](VariableId v) { return variables[v.v]; }))
        axes.push_back(axis);
    }
    return axes;
  }

  /// Whether 16 bits hold both factors, and 32 bits every sum of their products.
  bool fits_halves(const Computation& computation, const SummedProduct& product,
                   const std::vector<Computation>& integers) const {
    double most = terms_of(computation, product);
    for (const Computation& factor : integers) {
      const auto range = range_of(factor, output_of(factor).value, integers_.ranges);
      if (!range || range->low < least_i16 || range->high > greatest_i16) return false;
      most *= std::max(std::abs(range->low), std::abs(range->high));
    }
    return most < 0x1p31;
  }

  static double terms_of(const Computation& computation, const SummedProduct& product) {
    double terms = 1;
    for (const VariableId v : computation.definition.node(product.sum).bound)
      terms *= static_cast<double>(computation.definition.extent(v).offset());
    return terms;
  }

  /// The factors in groups of four bytes, one with a sign and one without.
  std::optional<Factors> in_bytes(const Computation& computation, const SummedProduct& product,
                                  VariableId k) {
    auto factors = factors_of(computation, product, k, 4);
    if (!factors || !fits_bytes(computation, product)) return std::nullopt;
    const auto integers = all_in_integers(computation, product, *factors);
    if (integers.empty()) return std::nullopt;
    for (const bool may_correct : {false, true})
      for (const std::size_t side : {1U, 0U}) {
        if (!has_signed_bytes(integers[side])) continue;
        const auto bytes = byte_factor(integers[1 - side], integers_.ranges);
        if (!bytes || bytes->needs_correction() != may_correct) continue;
        if (may_correct && !is_of_weights(integers[side])) continue;
        factors->buffers.resize(2);
        factors->buffers[side] = store_.stored_in_groups(in_type(integers[side], DataType::i8),
                                                         factors->tensors[side].axis, 4);
        factors->buffers[1 - side] =
            store_.stored_in_groups(bytes->bytes, factors->tensors[1 - side].axis, 4);
        if (!may_correct) return factors;
        factors->correction =
            correction_of(with_groups(computation, product, k, *factors), factors->buffers[side]);
        if (!factors->correction) return std::nullopt;
        set_number(*factors->correction, integers[1 - side], *bytes);
        return factors;
      }
    return std::nullopt;
  }

  /// What the sums of the weights are multiplied with: now, if it is known.
  void set_number(Correction& correction, const Computation& factor, const ByteFactor& bytes) {
    correction.factor = factor;
    correction.offset = bytes.offset;
    correction.subtracted = bytes.subtracted;
    const auto known =
        bytes.subtracted ? range_of(factor, *bytes.subtracted, integers_.ranges) : WholeRange{0, 0};
    if (!known || known->low != known->high) return;
    const std::int64_t number = static_cast<std::int64_t>(known->low) + bytes.offset;
    Buffer& buffer = integers_.graph.buffers[correction.sums];
    std::vector<std::int32_t> products;
    for (const std::int64_t sum : buffer.contents->integers())
      products.push_back(static_cast<std::int32_t>(sum * number));
    buffer.contents = Constant::of(DataType::i32, buffer.sizes, products);
    correction.offset = 1;
    correction.subtracted = std::nullopt;
  }

  /// Whether 32 bits hold every sum of products of bytes.
  static bool fits_bytes(const Computation& computation, const SummedProduct& product) {
    return terms_of(computation, product) * 255 * 128 < 0x1p31;
  }

  bool has_signed_bytes(const Computation& factor) const {
    const auto range = range_of(factor, output_of(factor).value, integers_.ranges);
    return range && range->low >= -128 && range->high <= 127;
  }

  bool is_of_weights(const Computation& factor) const {
    return std::all_of(factor.operands.begin(), factor.operands.end(), [&](BufferNumber operand) {
      return operand == no_buffer || (integers_.graph.buffers[operand].memory == Memory::weights &&
                                      integers_.graph.buffers[operand].contents);
    });
  }

  /// The sums of the weights that the sum of products reads, for the axes of the result that these depend on.
  std::optional<Correction> correction_of(const Computation& sum, BufferNumber weights) {
    const auto nest = nest_of(sum);
    if (!nest || !integers_.graph.buffers[weights].contents) return std::nullopt;
    for (lowering::TermNumber id = 0; id < nest->graph.size(); ++id) {
      const auto pairs = find_pair_sum(*nest, id);
      if (!pairs) continue;
      for (const lowering::TermNumber read : pairs->factors)
        if (sum.operands[nest->graph.term(read).input] == weights &&
            steps_along_loops(nest->graph.address(nest->graph.term(read))))
          return sums_of_weights(*nest, nest->graph.term(id), nest->graph.term(read), weights);
    }
    return std::nullopt;
  }

  static bool steps_along_loops(const Linear& address) {
    return std::all_of(address.terms.begin(), address.terms.end(),
                       [](const auto& term) { return term.first < lowering::first_term_atom; });
  }

  Correction sums_of_weights(const lowering::LoweredOutput& nest, const lowering::Term& sum,
                             const lowering::Term& read, BufferNumber weights) {
    Correction result;
    std::vector<lowering::LoopVariable> loops;
    Buffer buffer;
    buffer.name = integers_.graph.buffers[weights].name + " added up";
    buffer.type = DataType::i32;
    buffer.memory = Memory::weights;
    buffer.elements = 1;
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < nest.sizes.size(); ++axis) {
      if (nest.sizes[axis] == 1) continue;
      const lowering::LoopVariable variable = nest.axes[next++];
      if ((read.depends & lowering::set_of(variable)) == 0) continue;
      result.axes.push_back(axis);
      loops.push_back(variable);
      buffer.sizes.push_back(nest.sizes[axis]);
      buffer.elements *= nest.sizes[axis];
    }
    const std::vector<std::int32_t> sums =
        added_up(nest.graph, nest.graph.address(read), loops, sum.bound,
                 integers_.graph.buffers[weights].contents->integers());
    buffer.contents = Constant::of(DataType::i32, buffer.sizes, sums);
    result.sums = static_cast<BufferNumber>(integers_.graph.buffers.size());
    integers_.add_buffer(std::move(buffer));
    return result;
  }

  /// For each place of the loops, the last one fastest, the sum of the elements at the address over all places of `bound`.
  static std::vector<std::int32_t> added_up(const lowering::TermGraph& graph, const Linear& address,
                                            const std::vector<lowering::LoopVariable>& loops,
                                            const std::vector<lowering::LoopVariable>& bound,
                                            const std::vector<std::int64_t>& elements) {
    std::vector<std::int64_t> places = {address.constant}, terms = {0};
    const auto step_along = [&](std::vector<std::int64_t>& all, lowering::LoopVariable v) {
      std::vector<std::int64_t> next;
      next.reserve(all.size() * static_cast<std::size_t>(graph.extent(v)));
      for (const std::int64_t place : all)
        for (std::int64_t i = 0; i < graph.extent(v); ++i)
          next.push_back(place + i * address.coefficient(v));
      all = std::move(next);
    };
    for (const lowering::LoopVariable v : loops) step_along(places, v);
    for (const lowering::LoopVariable v : bound) step_along(terms, v);
    std::vector<std::int32_t> sums;
    sums.reserve(places.size());
    for (const std::int64_t place : places) {
      std::int64_t sum = 0;
      for (const std::int64_t term : terms) sum += elements[static_cast<std::size_t>(place + term)];
      sums.push_back(static_cast<std::int32_t>(sum));
    }
    return sums;
  }

  Computation with_groups(const Computation& computation, const SummedProduct& product,
                          VariableId k, const Factors& factors) const {
    const Definition& before = computation.definition;
    Computation result = computation;
    const auto first = static_cast<std::uint32_t>(result.operands.size());
    for (const std::size_t side : {0U, 1U}) {
      const BufferNumber buffer = factors.buffers[side];
      result.operands.push_back(buffer);
      result.views.push_back(
          {integers_.graph.buffers[buffer].type,
           in_groups(factors.tensors[side].sizes(), factors.tensors[side].axis, factors.elements),
           false});
    }
    DefinitionBuilder builder;
    std::vector<Expression> axes, bound;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId v : output_of(computation).axes) {
      axes.push_back(builder.variable(before.extent(v)));
      variables.emplace(v.v, axes.back());
    }
    const std::int64_t groups =
        (before.extent(k).offset() + factors.elements - 1) / factors.elements;
    const Expression group = builder.variable(groups), element = builder.variable(factors.elements);
    for (const VariableId v : before.node(product.sum).bound) {
      bound.push_back(v == k ? group : builder.variable(before.extent(v)));
      variables.emplace(v.v, v == k ? builder.integer(0) : bound.back());
    }
    bound.push_back(element);
    const auto read = [&](std::uint32_t number) {
      const FactorTensor& factor = factors.tensors[number];
      std::vector<Expression> indices;
      for (const ExpressionId index : factor.indices)
        indices.push_back(DefinitionCopier(builder, before, variables, nothing).copy(index));
      indices[factor.axis] = builder.floor_div(indices[factor.axis], factors.elements) + group;
      indices.push_back(element);
      return builder.cast(
          builder.read(first + number, result.views[first + number].type, std::move(indices)),
          DataType::i32);
    };
    DefinitionCopier copier(
        builder, before, variables,
        [&](ExpressionId id, const std::vector<Expression>& operands) -> std::optional<Expression> {
          if (id == product.product) return read(0) * read(1);
          if (id != product.sum) return std::nullopt;
          Expression sum = builder.reduce(Kind::sum, bound, operands[0]);
          if (factors.correction)
            sum = sum - correction(builder, axes, *factors.correction, result);
          Expression value = builder.cast(sum, before.node(id).type);
          for (const std::size_t side : {0U, 1U})
            if (factors.scales[side])
              value = value * scale(builder, before, variables, factors, side, result);
          return value;
        });
    const Expression value = copier.copy(output_of(computation).value);
    builder.output(axes, value);
    result.definition = without_unreached(std::move(builder).finish());
    result.output = 0;
    forget_unread(result);
    return result;
  }

  /// The number that the factor was divided by.
  Expression scale(DefinitionBuilder& builder, const Definition& before,
                   const std::map<std::uint32_t, Expression>& variables, const Factors& factors,
                   std::size_t side, Computation& result) const {
    const Scale& from = *factors.scales[side];
    if (from.numbers == no_buffer) return copied_number(builder, from.factor, from.number, result);
    std::vector<Expression> indices;
    if (from.axis)
      indices.push_back(DefinitionCopier(builder, before, variables, nothing)
                            .copy(factors.tensors[side].indices[*from.axis]));
    const auto input = static_cast<std::uint32_t>(result.operands.size());
    result.operands.push_back(from.numbers);
    result.views.push_back({DataType::f32, integers_.graph.buffers[from.numbers].sizes, false});
    return builder.read(input, DataType::f32, indices);
  }

  /// An expression without variables of another computation, whose operands follow those of `result`.
  static Expression copied_number(DefinitionBuilder& builder, const Computation& from,
                                  ExpressionId number, Computation& result) {
    const auto first = static_cast<std::uint32_t>(result.operands.size());
    result.operands.insert(result.operands.end(), from.operands.begin(), from.operands.end());
    result.views.insert(result.views.end(), from.views.begin(), from.views.end());
    return DefinitionCopier(
               builder, from.definition, {},
               [&](ExpressionId id,
                   const std::vector<Expression>& operands) -> std::optional<Expression> {
                 const ExpressionNode& node = from.definition.node(id);
                 if (node.kind != Kind::read) return std::nullopt;
                 return builder.read(first + node.input, node.type, operands);
               })
        .copy(number);
  }

  /// What the sum of products is too large by.
  Expression correction(DefinitionBuilder& builder, const std::vector<Expression>& axes,
                        const Correction& from, Computation& result) const {
    std::vector<Expression> indices;
    for (const std::size_t axis : from.axes) indices.push_back(axes[axis]);
    const auto sums = static_cast<std::uint32_t>(result.operands.size());
    result.operands.push_back(from.sums);
    result.views.push_back({DataType::i32, integers_.graph.buffers[from.sums].sizes, false});
    Expression number = builder.integer(from.offset, DataType::i32);
    if (from.subtracted) {
      const Expression subtracted = builder.cast(
          copied_number(builder, from.factor, *from.subtracted, result), DataType::i32);
      number = from.offset == 0 ? subtracted : subtracted + number;
    }
    const Expression sum = builder.read(sums, DataType::i32, indices);
    return from.offset == 1 && !from.subtracted ? sum : sum * number;
  }

  IntegerGraph integers_;
  StoredGroups store_;
  IntegerFactors* factors_ = nullptr;
};

}  // namespace

ComputationGraph pair_integers(ComputationGraph graph) { return Pairing(std::move(graph)).run(); }

}  // namespace lemma::backend
