#include "costmodel/joint_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lowering/algorithms.h"

namespace lemma {

namespace {

using Kind = ExpressionKind;

/// Whether a part of the condition compares something with the index of an axis.
bool names_axis(const Definition& definition, ExpressionId condition,
                const std::vector<VariableId>& axes) {
  const ExpressionNode& node = definition.node(condition);
  if (node.kind == Kind::logical_and)
    return names_axis(definition, node.operands[0], axes) ||
           names_axis(definition, node.operands[1], axes);
  if (node.kind != Kind::equal && node.kind != Kind::less && node.kind != Kind::less_equal)
    return false;
  return std::any_of(node.operands.begin(), node.operands.end(), [&](ExpressionId side) {
    const ExpressionNode& index = definition.node(side);
    return index.kind == Kind::index &&
           std::find(axes.begin(), axes.end(), index.variable) != axes.end();
  });
}

/// Whether a sine or cosine is a factor of a term of the expression; `depth`: how far below it that is looked for.
bool has_wave(const Definition& definition, ExpressionId id, int depth = 6) {
  const ExpressionNode& node = definition.node(id);
  switch (node.kind) {
    case Kind::function:
      return node.function == ScalarFunction::cos || node.function == ScalarFunction::sin;
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::select:
    case Kind::cast: break;
    default: return false;
  }
  return depth > 0 &&
         std::any_of(node.operands.begin(), node.operands.end(), [&](ExpressionId operand) {
           return has_wave(definition, operand, depth - 1);
         });
}

/// Most expressions are seen to have none of the forms without being lowered.
bool may_be_joint(const Definition& definition, ExpressionId id,
                  const std::vector<VariableId>& axes) {
  const ExpressionNode& node = definition.node(id);
  if (node.kind == Kind::select) {
    const ExpressionNode& condition = definition.node(node.operands[0]);
    return condition.kind == Kind::less_equal &&
           definition.node(condition.operands[1]).kind == Kind::maximum_over;
  }
  if (!is_reduction(node.kind)) return false;
  const ExpressionNode& body = definition.node(node.operands[0]);
  if (body.kind == Kind::select && names_axis(definition, body.operands[0], axes)) return true;
  return node.kind == Kind::sum && has_wave(definition, node.operands[0]);
}

std::optional<std::vector<lowering::InputView>> views_of(const Instance& instance) {
  std::vector<lowering::InputView> views;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    lowering::InputView view;
    if (instance.has(i)) {
      view.type = instance.type(i);
      for (const Dimension& size : instance.shape(i)) {
        if (!size.is_constant()) return std::nullopt;
        view.sizes.push_back(size.offset());
      }
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::optional<lowering::Algorithm> find_joint_algorithm(
    const lowering::TermGraph& graph, lowering::TermNumber root,
    const std::vector<lowering::LoopVariable>& axes) {
  if (auto replacement = lowering::find_replacement(graph, root, axes))
    return *std::move(replacement);
  if (const auto transform = lowering::find_fourier_transform(graph, root, axes)) return *transform;
  return lowering::find_algorithm(graph, root, axes);
}

}  // namespace

std::optional<double> joint_operations(const Definition& definition, const Instance& instance,
                                       ExpressionId id, const std::vector<VariableId>& axes) {
  if (!may_be_joint(definition, id, axes)) return std::nullopt;
  auto views = views_of(instance);
  if (!views) return std::nullopt;
  lowering::TermGraph graph(lowering::Domain::native, *std::move(views));
  lowering::Environment environment;
  std::vector<lowering::LoopVariable> loops;
  for (const VariableId axis : axes) {
    const auto extent = definition.extent(axis).constant();
    if (!extent) return std::nullopt;
    lowering::Linear position;
    if (*extent != 1) {
      const auto loop = graph.variable(*extent);
      if (!loop) return std::nullopt;
      loops.push_back(*loop);
      position = lowering::Linear::atom(*loop);
    }
    lowering::bind(environment, axis.v, graph.linear(position));
  }
  const auto root = lowering::translate(graph, definition, id, environment);
  if (!root) return std::nullopt;
  const auto algorithm = find_joint_algorithm(graph, *root, loops);
  if (!algorithm) return std::nullopt;
  return lowering::operation_count(graph, *root, *algorithm, loops);
}

}  // namespace lemma
