#pragma once
// Local functions of a model: calls are replaced by the function's body. A call stays as it is (and
// becomes an opaque node) where the function imports other operator sets than the model, because the
// body's operators would change their meaning.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend_onnx/messages.h"

namespace lemma::frontend {

/// Version by domain; the standard domain is "".
using OperatorSets = std::map<std::string, int>;
/// "ai.onnx" is another spelling of "".
std::string canonical_domain(const std::string& domain);

/// Identity of a function, or of the function that a node would call.
std::string function_key(const ::onnx::FunctionProto& function);
std::string function_key(const ::onnx::NodeProto& node);

struct FlatNode {
  const ::onnx::NodeProto* node = nullptr;
  int index = 0;              // of the node of the graph that it stems from
  std::string opaque_reason;  // not empty for a call that could not be inlined
};

struct FlatNodes {
  std::vector<FlatNode> nodes;
  std::deque<::onnx::NodeProto> instances;  // nodes made by inlining
};

/// The nodes of the model's graph with calls inlined; `sets` gains domains that only functions
/// import. The messages of the model are referred to, not copied.
Result<FlatNodes> inline_functions(const ::onnx::ModelProto& model, OperatorSets& sets,
                                   std::size_t node_limit);

/// "node 12 'name' (Op)"
std::string label(const FlatNode& node);

}  // namespace lemma::frontend
