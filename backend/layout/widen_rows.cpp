#include <algorithm>

#include "backend/layout/channel_lanes.h"
#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/lower/copy_definition.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

/// What is computed of a window's results in rows as long as those of what it reads.
struct WideRows {
  std::vector<bool> inputs;  // that go along with the last two axes of the result
  std::int64_t pitch = 0;    // length of their rows
  std::int64_t height = 0, width = 0;

  std::int64_t length() const { return (height - 1) * pitch + width; }
};

class Rows {
 public:
  /// `wanted`: whether rows are widened whatever that gains, or not at all.
  Rows(const LoweredOutput& nest, std::optional<bool> wanted) : nest_(nest), wanted_(wanted) {}

  /// Nothing if something else depends on the last two axes than reads of tensors that have them as their last two, one
  /// step for each, or if it does not pay.
  std::optional<WideRows> find(std::size_t axis_count) {
    if (wanted_ == false || nest_.axes.size() < 2 || nest_.sizes.size() != axis_count)
      return std::nullopt;
    row_ = nest_.axes[nest_.axes.size() - 2];
    column_ = nest_.axes.back();
    result_.height = nest_.graph.extent(row_);
    result_.width = nest_.graph.extent(column_);
    if (nest_.sizes.back() != result_.width || nest_.sizes[axis_count - 2] != result_.height)
      return std::nullopt;
    result_.inputs.assign(nest_.graph.inputs().size(), false);
    // Rows that lie one after the other are one loop anyway (lowering/merge_axes.h).
    if (!check_terms() || result_.pitch <= result_.width || terms_ < least_terms)
      return std::nullopt;
    constexpr double least_gain = 1.15;
    const double wide = share_used(result_.length()) * static_cast<double>(result_.width) /
                        static_cast<double>(result_.pitch);
    if (!wanted_ && wide < least_gain * share_used(result_.width)) return std::nullopt;
    return result_;
  }

 private:
  static constexpr double least_terms = 9;  // that are added or compared for an element

  bool uses(const Linear& form) const {
    return form.coefficient(row_) != 0 || form.coefficient(column_) != 0;
  }

  bool check_terms() {
    std::vector<bool> is_reached(nest_.graph.size(), false);
    is_reached[nest_.root] = true;
    for (TermNumber id = nest_.root + 1; id-- > 0;) {
      if (!is_reached[id]) continue;
      const Term& term = nest_.graph.term(id);
      for (const TermNumber operand : term.operands) is_reached[operand] = true;
      for (const Linear& index : term.indices)
        for (const auto& [atom, factor] : index.terms)
          if (atom >= lowering::first_term_atom) return false;
      if (uses(term.linear) || (term.kind == Kind::read && !check_read(term))) return false;
      if (is_reduction(term.kind)) {
        double count = 1;
        for (const LoopVariable v : term.bound) count *= static_cast<double>(nest_.graph.extent(v));
        terms_ = std::max(terms_, count);
      }
    }
    return true;
  }

  bool check_read(const Term& read) {
    const std::size_t rank = read.indices.size();
    bool is_used = false;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (!nest_.graph.is_inside(read, axis)) return false;
      is_used = is_used || uses(read.indices[axis]);
    }
    if (!is_used) return !result_.inputs[read.input];
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (read.indices[axis].coefficient(row_) != (axis + 2 == rank ? 1 : 0) ||
          read.indices[axis].coefficient(column_) != (axis + 1 == rank ? 1 : 0))
        return false;
    const std::int64_t pitch = nest_.graph.inputs()[read.input].sizes.back();
    if (result_.pitch != 0 && result_.pitch != pitch) return false;
    result_.pitch = pitch;
    result_.inputs[read.input] = true;
    return true;
  }

  const LoweredOutput& nest_;
  std::optional<bool> wanted_;
  LoopVariable row_ = 0, column_ = 0;
  double terms_ = 0;
  WideRows result_;
};

/// The same with the last two axes as one, of rows that are as long as those that are read. What lies between the ends
/// of two rows has some value.
Computation with_wide_rows(const Computation& before, const WideRows& rows) {
  const Definition& definition = before.definition;
  const DefinedOutput& output = definition.outputs()[before.output];
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  std::map<std::uint32_t, Expression> variables;
  for (std::size_t i = 0; i + 2 < output.axes.size(); ++i) {
    axes.push_back(builder.variable(definition.extent(output.axes[i])));
    variables.emplace(output.axes[i].v, axes.back());
  }
  axes.push_back(builder.variable(rows.length()));
  const Expression place = axes.back();
  // What is left of an index without them is the same for all elements.
  for (std::size_t i = output.axes.size() - 2; i < output.axes.size(); ++i)
    variables.emplace(output.axes[i].v, builder.integer(0));
  const auto replace = [&](ExpressionId id,
                           const std::vector<Expression>& operands) -> std::optional<Expression> {
    const ExpressionNode& node = definition.node(id);
    if (node.kind != Kind::read || !rows.inputs[node.input]) return std::nullopt;
    std::vector<Expression> indices(operands.begin(), operands.end() - 2);
    indices.push_back(operands[operands.size() - 2] * rows.pitch + operands.back() + place);
    return builder.read(node.input, node.type, std::move(indices));
  };
  DefinitionCopier copier(builder, definition, std::move(variables), replace);
  const Expression value = copier.copy(output.value);
  builder.output(std::move(axes), value);
  Computation result = before;
  result.output = 0;
  result.is_stored = true;
  result.definition = std::move(builder).finish();
  for (std::size_t i = 0; i < rows.inputs.size(); ++i)
    if (rows.inputs[i]) {
      lowering::Sizes& sizes = result.views[i].sizes;
      sizes[sizes.size() - 2] *= sizes.back();
      sizes.pop_back();
    }
  return result;
}

/// Copies the elements of the rows without what lies between them.
Computation narrowed(const Computation& before, const Buffer& wide, BufferNumber number,
                     const WideRows& rows) {
  const Definition& definition = before.definition;
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  for (const VariableId axis : definition.outputs()[before.output].axes)
    axes.push_back(builder.variable(definition.extent(axis)));
  std::vector<Expression> indices(axes.begin(), axes.end() - 2);
  indices.push_back(axes[axes.size() - 2] * rows.pitch + axes.back());
  builder.output(axes, builder.read(0, wide.type, std::move(indices)));
  Computation result;
  result.name = before.name;
  result.description = "narrowing";
  result.definition = std::move(builder).finish();
  result.views = {{wide.type, wide.sizes, false}};
  result.operands = {number};
  result.result = before.result;
  return result;
}

}  // namespace

ComputationGraph widen_rows(ComputationGraph graph) {
  std::vector<Computation> computations;
  for (Computation& computation : graph.computations) {
    const auto nest = nest_of(computation);
    const std::size_t axes = computation.definition.outputs()[computation.output].axes.size();
    const auto rows = nest ? Rows(*nest, computation.schedule.widens).find(axes) : std::nullopt;
    if (!rows || find_channel_lanes(computation, graph.buffers)) {
      computations.push_back(std::move(computation));
      continue;
    }
    Computation wide = with_wide_rows(computation, *rows);
    Buffer buffer;
    buffer.name = computation.name + " in wide rows";
    buffer.type = nest->type;
    buffer.sizes.assign(nest->sizes.begin(), nest->sizes.end() - 2);
    buffer.sizes.push_back(rows->length());
    buffer.elements = 1;
    for (const std::int64_t size : buffer.sizes) buffer.elements *= size;
    wide.name = buffer.name;
    wide.result = static_cast<BufferNumber>(graph.buffers.size());
    computations.push_back(wide);
    computations.push_back(narrowed(computation, buffer, wide.result, *rows));
    graph.buffers.push_back(std::move(buffer));
  }
  graph.computations = std::move(computations);
  return graph;
}

}  // namespace lemma::backend
