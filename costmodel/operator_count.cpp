#include "costmodel/operator_count.h"

namespace lemma {

std::optional<Cost> OperatorCount::find(const CostKey&) const {
  constexpr double unit = 1e-6;  // seconds: far above what tells graphs of equal cost apart
  return Cost{unit, 0, Provenance::analytic};
}

}  // namespace lemma
