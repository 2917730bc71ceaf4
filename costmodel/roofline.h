#pragma once
// Analytic cost of operators: the roofline model (Williams, Waterman, Patterson, "Roofline", CACM
// 2009, section 3) over the operation counts that follow from the definitions, plus a launch overhead
// for each operator and a ramp for operators too small to fill the device.

#include "costmodel/cost_provider.h"
#include "costmodel/device.h"

namespace lemma {

/// The time of one operator that does this work, with elements of a type; `slowness`: that of its
/// arithmetic.
double roofline_seconds(const OperationCount& work, DataType type, const Device& device,
                        double slowness = 1);

/// Knows every key.
class Roofline : public CostProvider {
 public:
  explicit Roofline(Device device) : device_(std::move(device)) {}  // keeps a copy

  std::optional<Cost> find(const CostKey& key) const override;

 private:
  double seconds(const CostKey& key) const;
  OperationCount work_of(const CostKey& key) const;
  Device device_;
};

}  // namespace lemma
