#pragma once
// The ways in which an operator can be split along one axis of a mesh, derived from its definition.

#include <functional>
#include <map>
#include <optional>
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

/// How results of copies of an operator are placed whose operands are placed in a certain way.
struct GivenPlacements {
  std::vector<Placement> gives;  // by output
  /// Whether that is proved. Otherwise the copies have parts of these sizes, and may have something else.
  bool is_proved = false;
};

/// Strategies of a graph's nodes; nodes with equal operators, attributes and types have the same ones.
class Strategies {
 public:
  /// `on_try` is called before each way that is tried, if there is one.
  explicit Strategies(const Graph& graph, std::function<void()> on_try = {})
      : graph_(graph), on_try_(std::move(on_try)) {}

  /// All that are found for devices along one axis of a mesh. The first is always there: everything is replicated.
  const std::vector<Strategy>& of(const Node& node, std::int64_t devices);
  /// What copies of a node give on a mesh that read so; it is placed as `wanted` where it may be (by output; nothing: it is
  /// not said). An error: the copies cannot read that, or their results are no parts of the node's.
  Result<GivenPlacements> given(const Node& node, const Mesh& mesh,
                                const std::vector<Placement>& reads,
                                const std::vector<std::optional<Placement>>& wanted);
  /// The claims that were proved, as rules.
  const std::vector<std::string>& claims() const { return claims_; }

 private:
  std::vector<Strategy> derived(const Node& node, std::int64_t devices);
  Result<GivenPlacements> derived_given(const Node& node, const Mesh& mesh,
                                        const std::vector<Placement>& reads,
                                        const std::vector<std::optional<Placement>>& wanted);
  const Graph& graph_;
  std::function<void()> on_try_;
  std::map<std::string, std::vector<Strategy>> known_;
  std::map<std::string, Result<GivenPlacements>> given_;
  std::vector<std::string> claims_;
};

/// The attributes of a copy of a node whose first output is placed so: shapes that are that of the output are those on
/// one device.
Result<Attributes> local_attributes(const Graph& graph, const Node& node, const Placement& output,
                                    const Mesh& mesh);

}  // namespace lemma::plans
