#pragma once
// A tensor whose size the receiver does not know: the sender writes what it is and where it lies, and the receiver fetches it.

#include <cstdint>
#include <functional>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// From one rank to another one of a group of two. A tensor that lies in memory() is sent without a copy.
class Offered {
 public:
  /// Both call it; `most_bytes` is what can be sent at once.
  static Result<Offered> open(Communicator& base, const Group& pair, std::size_t most_bytes);

  /// Registered memory of this rank, for what it sends.
  std::span<std::byte> memory() const;
  /// Sends what lies at the beginning of memory(), and waits until it was fetched.
  Result<void> give(std::size_t bytes);
  /// Receives: `into` gives memory for so many bytes.
  Result<void> take(const std::function<std::span<std::byte>(std::size_t bytes)>& into);

 private:
  RegisteredWindow* data_ = nullptr;
  RegisteredWindow* control_ =
      nullptr;             // its memory: the size of what is offered; flags: offered, fetched
  std::size_t other_ = 0;  // its place
  std::uint64_t given_ = 0, taken_ = 0;
};

}  // namespace lemma::plans
