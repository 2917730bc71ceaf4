#pragma once
// What the ranks of a program exchange, over any transport. A group is a list of ranks in order; all of them call the same
// functions in the same order. Bytes that are counted are those that leave a rank.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plans/on_ranks/windows.h"

namespace lemma::plans {

/// What goes from one rank to another in each step: messages of so many bytes.
struct MessageChannel {
  std::uint32_t number = 0;
  std::size_t from = 0, to = 0, bytes = 0;
};

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

  /// Says before the first step which messages will be sent. All ranks say the same.
  virtual Result<void> open_channels(std::span<const MessageChannel> /*channels*/) { return {}; }
  /// Gives a copy of the bytes to one rank, and does not wait for it. Messages with the same channel from one rank to another
  /// arrive in the order in which they were sent.
  virtual Result<void> send(std::size_t to, std::uint32_t channel,
                            std::span<const std::byte> sent) = 0;
  /// Waits for a message of as many bytes.
  virtual Result<void> receive(std::size_t from, std::uint32_t channel,
                               std::span<std::byte> received) = 0;

  /// Says where in its program the rank is, for what is told when it ends there.
  virtual void enter(std::string_view place) { place_ = place; }
  const std::string& place() const { return place_; }
  /// The program begins anew. What was received before the last step may be written over from now on.
  virtual Result<void> begin_step() { return {}; }
  /// Memory of so many bytes that the next call for the group receives into without a copy. Nothing: any memory will do.
  virtual Result<std::span<std::byte>> landing(const Group& /*group*/, std::size_t /*bytes*/) {
    return std::span<std::byte>();
  }

  /// What registers memory for transfers of one side, or nothing.
  virtual Windows* windows() { return nullptr; }

  /// Whether another rank has ended the run.
  virtual bool is_over() const { return false; }
  /// The error of an exchange that fails because another rank has ended.
  tl::unexpected<Error> left() {
    was_left_ = true;
    return unsupported("another rank has ended");
  }
  bool was_left() const { return was_left_; }

  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t messages() const { return messages_; }

 protected:
  void count(std::uint64_t messages, std::uint64_t bytes_each) {
    messages_ += messages;
    bytes_sent_ += messages * bytes_each;
  }

 private:
  std::uint64_t bytes_sent_ = 0, messages_ = 0;
  std::string place_;
  bool was_left_ = false;
};

/// Waits until all ranks have called it.
Result<void> meet(Communicator& communicator);

/// Runs what a rank does. An exception becomes an error.
Result<void> run_guarded(const std::function<Result<void>(Communicator& communicator)>& run,
                         Communicator& communicator);

/// The error with which a rank has ended: which one, and where in its program.
Error ended(const Communicator& communicator, Error error);

/// The place of a rank in a group; the group's size if it is not in it.
inline std::size_t place_in(const Group& group, std::size_t rank) {
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

}  // namespace lemma::plans
