#include "frontend_onnx/subgraphs.h"

#include <absl/container/flat_hash_set.h>
#include <onnx/onnx_pb.h>

// Recursion here follows the nesting of messages, which protobuf's parser limits to 100.

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using SubGraph = ::onnx::GraphProto;

template <typename Visit>
void for_each_subgraph(const NodeMessage& node, Visit visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  }
}

template <typename Visit>
void for_each_subgraph(NodeMessage& node, Visit visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

/// Names a graph defines at its own level.
template <typename Visit>
void for_each_definition(const SubGraph& graph, Visit visit) {
  for (const auto& input : graph.input()) visit(input.name());
  for (const auto& tensor : graph.initializer()) visit(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) visit(tensor.values().name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output())
      if (!output.empty()) visit(output);
}

class CaptureCollector {
 public:
  void visit(const NodeMessage& node) {
    for_each_subgraph(node, [this](const SubGraph& graph) { visit(graph); });
  }
  void visit(const SubGraph& graph) {
    scopes_.emplace_back();
    for_each_definition(graph, [this](const std::string& name) { scopes_.back().insert(name); });
    for (const auto& node : graph.node()) {
      for (const auto& input : node.input()) use(input);
      visit(node);
    }
    for (const auto& output : graph.output()) use(output.name());
    scopes_.pop_back();
  }
  std::vector<std::string> names;

 private:
  void use(const std::string& name) {
    if (name.empty()) return;
    for (const auto& scope : scopes_)
      if (scope.contains(name)) return;
    if (seen_.insert(name).second) names.push_back(name);
  }
  std::vector<absl::flat_hash_set<std::string>> scopes_;
  absl::flat_hash_set<std::string> seen_;
};

class Renamer {
 public:
  /// Renames by the map. Without `fresh`, names that subgraphs define stay as they are.
  Renamer(const NameMap& names, const std::function<std::string(const std::string&)>* fresh)
      : names_(names), fresh_(fresh) {}

  void visit(NodeMessage& node) {
    for_each_subgraph(node, [this](SubGraph& graph) { visit(graph); });
  }

 private:
  void visit(SubGraph& graph) {
    scopes_.emplace_back();
    for_each_definition(graph, [this](const std::string& name) {
      auto [where, is_new] = scopes_.back().try_emplace(name, name);
      if (is_new && fresh_ != nullptr) where->second = (*fresh_)(name);
    });
    for (auto& input : *graph.mutable_input()) input.set_name(renamed(input.name()));
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(renamed(tensor.name()));
    for (auto& tensor : *graph.mutable_sparse_initializer())
      tensor.mutable_values()->set_name(renamed(tensor.values().name()));
    for (auto& value : *graph.mutable_value_info()) value.set_name(renamed(value.name()));
    for (auto& node : *graph.mutable_node()) {
      for (auto& input : *node.mutable_input()) input = renamed(input);
      for (auto& output : *node.mutable_output()) output = renamed(output);
      visit(node);
    }
    for (auto& output : *graph.mutable_output()) output.set_name(renamed(output.name()));
    scopes_.pop_back();
  }
  std::string renamed(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto entry = scope->find(name); entry != scope->end()) return entry->second;
    const auto entry = names_.find(name);
    return entry != names_.end() ? entry->second : name;
  }
  const NameMap& names_;
  const std::function<std::string(const std::string&)>* fresh_;
  std::vector<NameMap> scopes_;
};

}  // namespace

bool has_subgraphs(const NodeMessage& node) {
  bool has_subgraph = false;
  for_each_subgraph(node, [&has_subgraph](const SubGraph&) { has_subgraph = true; });
  return has_subgraph;
}

std::vector<std::string> captured_names(const NodeMessage& node) {
  CaptureCollector collector;
  collector.visit(node);
  return std::move(collector.names);
}

std::vector<std::string> captured_names(const SubGraph& body) {
  CaptureCollector collector;
  collector.visit(body);
  return std::move(collector.names);
}

void collect_inner_names(const NodeMessage& node, std::set<std::string>& names) {
  for_each_subgraph(node, [&names](const SubGraph& graph) {
    for_each_definition(graph, [&names](const std::string& name) { names.insert(name); });
    for (const auto& inner : graph.node()) {
      names.insert(inner.input().begin(), inner.input().end());
      collect_inner_names(inner, names);
    }
    for (const auto& output : graph.output()) names.insert(output.name());
  });
}

void rename_captures(NodeMessage& node, const NameMap& names) {
  Renamer(names, nullptr).visit(node);
}

void rename_subgraphs(NodeMessage& node, const NameMap& names,
                      const std::function<std::string(const std::string&)>& fresh) {
  Renamer(names, &fresh).visit(node);
}

void for_each_node(const NodeMessage& node, const std::function<void(const NodeMessage&)>& visit) {
  visit(node);
  for_each_subgraph(node, [&visit](const SubGraph& graph) {
    for (const auto& inner : graph.node()) for_each_node(inner, visit);
  });
}

void for_each_tensor(const NodeMessage& node,
                     const std::function<void(const ::onnx::TensorProto&)>& visit) {
  auto visit_sparse = [&visit](const auto& sparse) {
    visit(sparse.values());
    visit(sparse.indices());
  };
  for_each_node(node, [&](const NodeMessage& inner) {
    for (const auto& attribute : inner.attribute()) {
      if (attribute.has_t()) visit(attribute.t());
      for (const auto& tensor : attribute.tensors()) visit(tensor);
      if (attribute.has_sparse_tensor()) visit_sparse(attribute.sparse_tensor());
      for (const auto& sparse : attribute.sparse_tensors()) visit_sparse(sparse);
    }
    for_each_subgraph(inner, [&](const SubGraph& graph) {
      for (const auto& tensor : graph.initializer()) visit(tensor);
      for (const auto& sparse : graph.sparse_initializer()) visit_sparse(sparse);
    });
  });
}

}  // namespace lemma::frontend
