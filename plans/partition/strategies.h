#pragma once
// The ways in which an operator can be split along one axis of a mesh, derived from its definition.

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "plans/placement/placement.h"

namespace lemma::plans {

/// With operands so placed, copies of an operator give results so placed: proved (plans/relations/relations.h).
struct Strategy {
  std::vector<Share> reads;  // by operand; of absent ones it means nothing
  std::vector<Share> gives;  // by output
};

/// Strategies of a graph's nodes; nodes with equal operators, attributes and types have the same ones.
class Strategies {
 public:
  explicit Strategies(const Graph& graph) : graph_(graph) {}

  /// All that are found for devices along one axis of a mesh. The first is always there: everything is replicated.
  const std::vector<Strategy>& of(const Node& node, std::int64_t devices);
  /// The claims that were proved, as rules.
  const std::vector<std::string>& claims() const { return claims_; }

 private:
  std::vector<Strategy> derived(const Node& node, std::int64_t devices);
  const Graph& graph_;
  std::map<std::string, std::vector<Strategy>> known_;
  std::vector<std::string> claims_;
};

/// The attributes of a copy of a node whose first output is placed so: shapes that are that of the output are those on
/// one device.
Result<Attributes> local_attributes(const Graph& graph, const Node& node, const Placement& output,
                                    const Mesh& mesh);

}  // namespace lemma::plans
