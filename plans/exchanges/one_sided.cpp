#include "plans/exchanges/one_sided.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "plans/exchanges/forwarding.h"

namespace lemma::plans {

namespace {

constexpr std::size_t steps_in_turn = 2;
constexpr std::size_t alignment = 64;  // of what a step receives

/// Of one exchange in each step.
struct Channel {
  RegisteredWindow* window = nullptr;
  std::size_t bytes = 0;
};

/// Of one message in each step: a place in the receiver's memory.
struct MessagePlace {
  RegisteredWindow* window = nullptr;
  std::size_t begin = 0, bytes = 0;  // of two steps in turn
  std::size_t flag = 0;
  std::size_t receiver = 0;  // its place in the pair
};

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

class OneSided : public ByParts {
 public:
  explicit OneSided(Communicator& base) : ByParts(base) {}

  Result<void> begin() {
    all_.resize(size());
    std::iota(all_.begin(), all_.end(), 0U);
    LEMMA_ASSIGN_OR_RETURN(steps_, windows()->open(all_, 0, size()));
    return {};
  }

  /// Tells all that what was received before the last step may be written over.
  Result<void> begin_step() override {
    ++step_;
    for (auto& [group, channels] : channels_) channels.next = 0;
    for (const std::size_t other : all_)
      if (other != rank()) LEMMA_RETURN_IF_ERROR(steps_->signal(other, rank(), step_));
    return {};
  }

  /// Each two ranks have memory for all messages between them. Pairs are opened in one order, so that no two wait for each other.
  Result<void> open_channels(std::span<const MessageChannel> channels) override {
    std::map<Group, std::vector<const MessageChannel*>> pairs;
    for (const MessageChannel& channel : channels)
      pairs[{std::min(channel.from, channel.to), std::max(channel.from, channel.to)}].push_back(
          &channel);
    for (const auto& [pair, between] : pairs) {
      if (place_in(pair, rank()) == pair.size()) continue;
      std::vector<std::size_t> ends(pair.size(), 0);  // of the memory, by place
      std::vector<MessagePlace> places;
      for (const MessageChannel* channel : between) {
        const std::size_t receiver = place_in(pair, channel->to);
        places.push_back({nullptr, ends[receiver], channel->bytes, places.size(), receiver});
        ends[receiver] += steps_in_turn * aligned(channel->bytes);
      }
      LEMMA_ASSIGN_OR_RETURN(RegisteredWindow* const window,
                             windows()->open(pair, ends[place_in(pair, rank())], between.size()));
      for (std::size_t i = 0; i < between.size(); ++i) {
        places[i].window = window;
        messages_[between[i]->number] = places[i];
      }
    }
    return {};
  }

  Result<void> send(std::size_t to, std::uint32_t channel,
                    std::span<const std::byte> sent) override {
    const auto known = messages_.find(channel);
    if (known == messages_.end()) return ByParts::send(to, channel, sent);
    const MessagePlace& place = known->second;
    if (place.bytes != sent.size())
      return internal_error("a message has another size than was said before");
    count(1, sent.size());
    // There is memory for two steps: the receiver may still be in the one before.
    LEMMA_RETURN_IF_ERROR(steps_->wait(to, step_ - 1));
    LEMMA_RETURN_IF_ERROR(place.window->put(place.receiver, at_step(place), sent));
    return place.window->signal(place.receiver, place.flag, step_);
  }

  Result<void> receive(std::size_t from, std::uint32_t channel,
                       std::span<std::byte> received) override {
    const auto known = messages_.find(channel);
    if (known == messages_.end()) return ByParts::receive(from, channel, received);
    const MessagePlace& place = known->second;
    if (place.bytes != received.size())
      return internal_error("a message has another size than its receiver expects");
    LEMMA_RETURN_IF_ERROR(place.window->wait(place.flag, step_));
    keep(place.window->own().subspan(at_step(place), place.bytes), received);
    return {};
  }

  Result<std::span<std::byte>> landing(const Group& group, std::size_t bytes) override {
    LEMMA_ASSIGN_OR_RETURN(Channel* const channel, next(group, bytes));
    return memory_of(*channel);
  }

  Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    LEMMA_ASSIGN_OR_RETURN(Channel* const channel, next(group, received.size()));
    ++channels_[group].next;
    if (to == rank()) {
      keep(sent, received);
      return {};
    }
    if (to < size()) {
      count(1, sent.size());
      LEMMA_RETURN_IF_ERROR(put(*channel, group, place_in(group, to), 0, sent));
    }
    if (from >= size()) return {};
    LEMMA_RETURN_IF_ERROR(channel->window->wait(place_in(group, from), step_));
    take(memory_of(*channel), received);
    return {};
  }

 private:
  struct Channels {
    std::vector<std::unique_ptr<Channel>> of_step;  // in the order of its exchanges
    std::size_t next = 0;
  };

  static std::size_t stride(const Channel& channel) { return aligned(channel.bytes); }
  std::size_t at_step(const MessagePlace& place) const {
    return place.begin + step_ % steps_in_turn * aligned(place.bytes);
  }
  std::size_t place_of_step(const Channel& channel) const {
    return step_ % steps_in_turn * stride(channel);
  }
  std::span<std::byte> memory_of(const Channel& channel) const {
    return channel.window->own().subspan(place_of_step(channel), channel.bytes);
  }

  /// The memory of the next exchange of a group, registered when it is needed first.
  Result<Channel*> next(const Group& group, std::size_t bytes) {
    Channels& channels = channels_[group];
    if (channels.next == channels.of_step.size()) {
      auto channel = std::make_unique<Channel>();
      channel->bytes = bytes;
      LEMMA_ASSIGN_OR_RETURN(
          channel->window, windows()->open(group, steps_in_turn * stride(*channel), group.size()));
      channels.of_step.push_back(std::move(channel));
    }
    Channel* const channel = channels.of_step[channels.next].get();
    if (channel->bytes != bytes)
      return internal_error("an exchange has another size than in the first step");
    return channel;
  }

  Result<void> put(const Channel& channel, const Group& group, std::size_t place, std::size_t at,
                   std::span<const std::byte> bytes) {
    LEMMA_RETURN_IF_ERROR(steps_->wait(group[place], step_));
    LEMMA_RETURN_IF_ERROR(channel.window->put(place, place_of_step(channel) + at, bytes));
    return channel.window->signal(place, place_in(group, rank()), step_);
  }

  /// What arrived somewhere else than where it is wanted is copied.
  static void take(std::span<const std::byte> memory, std::span<std::byte> received) {
    if (memory.data() != received.data()) keep(memory, received);
  }

  Result<void> exchange(const Group& group, std::size_t part, const SentTo& sent_to,
                        std::span<std::byte> received) override {
    LEMMA_ASSIGN_OR_RETURN(Channel* const channel, next(group, received.size()));
    ++channels_[group].next;
    const std::size_t ranks = group.size(), own = place_in(group, rank());
    count(ranks - 1, part);
    for (std::size_t distance = 1; distance < ranks; ++distance) {
      const std::size_t to = (own + distance) % ranks;
      LEMMA_RETURN_IF_ERROR(put(*channel, group, to, own * part, sent_to(to)));
    }
    const std::span<std::byte> memory = memory_of(*channel);
    keep(sent_to(own), memory.subspan(own * part, part));
    for (std::size_t place = 0; place < ranks; ++place)
      if (place != own) LEMMA_RETURN_IF_ERROR(channel->window->wait(place, step_));
    take(memory, received);
    return {};
  }

  Group all_;
  RegisteredWindow* steps_ = nullptr;  // the step that each rank has begun, as flags
  std::uint64_t step_ = 0;
  std::map<Group, Channels> channels_;
  std::map<std::uint32_t, MessagePlace> messages_;  // by number of the channel
};

}  // namespace

Result<std::unique_ptr<Communicator>> one_sided(Communicator& base) {
  if (base.windows() == nullptr)
    return unsupported("the ranks cannot register memory for transfers of one side");
  auto result = std::make_unique<OneSided>(base);
  LEMMA_RETURN_IF_ERROR(result->begin());
  return std::unique_ptr<Communicator>(std::move(result));
}

}  // namespace lemma::plans
