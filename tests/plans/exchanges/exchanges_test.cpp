// All ways of exchanging give the same bytes; memory that is registered is written to without a copy, and by no processor.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "plans/exchanges/exchanges.h"
#include "plans/exchanges/guarded_memory.h"
#include "plans/exchanges/offered.h"
#include "plans/on_ranks/thread_ranks.h"

namespace lemma::plans {
namespace {

using Bytes = std::vector<std::byte>;

/// What a rank sends in a step: bytes that say where they are from.
Bytes sent_by(std::size_t rank, std::size_t step, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(rank * 61 + step * 17 + i * 3 + i / 251);
  return bytes;
}

Bytes part_of(const Bytes& bytes, std::size_t part, std::size_t parts) {
  const std::size_t size = bytes.size() / parts;
  const auto begin = bytes.begin() + static_cast<long>(part * size);
  return {begin, begin + static_cast<long>(size)};
}

class Exchanges : public testing::TestWithParam<ExchangeKind> {
 protected:
  /// Runs the function on so many ranks that exchange in this way.
  static Result<void> run(std::size_t ranks,
                          const std::function<Result<void>(Communicator&)>& body) {
    return run_as_threads(ranks, [&](Communicator& base) -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const auto way, exchanging_by(GetParam(), base));
      Communicator& communicator = way ? *way : base;
      LEMMA_RETURN_IF_ERROR(body(communicator));
      return meet(base);
    });
  }
};

/// Memory to receive into, as a program has it.
Result<std::span<std::byte>> landing(Communicator& communicator, const Group& group, Bytes& own) {
  LEMMA_ASSIGN_OR_RETURN(const auto given, communicator.landing(group, own.size()));
  return given.empty() ? std::span<std::byte>(own) : given;
}

TEST_P(Exchanges, give_each_rank_what_was_sent_to_it) {
  const Group all = {0, 1, 2};
  const auto done = run(3, [&](Communicator& communicator) -> Result<void> {
    const std::size_t rank = communicator.rank();
    for (std::size_t step = 0; step < 6; ++step) {
      LEMMA_RETURN_IF_ERROR(communicator.begin_step());
      for (const std::size_t size : {0U, 3U, 3000U}) {
        Bytes memory(size), gathered(3 * size);
        LEMMA_ASSIGN_OR_RETURN(const auto received, landing(communicator, all, memory));
        LEMMA_RETURN_IF_ERROR(communicator.all_to_all(all, sent_by(rank, step, size), received));
        LEMMA_ASSIGN_OR_RETURN(const auto every, landing(communicator, all, gathered));
        LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, sent_by(rank, step, size), every));
        for (std::size_t from = 0; from < 3; ++from) {
          const Bytes sent = sent_by(from, step, size);
          EXPECT_EQ(part_of({received.begin(), received.end()}, from, 3), part_of(sent, rank, 3));
          EXPECT_EQ(part_of({every.begin(), every.end()}, from, 3), sent);
        }
      }
    }
    EXPECT_EQ(communicator.bytes_sent(), 6U * (2 * 1001 + 2 * 3003));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(Exchanges, shift_along_a_line_and_a_ring) {
  const Group all = {0, 1, 2};
  const auto done = run(3, [&](Communicator& communicator) -> Result<void> {
    const std::size_t rank = communicator.rank();
    for (std::size_t step = 0; step < 20; ++step) {
      LEMMA_RETURN_IF_ERROR(communicator.begin_step());
      Bytes line(100, std::byte{7}), ring(100);
      LEMMA_RETURN_IF_ERROR(communicator.shift(all, rank + 1, rank == 0 ? 3 : rank - 1,
                                               sent_by(rank, step, 100), line));
      LEMMA_RETURN_IF_ERROR(
          communicator.shift(all, (rank + 2) % 3, (rank + 1) % 3, sent_by(rank, step, 100), ring));
      EXPECT_EQ(line, rank == 0 ? Bytes(100, std::byte{7}) : sent_by(rank - 1, step, 100));
      EXPECT_EQ(ring, sent_by((rank + 1) % 3, step, 100));
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(Exchanges, of_several_groups_are_apart) {
  const auto done = run(4, [&](Communicator& communicator) -> Result<void> {
    const std::size_t rank = communicator.rank();
    const Group row = {rank / 2 * 2, rank / 2 * 2 + 1}, column = {rank % 2, rank % 2 + 2};
    for (std::size_t step = 0; step < 5; ++step) {
      LEMMA_RETURN_IF_ERROR(communicator.begin_step());
      for (const Group& group : {row, column, row}) {
        Bytes all(20);
        LEMMA_RETURN_IF_ERROR(communicator.all_gather(group, sent_by(rank, step, 10), all));
        for (std::size_t place = 0; place < 2; ++place)
          EXPECT_EQ(part_of(all, place, 2), sent_by(group[place], step, 10));
      }
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(Exchanges, messages_arrive_on_their_channels) {
  // Each of two ranks sends before it receives, and takes what comes in another order than it was sent.
  const std::vector<MessageChannel> channels = {
      {0, 0, 1, 40}, {1, 1, 0, 3000}, {2, 0, 1, 0}, {3, 0, 1, 70}, {4, 2, 0, 5}};
  const auto done = run(3, [&](Communicator& communicator) -> Result<void> {
    const std::size_t rank = communicator.rank();
    LEMMA_RETURN_IF_ERROR(communicator.open_channels(channels));
    for (std::size_t step = 0; step < 20; ++step) {
      LEMMA_RETURN_IF_ERROR(communicator.begin_step());
      for (const MessageChannel& channel : channels)
        if (channel.from == rank)
          LEMMA_RETURN_IF_ERROR(communicator.send(channel.to, channel.number,
                                                  sent_by(channel.number, step, channel.bytes)));
      for (auto channel = channels.rbegin(); channel != channels.rend(); ++channel) {
        if (channel->to != rank) continue;
        Bytes received(channel->bytes);
        LEMMA_RETURN_IF_ERROR(communicator.receive(channel->from, channel->number, received));
        EXPECT_EQ(received, sent_by(channel->number, step, channel->bytes));
      }
    }
    EXPECT_EQ(communicator.bytes_sent(), 20U * (rank == 0 ? 110U : rank == 1 ? 3000U : 5U));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(Exchanges, end_when_a_rank_ends) {
  const Group all = {0, 1, 2};
  const auto done = run(3, [&](Communicator& communicator) -> Result<void> {
    for (std::size_t step = 0;; ++step) {
      LEMMA_RETURN_IF_ERROR(communicator.begin_step());
      if (communicator.rank() == 1 && step == 3) return bad_input("it is dark");
      Bytes gathered(30);
      LEMMA_RETURN_IF_ERROR(
          communicator.all_gather(all, sent_by(communicator.rank(), step, 10), gathered));
    }
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 1 has ended: it is dark");
}

INSTANTIATE_TEST_SUITE_P(Kinds, Exchanges,
                         testing::Values(ExchangeKind::collectives, ExchangeKind::one_sided,
                                         ExchangeKind::send_receive, ExchangeKind::remote_calls),
                         [](const auto& kind) {
                           std::string name =
                               exchange_names()[static_cast<std::size_t>(kind.param)];
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(OneSided, lands_in_the_same_two_memories_and_stays_for_a_step) {
  const Group all = {0, 1};
  const auto done = run_as_threads(2, [&](Communicator& base) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const auto way, exchanging_by(ExchangeKind::one_sided, base));
    std::vector<std::span<std::byte>> memories;
    for (std::size_t step = 0; step < 8; ++step) {
      LEMMA_RETURN_IF_ERROR(way->begin_step());
      LEMMA_ASSIGN_OR_RETURN(memories.emplace_back(), way->landing(all, 200));
      LEMMA_RETURN_IF_ERROR(way->all_gather(all, sent_by(way->rank(), step, 100), memories.back()));
      if (step >= 2) {
        EXPECT_EQ(memories[step].data(), memories[step - 2].data());
      }
      for (std::size_t before = step == 0 ? 0 : step - 1; before <= step; ++before)
        for (std::size_t from = 0; from < 2; ++from)
          EXPECT_EQ(part_of({memories[before].begin(), memories[before].end()}, from, 2),
                    sent_by(from, before, 100));
    }
    return meet(base);
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST(OneSided, another_size_than_in_the_first_step_is_an_error) {
  const Group all = {0, 1};
  const auto done = run_as_threads(2, [&](Communicator& base) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const auto way, exchanging_by(ExchangeKind::one_sided, base));
    for (const std::size_t size : {10U, 20U}) {
      LEMMA_RETURN_IF_ERROR(way->begin_step());
      Bytes gathered(2 * size);
      LEMMA_RETURN_IF_ERROR(way->all_gather(all, sent_by(way->rank(), 0, size), gathered));
    }
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("another size"), std::string::npos) << done.error().message;
}

/// Sends a tensor from the memory of one device to that of another one; the pages that processors have touched.
Result<std::uint64_t> pages_touched(bool goes_through_host) {
  const Group all = {0, 1};
  constexpr std::size_t size = 50'000;
  std::uint64_t touched = 0;
  const auto done = run_as_threads(2, [&](Communicator& base) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const auto device, GuardedMemory::create(size));
    LEMMA_ASSIGN_OR_RETURN(RegisteredWindow* const window,
                           base.windows()->open_over(all, device->for_transfers(), 1));
    if (base.rank() == 0) {
      const Bytes computed = sent_by(0, 1, size);  // by the device itself
      std::copy(computed.begin(), computed.end(), device->for_transfers().begin());
      const Bytes host(device->memory().begin(),
                       device->memory().begin() + (goes_through_host ? size : 0));
      LEMMA_RETURN_IF_ERROR(window->put(1, 0,
                                        goes_through_host ? std::span<const std::byte>(host)
                                                          : device->for_transfers().first(size)));
      LEMMA_RETURN_IF_ERROR(window->signal(1, 0, 1));
      touched = device->touched_pages();
    } else {
      LEMMA_RETURN_IF_ERROR(window->wait(0, 1));
      EXPECT_EQ(device->touched_pages(), 0U);
      EXPECT_TRUE(std::equal(device->for_transfers().begin(),
                             device->for_transfers().begin() + size, sent_by(0, 1, size).begin()));
      // Whoever looks at it is caught.
      EXPECT_EQ(device->memory()[5], sent_by(0, 1, size)[5]);
      EXPECT_EQ(device->touched_pages(), 1U);
    }
    return meet(base);
  });
  if (!done) return tl::unexpected(done.error());
  return touched;
}

TEST(DeviceMemory, transfers_of_one_side_make_no_copy_in_host_memory) {
  const auto direct = pages_touched(false), through_host = pages_touched(true);
  ASSERT_TRUE(direct && through_host);
  EXPECT_EQ(*direct, 0U);
  EXPECT_EQ(*through_host, 13U);  // all pages of the tensor
}

TEST(Offered, tensors_of_any_size_are_fetched) {
  const Group pair = {0, 1};
  const auto done = run_as_threads(2, [&](Communicator& base) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(Offered offered, Offered::open(base, pair, 5000));
    for (const std::size_t size : {5U, 0U, 5000U, 77U}) {
      if (base.rank() == 0) {
        const Bytes sent = sent_by(0, size, size);
        std::copy(sent.begin(), sent.end(), offered.memory().begin());
        LEMMA_RETURN_IF_ERROR(offered.give(size));
      } else {
        Bytes received;
        LEMMA_RETURN_IF_ERROR(offered.take([&](std::size_t bytes) {
          received.resize(bytes);
          return std::span(received);
        }));
        EXPECT_EQ(received, sent_by(0, size, size));
      }
    }
    if (base.rank() == 0) {
      EXPECT_FALSE(offered.give(5001));
    }
    return meet(base);
  });
  EXPECT_TRUE(done) << done.error().message;
}

}  // namespace
}  // namespace lemma::plans
