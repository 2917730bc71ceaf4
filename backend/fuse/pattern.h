#pragma once
// Patterns of computations that can be stitched, and what they cost: the delta evaluator of FusionStitching (section
// 5.3), from the times of the tasks that they would have where these are those of the source (lower/group_time.h), else from
// bytes, operations and calls.

#include <memory>

#include "backend/fuse/stitch.h"
#include "backend/lower/grid.h"
#include "backend/lower/group_time.h"

namespace lemma::backend {

struct Pattern {
  Group group;
  double seconds = 0;  // as one operator
  double gain = 0;     // over one operator for each member
};

class DeltaEvaluator {
 public:
  /// The graph and the device must outlive the evaluator.
  static Result<DeltaEvaluator> make(const ComputationGraph& graph, const VirtualDevice& device,
                                     const StitchOptions& options);

  /// The same for patterns without packing.
  DeltaEvaluator without_packing() const;
  bool packs() const { return options_.packing; }
  bool has_times() const { return times_ != nullptr; }

  /// `members`: ascending. Nothing if they cannot be stitched by the schemes that there are.
  std::optional<Pattern> pattern(std::vector<std::size_t> members) const;
  const Pattern& alone(std::size_t computation) const { return alone_[computation]; }
  /// The pattern of a transform of tiles, their product and the transform of that; nothing for another computation, or
  /// if these cannot be stitched.
  std::optional<Pattern> pattern_of_tiles(std::size_t tiles) const;
  /// The computations that become attention in one pass (blocks/attention.h), beginning with the scores; nothing for others.
  std::optional<Pattern> pattern_of_attention(std::size_t scores) const;

  /// The readers of each computation: those that read its result, ascending, each once.
  const std::vector<std::vector<std::size_t>>& readers() const { return readers_; }
  /// The producers of each computation: those whose results it reads, in the same way.
  const std::vector<std::vector<std::size_t>>& producers() const { return producers_; }
  /// The depth of each computation: how many others are on the longest path to it.
  const std::vector<std::size_t>& depths() const { return depths_; }
  /// Whether starting it takes a considerable part of its time.
  bool is_small(std::size_t computation) const;

 private:
  struct Work {
    double bytes = 0, operations = 0, most_units = 1;
  };
  explicit DeltaEvaluator(const ComputationGraph& graph, const VirtualDevice& device,
                          const StitchOptions& options)
      : graph_(&graph), device_(device), options_(options) {}

  double seconds(const Work& work) const;
  double bytes_of(BufferNumber buffer) const;
  bool is_output(BufferNumber buffer) const;
  bool is_connected(const std::vector<std::size_t>& members) const;
  bool is_stored(std::size_t member, const std::vector<std::size_t>& members) const;
  Pattern make_alone(std::size_t computation) const;
  bool is_bound_by_memory(std::size_t member) const;
  std::vector<std::size_t> product_of_tiles(std::size_t tiles) const;
  std::vector<std::size_t> members_of_attention(std::size_t scores) const;
  std::vector<Stitching> schemes(const std::vector<std::size_t>& members, std::int64_t points,
                                 double shared_bytes, bool has_edges) const;
  std::optional<double> seconds(const Group& group, double shared_bytes) const;
  bool reads_rows_again(std::size_t member, std::int64_t points) const;
  Work work_of(const std::vector<std::size_t>& members, std::int64_t points, double tasks) const;

  const ComputationGraph* graph_;
  VirtualDevice device_;
  StitchOptions options_;
  std::vector<GridChoices> choices_;
  std::vector<std::vector<std::size_t>> readers_, producers_;
  std::vector<std::size_t> depths_;
  // What many patterns ask for, by computation.
  std::vector<Pattern> alone_;
  std::vector<bool> is_bound_by_memory_;
  std::shared_ptr<GroupTimes> times_;  // of devices whose tasks have the times of their source
};

}  // namespace lemma::backend
