#include "verifier/index/solver_process.h"

#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "system/program.h"

namespace lemma::verifier::index {
namespace {

constexpr const char *refuted = "refuted", *not_refuted = "not refuted";

/// Processes that have nothing to do, for whatever thread asks next.
class SolverProcesses {
 public:
  void set_program(std::vector<std::string> words) {
    const std::lock_guard lock(mutex_);
    program_ = {std::move(words)};
  }
  /// Nothing if there is no program, or if it cannot be started.
  std::optional<RunningProgram> take() {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      RunningProgram process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
    if (program_.words.empty()) return std::nullopt;
    auto started = RunningProgram::start(program_);
    if (!started) return std::nullopt;
    return std::move(*started);
  }
  void give_back(RunningProgram process) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(process));
  }

 private:
  std::mutex mutex_;
  Program program_;
  std::vector<RunningProgram> idle_;
};

SolverProcesses& processes() {
  static SolverProcesses all;
  return all;
}

std::atomic<std::size_t> stopped_queries = 0;

void limit_processor_time(int seconds) {
  // The action of the signal is to end the process, and Z3 has no say in it.
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace

void set_solver_program(std::vector<std::string> words) {
  processes().set_program(std::move(words));
}

bool is_refuted_in_process(const std::string& smt, const Refutes& refutes) {
  std::optional<RunningProgram> process = processes().take();
  if (!process) return refutes(smt);
  if (process->send(fmt::format("{}\n{}", smt.size(), smt)))
    if (const auto answer = process->read_line(std::numeric_limits<double>::infinity())) {
      processes().give_back(std::move(*process));
      return *answer == refuted;
    }
  ++stopped_queries;
  return false;
}

std::size_t count_of_stopped_queries() { return stopped_queries; }

void answer_queries(const Refutes& refutes, int seconds) {
  std::signal(SIGPROF, SIG_DFL);
  std::size_t size = 0;
  while (std::cin >> size && std::cin.get() == '\n') {
    std::string smt(size, '\0');
    if (!std::cin.read(smt.data(), static_cast<std::streamsize>(size))) return;
    limit_processor_time(seconds);
    const bool answer = refutes(smt);
    limit_processor_time(0);
    std::cout << (answer ? refuted : not_refuted) << "\n" << std::flush;
  }
}

}  // namespace lemma::verifier::index
