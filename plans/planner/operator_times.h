#pragma once
// What operators took that were measured by themselves on a device of a cluster, as costs.

#include <map>
#include <string>
#include <vector>

#include "costmodel/cost_provider.h"
#include "costmodel/device.h"
#include "costmodel/roofline.h"
#include "plans/clusters/cluster.h"

namespace lemma::plans {

/// An operator with its attributes and types: "MatMul{} f32[8, 16], f32[16, 4] -> f32[8, 4]". Which operands are constant makes no
/// difference to what computes on ranks.
std::string operator_text(const CostKey& key);

/// What was measured. What was not takes what the device's description says, times the median of what measured operators of the
/// same name took over what it says of them; where there are none, that of all.
class OperatorTimes : public CostProvider {
 public:
  OperatorTimes(const std::vector<clusters::MeasuredOperator>& measured, Device device);

  /// Nothing where nothing was measured.
  std::optional<Cost> find(const CostKey& key) const override;
  bool covers_all_sizes() const override { return false; }

 private:
  std::map<std::string, double, std::less<>> seconds_;
  std::map<std::string, double, std::less<>> ratios_;  // by name of the operator; "" for all
  Roofline predicted_;
};

}  // namespace lemma::plans
