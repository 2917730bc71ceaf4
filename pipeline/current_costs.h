#pragma once
// The costs that one search works with, and the time that may still be spent on measuring what is missing.

#include <span>

#include "base/deadline.h"
#include "pipeline/job.h"

namespace lemma {

class CurrentCosts {
 public:
  CurrentCosts(const CurrentCosts&) = delete;
  CurrentCosts& operator=(const CurrentCosts&) = delete;
  /// The costs of the description of the device alone, until open(), at the sizes that are known or else usual.
  CurrentCosts(const OperatorCosts& of_device, const Job& job);

  /// Costs are those at these sizes from now on. Before open().
  void take_sizes(DimensionBindings sizes);

  /// Takes what was measured earlier, and measures the operators of the model that are missing, in at most a fifth of
  /// the time that is left.
  Result<void> open(const Job& job, OperatorTimer* timer, const Deadline& deadline);

  /// Measures what is missing of these graphs. True: get() has changed.
  bool learn(const Job& job, std::span<const Graph* const> graphs);

  const OperatorCosts& get() const { return costs_; }
  /// What a run takes by the description of the device, at other sizes.
  double seconds_at(const Graph& graph, DimensionBindings sizes) const;
  CostReport report() const { return learned_ ? learned_->report() : CostReport(); }

 private:
  OperatorCosts of_device_;
  OperatorCosts costs_;  // these, behind those that were measured
  std::optional<LearnedCosts> learned_;
  double seconds_left_ = 0;
};

}  // namespace lemma
