#pragma once
// Memory of devices, and a device for tests: a processor that touches its memory is caught and counted.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace lemma::plans {

/// Memory of a device that transfers reach without the processor (GPUDirect).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  /// The memory, by the addresses that programs have.
  virtual std::span<std::byte> memory() const = 0;
  /// The same memory by the addresses that transfers and the device itself use.
  virtual std::span<std::byte> for_transfers() const = 0;
};

/// For tests. Each access of the processor to memory() faults; it is counted, and goes on.
class GuardedMemory : public DeviceMemory {
 public:
  static Result<std::unique_ptr<GuardedMemory>> create(std::size_t bytes);
  ~GuardedMemory() override;

  std::span<std::byte> memory() const override { return guarded_; }
  std::span<std::byte> for_transfers() const override { return open_; }
  /// Pages that a processor has touched; a page counts again after guard().
  std::uint64_t touched_pages() const;
  void guard();

 private:
  GuardedMemory() = default;
  std::span<std::byte> guarded_, open_;  // the same pages
  std::size_t place_ = 0;
};

}  // namespace lemma::plans
