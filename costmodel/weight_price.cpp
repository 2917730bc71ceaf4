#include "costmodel/weight_price.h"

namespace lemma {

std::optional<Cost> WeightPrice::find(const CostKey& key) const {
  Cost cost = costs_.find(key);
  for (std::size_t i = 0; i < key.inputs.size(); ++i) {
    const TensorType& type = key.inputs[i];
    if (!key.constant[i] || !type.shape) continue;
    const auto elements = static_cast<double>(element_count(*type.shape).offset());
    cost.seconds += seconds_per_byte_ * elements * bits(type.data_type) / 8;
  }
  return cost;
}

}  // namespace lemma
