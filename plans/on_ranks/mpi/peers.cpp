#include "plans/on_ranks/mpi/peers.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace lemma::plans {

namespace {

constexpr std::size_t longest_place = 120;
constexpr int milliseconds_between_looks = 20;

/// Of one rank, in memory that all on the machine share.
struct Entry {
  std::atomic<int> process = 0;
  std::atomic<int> rank = 0;
  std::atomic<bool> is_done = false;
  std::atomic<bool> has_last_word = false;  // of the first entry: one of them has spoken
  std::array<char, longest_place> place{};
};

/// A process that has ended stays a zombie until its launcher takes note.
bool is_zombie(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] == 'Z';
}

bool is_gone(int process) {
  return (kill(process, 0) != 0 && errno == ESRCH) || is_zombie(process);
}

}  // namespace

struct Peers::State {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::vector<Entry*> entries;
  Entry* own = nullptr;
  std::atomic<bool> ends = false;
  std::thread watcher;

  bool claim() { return !entries.front()->has_last_word.exchange(true); }

  const Entry* gone() const {
    for (const Entry* entry : entries)
      if (entry != own && !entry->is_done && is_gone(entry->process)) return entry;
    return nullptr;
  }

  /// Tells that a rank is gone, and ends this process.
  [[noreturn]] void end_because_of(const Entry& entry) {
    if (claim()) {
      std::array<char, 2 * longest_place> line{};
      const int size = std::snprintf(
          line.data(), line.size(), "lemma: rank %d was killed or has crashed%s%s: the run ends\n",
          entry.rank.load(), entry.place[0] != '\0' ? " at " : "", entry.place.data());
      [[maybe_unused]] const auto written =
          write(STDERR_FILENO, line.data(), static_cast<std::size_t>(size));
    }
    // The launcher passes on what was written before it ends the others.
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * milliseconds_between_looks));
    _exit(1);
  }

  /// The launcher sends SIGTERM to all when one is gone: this thread alone takes it.
  void watch() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    const timespec pause{0, milliseconds_between_looks * 1'000'000L};
    while (!ends) {
      const bool is_asked_to_end = sigtimedwait(&signals, nullptr, &pause) == SIGTERM;
      if (ends) return;
      if (const Entry* entry = gone(); entry != nullptr) end_because_of(*entry);
      if (!is_asked_to_end) continue;
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
      raise(SIGTERM);
    }
  }
};

Peers::Peers() : state_(new State) {
  State& state = *state_;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &state.machine);
  int place = 0, count = 1, rank = 0;
  MPI_Comm_rank(state.machine, &place);
  MPI_Comm_size(state.machine, &count);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* memory = nullptr;
  MPI_Win_allocate_shared(sizeof(Entry), 1, MPI_INFO_NULL, state.machine, &memory, &state.window);
  state.own = new (memory) Entry;
  state.own->process = getpid();
  state.own->rank = rank;
  for (int i = 0; i < count; ++i) {
    MPI_Aint size = 0;
    int unit = 1;
    void* other = nullptr;
    MPI_Win_shared_query(state.window, i, &size, &unit, &other);
    state.entries.push_back(static_cast<Entry*>(other));
  }
  MPI_Barrier(state.machine);
  // A process that cannot be seen from here, as that of another container, is not watched.
  const bool all_are_seen =
      std::all_of(state.entries.begin(), state.entries.end(),
                  [](const Entry* entry) { return !is_gone(entry->process); });
  MPI_Barrier(state.machine);
  if (!all_are_seen) return;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  state.watcher = std::thread([&state] { state.watch(); });
}

Peers::~Peers() {
  state_->own->is_done = true;
  MPI_Barrier(state_->machine);
  state_->ends = true;
  if (state_->watcher.joinable()) state_->watcher.join();
  MPI_Win_free(&state_->window);
  MPI_Comm_free(&state_->machine);
  delete state_;
}

void Peers::enter(std::string_view place) {
  auto& own = state_->own->place;
  const std::size_t size = std::min(place.size(), own.size() - 1);
  std::memcpy(own.data(), place.data(), size);
  own[size] = '\0';
}

bool Peers::claim_last_word() { return state_->claim(); }

}  // namespace lemma::plans
