#include "frontend_onnx/operator_set.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/envelope.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/subgraphs.h"

namespace lemma {

namespace {

/// The oldest IR version that came with an operator set: readers of older files need not know it.
std::int64_t oldest_ir_version(int operator_set) {
  constexpr std::array<std::pair<int, std::int64_t>, 10> first = {
      {{7, 3}, {9, 4}, {10, 5}, {11, 6}, {12, 7}, {15, 8}, {19, 9}, {21, 10}, {23, 11}, {25, 13}}};
  std::int64_t result = 3;
  for (const auto& [since, version] : first)
    if (operator_set >= since) result = version;
  return result;
}

/// The standard operator, at any depth, that a node which is written back as it was consists of; empty: none.
std::string standard_operator_in(const OpaqueOperator& op) {
  ::onnx::NodeProto node;
  if (!node.ParseFromString(op.payload)) return op.name;
  std::string result;
  frontend::for_each_node(node, [&result](const ::onnx::NodeProto& inner) {
    if (result.empty() && frontend::canonical_domain(inner.domain()).empty())
      result = inner.op_type();
  });
  return result;
}

}  // namespace

Result<OnnxModel> for_operator_set(OnnxModel model, int version) {
  if (version < oldest_operator_set || version > newest_operator_set)
    return bad_input(fmt::format("operator set {} is not between {} and {}", version,
                                 oldest_operator_set, newest_operator_set));
  if (model.envelope.operator_set() == version) return model;
  for (const NodeId id : model.graph.live_nodes()) {
    const Node& node = model.graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    const std::string op = standard_operator_in(model.graph.opaque(node));
    if (!op.empty())
      return unsupported(fmt::format(
          "'{}' cannot be written for operator set {}: {}", model.graph.opaque(node).label, version,
          op == model.graph.opaque(node).name
              ? op + " is written as it was read, and may mean something else there"
              : "it holds " + op + ", which is written as it was read"));
  }
  auto data = std::make_shared<ModelEnvelope::Data>(model.envelope.data());
  data->operator_sets[""] = version;
  data->ir_version = std::max(data->ir_version, oldest_ir_version(version));
  ::onnx::ModelProto header;
  if (!header.ParseFromString(data->header)) return internal_error("the header cannot be read");
  header.set_ir_version(data->ir_version);
  for (auto& import : *header.mutable_opset_import())
    if (frontend::canonical_domain(import.domain()).empty()) import.set_version(version);
  data->header = header.SerializeAsString();
  return OnnxModel{std::move(model.graph), ModelEnvelope(std::move(data))};
}

Result<OnnxModel> with_initializers(OnnxModel model) {
  constexpr std::int64_t first_with_initializers = 4;
  if (model.envelope.ir_version() >= first_with_initializers) return model;
  auto data = std::make_shared<ModelEnvelope::Data>(model.envelope.data());
  data->ir_version = first_with_initializers;
  ::onnx::ModelProto header;
  if (!header.ParseFromString(data->header)) return internal_error("the header cannot be read");
  header.set_ir_version(data->ir_version);
  data->header = header.SerializeAsString();
  return OnnxModel{std::move(model.graph), ModelEnvelope(std::move(data))};
}

}  // namespace lemma
