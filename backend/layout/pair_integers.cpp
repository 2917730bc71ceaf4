#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/layout/byte_factor.h"
#include "backend/layout/integer_weights.h"
#include "backend/layout/layout.h"
#include "backend/layout/scaled_weights.h"
#include "backend/layout/short_rows.h"
#include "backend/layout/whole_numbers.h"
#include "backend/lower/copy_definition.h"
#include "backend/lower/substitute.h"
#include "backend/lower/without_unread.h"
#include "backend/pairs.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using Kind = ExpressionKind;

constexpr double least_i16 = -32768, greatest_i16 = 32767;

const DefinedOutput& output_of(const Computation& computation) {
  return computation.definition.outputs()[computation.output];
}

std::optional<Expression> nothing(ExpressionId, const std::vector<Expression>&) {
  return std::nullopt;
}

Definition without_unreached(const Definition& definition) {
  return copied_output(definition, 0, [](DefinitionBuilder&) -> Replace { return nothing; });
}

std::vector<bool> variables_below(const Definition& definition, ExpressionId root) {
  std::vector<bool> result(definition.variable_extents().size(), false);
  const std::vector<bool> is_reached = reachable_expressions(definition, root);
  for (std::size_t i = 0; i <= root.v; ++i)
    if (is_reached[i] && definition.nodes()[i].kind == Kind::index)
      result[definition.nodes()[i].variable.v] = true;
  return result;
}

/// A sum of products of small whole numbers.
struct Product {
  ExpressionId sum, product;
  bool is_scaled = false;  // the factors may be whole numbers times numbers that leave the sum
};

/// A factor as a tensor: the computation of its elements, and where each product reads it.
struct FactorTensor {
  Computation computation;            // without a result; its axes are those of the tensor
  std::size_t axis = 0;               // that goes with the variable of the sum
  std::vector<ExpressionId> indices;  // of the definition with the sum

  lowering::Sizes sizes() const {
    lowering::Sizes result;
    for (const VariableId v : output_of(computation).axes)
      result.push_back(computation.definition.extent(v).offset());
    return result;
  }
};

/// The sizes with the elements of an axis in groups, which are the last axis.
lowering::Sizes in_groups(lowering::Sizes sizes, std::size_t axis, std::int64_t elements) {
  sizes[axis] = (sizes[axis] + elements - 1) / elements;
  sizes.push_back(elements);
  return sizes;
}

/// What is subtracted from a sum of products, and how the factors lie in memory.
struct Correction {
  BufferNumber sums = no_buffer;  // of the weights
  std::vector<std::size_t> axes;  // of the result, that they depend on
  Computation factor;             // whose definition has the number that is multiplied with them
  std::int64_t offset = 0;        // is added to it
  std::optional<ExpressionId> subtracted = {};
};

/// A number that the products of a sum have in common.
struct Scale {
  Computation factor;                    // whose definition has it
  ExpressionId number;                   // without variables
  BufferNumber numbers = no_buffer;      // in place of it: of weights
  std::optional<std::size_t> axis = {};  // of the factor's tensor, along which these differ
};

/// A factor in integers.
struct Integers {
  Computation computation;  // without a result
  std::optional<Scale> scale = {};
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
  explicit Pairing(ComputationGraph graph)
      : graph_(std::move(graph)),
        ranges_(whole_numbers(graph_)),
        producers_(graph_.buffers.size()) {}

  ComputationGraph run() {
    std::vector<Computation> before = std::exchange(graph_.computations, {});
    for (std::size_t i = 0; i < before.size(); ++i) producers_[before[i].result] = i;
    before_ = &before;
    for (const Computation& computation : before)
      if (!pair(computation)) graph_.computations.push_back(computation);
    return without_unread(std::move(graph_));
  }

 private:
  bool pair(const Computation& computation) {
    const Definition& definition = computation.definition;
    const auto product = find_product(computation);
    if (!product) return false;
    for (const VariableId k : definition.node(product->sum).bound) {
      if (definition.extent(k).offset() < 4) continue;
      auto factors = in_bytes(computation, *product, k);
      if (!factors) factors = in_halves(computation, *product, k);
      if (!factors) continue;
      graph_.computations.push_back(with_groups(computation, *product, k, *factors));
      return true;
    }
    return false;
  }

  std::optional<Factors> factors_of(const Computation& computation, const Product& product,
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
  std::optional<Factors> in_halves(const Computation& computation, const Product& product,
                                   VariableId k) {
    auto factors = factors_of(computation, product, k, 2);
    if (!factors) return std::nullopt;
    const auto integers = all_in_integers(computation, product, *factors);
    if (integers.empty() || (product.is_scaled && !fits_halves(computation, product, integers)))
      return std::nullopt;
    for (const std::size_t side : {0U, 1U})
      factors->buffers.push_back(
          stored_in_groups(in_type(integers[side], DataType::i16), factors->tensors[side].axis, 2));
    return factors;
  }

  /// The factors in integers, with their scales in `factors`; nothing if there is none of one of them. What is no weight is
  /// looked at first: all the weights of other products would be looked at in vain.
  std::vector<Computation> all_in_integers(const Computation& computation, const Product& product,
                                           Factors& factors) {
    std::vector<Computation> result(2);
    factors.scales.assign(2, std::nullopt);
    for (const bool of_weights : {false, true})
      for (const std::size_t side : {0U, 1U}) {
        const FactorTensor& factor = factors.tensors[side];
        if (is_of_weights(factor.computation) != of_weights) continue;
        auto integers = in_integers(
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
                                                                  const Product& product,
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
  bool fits_halves(const Computation& computation, const Product& product,
                   const std::vector<Computation>& integers) const {
    double most = terms_of(computation, product);
    for (const Computation& factor : integers) {
      const auto range = range_of(factor, output_of(factor).value, ranges_);
      if (!range || range->low < least_i16 || range->high > greatest_i16) return false;
      most *= std::max(std::abs(range->low), std::abs(range->high));
    }
    return most < 0x1p31;
  }

  static double terms_of(const Computation& computation, const Product& product) {
    double terms = 1;
    for (const VariableId v : computation.definition.node(product.sum).bound)
      terms *= static_cast<double>(computation.definition.extent(v).offset());
    return terms;
  }

  /// The factors in groups of four bytes, one with a sign and one without.
  std::optional<Factors> in_bytes(const Computation& computation, const Product& product,
                                  VariableId k) {
    auto factors = factors_of(computation, product, k, 4);
    if (!factors || !fits_bytes(computation, product)) return std::nullopt;
    const auto integers = all_in_integers(computation, product, *factors);
    if (integers.empty()) return std::nullopt;
    for (const bool may_correct : {false, true})
      for (const std::size_t side : {1U, 0U}) {
        if (!has_signed_bytes(integers[side])) continue;
        const auto bytes = byte_factor(integers[1 - side], ranges_);
        if (!bytes || bytes->needs_correction() != may_correct) continue;
        if (may_correct && !is_of_weights(integers[side])) continue;
        factors->buffers.resize(2);
        factors->buffers[side] =
            stored_in_groups(in_type(integers[side], DataType::i8), factors->tensors[side].axis, 4);
        factors->buffers[1 - side] =
            stored_in_groups(bytes->bytes, factors->tensors[1 - side].axis, 4);
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
        bytes.subtracted ? range_of(factor, *bytes.subtracted, ranges_) : WholeRange{0, 0};
    if (!known || known->low != known->high) return;
    const std::int64_t number = static_cast<std::int64_t>(known->low) + bytes.offset;
    Buffer& buffer = graph_.buffers[correction.sums];
    std::vector<std::int32_t> products;
    for (const std::int64_t sum : buffer.contents->integers())
      products.push_back(static_cast<std::int32_t>(sum * number));
    buffer.contents = Constant::of(DataType::i32, buffer.sizes, products);
    correction.offset = 1;
    correction.subtracted = std::nullopt;
  }

  /// Whether 32 bits hold every sum of products of bytes.
  static bool fits_bytes(const Computation& computation, const Product& product) {
    return terms_of(computation, product) * 255 * 128 < 0x1p31;
  }

  bool has_signed_bytes(const Computation& factor) const {
    const auto range = range_of(factor, output_of(factor).value, ranges_);
    return range && range->low >= -128 && range->high <= 127;
  }

  bool is_of_weights(const Computation& factor) const {
    return std::all_of(factor.operands.begin(), factor.operands.end(), [&](BufferNumber operand) {
      return operand == no_buffer || (graph_.buffers[operand].memory == Memory::weights &&
                                      graph_.buffers[operand].contents);
    });
  }

  /// The sums of the weights that the sum of products reads, for the axes of the result that these depend on.
  std::optional<Correction> correction_of(const Computation& sum, BufferNumber weights) {
    const auto nest = nest_of(sum);
    if (!nest || !graph_.buffers[weights].contents) return std::nullopt;
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
    buffer.name = graph_.buffers[weights].name + " added up";
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
                 graph_.buffers[weights].contents->integers());
    buffer.contents = Constant::of(DataType::i32, buffer.sizes, sums);
    result.sums = static_cast<BufferNumber>(graph_.buffers.size());
    add_buffer(std::move(buffer));
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

  void add_buffer(Buffer buffer) {
    graph_.buffers.push_back(std::move(buffer));
    ranges_.resize(graph_.buffers.size());
  }

  /// Sums that no type of 32 bits can hold are left alone, unless that is what they are stored in.
  std::optional<Product> find_product(const Computation& computation) const {
    const Definition& definition = computation.definition;
    const std::vector<bool> is_reached =
        reachable_expressions(definition, output_of(computation).value);
    std::optional<Product> result;
    for (std::uint32_t i = 0; i < is_reached.size(); ++i) {
      if (!is_reached[i] || !is_reduction(definition.nodes()[i].kind)) continue;
      if (result) return std::nullopt;
      result = product_of(computation, {i});
      if (!result) return std::nullopt;
    }
    return result;
  }

  std::optional<Product> product_of(const Computation& computation, ExpressionId sum) const {
    constexpr double least_products = 4096;
    const Definition& definition = computation.definition;
    const ExpressionNode& node = definition.node(sum);
    if (node.kind != Kind::sum) return std::nullopt;
    Product result{sum, node.operands[0]};
    if (definition.node(result.product).kind != Kind::multiply) return std::nullopt;
    double terms = 1, most = 1, elements = 1;
    for (const VariableId v : node.bound)
      terms *= static_cast<double>(definition.extent(v).offset());
    for (const VariableId v : output_of(computation).axes)
      elements *= static_cast<double>(definition.extent(v).offset());
    for (const ExpressionId operand : definition.node(result.product).operands) {
      const auto range = range_of(computation, operand, ranges_);
      if (!range && node.type == DataType::f32) result.is_scaled = true;
      if (result.is_scaled) continue;
      if (!range || range->low < least_i16 || range->high > greatest_i16) return std::nullopt;
      most *= std::max(std::abs(range->low), std::abs(range->high));
    }
    if (result.is_scaled && elements * terms >= least_products) return result;
    const bool is_exact = node.type == DataType::i32 ||
                          (node.type == DataType::f64 && terms * most < 0x1p31) ||
                          (node.type == DataType::f32 && terms * most <= 0x1p24);
    if (!is_exact || elements * terms < least_products) return std::nullopt;
    return result;
  }

  /// Elements of a factor: of an operand, in the operand's order, or of an expression, by its variables.
  std::optional<FactorTensor> factor_of(const Computation& whole, ExpressionId id, VariableId k,
                                        std::int64_t elements) const {
    if (auto factor = factor_of_expression(whole, id, k)) return factor;
    const ExpressionNode& node = whole.definition.node(id);
    return node.kind == Kind::read ? factor_of_read(whole, node, k, elements) : std::nullopt;
  }

  std::optional<FactorTensor> factor_of_read(const Computation& whole, const ExpressionNode& node,
                                             VariableId k, std::int64_t elements) const {
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!variables_below(whole.definition, node.operands[i])[k.v]) continue;
      if (axis || !steps_through_groups(whole, node.operands[i], k, elements)) return std::nullopt;
      axis = i;
    }
    if (!axis) return std::nullopt;
    FactorTensor factor;
    factor.axis = *axis;
    factor.indices = node.operands;
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (const std::int64_t size : whole.views[node.input].sizes)
      axes.push_back(builder.variable(size));
    builder.output(axes, builder.read(0, node.type, axes));
    factor.computation.operands = {whole.operands[node.input]};
    factor.computation.views = {whole.views[node.input]};
    factor.computation.definition = std::move(builder).finish();
    return factor;
  }

  /// Whether the index is k and a multiple of the elements of a group.
  static bool steps_through_groups(const Computation& whole, ExpressionId index, VariableId k,
                                   std::int64_t elements) {
    lowering::TermGraph terms(lowering::Domain::native, whole.views);
    lowering::Environment environment;
    std::optional<lowering::LoopVariable> loop;
    for (std::uint32_t v = 0; v < whole.definition.variable_extents().size(); ++v) {
      const auto variable = terms.variable(whole.definition.variable_extents()[v].offset());
      if (!variable) return false;
      if (v == k.v) loop = *variable;
      lowering::bind(environment, v, terms.linear(Linear::atom(*variable)));
    }
    const auto term = lowering::translate(terms, whole.definition, index, environment);
    if (!term) return false;
    const Linear form = terms.form(*term);
    if (form.coefficient(*loop) != 1 || form.constant % elements != 0) return false;
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& entry) {
      return entry.first == *loop || entry.second % elements == 0;
    });
  }

  /// The variables of a product so that those that change fastest are the last: k, and the last axis, which goes along lanes.
  static std::vector<VariableId> in_reading_order(const Computation& whole, VariableId k) {
    const DefinedOutput& output = output_of(whole);
    std::vector<VariableId> variables;
    if (!output.axes.empty()) variables.assign(output.axes.begin(), output.axes.end() - 1);
    for (const ExpressionNode& node : whole.definition.nodes())
      if (is_reduction(node.kind) &&
          std::find(node.bound.begin(), node.bound.end(), k) != node.bound.end())
        for (const VariableId v : node.bound)
          if (v != k) variables.push_back(v);
    variables.push_back(k);
    if (!output.axes.empty()) variables.push_back(output.axes.back());
    return variables;
  }

  static std::optional<FactorTensor> factor_of_expression(const Computation& whole, ExpressionId id,
                                                          VariableId k) {
    const Definition& definition = whole.definition;
    const std::vector<bool> is_reached = reachable_expressions(definition, id);
    for (std::size_t i = 0; i <= id.v; ++i) {
      if (!is_reached[i] || definition.nodes()[i].kind != Kind::read) continue;
      for (const ExpressionId index : definition.nodes()[i].operands) {
        const Kind kind = definition.node(index).kind;
        if (kind != Kind::index && kind != Kind::integer_constant) return std::nullopt;
      }
    }
    FactorTensor factor;
    factor.computation.operands = whole.operands;
    factor.computation.views = whole.views;
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    std::map<std::uint32_t, Expression> variables;
    std::map<std::uint32_t, ExpressionId> places;  // of variables
    for (std::uint32_t i = 0; i <= id.v; ++i)
      if (is_reached[i] && definition.nodes()[i].kind == Kind::index)
        places.emplace(definition.nodes()[i].variable.v, ExpressionId{i});
    if (!places.contains(k.v)) return std::nullopt;
    for (const VariableId v : in_reading_order(whole, k)) {
      const auto place = places.find(v.v);
      if (place == places.end()) continue;
      if (v == k) factor.axis = axes.size();
      axes.push_back(builder.variable(definition.extent(v)));
      variables.emplace(v.v, axes.back());
      factor.indices.push_back(place->second);
    }
    if (axes.size() != places.size()) return std::nullopt;
    const Expression value = DefinitionCopier(builder, definition, variables, nothing).copy(id);
    builder.output(axes, value);
    factor.computation.definition = std::move(builder).finish();
    forget_unread(factor.computation);
    return factor;
  }

  /// The buffer that has the elements in groups along the axis.
  BufferNumber stored_in_groups(const Computation& computation, std::size_t axis,
                                std::int64_t elements) {
    lowering::Sizes sizes;
    for (const VariableId v : output_of(computation).axes)
      sizes.push_back(computation.definition.extent(v).offset());
    const bool is_last = axis + 1 == sizes.size();
    const bool has_gap = sizes[axis] % elements != 0;
    const lowering::Sizes grouped = in_groups(sizes, axis, elements);
    // Groups along the last axis are neighbours anyway.
    if (is_last && !has_gap) return stored(computation, grouped);
    const BufferNumber ungrouped = stored(computation, sizes);
    const DataType type = graph_.buffers[ungrouped].type;
    Computation groups;
    groups.operands = {ungrouped};
    groups.views = {{type, sizes, false}};
    groups.definition = grouping_of(sizes, axis, elements, type);
    return stored(std::move(groups), grouped);
  }

  /// A buffer of a computation of small integers: weights, if it reads only weights, and what is there already, if it copies
  /// that.
  BufferNumber stored(Computation computation, const lowering::Sizes& sizes) {
    if (const auto copied = copied_buffer(computation)) return *copied;
    std::string key = text(computation.definition) + fmt::format(" {}", fmt::join(sizes, ", "));
    for (std::size_t i = 0; i < computation.operands.size(); ++i)
      key += fmt::format("\n{} [{}]", computation.operands[i],
                         fmt::join(computation.views[i].sizes, ", "));
    const auto [at, is_new] =
        stored_.try_emplace(key, static_cast<BufferNumber>(graph_.buffers.size()));
    if (!is_new) return at->second;
    Buffer buffer;
    buffer.name = factor_name(computation) + " as integers";
    buffer.type = computation.definition.node(output_of(computation).value).type;
    buffer.sizes = sizes;
    buffer.elements = 1;
    for (const std::int64_t size : sizes) buffer.elements *= size;
    if (auto contents = integer_weights(computation, graph_.buffers, sizes)) {
      buffer.memory = Memory::weights;
      buffer.contents = std::move(*contents);
    } else {
      computation.name = buffer.name;
      computation.description = "integers";
      computation.result = at->second;
      computation.is_stored = true;
      graph_.computations.push_back(std::move(computation));
    }
    add_buffer(std::move(buffer));
    return at->second;
  }

  /// The buffer whose elements these are, in the same order.
  static std::optional<BufferNumber> copied_buffer(const Computation& computation) {
    const auto nest = nest_of(computation);
    if (!nest) return std::nullopt;
    const auto input = lowering::copied_input(*nest);
    if (!input || computation.views[*input].type != nest->type) return std::nullopt;
    return computation.operands[*input];
  }

  /// Elements of an axis in groups along it, the last one with zeros where there are no more. The elements of a group are
  /// cases of one place (backend/cases.h).
  static Definition grouping_of(const lowering::Sizes& sizes, std::size_t axis,
                                std::int64_t elements, DataType type) {
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      axes.push_back(builder.variable(i == axis ? (sizes[i] + elements - 1) / elements : sizes[i]));
    const Expression element = builder.variable(elements);
    const auto element_at = [&](std::int64_t number) {
      std::vector<Expression> indices = axes;
      indices[axis] = axes[axis] * Dimension(elements) + Dimension(number);
      const Expression read = builder.read(0, type, indices);
      if (number < sizes[axis] % elements || sizes[axis] % elements == 0) return read;
      return builder.select(indices[axis] < builder.integer(sizes[axis]), read,
                            builder.integer(0, type));
    };
    Expression value = element_at(elements - 1);
    for (std::int64_t number = elements - 1; number-- > 0;)
      value = builder.select(element == builder.integer(number), element_at(number), value);
    axes.push_back(element);
    builder.output(axes, value);
    return std::move(builder).finish();
  }

  std::string factor_name(const Computation& computation) const {
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer) return graph_.buffers[operand].name;
    return "constant";
  }

  /// Reads of an operand of one element, under whatever shape, with the sizes of its buffer.
  static Computation with_plain_reads(const Computation& computation, std::uint32_t input,
                                      const Buffer& buffer) {
    Computation result = computation;
    result.views[input].sizes = buffer.sizes;
    result.output = 0;
    result.definition = copied_output(
        computation.definition, computation.output, [&](DefinitionBuilder& builder) -> Replace {
          return [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
            const ExpressionNode& node = computation.definition.node(id);
            if (node.kind != Kind::read || node.input != input) return std::nullopt;
            return builder.read(input, node.type,
                                std::vector<Expression>(buffer.sizes.size(), builder.integer(0)));
          };
        });
    return result;
  }

  /// Takes the definition of an operand of a real type, or of wide integers, into its place.
  bool substitute_one(Computation& computation) const {
    constexpr std::size_t most_nodes = 60;
    for (std::uint32_t i = 0; i < computation.operands.size(); ++i) {
      const BufferNumber operand = computation.operands[i];
      if (operand == no_buffer || operand >= producers_.size() || !producers_[operand]) continue;
      const DataType type = graph_.buffers[operand].type;
      const Computation& producer = (*before_)[*producers_[operand]];
      if (!is_real(type) && (type != DataType::i32 || !computes_in_integers(producer.definition)))
        continue;
      const std::vector<ExpressionNode>& nodes = producer.definition.nodes();
      const bool has_reduction = std::any_of(
          nodes.begin(), nodes.end(), [](const auto& node) { return is_reduction(node.kind); });
      if (has_reduction || nodes.size() + computation.definition.nodes().size() > most_nodes)
        continue;
      if (computation.views[i].sizes != graph_.buffers[operand].sizes) {
        if (graph_.buffers[operand].elements != 1) continue;
        computation = with_plain_reads(computation, i, graph_.buffers[operand]);
      }
      computation = substitute(computation, i, producer);
      computation.output = 0;
      return true;
    }
    return false;
  }

  /// The same elements computed in integers, from operands that are stored. `scaled_axes`: the elements may be integers times
  /// a number, which may differ along these axes.
  std::optional<Integers> in_integers(Computation computation,
                                      const std::optional<std::vector<std::size_t>>& scaled_axes) {
    while (substitute_one(computation)) {
    }
    Integers result;
    if (scaled_axes) {
      if (auto weights = of_scaled_weights(computation, *scaled_axes)) return weights;
      if (auto scaled = without_scale(computation);
          scaled && is_constant(computation, scaled->scale)) {
        result.scale = Scale{computation, scaled->scale};
        computation = std::move(scaled->rest);
        forget_unread(computation);
      }
    }
    auto integers = without_reals(computation);
    if (!integers) return std::nullopt;
    result.computation = std::move(*integers);
    return result;
  }

  /// Whether the expression is the same in each run.
  bool is_constant(const Computation& computation, ExpressionId id) const {
    const Definition& definition = computation.definition;
    const std::vector<bool> is_reached = reachable_expressions(definition, id);
    for (std::size_t i = 0; i <= id.v; ++i) {
      const ExpressionNode& node = definition.nodes()[i];
      if (!is_reached[i] || node.kind != Kind::read) continue;
      const BufferNumber operand = computation.operands[node.input];
      if (operand == no_buffer || graph_.buffers[operand].memory != Memory::weights) return false;
    }
    return true;
  }

  /// Weights that are copied from a buffer whose elements are whole numbers times numbers.
  std::optional<Integers> of_scaled_weights(const Computation& computation,
                                            const std::vector<std::size_t>& scaled_axes) {
    const Definition& definition = computation.definition;
    const ExpressionNode& read = definition.node(output_of(computation).value);
    if (read.kind != Kind::read || read.type != DataType::f32) return std::nullopt;
    const BufferNumber number = computation.operands[read.input];
    if (number == no_buffer || graph_.buffers[number].memory != Memory::weights ||
        !graph_.buffers[number].contents)
      return std::nullopt;
    std::vector<std::size_t> weight_axes, factor_axes;
    for (const std::size_t axis : scaled_axes)
      for (std::size_t i = 0; i < read.operands.size(); ++i) {
        const ExpressionNode& index = definition.node(read.operands[i]);
        if (index.kind != Kind::index || index.variable != output_of(computation).axes[axis])
          continue;
        weight_axes.push_back(i);
        factor_axes.push_back(axis);
      }
    const lowering::Sizes& sizes = computation.views[read.input].sizes;
    const auto scaled =
        scaled_weights(graph_.buffers[number].contents->reals(), sizes, weight_axes);
    if (!scaled) return std::nullopt;
    Integers result{with_contents(computation, read.input, scaled->numbers), Scale{}};
    result.scale->numbers = added_weights(
        graph_.buffers[number].name + " scales", DataType::f32,
        scaled->axis ? lowering::Sizes{sizes[*scaled->axis]} : lowering::Sizes{}, scaled->scales);
    for (std::size_t i = 0; i < weight_axes.size(); ++i)
      if (scaled->axis == weight_axes[i]) result.scale->axis = factor_axes[i];
    return result;
  }

  /// The computation, which is one read, of these integers in place of what it reads.
  Computation with_contents(const Computation& computation, std::uint32_t input,
                            const std::vector<std::int32_t>& elements) {
    const Buffer& before = graph_.buffers[computation.operands[input]];
    Computation result = computation;
    result.views[input].type = DataType::i32;
    result.operands[input] =
        added_weights(before.name, DataType::i32, result.views[input].sizes, elements);
    ranges_[result.operands[input]] = WholeRange{-128, 127};
    result.output = 0;
    result.definition = copied_output(
        computation.definition, computation.output, [&](DefinitionBuilder& builder) -> Replace {
          return [&](ExpressionId id,
                     const std::vector<Expression>& operands) -> std::optional<Expression> {
            const ExpressionNode& node = computation.definition.node(id);
            if (node.kind != Kind::read) return std::nullopt;
            return builder.read(node.input, DataType::i32, operands);
          };
        });
    return result;
  }

  template <typename T>
  BufferNumber added_weights(const std::string& name, DataType type, const lowering::Sizes& sizes,
                             const std::vector<T>& elements) {
    Buffer buffer;
    buffer.name = name;
    buffer.type = type;
    buffer.memory = Memory::weights;
    buffer.sizes = sizes;
    buffer.elements = static_cast<std::int64_t>(elements.size());
    buffer.contents = Constant::of(type, sizes, elements);
    add_buffer(std::move(buffer));
    return static_cast<BufferNumber>(graph_.buffers.size() - 1);
  }

  /// The same steps with integers.
  std::optional<Computation> without_reals(const Computation& computation) {
    const Definition& before = computation.definition;
    if (!computes_in_integers(before)) return std::nullopt;
    Computation result = computation;
    for (std::size_t i = 0; i < result.operands.size(); ++i) {
      const BufferNumber operand = result.operands[i];
      if (operand == no_buffer || !is_real(graph_.buffers[operand].type)) continue;
      const auto whole = whole_weights(operand);
      if (!whole) return std::nullopt;
      result.operands[i] = *whole;
      result.views[i].type = DataType::i32;
    }
    const ExpressionId root = output_of(computation).value;
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId v : output_of(computation).axes) {
      axes.push_back(builder.variable(before.extent(v)));
      variables.emplace(v.v, axes.back());
    }
    DefinitionCopier copier(
        builder, before, variables,
        [&](ExpressionId id, const std::vector<Expression>& operands) -> std::optional<Expression> {
          const ExpressionNode& node = before.node(id);
          if (node.kind == Kind::real_constant)
            return builder.integer(static_cast<std::int64_t>(node.real), DataType::i32);
          if (node.kind == Kind::read && is_real(node.type))
            return builder.read(node.input, DataType::i32, operands);
          if (node.kind == Kind::cast) return builder.cast(operands[0], DataType::i32);
          return std::nullopt;
        });
    builder.output(axes, copier.copy(root));
    result.definition = without_unreached(std::move(builder).finish());
    result.output = 0;
    return result;
  }

  /// Whether the same steps compute the same from integers.
  static bool computes_in_integers(const Definition& definition) {
    return std::all_of(definition.nodes().begin(), definition.nodes().end(),
                       [](const ExpressionNode& node) {
                         switch (node.kind) {
                           case Kind::real_constant: return node.real == std::trunc(node.real);
                           case Kind::integer_constant:
                           case Kind::extent:
                           case Kind::index:
                           case Kind::read:
                           case Kind::add:
                           case Kind::subtract:
                           case Kind::multiply:
                           case Kind::select:
                           case Kind::less:
                           case Kind::less_equal:
                           case Kind::logical_and:
                           case Kind::cast: return true;
                           default: return false;
                         }
                       });
  }

  /// Weights of a real type as integers.
  std::optional<BufferNumber> whole_weights(BufferNumber number) {
    if (const auto known = whole_.find(number); known != whole_.end()) return known->second;
    const Buffer& weights = graph_.buffers[number];
    if (weights.memory != Memory::weights || !weights.contents || !ranges_[number])
      return std::nullopt;
    std::vector<std::int32_t> elements;
    for (const double element : weights.contents->reals())
      elements.push_back(static_cast<std::int32_t>(element));
    Buffer buffer = weights;
    buffer.type = DataType::i32;
    buffer.contents = Constant::of(DataType::i32, weights.sizes, elements);
    const auto result = static_cast<BufferNumber>(graph_.buffers.size());
    add_buffer(std::move(buffer));
    ranges_[result] = ranges_[number];
    whole_.emplace(number, result);
    return result;
  }

  Computation with_groups(const Computation& computation, const Product& product, VariableId k,
                          const Factors& factors) const {
    const Definition& before = computation.definition;
    Computation result = computation;
    const auto first = static_cast<std::uint32_t>(result.operands.size());
    for (const std::size_t side : {0U, 1U}) {
      const BufferNumber buffer = factors.buffers[side];
      result.operands.push_back(buffer);
      result.views.push_back(
          {graph_.buffers[buffer].type,
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
    result.views.push_back({DataType::f32, graph_.buffers[from.numbers].sizes, false});
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
    result.views.push_back({DataType::i32, graph_.buffers[from.sums].sizes, false});
    Expression number = builder.integer(from.offset, DataType::i32);
    if (from.subtracted) {
      const Expression subtracted = builder.cast(
          copied_number(builder, from.factor, *from.subtracted, result), DataType::i32);
      number = from.offset == 0 ? subtracted : subtracted + number;
    }
    const Expression sum = builder.read(sums, DataType::i32, indices);
    return from.offset == 1 && !from.subtracted ? sum : sum * number;
  }

  ComputationGraph graph_;
  WholeNumbers ranges_;
  std::vector<std::optional<std::size_t>> producers_;  // by buffer
  const std::vector<Computation>* before_ = nullptr;
  std::map<std::string, BufferNumber> stored_;
  std::map<BufferNumber, BufferNumber> whole_;
};

}  // namespace

ComputationGraph pair_integers(ComputationGraph graph) { return Pairing(std::move(graph)).run(); }

}  // namespace lemma::backend
