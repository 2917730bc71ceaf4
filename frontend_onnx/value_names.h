#pragma once
// Names of values in the exported file: those of inputs and outputs, names that subgraphs rely on,
// then the suggested ones; unique names for the rest.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend_onnx/messages.h"
#include "ir/graph.h"

namespace lemma::frontend {

/// Live opaque nodes of a graph, parsed.
using OpaqueNodes = std::map<NodeId, ::onnx::NodeProto>;

class ValueNames {
 public:
  /// May rename captures in the opaque nodes' subgraphs, where two of them mean different values by
  /// one name.
  ValueNames(const Graph& graph, const std::vector<NodeId>& live, OpaqueNodes& opaque);

  const std::string& of(ValueId value) const;
  /// A name that is not used yet.
  std::string unique(const std::string& base);
  /// Second names for values, to be defined by Identity: the names that an opaque node's subgraphs
  /// use, before the node ...
  const std::vector<std::pair<std::string, ValueId>>& aliases_before(NodeId opaque) const;
  /// ... and outputs of the graph, at the end.
  const std::vector<std::pair<std::string, ValueId>>& output_aliases() const {
    return output_aliases_;
  }
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

 private:
  void name_inputs(const Graph& graph);
  void name_outputs(const Graph& graph);
  void name_captures(const Graph& graph, OpaqueNodes& opaque);
  void name_others(const Graph& graph, const std::vector<NodeId>& live);
  void assign(ValueId value, const std::string& name);

  std::map<ValueId, std::string> names_;
  std::set<std::string> taken_;
  std::set<std::string> inner_;  // names inside subgraphs, which new names keep away from
  std::map<NodeId, std::vector<std::pair<std::string, ValueId>>> aliases_;
  std::vector<std::pair<std::string, ValueId>> output_aliases_;
};

}  // namespace lemma::frontend
