#include "pipeline/taken_branches.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "facts/weight_only.h"
#include "frontend_onnx/export.h"

namespace lemma {

namespace {

constexpr int most_depth = 100;  // of nested branches

/// An opaque If whose condition depends on constants alone, or another opaque node without bodies one of whose operands
/// does and is no constant yet.
bool may_be_understood(const Graph& graph) {
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  const auto is_computed = [&](ValueId operand) {
    return !operand.is_none() && weight_only[graph.producer(operand).v] &&
           graph.constant_of(operand) == nullptr && graph.type(operand).is_known();
  };
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::opaque || node.inputs.empty() || node.inputs.front().is_none())
      continue;
    const OpaqueOperator& op = graph.opaque(node);
    const bool is_if = op.domain.empty() && op.name == "If";
    if (is_if ? weight_only[graph.producer(node.inputs.front()).v]
              : std::any_of(node.inputs.begin(), node.inputs.end(), is_computed))
      return true;
  }
  return false;
}

std::int64_t opaque_nodes(const Graph& graph) {
  const std::vector<NodeId> live = graph.live_nodes();
  return std::count_if(live.begin(), live.end(),
                       [&graph](NodeId id) { return graph.node(id).kind == NodeKind::opaque; });
}

/// Import takes the branches of conditions that are constants, and parameters from constants.
Result<OnnxModel> read_again(const OnnxModel& model, const std::filesystem::path& folder,
                             const ImportOptions& reading, const FoldOptions& folding) {
  LEMMA_ASSIGN_OR_RETURN(Graph folded, fold_constants(model.graph, folding));
  LEMMA_ASSIGN_OR_RETURN(std::string text, serialize_model({std::move(folded), model.envelope}));
  const auto bytes = std::make_shared<const std::string>(std::move(text));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read,
                         import_model(bytes, std::as_bytes(std::span(*bytes)), folder, reading));
  const bool took_some = read.envelope.has_taken_branches();
  read.envelope = read.envelope.in_place_of(model.envelope);
  if (!took_some && opaque_nodes(read.graph) >= opaque_nodes(model.graph))
    return unsupported("no more of the model is understood");
  return read;
}

}  // namespace

OnnxModel with_taken_branches(OnnxModel model, const std::filesystem::path& folder,
                              const ImportOptions& reading, const FoldOptions& folding) {
  const std::filesystem::path place = folder.empty() ? "." : folder;
  for (int depth = 0; depth < most_depth && may_be_understood(model.graph); ++depth) {
    auto next = read_again(model, place, reading, folding);
    if (!next) break;
    model = std::move(*next);
  }
  return model;
}

}  // namespace lemma
