#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/layout/integer_weights.h"
#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/layout/whole_numbers.h"
#include "backend/lower/copy_definition.h"
#include "backend/lower/substitute.h"
#include "backend/lower/without_unread.h"

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
};

/// A factor as a tensor: the computation of its elements, and where each product reads it.
struct FactorTensor {
  Computation computation;            // without a result; its axes are those of the tensor
  std::size_t axis = 0;               // that goes with the variable of the sum
  std::vector<ExpressionId> indices;  // of the definition with the sum
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
      std::vector<FactorTensor> factors;
      for (const ExpressionId operand : definition.node(product->product).operands)
        if (auto factor = factor_of(computation, operand, k)) factors.push_back(std::move(*factor));
      if (factors.size() != 2) continue;
      std::vector<BufferNumber> buffers;
      for (const FactorTensor& factor : factors)
        if (const auto buffer = stored_in_pairs(factor)) buffers.push_back(*buffer);
      if (buffers.size() != 2) continue;
      graph_.computations.push_back(in_pairs(computation, *product, k, factors, buffers));
      return true;
    }
    return false;
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
    const Product result{sum, node.operands[0]};
    if (definition.node(result.product).kind != Kind::multiply) return std::nullopt;
    double terms = 1, most = 1, elements = 1;
    for (const VariableId v : node.bound)
      terms *= static_cast<double>(definition.extent(v).offset());
    for (const VariableId v : output_of(computation).axes)
      elements *= static_cast<double>(definition.extent(v).offset());
    for (const ExpressionId operand : definition.node(result.product).operands) {
      const auto range = range_of(computation, operand, ranges_);
      if (!range || range->low < least_i16 || range->high > greatest_i16) return std::nullopt;
      most *= std::max(std::abs(range->low), std::abs(range->high));
    }
    const bool is_exact = node.type == DataType::i32 ||
                          (node.type == DataType::f64 && terms * most < 0x1p31) ||
                          (node.type == DataType::f32 && terms * most <= 0x1p24);
    if (!is_exact || elements * terms < least_products) return std::nullopt;
    return result;
  }

  /// Elements of a factor: of an operand, in the operand's order, or of an expression, by its variables.
  std::optional<FactorTensor> factor_of(const Computation& whole, ExpressionId id,
                                        VariableId k) const {
    if (auto factor = factor_of_expression(whole, id, k)) return factor;
    const ExpressionNode& node = whole.definition.node(id);
    return node.kind == Kind::read ? factor_of_read(whole, node, k) : std::nullopt;
  }

  std::optional<FactorTensor> factor_of_read(const Computation& whole, const ExpressionNode& node,
                                             VariableId k) const {
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!variables_below(whole.definition, node.operands[i])[k.v]) continue;
      if (axis || !steps_through_pairs(whole, node.operands[i], k)) return std::nullopt;
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

  /// Whether the index is k and an even number.
  static bool steps_through_pairs(const Computation& whole, ExpressionId index, VariableId k) {
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
    if (form.coefficient(*loop) != 1 || form.constant % 2 != 0) return false;
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& entry) {
      return entry.first == *loop || entry.second % 2 == 0;
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

  /// The buffer that has the factor in pairs. Nothing if it is not computed from integers and weights.
  std::optional<BufferNumber> stored_in_pairs(const FactorTensor& factor) {
    Computation computation = factor.computation;
    while (substitute_one(computation)) {
    }
    const auto integers = in_integers(computation);
    if (!integers) return std::nullopt;
    lowering::Sizes sizes;
    for (const VariableId axis : output_of(*integers).axes)
      sizes.push_back(integers->definition.extent(axis).offset());
    const bool is_last = factor.axis + 1 == sizes.size();
    const bool has_gap = sizes[factor.axis] % 2 != 0;
    lowering::Sizes paired = sizes;
    paired[factor.axis] = (sizes[factor.axis] + 1) / 2;
    paired.push_back(2);
    // Pairs along the last axis are neighbours anyway.
    if (is_last && !has_gap) return stored(*integers, paired);
    const BufferNumber unpaired = stored(*integers, sizes);
    Computation pairs;
    pairs.operands = {unpaired};
    pairs.views = {{DataType::i16, sizes, false}};
    pairs.definition = pairing_of(sizes, factor.axis);
    return stored(std::move(pairs), paired);
  }

  /// A buffer of a computation of i16: weights, if it reads only weights.
  BufferNumber stored(Computation computation, const lowering::Sizes& sizes) {
    std::string key = text(computation.definition) + fmt::format(" {}", fmt::join(sizes, ", "));
    for (std::size_t i = 0; i < computation.operands.size(); ++i)
      key += fmt::format("\n{} [{}]", computation.operands[i],
                         fmt::join(computation.views[i].sizes, ", "));
    const auto [at, is_new] =
        stored_.try_emplace(key, static_cast<BufferNumber>(graph_.buffers.size()));
    if (!is_new) return at->second;
    Buffer buffer;
    buffer.name = factor_name(computation) + " as integers";
    buffer.type = DataType::i16;
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
    graph_.buffers.push_back(std::move(buffer));
    return at->second;
  }

  /// Elements of an axis in pairs along it, the last one with 0 if it is alone. Both elements of a pair are cases of one place
  /// (backend/cases.h).
  static Definition pairing_of(const lowering::Sizes& sizes, std::size_t axis) {
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      axes.push_back(builder.variable(i == axis ? (sizes[i] + 1) / 2 : sizes[i]));
    const Expression element = builder.variable(2);
    const auto element_at = [&](std::int64_t number) {
      std::vector<Expression> indices = axes;
      indices[axis] = axes[axis] * Dimension(2) + Dimension(number);
      return builder.read(0, DataType::i16, std::move(indices));
    };
    Expression second = element_at(1);
    if (sizes[axis] % 2 != 0)
      second =
          builder.select(axes[axis] * Dimension(2) + Dimension(1) < builder.integer(sizes[axis]),
                         second, builder.integer(0, DataType::i16));
    const Expression value = builder.select(element == builder.integer(0), element_at(0), second);
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

  /// Takes the definition of an operand of a real type into its place.
  bool substitute_one(Computation& computation) const {
    constexpr std::size_t most_nodes = 60;
    for (std::uint32_t i = 0; i < computation.operands.size(); ++i) {
      const BufferNumber operand = computation.operands[i];
      if (operand == no_buffer || !is_real(graph_.buffers[operand].type) || !producers_[operand])
        continue;
      const Computation& producer = (*before_)[*producers_[operand]];
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

  /// The same elements computed in integers.
  std::optional<Computation> in_integers(const Computation& computation) {
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
          // Outermost, a choice is seen as such by those who write loops.
          if (node.kind == Kind::select && id == root)
            return builder.select(operands[0], builder.cast(operands[1], DataType::i16),
                                  builder.cast(operands[2], DataType::i16));
          return std::nullopt;
        });
    const Expression value = copier.copy(root);
    builder.output(
        axes, before.node(root).kind == Kind::select ? value : builder.cast(value, DataType::i16));
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
    graph_.buffers.push_back(std::move(buffer));
    whole_.emplace(number, result);
    return result;
  }

  Computation in_pairs(const Computation& computation, const Product& product, VariableId k,
                       const std::vector<FactorTensor>& factors,
                       const std::vector<BufferNumber>& buffers) const {
    const Definition& before = computation.definition;
    Computation result = computation;
    const auto first = static_cast<std::uint32_t>(result.operands.size());
    for (const BufferNumber buffer : buffers) {
      result.operands.push_back(buffer);
      result.views.push_back({DataType::i16, graph_.buffers[buffer].sizes, false});
    }
    DefinitionBuilder builder;
    std::vector<Expression> axes, bound;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId v : output_of(computation).axes) {
      axes.push_back(builder.variable(before.extent(v)));
      variables.emplace(v.v, axes.back());
    }
    const Expression pair = builder.variable((before.extent(k).offset() + 1) / 2),
                     element = builder.variable(2);
    for (const VariableId v : before.node(product.sum).bound) {
      bound.push_back(v == k ? pair : builder.variable(before.extent(v)));
      variables.emplace(v.v, v == k ? builder.integer(0) : bound.back());
    }
    bound.push_back(element);
    const auto read = [&](std::uint32_t number) {
      const FactorTensor& factor = factors[number];
      std::vector<Expression> indices;
      for (const ExpressionId index : factor.indices)
        indices.push_back(DefinitionCopier(builder, before, variables, nothing).copy(index));
      indices[factor.axis] = builder.floor_div(indices[factor.axis], 2) + pair;
      indices.push_back(element);
      return builder.read(first + number, DataType::i16, std::move(indices));
    };
    DefinitionCopier copier(
        builder, before, variables,
        [&](ExpressionId id, const std::vector<Expression>& operands) -> std::optional<Expression> {
          if (id == product.product) return read(0) * read(1);
          if (id != product.sum) return std::nullopt;
          return builder.cast(builder.reduce(Kind::sum, bound, operands[0]), before.node(id).type);
        });
    const Expression value = copier.copy(output_of(computation).value);
    builder.output(axes, value);
    result.definition = without_unreached(std::move(builder).finish());
    result.output = 0;
    forget_unread(result);
    return result;
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
