#include "backend/lower/split_reductions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "backend/lower/copy_definition.h"
#include "backend/lower/without_unread.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

/// Warps of a unit, each with two elements: a line of memory of f32 for a task.
constexpr std::int64_t elements_of_unit = 16;
/// Fewer terms are reduced by one warp in less time than two phases wait for each other.
constexpr std::int64_t least_terms = 8192, least_terms_of_part = 512;

std::int64_t extent_of(const Definition& definition, VariableId variable) {
  return definition.extent(variable).offset();
}

/// Whether partial results that are stored and read again have the same effect. Sums of types that are rounded or wrapped when
/// they are stored are so once more only where the result is stored next.
bool keeps_value(const Computation& whole, ExpressionId reduction) {
  const DataType type = whole.definition.node(reduction).type;
  if (type == DataType::f32 || type == DataType::f64 || type == DataType::i64 ||
      type == DataType::u64)
    return true;
  return reduction == whole.definition.outputs()[whole.output].value && type != DataType::boolean;
}

/// Partial results of f16 and bf16 are kept as they are computed.
DataType type_of_parts(DataType type) {
  return type == DataType::f16 || type == DataType::bf16 ? DataType::f32 : type;
}

/// A reduction, the one of its variables that is cut, and in how many ranges.
struct Split {
  ExpressionId reduction;
  std::vector<VariableId> axes;  // of the output, which it depends on
  VariableId variable;
  std::int64_t parts = 1;
};

class ReductionSplitting {
 public:
  ReductionSplitting(ComputationGraph graph, std::int64_t elements_of_device)
      : graph_(std::move(graph)), elements_of_device_(elements_of_device) {}

  ComputationGraph run() {
    for (Computation& computation : std::exchange(graph_.computations, {})) {
      while (const auto split = split_of(computation)) {
        const BufferNumber parts = add_parts(computation, *split);
        reduce_parts(computation, *split, parts);
      }
      graph_.computations.push_back(std::move(computation));
    }
    return std::move(graph_);
  }

 private:
  std::optional<Split> split_of(const Computation& computation) const {
    for (const ExpressionId id : outermost_reductions(
             computation.definition, computation.definition.outputs()[computation.output].value))
      if (keeps_value(computation, id))
        if (auto split = split_of(computation, id)) return split;
    return std::nullopt;
  }

  std::optional<Split> split_of(const Computation& computation, ExpressionId id) const {
    const Definition& definition = computation.definition;
    Split split = {id, {}, {}, 1};
    std::vector<bool> free = free_variables(definition)[id.v];
    std::int64_t elements = 1, terms = 1;
    for (const VariableId axis : computation.definition.outputs()[computation.output].axes) {
      if (!free[axis.v]) continue;
      free[axis.v] = false;
      split.axes.push_back(axis);
      elements *= extent_of(definition, axis);
    }
    if (std::find(free.begin(), free.end(), true) != free.end()) return std::nullopt;
    const std::vector<VariableId>& bound = definition.node(id).bound;
    for (const VariableId variable : bound) terms *= extent_of(definition, variable);
    if (elements == 0 || terms < least_terms || 4 * elements > elements_of_device_)
      return std::nullopt;
    const std::int64_t wanted =
        std::min(elements_of_device_ / elements, terms / least_terms_of_part);
    for (const VariableId variable : bound)
      if (const std::int64_t parts = equal_parts(extent_of(definition, variable), wanted);
          parts > split.parts) {
        split.parts = parts;
        split.variable = variable;
      }
    // Where no length divides well, the last part is shorter.
    const auto longest =
        *std::max_element(bound.begin(), bound.end(), [&](VariableId a, VariableId b) {
          return extent_of(definition, a) < extent_of(definition, b);
        });
    if (4 * split.parts < wanted && extent_of(definition, longest) >= wanted) {
      split.parts = wanted;
      split.variable = longest;
    }
    return split.parts > 1 ? std::optional(split) : std::nullopt;
  }

  static Expression neutral(DefinitionBuilder& builder, Kind kind, DataType type) {
    if (kind == Kind::minimum_over) return builder.highest(type);
    if (kind == Kind::maximum_over) return builder.lowest(type);
    return builder.constant(kind == Kind::product ? 1.0 : 0.0, type);
  }

  /// Adds the computation of the parts, with an axis for them in front of those of the elements; the buffer that it makes.
  BufferNumber add_parts(const Computation& whole, const Split& split) {
    const Definition& definition = whole.definition;
    const ExpressionNode& node = definition.node(split.reduction);
    const std::int64_t extent = extent_of(definition, split.variable),
                       length = (extent + split.parts - 1) / split.parts;
    DefinitionBuilder builder;
    std::map<std::uint32_t, Expression> variables;
    std::vector<Expression> axes = {builder.variable(Dimension(split.parts))}, bound;
    for (const VariableId axis : split.axes) {
      axes.push_back(builder.variable(definition.extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    for (const VariableId variable : node.bound) {
      const bool is_cut = variable == split.variable;
      bound.push_back(builder.variable(is_cut ? Dimension(length) : definition.extent(variable)));
      variables.emplace(variable.v,
                        is_cut ? axes.front() * Dimension(length) + bound.back() : bound.back());
    }
    const Expression place = variables.at(split.variable.v);
    Expression term = DefinitionCopier(builder, definition, std::move(variables), copies_all)
                          .copy(node.operands.front());
    if (const DataType type = type_of_parts(node.type); type != node.type)
      term = builder.cast(term, type);
    if (extent % split.parts != 0)
      term = builder.select(place < builder.integer(extent), term,
                            neutral(builder, node.kind, type_of_parts(node.type)));
    builder.output(std::move(axes), builder.reduce(node.kind, std::move(bound), term));

    Computation parts = whole;
    parts.name += " (parts)";
    parts.output = 0;
    // Once more, without what the rest is computed from.
    parts.definition = copied_output(std::move(builder).finish(), 0,
                                     [](DefinitionBuilder&) { return Replace(copies_all); });
    parts.result = static_cast<BufferNumber>(graph_.buffers.size());
    Buffer buffer;
    buffer.name = parts.name;
    buffer.type = type_of_parts(node.type);
    buffer.sizes = {split.parts};
    for (const VariableId axis : split.axes) buffer.sizes.push_back(extent_of(definition, axis));
    buffer.elements = 1;
    for (const std::int64_t size : buffer.sizes) buffer.elements *= size;
    graph_.buffers.push_back(std::move(buffer));
    drop_unread_operands(parts);
    const BufferNumber result = parts.result;
    graph_.computations.push_back(std::move(parts));
    return result;
  }

  /// Puts the reduction of the parts in the place of the reduction.
  void reduce_parts(Computation& whole, const Split& split, BufferNumber parts) const {
    const Buffer& buffer = graph_.buffers[parts];
    const auto input = static_cast<std::uint32_t>(whole.operands.size());
    const Definition before = std::move(whole.definition);
    const ExpressionNode& node = before.node(split.reduction);
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId axis : before.outputs()[whole.output].axes) {
      axes.push_back(builder.variable(before.extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    const auto of_parts = [&]() {
      std::vector<Expression> indices = {builder.variable(Dimension(split.parts))};
      for (const VariableId axis : split.axes) indices.push_back(variables.at(axis.v));
      const Expression part = indices.front();
      const Expression result =
          builder.reduce(node.kind, {part}, builder.read(input, buffer.type, std::move(indices)));
      return buffer.type == node.type ? result : builder.cast(result, node.type);
    };
    const Expression value =
        DefinitionCopier(
            builder, before, variables,
            [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
              if (id != split.reduction) return std::nullopt;
              return of_parts();
            })
            .copy(before.outputs()[whole.output].value);
    builder.output(std::move(axes), value);
    whole.operands.push_back(parts);
    whole.views.push_back({buffer.type, buffer.sizes, false});
    whole.output = 0;
    whole.definition = copied_output(std::move(builder).finish(), 0,
                                     [](DefinitionBuilder&) { return Replace(copies_all); });
    drop_unread_operands(whole);
  }

  ComputationGraph graph_;
  std::int64_t elements_of_device_;
};

}  // namespace

std::int64_t equal_parts(std::int64_t extent, std::int64_t wanted) {
  for (std::int64_t parts = std::min(extent, wanted); parts > 1; --parts)
    if (extent % parts == 0) return parts;
  return 1;
}

ComputationGraph split_reductions(ComputationGraph graph, const VirtualDevice& device) {
  if (!device.multiprocessor) return graph;
  return ReductionSplitting(std::move(graph), elements_of_unit * device.units).run();
}

}  // namespace lemma::backend
