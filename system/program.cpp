#include "system/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "system/supervisor_image.h"

extern char** environ;  // NOLINT

namespace lemma {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

/// How posix_spawn sets the supervisor of a program up. Its standard input and output are `input` and `output`.
class SpawnSettings {
 public:
  SpawnSettings(const Program& program, int input, int output, int connection) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    if (!program.directory.empty())
      posix_spawn_file_actions_addchdir_np(&actions_, program.directory.c_str());
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    if (!program.shows_errors)
      posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // It stays open under the same number.
    posix_spawn_file_actions_adddup2(&actions_, connection, connection);
    // Until it has a process group of its own, the supervisor gets signals that are for this process and its children
    // together. It ignores them as soon as it can.
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&blocked, number);
    posix_spawnattr_setsigmask(&attributes_, &blocked);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  /// 0, or the number of an error.
  int spawn(const std::string& file, std::vector<std::string> words, pid_t& process) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return posix_spawn(&process, file.c_str(), &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> supervisor_words(const Program& program, int connection) {
  std::vector<std::string> words = {"lemma-supervisor", std::to_string(connection),
                                    std::to_string(program.memory_limit_bytes)};
  words.insert(words.end(), program.words.begin(), program.words.end());
  return words;
}

/// The name as people know it.
std::string shown_name(const Program& program) {
  return program.words[0] == own_program() ? "a process for it" : program.words[0];
}

/// What the supervisor says of the program's start: 0, or the number of an error.
int start_of(int connection) {
  std::int32_t error = 0;
  ssize_t count = 0;
  while ((count = ::recv(connection, &error, sizeof error, MSG_WAITALL)) < 0 && errno == EINTR) {
  }
  return count == sizeof error ? error : ECHILD;
}

}  // namespace

Result<RunningProgram> RunningProgram::start(const Program& program) {
  RunningProgram running;
  LEMMA_ASSIGN_OR_RETURN(const std::string supervisor, supervisor_file());
  // A socket: a pipe whose reader has gone would end this process with a signal.
  std::array<int, 2> input = {-1, -1}, output = {-1, -1}, connection = {-1, -1};
  int error = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection.data()) != 0 ||
      pipe2(output.data(), O_CLOEXEC) != 0)
    error = errno;
  running.input_ = input[1];
  running.output_ = output[0];
  running.connection_ = connection[1];
  running.begin_ = Clock::now();
  if (error == 0)
    error = SpawnSettings(program, input[0], output[1], connection[0])
                .spawn(supervisor, supervisor_words(program, connection[0]), running.process_);
  if (error != 0) running.process_ = -1;
  close_descriptor(input[0]);
  close_descriptor(output[1]);
  close_descriptor(connection[0]);
  if (error == 0) error = start_of(running.connection_);
  if (error != 0)
    return unsupported(
        fmt::format("{} cannot be started: {}", shown_name(program), std::strerror(error)));
  return running;
}

RunningProgram::RunningProgram(RunningProgram&& other) noexcept { *this = std::move(other); }

RunningProgram& RunningProgram::operator=(RunningProgram&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(connection_, other.connection_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(is_output_closed_, other.is_output_closed_);
  std::swap(received_, other.received_);
  std::swap(begin_, other.begin_);
  return *this;
}

RunningProgram::~RunningProgram() {
  close_descriptor(input_);
  close_descriptor(output_);
  close_descriptor(connection_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

bool RunningProgram::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(input_, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RunningProgram::close_input() { close_descriptor(input_); }

bool RunningProgram::receive(double seconds) {
  if (is_output_closed_) return false;
  pollfd waited{output_, POLLIN, 0};
  const double milliseconds = std::clamp(1000 * seconds, 0.0, 1e9);
  if (poll(&waited, 1, static_cast<int>(milliseconds)) <= 0) return false;
  std::array<char, 65536> buffer{};
  const ssize_t count = ::read(output_, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return false;
  is_output_closed_ = count <= 0;
  if (count > 0) received_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<std::string> RunningProgram::read_line(double seconds) {
  const Clock::time_point begin = Clock::now();
  double left = seconds;
  while (true) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (!receive(left) && (is_output_closed_ || left <= 0)) return std::nullopt;
    left = std::max(0.0, seconds - Seconds(Clock::now() - begin).count());
  }
}

std::string RunningProgram::take_output() { return std::exchange(received_, {}); }

double RunningProgram::seconds() const { return Seconds(Clock::now() - begin_).count(); }

void RunningProgram::kill() { close_descriptor(connection_); }

void RunningProgram::signal(int number) {
  const auto byte = static_cast<unsigned char>(number);
  if (connection_ >= 0) (void)::send(connection_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<ProgramEnd> RunningProgram::wait(double seconds) {
  const Clock::time_point begin = Clock::now();
  auto pause = std::chrono::microseconds(200);
  siginfo_t information{};
  // As long as it has not been waited for in earnest, no other process can have its number.
  while (waitid(P_PID, static_cast<id_t>(process_), &information, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         information.si_pid == 0) {
    if (Seconds(Clock::now() - begin).count() >= seconds) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20'000));
  }
  int status = 0;
  struct rusage usage {};
  const pid_t ended = wait4(process_, &status, 0, &usage);
  ProgramEnd end;
  if (ended == process_ && WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (ended == process_ && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.peak_memory_bytes = usage.ru_maxrss * 1024;
  end.seconds = this->seconds();
  process_ = -1;
  kill();
  return end;
}

std::function<bool()> has_passed(double seconds) {
  return
      [begin = Clock::now(), seconds] { return Seconds(Clock::now() - begin).count() > seconds; };
}

namespace {

/// What a program that has ended has said.
ProgramRun run_of(RunningProgram& ended, const ProgramEnd& end, bool was_stopped) {
  while (ended.receive(0)) {
  }
  ProgramRun result;
  static_cast<ProgramEnd&>(result) = end;
  result.was_stopped = was_stopped;
  result.output = ended.take_output();
  return result;
}

}  // namespace

Result<ProgramRun> run_program(const Program& program, const std::function<bool()>& is_over) {
  LEMMA_ASSIGN_OR_RETURN(RunningProgram running, RunningProgram::start(program));
  running.close_input();
  bool was_stopped = false;
  constexpr double pause = 0.02;
  std::optional<ProgramEnd> end;
  while (!end) {
    if (!was_stopped && is_over()) {
      was_stopped = true;
      running.kill();
    }
    if (running.receive(pause)) continue;
    // Output that is closed before the end must not make this loop spin; one that a grandchild holds
    // open after the end must not make it wait.
    end = running.wait(running.is_output_closed() ? pause : 0);
  }
  return run_of(running, *end, was_stopped);
}

Result<std::vector<ProgramRun>> run_programs(const std::vector<Program>& programs,
                                             std::size_t at_a_time,
                                             const std::function<bool()>& is_over) {
  constexpr double pause = 0.01;
  std::vector<ProgramRun> results(programs.size());
  std::vector<std::pair<std::size_t, RunningProgram>> running;
  std::size_t begun = 0;
  bool is_stopped = false;
  while (!running.empty() || (begun < programs.size() && !is_stopped)) {
    if (!is_stopped && is_over()) {
      is_stopped = true;
      for (auto& [number, program] : running) program.kill();
    }
    while (!is_stopped && begun < programs.size() && running.size() < at_a_time) {
      LEMMA_ASSIGN_OR_RETURN(RunningProgram program, RunningProgram::start(programs[begun]));
      program.close_input();
      running.emplace_back(begun++, std::move(program));
    }
    std::erase_if(running, [&](auto& numbered) {
      auto& [number, program] = numbered;
      program.receive(0);
      const auto end = program.wait(pause / static_cast<double>(running.size()));
      if (!end) return false;
      results[number] = run_of(program, *end, is_stopped);
      return true;
    });
    const auto has_failed = [](const ProgramRun& run) {
      return run.exit_status > 0 || run.signal != 0;
    };
    if (!is_stopped && std::any_of(results.begin(), results.end(), has_failed)) {
      is_stopped = true;
      for (auto& [number, program] : running) program.kill();
    }
  }
  for (; begun < results.size(); ++begun) results[begun].was_stopped = true;
  return results;
}

// In a child "self" would be the supervisor.
std::string own_program() { return fmt::format("/proc/{}/exe", getpid()); }

std::string find_program(const std::string& name) {
  const char* search = std::getenv("PATH");
  std::stringstream places(search == nullptr ? "" : search);
  for (std::string place; std::getline(places, place, ':');) {
    const std::string candidate = (place.empty() ? "." : place) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return "";
}

}  // namespace lemma
