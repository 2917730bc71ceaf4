#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

extern char** environ;  // NOLINT

namespace lemma {

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

void note_interruption(int /*signal*/) { interrupted = 1; }

struct Child {
  pid_t process = -1;
  int output = -1;
  std::string partial_line;
  Clock::time_point start;
  ChildOutcome outcome;
};

/// A close-on-exec pipe; both ends are -1 on failure.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  return ends;
}

Child start(const ChildRequest& request) {
  Child child;
  child.start = Clock::now();
  const auto input = make_pipe(), output = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::vector<std::string> words = {"lemma"};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (posix_spawn(&child.process, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) !=
      0)
    child.process = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);
  // Requests are short (below the pipe's capacity), so this cannot block.
  const ssize_t written = write(input[1], request.input.data(), request.input.size());
  close(input[1]);
  if (written != static_cast<ssize_t>(request.input.size()) && child.process > 0)
    kill(child.process, SIGKILL);
  child.output = output[0];
  return child;
}

/// Reads what is there; false at the end of the output.
bool read_lines(std::size_t index, Child& child, const LineHandler& on_line) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(child.output, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  child.partial_line.append(buffer.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = child.partial_line.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    child.outcome.lines.push_back(child.partial_line.substr(begin, end - begin));
    on_line(index, child.outcome.lines.back());
  }
  child.partial_line.erase(0, begin);
  return true;
}

void finish(Child& child) {
  close(child.output);
  int status = 0;
  struct rusage usage {};
  if (child.process > 0 && wait4(child.process, &status, 0, &usage) == child.process) {
    if (WIFEXITED(status)) child.outcome.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) child.outcome.signal = WTERMSIG(status);
    child.outcome.peak_memory_bytes = usage.ru_maxrss * 1024;
  }
  child.outcome.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
}

void kill_late(const ChildRequest& request, Child& child) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - child.start).count();
  if (request.time_limit_seconds <= 0 || elapsed < request.time_limit_seconds) return;
  if (!child.outcome.timed_out && child.process > 0) kill(child.process, SIGKILL);
  child.outcome.timed_out = true;
}

}  // namespace

bool run_children(const std::vector<ChildRequest>& requests, std::size_t jobs,
                  const LineHandler& on_line, const EndHandler& on_end) {
  struct sigaction action {
  }, old_interrupt{}, old_terminate{};
  action.sa_handler = note_interruption;
  sigaction(SIGINT, &action, &old_interrupt);
  sigaction(SIGTERM, &action, &old_terminate);
  signal(SIGPIPE, SIG_IGN);
  std::vector<std::pair<std::size_t, Child>> running;
  std::size_t next = 0;
  while ((next < requests.size() && interrupted == 0) || !running.empty()) {
    while (next < requests.size() && running.size() < std::max<std::size_t>(jobs, 1) &&
           interrupted == 0) {
      running.emplace_back(next, start(requests[next]));
      ++next;
    }
    std::vector<pollfd> watched;
    for (const auto& [index, child] : running) watched.push_back({child.output, POLLIN, 0});
    poll(watched.data(), watched.size(), 100);
    for (std::size_t i = running.size(); i-- > 0;) {
      auto& [index, child] = running[i];
      if (interrupted != 0 && child.process > 0) kill(child.process, SIGTERM);
      kill_late(requests[index], child);
      if (watched[i].revents == 0 || read_lines(index, child, on_line)) continue;
      finish(child);
      on_end(index, child.outcome);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
  return interrupted == 0;
}

}  // namespace lemma
