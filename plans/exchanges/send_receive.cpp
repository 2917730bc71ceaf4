#include "plans/exchanges/send_receive.h"

#include "plans/exchanges/forwarding.h"

namespace lemma::plans {

namespace {

class SendReceive : public ByParts {
 public:
  using ByParts::ByParts;

  Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    if (to < size() && to != rank()) count(1, sent.size());
    return base().shift(group, to, from, sent, received);
  }

 private:
  Result<void> exchange(const Group& group, std::size_t part, const SentTo& sent_to,
                        std::span<std::byte> received) override {
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
