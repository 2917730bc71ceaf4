// Times of a tensor on its way from one of two ranks to the other one, there and back. `bench/proofs transfers` starts it under
// mpirun with the module for MPI as its argument. The first rank prints JSON: by the way of exchanging and by bytes, the median
// of half of the time there and back; and pages of device memory that processors have touched when it was sent directly, and
// by way of host memory.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "plans/exchanges/exchanges.h"
#include "plans/exchanges/guarded_memory.h"
#include "plans/exchanges/offered.h"
#include "plans/on_ranks/mpi_ranks.h"

namespace {

using namespace lemma;         // NOLINT
using namespace lemma::plans;  // NOLINT
using Json = nlohmann::ordered_json;

const Group pair = {0, 1};
constexpr std::size_t least_bytes = 1 << 10, most_bytes = 64 << 20;

int rounds_for(std::size_t bytes) {
  return bytes <= (64 << 10) ? 401 : bytes <= (4 << 20) ? 61 : 15;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// From one rank to the other, which checks the last byte.
Result<void> send(Communicator& communicator, std::size_t from, std::span<const std::byte> sent,
                  std::vector<std::byte>& otherwise) {
  const bool is_sender = communicator.rank() == from;
  LEMMA_ASSIGN_OR_RETURN(std::span<std::byte> received, communicator.landing(pair, sent.size()));
  if (received.empty()) received = otherwise;
  LEMMA_RETURN_IF_ERROR(
      communicator.shift(pair, is_sender ? 1 - from : 2, is_sender ? 2 : from, sent, received));
  if (!is_sender && received.back() != sent.back()) return internal_error("a byte was lost");
  return {};
}

Result<double> there_and_back(Communicator& communicator, std::size_t bytes) {
  std::vector<std::byte> sent(bytes), received(bytes);
  std::vector<double> times;
  for (int round = 0; round < rounds_for(bytes); ++round) {
    sent.back() = static_cast<std::byte>(round);
    LEMMA_RETURN_IF_ERROR(communicator.begin_step());
    const auto begin = std::chrono::steady_clock::now();
    for (const std::size_t from : pair)
      LEMMA_RETURN_IF_ERROR(send(communicator, from, sent, received));
    if (round > 0) times.push_back(seconds_since(begin) / 2);
  }
  return median(times);
}

/// The same where the receiver does not know the size, and fetches.
Result<double> fetched(Communicator& base, std::size_t bytes) {
  LEMMA_ASSIGN_OR_RETURN(Offered there, Offered::open(base, pair, bytes));
  LEMMA_ASSIGN_OR_RETURN(Offered back, Offered::open(base, pair, bytes));
  std::vector<std::byte> received(bytes);
  const auto take = [&](Offered& offered) {
    return offered.take([&](std::size_t size) { return std::span(received).first(size); });
  };
  std::vector<double> times;
  for (int round = 0; round < rounds_for(bytes); ++round) {
    const auto begin = std::chrono::steady_clock::now();
    if (base.rank() == 0) {
      LEMMA_RETURN_IF_ERROR(there.give(bytes));
      LEMMA_RETURN_IF_ERROR(take(back));
    } else {
      LEMMA_RETURN_IF_ERROR(take(there));
      LEMMA_RETURN_IF_ERROR(back.give(bytes));
    }
    if (round > 0) times.push_back(seconds_since(begin) / 2);
  }
  return median(times);
}

/// Pages of the devices' memories that the processors of both ranks have touched. Through host memory the sender copies it out, as
/// it has to for a message, and the receiver copies it in.
Result<std::uint64_t> pages_touched(Communicator& base, bool goes_through_host) {
  constexpr std::size_t bytes = 1 << 20;
  LEMMA_ASSIGN_OR_RETURN(auto device, GuardedMemory::create(bytes));
  LEMMA_ASSIGN_OR_RETURN(RegisteredWindow* const window,
                         base.windows()->open_over(pair, device->for_transfers(), 1));
  const std::size_t rank = base.rank();
  if (rank == 0)
    std::fill(device->for_transfers().begin(), device->for_transfers().end(), std::byte{9});
  LEMMA_RETURN_IF_ERROR(meet(base));
  if (goes_through_host) {
    std::vector<std::byte> host(bytes);
    if (rank == 0) std::memcpy(host.data(), device->memory().data(), bytes);
    LEMMA_RETURN_IF_ERROR(base.shift(pair, rank == 0 ? 1 : 2, rank == 0 ? 2 : 0, host, host));
    if (rank == 1) std::memcpy(device->memory().data(), host.data(), bytes);
  } else if (rank == 0) {
    LEMMA_RETURN_IF_ERROR(window->put(1, 0, device->for_transfers()));
    LEMMA_RETURN_IF_ERROR(window->signal(1, 0, 1));
  } else {
    LEMMA_RETURN_IF_ERROR(window->wait(0, 1));
  }
  const auto memory = device->for_transfers();
  if (std::count(memory.begin(), memory.end(), std::byte{9}) != static_cast<long>(bytes))
    return internal_error("a byte was lost");
  const std::uint64_t own = device->touched_pages();
  std::vector<std::uint64_t> all(2);
  LEMMA_RETURN_IF_ERROR(base.all_gather(pair, std::as_bytes(std::span(&own, 1)),
                                        std::as_writable_bytes(std::span(all))));
  // The window stays, so its memory has to.
  static std::vector<std::unique_ptr<GuardedMemory>> kept;
  kept.push_back(std::move(device));
  return all[0] + all[1];
}

Result<void> measure(Communicator& base) {
  Json answer;
  for (const std::string& name : exchange_names()) {
    const ExchangeKind kind = *exchange_of_name(name);
    if (kind == ExchangeKind::collectives || kind == ExchangeKind::nccl) continue;
    for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
      // Memory is registered anew for another size.
      LEMMA_ASSIGN_OR_RETURN(const auto own, exchanging_by(kind, base));
      LEMMA_ASSIGN_OR_RETURN(answer["seconds"][name][std::to_string(bytes)],
                             there_and_back(*own, bytes));
      LEMMA_RETURN_IF_ERROR(meet(base));
    }
  }
  for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
    LEMMA_ASSIGN_OR_RETURN(answer["seconds"]["fetched"][std::to_string(bytes)],
                           fetched(base, bytes));
  }
  LEMMA_ASSIGN_OR_RETURN(answer["pages"]["direct"], pages_touched(base, false));
  LEMMA_ASSIGN_OR_RETURN(answer["pages"]["through host"], pages_touched(base, true));
  if (base.rank() == 0) std::cout << answer.dump() << std::endl;
  return {};
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto done = run_as_process(words[1], 2, measure, [](const Error& error) {
    return Ending{"transfer_times: " + error.message, 1};
  });
  return done ? 0 : 1;
}
