#pragma once
// What the ranks of a program exchange, over any transport. A group is a list of ranks in order; all of them call the same
// functions in the same order. Bytes that are counted are those that leave a rank.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace lemma::plans {

using Group = std::vector<std::size_t>;

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  /// Part i of `parts`, which are of equal size, goes to rank i of the group; `received` has what came from each.
  virtual Result<void> all_to_all(const Group& group, std::span<const std::byte> parts,
                                  std::span<std::byte> received) = 0;
  /// `all` has the part of each rank of the group.
  virtual Result<void> all_gather(const Group& group, std::span<const std::byte> part,
                                  std::span<std::byte> all) = 0;
  /// Sends to one rank, and receives as much from another one. A rank that is not in the group (its number is its size)
  /// takes no part: nothing is sent, and nothing received.
  virtual Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                             std::span<const std::byte> sent, std::span<std::byte> received) = 0;

  /// Gives a copy of the bytes to one rank, and does not wait for it. Messages with the same channel from one rank to another
  /// arrive in the order in which they were sent.
  virtual Result<void> send(std::size_t to, std::uint32_t channel,
                            std::span<const std::byte> sent) = 0;
  /// Waits for a message of as many bytes.
  virtual Result<void> receive(std::size_t from, std::uint32_t channel,
                               std::span<std::byte> received) = 0;

  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t messages() const { return messages_; }

 protected:
  void count(std::uint64_t messages, std::uint64_t bytes_each) {
    messages_ += messages;
    bytes_sent_ += messages * bytes_each;
  }

 private:
  std::uint64_t bytes_sent_ = 0, messages_ = 0;
};

/// The place of a rank in a group; the group's size if it is not in it.
inline std::size_t place_in(const Group& group, std::size_t rank) {
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

}  // namespace lemma::plans
