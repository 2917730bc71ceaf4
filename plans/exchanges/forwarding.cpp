#include "plans/exchanges/forwarding.h"

#include <cstring>

namespace lemma::plans {

void Forwarding::enter(std::string_view place) {
  Communicator::enter(place);
  base_.enter(place);
}

void Forwarding::keep(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace lemma::plans
