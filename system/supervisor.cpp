// The process between Lemma and a program that it runs. It starts the program, and ends it with all of its
// descendants when Lemma asks for that or is gone, however Lemma ended: their connection closes then. What the
// program leaves behind when it ends by itself is ended too. The supervisor ends as the program did.
//
//   supervisor CONNECTION MEMORY PROGRAM ARGUMENT...
//
// CONNECTION: the number of a stream socket. The supervisor writes one std::int32_t to it: 0, or the errno of a
// program that cannot be started. Each byte that it reads is the number of a signal for the program's process group.
// MEMORY: bytes of data that the program may have, or 0.
//
// A program of its own, because descendants whose parent has ended become children of this process
// (PR_SET_CHILD_SUBREAPER), and because it must not share memory, threads and descriptors with Lemma. It uses the C
// library only; system/CMakeLists.txt puts its bytes into the library.

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

namespace {

struct Child {
  pid_t process = -1;  // and its process group
  bool has_ended = false;
  int status = 0;
};

void on_child_signal(int /*signal*/) {}

void wait_for_milliseconds(long count) {
  const timespec pause{count / 1000, count % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

/// Takes note of children that have ended. False: there are no children.
bool reap(Child& child) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended == 0) return true;
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return false;
    if (ended != child.process) continue;
    child.has_ended = true;
    child.status = status;
  }
}

/// The parent of a process, 0 if it is gone. In "PID (NAME) STATE PARENT" the name may hold anything.
pid_t parent_of(pid_t process) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = 0;
  const char* end = text + size;
  while (end != text && *end != ')') --end;
  constexpr int before_parent = 4;  // ") S "
  return text + size - end > before_parent ? std::atoi(end + before_parent) : 0;
}

void kill_children() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(processes)) {
    const pid_t process = std::atoi(entry->d_name);  // 0: another kind of entry
    if (process > 0 && parent_of(process) == self) kill(process, SIGKILL);
  }
  closedir(processes);
}

/// Children of what is killed become children of this process and are next.
void end_all(Child& child) {
  constexpr long longest_pause = 20,
                 patience = 5000;  // what cannot be killed is not waited for any longer
  long pause = 1;
  for (long waited = 0; waited < patience && reap(child); waited += pause) {
    if (!child.has_ended) kill(-child.process, SIGKILL);
    kill_children();
    wait_for_milliseconds(pause);
    pause = pause * 2 < longest_pause ? pause * 2 : longest_pause;
  }
}

/// Ends as the program ended.
[[noreturn]] void end_as(const Child& child) {
  if (WIFEXITED(child.status)) _exit(WEXITSTATUS(child.status));
  const int number = child.has_ended ? WTERMSIG(child.status) : SIGKILL;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the program's is enough
  std::signal(number, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  raise(number);
  _exit(128 + number);
}

/// Becomes, in the child, the program, or tells why not.
[[noreturn]] void become(char** words, rlim_t memory, const sigset_t& signals, int failure,
                         pid_t supervisor) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // for the case that somebody kills the supervisor
  if (getppid() != supervisor) _exit(127);
  if (memory > 0) {
    const rlimit limit{memory, memory};
    setrlimit(RLIMIT_DATA, &limit);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execvp(words[0], words);
  const std::int32_t error = errno;
  (void)!write(failure, &error, sizeof error);
  _exit(127);
}

/// 0, or the errno of a program that cannot be started.
std::int32_t start(char** words, rlim_t memory, const sigset_t& signals, Child& child) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  const pid_t supervisor = getpid();
  child.process = fork();
  if (child.process < 0) return errno;
  if (child.process == 0) become(words, memory, signals, failure[1], supervisor);
  setpgid(child.process, child.process);  // both do it: neither knows who is first
  close(failure[1]);
  std::int32_t error = 0;
  ssize_t size = 0;
  while ((size = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  close(failure[0]);
  return size == sizeof error ? error : 0;
}

/// Lets go of streams: what the program has open is not held open here.
void let_go_of_streams() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream <= 2; ++stream) {
    if (nothing < 0)
      close(stream);
    else
      dup2(nothing, stream);
  }
}

/// Hands on signals. False: the connection is closed.
bool attend(int connection, const Child& child) {
  unsigned char number = 0;
  const ssize_t size = read(connection, &number, 1);
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  if (size == 1) kill(-child.process, number);
  return size == 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 127;
  const int connection = std::atoi(words[1]);
  fcntl(connection, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::signal(SIGCHLD, SIG_DFL);  // were it ignored, nobody could wait for children
  // SIGCHLD arrives while this process waits, and at no other time.
  sigset_t child_signal, before;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, &before);
  // Lemma has blocked them until they are ignored here.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigdelset(&before, number);
  Child child;
  const std::int32_t error = start(words + 3, std::strtoull(words[2], nullptr, 10), before, child);
  // Only now: the program has the dispositions that this process was started with.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP})
    std::signal(number, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_child_signal;
  sigaction(SIGCHLD, &action, nullptr);
  let_go_of_streams();
  const bool is_told = write(connection, &error, sizeof error) == sizeof error;
  if (error != 0) return 127;
  sigset_t waiting = before;
  sigdelset(&waiting, SIGCHLD);
  bool is_connected = is_told;
  while (is_connected && reap(child) && !child.has_ended) {
    pollfd connected{connection, POLLIN, 0};
    if (ppoll(&connected, 1, nullptr, &waiting) > 0) is_connected = attend(connection, child);
  }
  end_all(child);
  end_as(child);
}
