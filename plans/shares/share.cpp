#include "plans/shares/share.h"

#include <algorithm>

namespace lemma::plans {

std::string_view name(Reduction reduction) {
  switch (reduction) {
    case Reduction::max: return "max";
    case Reduction::min: return "min";
    case Reduction::mean: return "mean";
    case Reduction::sum: break;
  }
  return "sum";
}

bool is_partial(const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(),
                     [](const Share& share) { return share.sharing == Sharing::partial; });
}

}  // namespace lemma::plans
