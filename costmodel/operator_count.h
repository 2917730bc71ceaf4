#pragma once
// Costs for a search that wants few operators, whatever they take.

#include <optional>

#include "costmodel/cost_provider.h"

namespace lemma {

/// Every operator costs the same, a view as much as a convolution.
class OperatorCount : public CostProvider {
 public:
  std::optional<Cost> find(const CostKey& key) const override;
};

}  // namespace lemma
