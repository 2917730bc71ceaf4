#pragma once
// Costs for a search that wants a small file.

#include <optional>

#include "costmodel/operator_costs.h"

namespace lemma {

/// Other costs, which outlive it, and so many seconds more for each byte that an operator reads of constants.
class WeightPrice : public CostProvider {
 public:
  WeightPrice(const OperatorCosts& costs, double seconds_per_byte)
      : costs_(costs), seconds_per_byte_(seconds_per_byte) {}
  std::optional<Cost> find(const CostKey& key) const override;

 private:
  const OperatorCosts& costs_;
  double seconds_per_byte_;
};

}  // namespace lemma
