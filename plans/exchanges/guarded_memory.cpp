#include "plans/exchanges/guarded_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace lemma::plans {

namespace {

/// What the handler of faults knows of a guarded memory.
struct Range {
  std::atomic<std::uintptr_t> begin = 0, end = 0;
  std::atomic<std::uint64_t> touched = 0;
};
constexpr std::size_t most_ranges = 64;
std::array<Range, most_ranges> ranges;  // NOLINT: a handler of signals has no other way to it
struct sigaction before;                // NOLINT

/// Counts the access, and lets it through.
void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (Range& range : ranges) {
    if (address < range.begin || address >= range.end) continue;
    ++range.touched;
    mprotect(reinterpret_cast<void*>(address / page * page), page, PROT_READ | PROT_WRITE);
    return;
  }
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    before.sa_sigaction(signal, info, context);
  else
    ::signal(signal, SIG_DFL);  // the access faults again
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
  });
}

std::byte* mapped(int file, std::size_t bytes, int access) {
  void* const memory = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

Result<std::unique_ptr<GuardedMemory>> GuardedMemory::create(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return unsupported("no memory can be mapped twice");
  std::byte* const guarded = mapped(file, bytes, PROT_NONE);
  std::byte* const open = mapped(file, bytes, PROT_READ | PROT_WRITE);
  close(file);
  if (guarded == nullptr || open == nullptr) return unsupported("no memory can be mapped twice");
  install_handler();
  std::unique_ptr<GuardedMemory> result(new GuardedMemory);
  result->guarded_ = {guarded, bytes};
  result->open_ = {open, bytes};
  for (std::size_t i = 0; i < most_ranges; ++i) {
    std::uintptr_t free = 0;
    const auto begin = reinterpret_cast<std::uintptr_t>(guarded);
    if (!ranges[i].begin.compare_exchange_strong(free, begin)) continue;
    ranges[i].touched = 0;
    ranges[i].end = begin + bytes;
    result->place_ = i;
    return result;
  }
  return unsupported("too many memories are guarded");
}

GuardedMemory::~GuardedMemory() {
  if (ranges[place_].begin == reinterpret_cast<std::uintptr_t>(guarded_.data())) {
    ranges[place_].end = 0;
    ranges[place_].begin = 0;
  }
  munmap(guarded_.data(), guarded_.size());
  munmap(open_.data(), open_.size());
}

std::uint64_t GuardedMemory::touched_pages() const { return ranges[place_].touched; }

void GuardedMemory::guard() { mprotect(guarded_.data(), guarded_.size(), PROT_NONE); }

}  // namespace lemma::plans
