#pragma once
// Planned time on the units of a device: the mechanism that policies place tasks with.

#include "backend_cuda/schedule/placement.h"

namespace lemma::backend {

class Units {
 public:
  Units(const OperatorGraph& graph, const VirtualDevice& device);

  /// When the operator would have ended with the kernel, after all that has been placed.
  double end_with(OperatorNumber op, std::uint32_t kernel) const;
  /// Places its tasks, each on the unit where it begins first.
  void place(OperatorNumber op, std::uint32_t kernel);
  /// When all that has been placed has ended.
  double end() const;

  const std::vector<std::vector<OperatorNumber>>& predecessors() const { return predecessors_; }
  Placement take() { return std::move(placement_); }

 private:
  struct Plan {
    std::vector<UnitNumber> units;  // by task
    std::vector<double> ends;       // by unit: the last task of the operator there; 0 for none
    double end = 0;
  };
  Plan plan(OperatorNumber op, std::uint32_t kernel) const;

  const OperatorGraph* graph_;
  const VirtualDevice* device_;
  std::vector<std::vector<OperatorNumber>> predecessors_;
  std::vector<double> free_;               // by unit: when it has ended what it was given
  std::vector<std::vector<double>> ends_;  // by operator, then as in a plan
  Placement placement_;
};

}  // namespace lemma::backend
