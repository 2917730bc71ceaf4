#include "frontend_onnx/node_meaning.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "base/sha256.h"
#include "frontend_onnx/subgraphs.h"
#include "frontend_onnx/wire.h"

namespace lemma::frontend {

namespace {

/// The tensor with a digest in place of data that is stored as bytes.
Result<Rope> with_digest(std::string_view content, const TensorSource& source) {
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(content.data(), static_cast<int>(content.size())))
    return internal_error("a tensor cannot be read back");
  LEMMA_ASSIGN_OR_RETURN(const auto located, source.locate(tensor));
  if (located) {
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(sha256(located->text()));
  } else if (tensor.has_raw_data()) {
    tensor.set_raw_data(sha256(tensor.raw_data()));
  }
  Rope out;
  out.append(tensor.SerializeAsString());
  return out;
}

}  // namespace

Result<std::string> meaning_of(::onnx::NodeProto node, const TensorSource& source) {
  NameMap names;
  for (const std::string& name : captured_names(node))
    names.emplace(name, fmt::format("captured {}", names.size()));
  rename_captures(node, names);
  for (std::string& input : *node.mutable_input())
    if (!input.empty()) input = "input";
  for (std::string& output : *node.mutable_output())
    if (!output.empty()) output = "output";
  LEMMA_ASSIGN_OR_RETURN(
      const Rope content,
      rewrite_tensors(node.SerializeAsString(), MessageKind::node,
                      [&source](std::string_view tensor) { return with_digest(tensor, source); }));
  return sha256(content.flatten());
}

Result<std::string> meaning_of_function(std::string_view function, const TensorSource& source) {
  LEMMA_ASSIGN_OR_RETURN(const Rope content, rewrite_tensors(function, MessageKind::function,
                                                             [&source](std::string_view tensor) {
                                                               return with_digest(tensor, source);
                                                             }));
  return sha256(content.flatten());
}

}  // namespace lemma::frontend
