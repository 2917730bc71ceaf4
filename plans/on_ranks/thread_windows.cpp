#include <atomic>
#include <cstring>
#include <thread>

#include "plans/on_ranks/communicator.h"
#include "plans/on_ranks/windows.h"

namespace lemma::plans {

namespace {

using Flag = std::atomic<std::uint64_t>;

/// Where the memory and the flags of a rank are.
struct Place {
  std::byte* memory = nullptr;
  Flag* flags = nullptr;
};

class ThreadWindow : public RegisteredWindow {
 public:
  ThreadWindow(Communicator& communicator, std::size_t flags)
      : communicator_(communicator), flags_(flags) {}

  /// Tells the others of the group where the memory is.
  Result<void> publish(const Group& group, std::span<std::byte> memory) {
    own_ = memory;
    const Place own{memory.data(), flags_.data()};
    places_.resize(group.size());
    return communicator_.all_gather(group, std::as_bytes(std::span(&own, 1)),
                                    std::as_writable_bytes(std::span(places_)));
  }

  std::span<std::byte> own() const override { return own_; }

  Result<void> put(std::size_t place, std::size_t at, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(places_[place].memory + at, bytes.data(), bytes.size());
    return {};
  }
  Result<void> get(std::size_t place, std::size_t at, std::span<std::byte> into) override {
    if (!into.empty()) std::memcpy(into.data(), places_[place].memory + at, into.size());
    return {};
  }
  Result<void> signal(std::size_t place, std::size_t flag, std::uint64_t value) override {
    places_[place].flags[flag].store(value, std::memory_order_release);
    return {};
  }
  Result<void> wait(std::size_t flag, std::uint64_t value) override {
    while (flags_[flag].load(std::memory_order_acquire) < value) {
      if (communicator_.is_over()) return communicator_.left();
      std::this_thread::yield();
    }
    return {};
  }

 private:
  Communicator& communicator_;
  std::vector<Flag> flags_;
  std::span<std::byte> own_;
  std::vector<Place> places_;  // by place in the group
};

class ThreadWindows : public Windows {
 public:
  explicit ThreadWindows(Communicator& communicator) : communicator_(communicator) {}

  Result<RegisteredWindow*> open(const Group& group, std::size_t bytes,
                                 std::size_t flags) override {
    constexpr std::size_t alignment = 64;
    auto& memory = memory_.emplace_back(new std::byte[bytes + alignment]);
    const std::size_t skipped =
        (alignment - reinterpret_cast<std::uintptr_t>(memory.get()) % alignment) % alignment;
    return open_over(group, {memory.get() + skipped, bytes}, flags);
  }
  Result<RegisteredWindow*> open_over(const Group& group, std::span<std::byte> memory,
                                      std::size_t flags) override {
    auto window = std::make_unique<ThreadWindow>(communicator_, flags);
    LEMMA_RETURN_IF_ERROR(window->publish(group, memory));
    windows_.push_back(std::move(window));
    return windows_.back().get();
  }

 private:
  Communicator& communicator_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<ThreadWindow>> windows_;
};

}  // namespace

std::unique_ptr<Windows> windows_of_threads(Communicator& communicator) {
  return std::make_unique<ThreadWindows>(communicator);
}

}  // namespace lemma::plans
