#include "plans/exchanges/send_receive.h"

#include "plans/exchanges/forwarding.h"

namespace lemma::plans {

namespace {

class SendReceive : public Forwarding {
 public:
  using Forwarding::Forwarding;

  Result<void> all_to_all(const Group& group, std::span<const std::byte> parts,
                          std::span<std::byte> received) override {
    const std::size_t part = parts.size() / group.size();
    return pairwise(
        group, part, [&](std::size_t place) { return parts.subspan(place * part, part); },
        received);
  }

  Result<void> all_gather(const Group& group, std::span<const std::byte> part,
                          std::span<std::byte> all) override {
    return pairwise(
        group, part.size(), [&](std::size_t) { return part; }, all);
  }

  Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    if (to < size() && to != rank()) count(1, sent.size());
    return base().shift(group, to, from, sent, received);
  }

 private:
  template <typename SentTo>
  Result<void> pairwise(const Group& group, std::size_t part, SentTo sent_to,
                        std::span<std::byte> received) {
    const std::size_t ranks = group.size(), own = place_in(group, rank());
    count(ranks - 1, part);
    keep(sent_to(own), received.subspan(own * part, part));
    for (std::size_t distance = 1; distance < ranks; ++distance) {
      const std::size_t to = (own + distance) % ranks, from = (own + ranks - distance) % ranks;
      LEMMA_RETURN_IF_ERROR(base().shift(group, group[to], group[from], sent_to(to),
                                         received.subspan(from * part, part)));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Communicator> send_receive(Communicator& base) {
  return std::make_unique<SendReceive>(base);
}

}  // namespace lemma::plans
