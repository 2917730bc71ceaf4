#include "plans/on_ranks/mpi/windows.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lemma::plans {

namespace {

constexpr std::size_t longest = std::size_t{1} << 30U;  // of a transfer
constexpr int polls_before_others_run = 2000;

Result<void> checked(int code) {
  if (code == MPI_SUCCESS) return {};
  return unsupported("MPI reports that a transfer failed");
}

/// One group of a machine at a time: OpenMPI 4 names the file behind shared memory by a number of the communicator, which groups
/// without a rank in common may both have. The first rank of the group holds the lock, and takes it when all of the group have come,
/// so that groups with a rank in common do not wait for each other.
class AllocationTurn {
 public:
  explicit AllocationTurn(MPI_Comm communicator) : communicator_(communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator_, &rank);
    MPI_Barrier(communicator_);
    if (rank == 0) {
      // A file that all have; what it holds does not matter.
      file_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
      while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
      }
    }
    MPI_Barrier(communicator_);
  }
  AllocationTurn(const AllocationTurn&) = delete;
  AllocationTurn& operator=(const AllocationTurn&) = delete;
  ~AllocationTurn() {
    MPI_Barrier(communicator_);
    if (file_ >= 0) close(file_);
  }

 private:
  MPI_Comm communicator_;
  int file_ = -1;
};

/// A window of MPI that all may use at any time.
class Opened {
 public:
  /// Over the given memory; or over memory of so many bytes that MPI allocates, which ranks of one machine share.
  Opened(MPI_Comm communicator, void* given, std::size_t bytes) {
    if (given != nullptr) {
      MPI_Win_create(given, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, communicator, &window_);
    } else {
      const AllocationTurn turn(communicator);
      MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, communicator, &given,
                       &window_);
    }
    memory_ = {static_cast<std::byte*>(given), bytes};
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  MPI_Win window() const { return window_; }
  std::span<std::byte> memory() const { return memory_; }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

class MpiWindow : public RegisteredWindow {
 public:
  MpiWindow(MPI_Comm communicator, void* given, std::size_t bytes, std::size_t flags)
      : communicator_(communicator),
        memory_(communicator, given, bytes),
        flags_(communicator, nullptr, flags * sizeof(std::uint64_t)) {
    std::fill(flags_.memory().begin(), flags_.memory().end(), std::byte{0});
    MPI_Win_sync(flags_.window());
    MPI_Barrier(communicator);
  }

  std::span<std::byte> own() const override { return memory_.memory(); }

  Result<void> put(std::size_t place, std::size_t at, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), longest));
      LEMMA_RETURN_IF_ERROR(checked(MPI_Put(
          part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(place),
          static_cast<MPI_Aint>(at), static_cast<int>(part.size()), MPI_BYTE, memory_.window())));
      at += part.size();
      bytes = bytes.subspan(part.size());
    }
    return {};
  }

  Result<void> get(std::size_t place, std::size_t at, std::span<std::byte> into) override {
    while (!into.empty()) {
      const auto part = into.first(std::min(into.size(), longest));
      LEMMA_RETURN_IF_ERROR(checked(MPI_Get(
          part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(place),
          static_cast<MPI_Aint>(at), static_cast<int>(part.size()), MPI_BYTE, memory_.window())));
      at += part.size();
      into = into.subspan(part.size());
    }
    return checked(MPI_Win_flush(static_cast<int>(place), memory_.window()));
  }

  Result<void> signal(std::size_t place, std::size_t flag, std::uint64_t value) override {
    const auto target = static_cast<int>(place);
    LEMMA_RETURN_IF_ERROR(checked(MPI_Win_flush(target, memory_.window())));
    LEMMA_RETURN_IF_ERROR(checked(MPI_Put(&value, sizeof value, MPI_BYTE, target,
                                          static_cast<MPI_Aint>(flag * sizeof value), sizeof value,
                                          MPI_BYTE, flags_.window())));
    return checked(MPI_Win_flush(target, flags_.window()));
  }

  Result<void> wait(std::size_t flag, std::uint64_t value) override {
    const volatile auto* const flags =
        reinterpret_cast<const std::uint64_t*>(flags_.memory().data());
    for (int polls = 0; flags[flag] < value; ++polls) {
      MPI_Win_sync(flags_.window());
      int ignored = 0;  // what others ask of this process goes on while MPI is called
      if (polls % 16 == 15)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &ignored, MPI_STATUS_IGNORE);
      if (polls >= polls_before_others_run) sched_yield();
    }
    return checked(MPI_Win_sync(memory_.window()));
  }

 private:
  MPI_Comm communicator_;
  Opened memory_, flags_;
};

class MpiWindows : public Windows {
 public:
  explicit MpiWindows(std::function<const void*(const Group&)> communicator_of)
      : communicator_of_(std::move(communicator_of)) {}
  MpiWindows(const MpiWindows&) = delete;
  MpiWindows& operator=(const MpiWindows&) = delete;
  /// In the order in which they were opened, which is the same for all of a group.
  ~MpiWindows() override {
    for (auto& window : windows_) window.reset();
  }

  Result<RegisteredWindow*> open(const Group& group, std::size_t bytes,
                                 std::size_t flags) override {
    return add(group, nullptr, bytes, flags);
  }
  Result<RegisteredWindow*> open_over(const Group& group, std::span<std::byte> memory,
                                      std::size_t flags) override {
    return add(group, memory.data(), memory.size(), flags);
  }

 private:
  Result<RegisteredWindow*> add(const Group& group, void* given, std::size_t bytes,
                                std::size_t flags) {
    const auto* const communicator = static_cast<const MPI_Comm*>(communicator_of_(group));
    windows_.push_back(std::make_unique<MpiWindow>(*communicator, given, bytes, flags));
    return windows_.back().get();
  }

  std::function<const void*(const Group&)> communicator_of_;
  std::vector<std::unique_ptr<MpiWindow>> windows_;
};

}  // namespace

std::unique_ptr<Windows> windows_of_processes(
    std::function<const void*(const Group& group)> communicator_of) {
  return std::make_unique<MpiWindows>(std::move(communicator_of));
}

}  // namespace lemma::plans
