#include "backend/nest_algorithm.h"

namespace lemma::backend {

std::optional<lowering::Algorithm> find_nest_algorithm(const lowering::LoweredOutput& nest) {
  if (auto replacement = lowering::find_replacement(nest.graph, nest.root, nest.axes))
    return *std::move(replacement);
  if (const auto transform = lowering::find_fourier_transform(nest.graph, nest.root, nest.axes))
    return *transform;
  auto algorithm = lowering::find_algorithm(nest.graph, nest.root, nest.axes);
  if (!algorithm || !std::holds_alternative<lowering::Scatter>(*algorithm)) return algorithm;
  const ExpressionKind kind = nest.graph.term(nest.root).kind;
  const bool is_computed = kind == ExpressionKind::sum || kind == ExpressionKind::product;
  const bool is_rounded = is_real(nest.type) && byte_size(nest.type) < byte_size(DataType::f32);
  if (is_computed && is_rounded) return std::nullopt;
  return algorithm;
}

}  // namespace lemma::backend
