#include "batch/child_process.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "batch/exit_code.h"
#include "system/signals.h"

namespace lemma {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interruption(int /*signal*/) { interrupted = 1; }

/// While it lives, signals that ask this process to end are noted only.
class InterruptionNotes {
 public:
  InterruptionNotes() {
    struct sigaction action {};
    action.sa_handler = note_interruption;
    for (std::size_t i = 0; i < signals.size(); ++i)
      old_[i] = handle_unless_ignored(signals[i], action);
  }
  InterruptionNotes(const InterruptionNotes&) = delete;
  InterruptionNotes& operator=(const InterruptionNotes&) = delete;
  ~InterruptionNotes() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &old_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> old_{};
};

struct Child {
  std::size_t index = 0;  // of its request
  RunningProgram program;
  ChildOutcome outcome = {};
  std::optional<std::chrono::steady_clock::time_point> asked_to_end = {};
};

Result<RunningProgram> start(const ChildRequest& request) {
  Program program{{own_program()}};
  program.words.insert(program.words.end(), request.arguments.begin(), request.arguments.end());
  program.shows_errors = true;
  LEMMA_ASSIGN_OR_RETURN(RunningProgram running, RunningProgram::start(program));
  if (!running.send(request.input)) running.kill();
  running.close_input();
  return running;
}

/// Asks it to end, and kills it if it does not: it may have been started with the signal ignored.
void interrupt(Child& child) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::seconds(2);
  if (!child.asked_to_end) {
    child.asked_to_end = Clock::now();
    child.program.signal(SIGTERM);
  } else if (Clock::now() - *child.asked_to_end > patience) {
    child.program.kill();
  }
}

/// False when it has ended.
bool attend(const ChildRequest& request, Child& child, const LineHandler& on_line) {
  if (interrupted != 0) interrupt(child);
  if (request.time_limit_seconds > 0 && !child.outcome.timed_out &&
      child.program.seconds() >= request.time_limit_seconds) {
    child.program.kill();
    child.outcome.timed_out = true;
  }
  while (const auto line = child.program.read_line(0)) {
    child.outcome.lines.push_back(*line);
    on_line(child.index, *line);
  }
  const auto end = child.program.is_output_closed() ? child.program.wait(0.001) : std::nullopt;
  if (end) {
    static_cast<ProgramEnd&>(child.outcome) = *end;
    // A terminal sends its signal to the child too, which may be first.
    child.outcome.interrupted =
        interrupted != 0 &&
        (end->signal == SIGTERM || end->signal == SIGINT || end->signal == SIGHUP ||
         (end->signal == SIGKILL && child.asked_to_end));
  }
  return !end;
}

}  // namespace

std::optional<std::string> cut_file(const ChildOutcome& outcome) {
  if (outcome.lines.empty() || !outcome.lines.back().starts_with(cut_file_prefix))
    return std::nullopt;
  return outcome.lines.back().substr(std::string_view(cut_file_prefix).size());
}

namespace {

constexpr int cannot_load = 127;  // of ld.so, and of a shell

/// Whether it ended as this program does when the system refuses it something (process_faults.h): a line on
/// standard error says what.
bool has_said_why(const ProgramEnd& end) {
  return end.signal == 0 && end.exit_status == static_cast<int>(ExitCode::some_models_failed);
}

}  // namespace

std::string end_without_answer(const ProgramEnd& end) {
  if (end.signal == SIGKILL) return "the process was killed (is there too little memory?)";
  if (end.signal != 0) return fmt::format("the process ended with signal {}", end.signal);
  if (has_said_why(end)) return "the process has given up; the line before says why";
  if (was_ended_by_system(end))
    return "the process cannot be loaded (are there too few file descriptors, or too little "
           "memory?)";
  return fmt::format("the process ended with code {} and no answer", end.exit_status);
}

bool was_ended_by_system(const ProgramEnd& end) {
  if (end.signal != 0) return end.signal == SIGKILL;
  return end.exit_status == cannot_load || has_said_why(end);
}

bool run_children(const std::vector<ChildRequest>& requests, std::size_t jobs,
                  const LineHandler& on_line, const EndHandler& on_end) {
  const InterruptionNotes notes;
  std::vector<Child> running;
  std::size_t next = 0;
  while ((next < requests.size() && interrupted == 0) || !running.empty()) {
    for (; next < requests.size() && running.size() < std::max<std::size_t>(jobs, 1) &&
           interrupted == 0;
         ++next) {
      auto program = start(requests[next]);
      if (program) {
        running.push_back({next, std::move(*program)});
      } else {
        ChildOutcome outcome;
        outcome.not_started = program.error().message;
        outcome.interrupted = interrupted != 0;  // the signal may be the reason
        on_end(next, outcome);
      }
    }
    std::vector<pollfd> watched;
    for (const Child& child : running)
      watched.push_back({child.program.output_descriptor(), POLLIN, 0});
    poll(watched.data(), watched.size(), 100);
    for (std::size_t i = running.size(); i-- > 0;) {
      if (attend(requests[running[i].index], running[i], on_line)) continue;
      on_end(running[i].index, running[i].outcome);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return interrupted == 0;
}

}  // namespace lemma
