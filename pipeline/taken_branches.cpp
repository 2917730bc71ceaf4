#include "pipeline/taken_branches.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend_onnx/export.h"
#include "ir/weight_only.h"

namespace lemma {

namespace {

constexpr int most_depth = 100;  // of nested branches

bool has_decided_branch(const Graph& graph) {
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::opaque || node.inputs.empty() || node.inputs.front().is_none())
      continue;
    const OpaqueOperator& op = graph.opaque(node);
    if (op.domain.empty() && op.name == "If" && weight_only[graph.producer(node.inputs.front()).v])
      return true;
  }
  return false;
}

/// Import takes the branches of conditions that are constants.
Result<OnnxModel> read_again(const OnnxModel& model, const std::filesystem::path& folder,
                             const ImportOptions& reading, const FoldOptions& folding) {
  LEMMA_ASSIGN_OR_RETURN(Graph folded, fold_constants(model.graph, folding));
  LEMMA_ASSIGN_OR_RETURN(std::string text, serialize_model({std::move(folded), model.envelope}));
  const auto bytes = std::make_shared<const std::string>(std::move(text));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read,
                         import_model(bytes, std::as_bytes(std::span(*bytes)), folder, reading));
  const bool took_some = read.envelope.has_taken_branches();
  read.envelope = read.envelope.in_place_of(model.envelope);
  if (!took_some) return unsupported("a branch cannot be taken");
  return read;
}

}  // namespace

OnnxModel with_taken_branches(OnnxModel model, const std::filesystem::path& folder,
                              const ImportOptions& reading, const FoldOptions& folding) {
  for (int depth = 0; depth < most_depth && has_decided_branch(model.graph); ++depth) {
    auto next = read_again(model, folder, reading, folding);
    if (!next) break;
    model = std::move(*next);
  }
  return model;
}

}  // namespace lemma
