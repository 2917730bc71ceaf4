// Runs a command and counts the system calls of its processes that change files (traced_call.h). At one of them all
// its processes are killed, or one, or the call fails. See usage.

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "traced_call.h"

namespace {

constexpr const char* usage =
    "usage: fault_tracer --result FILE [--points changes|ENOSPC|EIO|EMFILE] [--at N] [--caller] "
    "[--stays]\n"
    "                    [--log FILE] [--limit SECONDS] [--linger SECONDS] COMMAND...\n"
    "Counts the calls of the kind that is given, from 1, over all processes that COMMAND starts. "
    "Before call N all\n"
    "of them are killed, or with --caller the one that makes the call; for another kind than "
    "`changes` the call\n"
    "fails instead, and with --stays each later one that would. FILE gets the end of COMMAND, the "
    "number of calls, the\n"
    "call N, and the processes that were alive 10 s (--linger) after COMMAND as JSON, the log a "
    "line of JSON "
    "for each call.\n"
    "Exit codes: 0, whatever COMMAND did; 2 bad usage; 3 processes cannot be traced here.\n";

struct Options {
  PointKind kind = PointKind::changes;
  long at = 0;  // 0: nothing happens
  bool only_caller = false, stays = false;
  double limit_seconds = 600, linger_seconds = 10;
  std::string result, log;
  std::vector<char*> command;  // ends with a null pointer
};

std::optional<Options> options_from(std::vector<char*> words) {
  Options options;
  std::size_t i = 0;
  const auto value = [&] { return std::string(++i < words.size() ? words[i] : ""); };
  for (; i < words.size() && std::string_view(words[i]).starts_with("--"); ++i) {
    const std::string_view word = words[i];
    if (word == "--points") {
      const auto kind = point_kind_named(value());
      if (!kind) return std::nullopt;
      options.kind = *kind;
    } else if (word == "--at") {
      options.at = std::atol(value().c_str());
    } else if (word == "--caller") {
      options.only_caller = true;
    } else if (word == "--stays") {
      options.stays = true;
    } else if (word == "--limit") {
      options.limit_seconds = std::atof(value().c_str());
    } else if (word == "--linger") {
      options.linger_seconds = std::atof(value().c_str());
    } else if (word == "--result") {
      options.result = value();
    } else if (word == "--log") {
      options.log = value();
    } else {
      return std::nullopt;
    }
  }
  for (; i < words.size(); ++i) options.command.push_back(words[i]);
  if (options.result.empty() || options.command.empty()) return std::nullopt;
  options.command.push_back(nullptr);
  return options;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string text_of_file(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string words_of(pid_t process) {
  std::string words = text_of_file("/proc/" + std::to_string(process) + "/cmdline");
  std::ranges::replace(words, '\0', ' ');
  return words.substr(0, 300);
}

class Tracer {
 public:
  explicit Tracer(const Options& options) : options_(options) {
    if (!options.log.empty()) log_.open(options.log);
  }

  /// False if processes cannot be traced here.
  bool start();
  void run_to_end();
  nlohmann::json result() const;

 private:
  void handle_stop(pid_t thread, int status);
  void handle_call(pid_t thread);
  void handle_end(pid_t thread, int status);
  void kill_all();
  void look_at_clocks();
  void go_on(pid_t thread, int signal = 0) const { ptrace(PTRACE_CONT, thread, nullptr, signal); }

  const Options& options_;
  std::ofstream log_;
  pid_t command_ = -1;
  std::set<pid_t> threads_;
  Clock::time_point begin_ = Clock::now(), command_ended_;
  std::optional<int> command_status_;
  long points_ = 0;
  nlohmann::json struck_;  // the call N
  std::vector<std::string> outlived_;
  bool kills_all_ = false, timed_out_ = false;
};

/// In the child: waits until it is traced, then becomes the command.
[[noreturn]] void become_command(int start, const std::vector<char*>& command) {
  char byte = 0;
  if (read(start, &byte, 1) != 1) _exit(125);
  close(start);
  std::vector<sock_filter> filter = call_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    _exit(125);
  execvp(command[0], command.data());
  _exit(127);
}

bool Tracer::start() {
  std::array<int, 2> gate{};
  if (pipe2(gate.data(), O_CLOEXEC) != 0) return false;
  command_ = fork();
  if (command_ < 0) return false;
  if (command_ == 0) {
    close(gate[1]);
    become_command(gate[0], options_.command);
  }
  close(gate[0]);
  constexpr int wanted = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  const bool traced = ptrace(PTRACE_SEIZE, command_, nullptr, wanted) == 0;
  if (traced && write(gate[1], "", 1) != 1) return false;
  close(gate[1]);
  threads_.insert(command_);
  return traced;
}

void Tracer::run_to_end() {
  // waitpid has no limit of time: a timer interrupts it.
  struct sigaction handler {};
  handler.sa_handler = [](int) {};
  sigaction(SIGALRM, &handler, nullptr);
  const itimerval ticks{{0, 50'000}, {0, 50'000}};
  setitimer(ITIMER_REAL, &ticks, nullptr);
  while (true) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0 && errno == ECHILD) return;
    if (thread > 0 && WIFSTOPPED(status)) handle_stop(thread, status);
    if (thread > 0 && !WIFSTOPPED(status)) handle_end(thread, status);
    look_at_clocks();
  }
}

void Tracer::look_at_clocks() {
  if (kills_all_) return;
  if (!command_status_ && seconds_since(begin_) > options_.limit_seconds) {
    timed_out_ = true;
    kill_all();
  }
  if (command_status_ && seconds_since(command_ended_) > options_.linger_seconds) {
    for (const pid_t thread : threads_)
      if (std::string words = words_of(thread); !words.empty())
        outlived_.push_back(std::move(words));
    kill_all();
  }
}

void Tracer::kill_all() {
  kills_all_ = true;
  for (const pid_t thread : threads_) kill(thread, SIGKILL);
}

void Tracer::handle_end(pid_t thread, int status) {
  threads_.erase(thread);
  if (thread != command_) return;
  command_status_ = status;
  command_ended_ = Clock::now();
}

void Tracer::handle_stop(pid_t thread, int status) {
  threads_.insert(thread);
  if (kills_all_) {
    kill(thread, SIGKILL);
    return;
  }
  const int signal = WSTOPSIG(status);
  switch (status >> 16) {
    case 0: go_on(thread, signal); return;
    case PTRACE_EVENT_SECCOMP: handle_call(thread); return;
    case PTRACE_EVENT_STOP:
      if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
        ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
      else
        go_on(thread);
      return;
    case PTRACE_EVENT_EXEC: {
      // The thread that made the call goes on under the number of its process.
      unsigned long former = 0;
      if (ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &former) == 0 &&
          static_cast<pid_t>(former) != thread)
        threads_.erase(static_cast<pid_t>(former));
      go_on(thread);
      return;
    }
    default: go_on(thread); return;
  }
}

void Tracer::handle_call(pid_t thread) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return go_on(thread);
  const std::optional<TracedCall> call = point_at(thread, registers, options_.kind);
  if (!call) return go_on(thread);
  ++points_;
  const bool strikes = points_ == options_.at || (options_.stays && options_.at > 0 &&
                                                  points_ > options_.at && call->fails_on);
  if (log_.is_open() || points_ == options_.at) {
    std::string program = text_of_file("/proc/" + std::to_string(thread) + "/comm");
    if (program.ends_with('\n')) program.pop_back();
    const nlohmann::json shown{
        {"at", points_}, {"call", call->name}, {"path", call->path}, {"program", program}};
    const std::string line = shown.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (log_.is_open()) log_ << line << '\n';
    if (points_ == options_.at) struck_ = nlohmann::json::parse(line);
  }
  if (!strikes) return go_on(thread);
  if (options_.kind != PointKind::changes) {
    // The call is left out, and returns the error.
    registers.orig_rax = static_cast<unsigned long long>(-1);
    registers.rax = static_cast<unsigned long long>(-error_of(options_.kind));
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
    return go_on(thread);
  }
  // A thread that is killed in this stop does not make its call.
  if (options_.only_caller)
    kill(thread, SIGKILL);
  else
    kill_all();
}

nlohmann::json Tracer::result() const {
  nlohmann::json result{
      {"points", points_}, {"struck", struck_}, {"outlived", outlived_}, {"timed_out", timed_out_}};
  const int status = command_status_.value_or(0);
  if (command_status_ && WIFEXITED(status)) result["exit"] = WEXITSTATUS(status);
  if (command_status_ && WIFSIGNALED(status)) result["signal"] = WTERMSIG(status);
  return result;
}

}  // namespace

int main(int count, char** words) {
  const std::optional<Options> options = options_from({words + 1, words + count});
  if (!options) {
    std::cerr << usage;
    return 2;
  }
  Tracer tracer(*options);
  if (!tracer.start()) {
    std::cerr << "fault_tracer: processes cannot be traced here: " << std::strerror(errno) << '\n';
    return 3;
  }
  tracer.run_to_end();
  std::ofstream(options->result) << tracer.result().dump(-1, ' ', false,
                                                         nlohmann::json::error_handler_t::replace);
  return 0;
}
