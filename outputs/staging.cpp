#include "outputs/staging.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lemma {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = ".lemma-";
constexpr std::size_t digits = 16;
constexpr int most_attempts = 100;

/// Neither two processes nor two machines or containers that share a folder take the same.
std::string random_name() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
  }
  return fmt::format("{}{:016x}", prefix, number);
}

/// The staged entries of this process, for the end by a signal.
class LiveEntries {
 public:
  static LiveEntries& instance() {
    static auto* const entries =
        new LiveEntries;  // lives as long as the thread that waits for signals
    return *entries;
  }
  void add(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    if (owner_ != ::getpid()) begin();
    paths_.insert(path);
  }
  void remove(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
  }
  /// True for the first call of a process for a folder.
  bool is_new_folder(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    return folders_.insert(folder).second;
  }
  /// Other threads may still be writing to a folder; a few attempts outrun them.
  void remove_all() {
    const std::lock_guard lock(mutex_);
    for (const fs::path& path : paths_)
      for (int attempt = 0; attempt < 10; ++attempt) {
        std::error_code error;
        fs::remove_all(path, error);
        if (!error) break;
      }
  }

 private:
  void begin();
  std::mutex mutex_;
  pid_t owner_ = 0;  // of the entries: a process that was forked has none
  std::set<fs::path> paths_, folders_;
};

int signal_events = -1;  // an eventfd that holds the number of the signal
pid_t signal_owner = 0;

void note_signal(int number) {
  const int saved = errno;
  const auto value = static_cast<std::uint64_t>(number);
  if (signal_owner != ::getpid() ||
      ::write(signal_events, &value, sizeof(value)) != sizeof(value)) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    ::kill(::getpid(), number);
  }
  // The write that failed is not to be reported by the thread that made it.
  while (number == SIGPIPE) ::pause();
  errno = saved;
}

/// Removing files is no task for a signal handler. The handler tells this thread, which removes them and ends the process
/// by the same signal.
void wait_for_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::uint64_t value = 0;
  while (::read(signal_events, &value, sizeof(value)) != sizeof(value))
    if (errno != EINTR) return;
  LiveEntries::instance().remove_all();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(static_cast<int>(value), &action, nullptr);
  sigemptyset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::kill(::getpid(), static_cast<int>(value));
}

void LiveEntries::begin() {
  owner_ = ::getpid();
  paths_.clear();
  const int events = ::eventfd(0, EFD_CLOEXEC);
  if (events < 0) return;
  signal_events = events;
  signal_owner = owner_;
  try {
    std::thread(wait_for_signals).detach();
  } catch (const std::system_error&) {
    return;  // no more threads: the next process removes what a signal leaves
  }
  // A signal that the caller ignores stays ignored, and one that has a handler keeps it.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU}) {
    struct sigaction old {};
    if (::sigaction(number, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

fs::path or_here(const fs::path& folder) { return folder.empty() ? fs::path(".") : folder; }

/// Whether the name still stands for what the descriptor is open for: another process may have taken the entry for an
/// abandoned one between its creation and its lock.
bool is_still_there(const fs::path& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/// False if another process has it. File systems without locks leave entries unlocked.
bool take_lock(int descriptor) {
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return true;
  }
  return true;
}

template <typename Make>
Result<std::pair<fs::path, int>> make_entry(const fs::path& folder, const Make& make) {
  const fs::path place = or_here(folder);
  if (LiveEntries::instance().is_new_folder(place)) remove_abandoned(place);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    fs::path path = place / random_name();
    const int descriptor = make(path);
    if (descriptor < 0) {
      if (errno == EEXIST || errno == ENOENT) {
        struct stat status {};
        if (errno == EEXIST || ::stat(place.c_str(), &status) == 0) continue;
        errno = ENOENT;
      }
      return bad_input(std::strerror(errno));
    }
    if (take_lock(descriptor) && is_still_there(path, descriptor))
      return std::pair(std::move(path), descriptor);
    ::close(descriptor);
  }
  return bad_input("no new name can be made");
}

}  // namespace

bool is_staged_name(const std::string& name) {
  return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

Result<StagedEntry> StagedEntry::file(const fs::path& folder, unsigned mode) {
  LEMMA_ASSIGN_OR_RETURN(auto made, make_entry(folder, [mode](const fs::path& path) {
                           return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                         mode);
                         }));
  return StagedEntry(std::move(made.first), made.second);
}

Result<StagedEntry> StagedEntry::directory(const fs::path& folder) {
  LEMMA_ASSIGN_OR_RETURN(auto made, make_entry(folder, [](const fs::path& path) {
                           if (::mkdir(path.c_str(), 0700) != 0) return -1;
                           return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                         }));
  return StagedEntry(std::move(made.first), made.second);
}

StagedEntry::StagedEntry(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {
  LiveEntries::instance().add(path_);
}

StagedEntry::StagedEntry(StagedEntry&& other) noexcept
    : path_(std::exchange(other.path_, {})), descriptor_(std::exchange(other.descriptor_, -1)) {}

StagedEntry::~StagedEntry() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  close();
  // Its own descriptor may have been the last one, and a folder needs one to be removed.
  for (int attempt = 0; error && attempt < 3; ++attempt) fs::remove_all(path_, error);
  keep();
}

void StagedEntry::keep() {
  if (!path_.empty()) LiveEntries::instance().remove(path_);
  path_.clear();
}

int StagedEntry::close() { return descriptor_ < 0 ? 0 : ::close(std::exchange(descriptor_, -1)); }

void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> staged;
  for (fs::directory_iterator i(or_here(folder), error), end; !error && i != end;
       i.increment(error))
    if (is_staged_name(i->path().filename().string())) staged.push_back(i->path());
  for (const fs::path& path : staged) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    const bool is_abandoned = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (is_abandoned && is_still_there(path, descriptor)) fs::remove_all(path, error);
    ::close(descriptor);
  }
}

}  // namespace lemma
