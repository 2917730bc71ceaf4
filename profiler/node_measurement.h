#pragma once
// The time of single nodes of ONNX Runtime, measured, and the price of a graph as their sum.

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/profile_database.h"
#include "profiler/runtime_graph.h"

namespace lemma {

/// The key of what a run takes beside its nodes.
inline constexpr std::string_view run_key = "run";
/// What the kind of an operator begins with (profiler/operator_measurement.h), which is no node of the runtime.
inline constexpr std::string_view operator_kind = "operator ";

/// What is known of nodes on one target.
class NodeTimes {
 public:
  explicit NodeTimes(std::vector<ProfileEntry> entries);
  NodeTimes(const NodeTimes& other);
  NodeTimes& operator=(NodeTimes&&) = default;
  NodeTimes(NodeTimes&&) = default;
  ~NodeTimes() = default;

  /// Measured, or interpolated from nodes of its family (products, convolutions, all others): a mean of their times,
  /// each carried over to this node's size and to where its weights are, the near ones and those of its own kind first.
  /// Nothing if there are none, or the nearest is farther than `farthest` (then only the kind counts). The spread of an
  /// interpolated time estimates its error; between times that were measured elsewhere it is known no better than these.
  std::optional<Cost> find(const RuntimeNode& node, double farthest = infinity) const;
  bool is_measured(const std::string& key) const { return entries_.contains(key); }
  /// The same without some keys.
  NodeTimes without(const std::set<std::string>& keys) const;
  /// 0 if it was not measured.
  double run_seconds() const;

  void add(const ProfileEntry& entry);

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// What is compared of an entry, found once.
  struct Known {
    const ProfileEntry* entry = nullptr;
    double log_work = 0, log_elements = 0;  // natural logarithms
    std::string_view attributes, place;     // parts of its key
  };
  static Known known(std::string_view key, double work, double elements);
  static double distance(const Known& a, const Known& b);
  struct Near {
    double distance = 0;
    const Known* known = nullptr;
  };
  /// What it is interpolated from, the nearest first.
  std::vector<Near> near(const RuntimeNode& node, bool only_kind) const;

  std::map<std::string, ProfileEntry> entries_;
  std::map<std::string, std::vector<Known>> by_kind_;
};

struct GraphPrice {
  Cost cost;                // provenance: the worst of its nodes
  std::size_t unknown = 0;  // nodes without a price
};
GraphPrice price_of(const RuntimeGraph& graph, const NodeTimes& times);

struct MeasurementOptions {
  std::filesystem::path scratch_folder;
  int threads = 0;
  std::string date;     // of the entries
  double seconds = 60;  // after which no further node is begun
  std::function<void(std::size_t done, std::size_t total)> on_progress;
  std::function<bool()> is_interrupted;
  /// An application of an operator that cannot be run by itself, and why.
  std::function<void(const CostKey& key, const std::string& why)> on_refusal;
};

/// Measures the nodes that were not, those that are expected to take the longest first, and what a run
/// takes beside them. Each is committed when it is measured. The number of nodes measured; what cannot be
/// run is left out.
Result<std::size_t> measure_nodes(OnnxRuntimeWorker& worker, ProfileDatabase& database,
                                  const RuntimeIdentity& target,
                                  const std::vector<RuntimeNode>& nodes, NodeTimes& times,
                                  const MeasurementOptions& options);

}  // namespace lemma
