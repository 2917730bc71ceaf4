#pragma once
// The names that a node's subgraphs (bodies of If, Loop, Scan) use and define.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "frontend_onnx/messages.h"

namespace lemma::frontend {

bool has_subgraphs(const ::onnx::NodeProto& node);

/// Names of values of the surrounding graph that subgraphs use, or one of them: each once, in order of first use.
std::vector<std::string> captured_names(const ::onnx::NodeProto& node);
std::vector<std::string> captured_names(const ::onnx::GraphProto& body);

/// Every name that subgraphs define or use, at any depth.
void collect_inner_names(const ::onnx::NodeProto& node, std::set<std::string>& names);

using NameMap = absl::flat_hash_map<std::string, std::string>;

/// Renames captured values.
void rename_captures(::onnx::NodeProto& node, const NameMap& names);

/// Renames everything in the subgraphs: captured values by `names`, and what the subgraphs define
/// themselves by `fresh`.
void rename_subgraphs(::onnx::NodeProto& node, const NameMap& names,
                      const std::function<std::string(const std::string&)>& fresh);

/// Nodes of the subgraphs at any depth, the node itself first.
void for_each_node(const ::onnx::NodeProto& node,
                   const std::function<void(const ::onnx::NodeProto&)>& visit);
void for_each_tensor(const ::onnx::NodeProto& node,
                     const std::function<void(const ::onnx::TensorProto&)>& visit);

}  // namespace lemma::frontend
