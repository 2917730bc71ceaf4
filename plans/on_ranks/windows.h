#pragma once
// Memory of ranks that others write to and read from without their help: registered once, then written with a flag behind it
// (Xue and others, "Fast distributed deep learning over RDMA", EuroSys 2019).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace lemma::plans {

class Communicator;
using Group = std::vector<std::size_t>;

/// Registered memory, and flags, of each rank of a group. Ranks are named by their place in it.
class RegisteredWindow {
 public:
  RegisteredWindow() = default;
  RegisteredWindow(const RegisteredWindow&) = delete;
  RegisteredWindow& operator=(const RegisteredWindow&) = delete;
  virtual ~RegisteredWindow() = default;

  /// The memory of this rank.
  virtual std::span<std::byte> own() const = 0;
  /// Writes to the memory of a rank, or reads from it.
  virtual Result<void> put(std::size_t place, std::size_t at, std::span<const std::byte> bytes) = 0;
  virtual Result<void> get(std::size_t place, std::size_t at, std::span<std::byte> into) = 0;
  /// Sets a flag of a rank, behind all that this rank has put there.
  virtual Result<void> signal(std::size_t place, std::size_t flag, std::uint64_t value) = 0;
  /// Waits until a flag of this rank is at least so large. Flags begin with 0.
  virtual Result<void> wait(std::size_t flag, std::uint64_t value) = 0;
};

/// What registers memory. Windows live as long as it does.
class Windows {
 public:
  Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;
  virtual ~Windows() = default;

  /// All of the group call it, in the same order.
  virtual Result<RegisteredWindow*> open(const Group& group, std::size_t bytes,
                                         std::size_t flags) = 0;
  /// Over memory that lives longer: by the address that transfers use (DeviceMemory::for_transfers).
  virtual Result<RegisteredWindow*> open_over(const Group& group, std::span<std::byte> memory,
                                              std::size_t flags) = 0;
};

/// Of ranks that are threads of one process. The communicator lives longer.
std::unique_ptr<Windows> windows_of_threads(Communicator& communicator);

}  // namespace lemma::plans
