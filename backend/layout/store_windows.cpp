#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backend/layout/channel_lanes.h"
#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/lower/copy_definition.h"
#include "backend/pairs.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

constexpr double most_copies = 4;        // of an element, on average
constexpr std::int64_t least_uses = 16;  // of a copy
constexpr double good_share = 0.8;       // of vectors that are full anyway

/// A read whose elements are stored in the order of the loops that it depends on.
struct SteppedRead {
  ExpressionId read;
  std::vector<VariableId> variables;  // of the definition, the last axes of the result last
};

class SteppedReads {
 public:
  SteppedReads(const Computation& computation, const std::vector<Buffer>& buffers)
      : computation_(computation),
        definition_(computation.definition),
        output_(definition_.outputs()[computation.output]),
        buffers_(buffers) {}

  std::optional<SteppedRead> find() const {
    const std::optional<bool> wanted = computation_.schedule.windows;
    if (output_.axes.size() < 2 || extent(output_.axes.back()) < 2 || wanted == false ||
        (!wanted && share_used(extent(output_.axes.back())) >= good_share))
      return std::nullopt;
    const std::vector<bool> is_reached = reachable_expressions(definition_, output_.value);
    std::vector<bool> is_in_sum(is_reached.size(), false);
    for (std::size_t i = is_reached.size(); i-- > 0;)
      for (const ExpressionId operand : definition_.nodes()[i].operands)
        if (is_reached[i] && (is_in_sum[i] || definition_.nodes()[i].kind == Kind::sum))
          is_in_sum[operand.v] = true;
    for (std::uint32_t i = 0; i < is_reached.size(); ++i)
      if (is_reached[i] && is_in_sum[i] && definition_.nodes()[i].kind == Kind::read)
        if (auto stepped_read = stepped({i})) return stepped_read;
    return std::nullopt;
  }

 private:
  std::int64_t extent(VariableId variable) const {
    return definition_.extent(variable).constant().value_or(0);
  }

  std::optional<SteppedRead> stepped(ExpressionId read) const {
    const ExpressionNode& node = definition_.node(read);
    if (!has_steps(node)) return std::nullopt;
    std::set<std::uint32_t> used;
    const std::vector<bool> below = reachable_expressions(definition_, read);
    for (std::size_t i = 0; i < below.size(); ++i) {
      const ExpressionNode& reader = definition_.nodes()[i];
      if (below[i] && reader.kind == Kind::index) used.insert(reader.variable.v);
      // Indices that are read or chosen may be anything.
      if (below[i] && i != read.v && (reader.kind == Kind::read || reader.kind == Kind::select))
        return std::nullopt;
    }
    SteppedRead result{read, {}};
    std::int64_t uses = 1;
    std::vector<VariableId> axes;
    for (const VariableId axis : output_.axes) {
      if (used.erase(axis.v) == 0)
        uses *= extent(axis);
      else
        axes.push_back(axis);
    }
    for (const std::uint32_t v : used) result.variables.push_back({v});
    result.variables.insert(result.variables.end(), axes.begin(), axes.end());
    double elements = 1;
    for (const VariableId v : result.variables) elements *= static_cast<double>(extent(v));
    const Buffer& buffer = buffers_[computation_.operands[node.input]];
    if (uses < least_uses || elements > most_copies * static_cast<double>(buffer.elements))
      return std::nullopt;
    return result;
  }

  /// Whether neighbours along the last axis of the result lie two or more elements apart, all of them inside.
  bool has_steps(const ExpressionNode& read) const {
    lowering::TermGraph terms(lowering::Domain::native, computation_.views);
    lowering::Environment environment;
    LoopVariable last = 0;
    for (std::uint32_t v = 0; v < definition_.variable_extents().size(); ++v) {
      const auto variable = terms.variable(extent({v}));
      if (!variable) return false;
      if (v == output_.axes.back().v) last = *variable;
      lowering::bind(environment, v, terms.linear(Linear::atom(*variable)));
    }
    Term term;
    term.kind = Kind::read;
    term.type = read.type;
    term.input = read.input;
    for (const ExpressionId operand : read.operands) {
      const auto index = lowering::translate(terms, definition_, operand, environment);
      if (!index) return false;
      term.indices.push_back(terms.form(*index));
    }
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
      if (!terms.is_inside(term, axis)) return false;
    const std::int64_t step = terms.address(term).coefficient(last);
    constexpr std::int64_t most_step = 4;
    return step >= 2 && step <= most_step;
  }

  const Computation& computation_;
  const Definition& definition_;
  const DefinedOutput& output_;
  const std::vector<Buffer>& buffers_;
};

/// The elements of the read in the order of its variables.
Definition copies_of(const Computation& reader, const SteppedRead& stepped) {
  DefinitionBuilder builder;
  const ExpressionNode& read = reader.definition.node(stepped.read);
  std::map<std::uint32_t, Expression> variables;
  std::vector<Expression> axes, indices;
  for (const VariableId v : stepped.variables) {
    axes.push_back(builder.variable(reader.definition.extent(v)));
    variables.emplace(v.v, axes.back());
  }
  DefinitionCopier copier(
      builder, reader.definition, std::move(variables),
      [](ExpressionId, const std::vector<Expression>&) { return std::optional<Expression>(); });
  for (const ExpressionId operand : read.operands) indices.push_back(copier.copy(operand));
  builder.output(axes, builder.read(0, read.type, std::move(indices)));
  return std::move(builder).finish();
}

Computation with_copies(const Computation& before, const SteppedRead& stepped, const Buffer& buffer,
                        BufferNumber number) {
  Computation result = before;
  const auto input = static_cast<std::uint32_t>(result.operands.size());
  result.operands.push_back(number);
  result.views.push_back({buffer.type, buffer.sizes, false});
  const Definition& definition = before.definition;
  const DefinedOutput& output = definition.outputs()[before.output];
  DefinitionBuilder builder;
  std::map<std::uint32_t, Expression> variables;
  for (std::uint32_t v = 0; v < definition.variable_extents().size(); ++v)
    variables.emplace(v, builder.variable(definition.variable_extents()[v]));
  std::vector<Expression> axes, indices;
  for (const VariableId axis : output.axes) axes.push_back(variables.at(axis.v));
  for (const VariableId v : stepped.variables) indices.push_back(variables.at(v.v));
  DefinitionCopier copier(
      builder, definition, variables,
      [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
        if (id != stepped.read) return std::nullopt;
        return builder.read(input, definition.node(id).type, indices);
      });
  const Expression value = copier.copy(output.value);
  builder.output(std::move(axes), value);
  result.definition = std::move(builder).finish();
  result.output = 0;
  forget_unread(result);
  return result;
}

}  // namespace

ComputationGraph store_windows(ComputationGraph graph) {
  std::vector<Computation> computations;
  for (Computation& computation : graph.computations) {
    const auto stepped_read = SteppedReads(computation, graph.buffers).find();
    // Where channels are side by side, each element that is read is a single one. Pairs stay together.
    const auto nest = nest_of(computation);
    if (stepped_read && nest && !has_pair_sum(*nest) &&
        !find_channel_lanes(computation, graph.buffers)) {
      const std::uint32_t input = computation.definition.node(stepped_read->read).input;
      const BufferNumber source = computation.operands[input];
      Buffer buffer;
      buffer.name = graph.buffers[source].name + " in windows";
      buffer.type = graph.buffers[source].type;
      buffer.elements = 1;
      for (const VariableId v : stepped_read->variables) {
        buffer.sizes.push_back(*computation.definition.extent(v).constant());
        buffer.elements *= buffer.sizes.back();
      }
      const auto number = static_cast<BufferNumber>(graph.buffers.size());
      Computation copies{buffer.name,
                         "windows",
                         copies_of(computation, *stepped_read),
                         0,
                         {computation.views[input]},
                         {source},
                         number};
      copies.is_stored = true;
      computations.push_back(std::move(copies));
      computation = with_copies(computation, *stepped_read, buffer, number);
      graph.buffers.push_back(std::move(buffer));
    }
    computations.push_back(std::move(computation));
  }
  graph.computations = std::move(computations);
  return graph;
}

}  // namespace lemma::backend
