#include "plans/exchanges/forwarding.h"

#include <cstring>

namespace lemma::plans {

void Forwarding::enter(std::string_view place) {
  Communicator::enter(place);
  base_.enter(place);
}

Result<void> Forwarding::send(std::size_t to, std::uint32_t channel,
                              std::span<const std::byte> sent) {
  if (to != rank()) count(1, sent.size());
  return base_.send(to, channel, sent);
}

Result<void> Forwarding::receive(std::size_t from, std::uint32_t channel,
                                 std::span<std::byte> received) {
  return base_.receive(from, channel, received);
}

void Forwarding::keep(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

Result<void> ByParts::all_to_all(const Group& group, std::span<const std::byte> parts,
                                 std::span<std::byte> received) {
  const std::size_t part = parts.size() / group.size();
  return exchange(
      group, part, [&](std::size_t place) { return parts.subspan(place * part, part); }, received);
}

Result<void> ByParts::all_gather(const Group& group, std::span<const std::byte> part,
                                 std::span<std::byte> all) {
  return exchange(
      group, part.size(), [&](std::size_t) { return part; }, all);
}

}  // namespace lemma::plans
