#pragma once
// What computations take as one operator, by the kernels that it would have. On devices whose tasks have the times of their
// source, fusion decides by the same times as the schedule.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Groups that are equal but for their buffers are timed once.
class GroupTimes {
 public:
  /// The graph and the device must outlive this.
  GroupTimes(const ComputationGraph& graph, const VirtualDevice& device);

  /// The time with the cut that ends first, on all units and with nothing beside it, and with a wait for what is read.
  /// `is_stored`: by member, whether its result is. Nothing where the members have no common grid.
  std::optional<double> seconds(const Group& group, const std::vector<bool>& is_stored);

 private:
  std::string key_of(const Group& group, const std::vector<bool>& is_stored) const;
  std::optional<double> timed(const Group& group, const std::vector<bool>& is_stored) const;

  const ComputationGraph& graph_;
  const VirtualDevice& device_;
  std::vector<std::uint32_t> kinds_;  // by computation: equal but for buffers
  std::map<std::string, std::optional<double>> known_;
};

}  // namespace lemma::backend
