#pragma once
// A process of its own for jobs of `lemma run`: one that crashes, does not end or needs too much memory affects no other.

#include <optional>
#include <string>
#include <vector>

#include "engines/model_run.h"
#include "system/program.h"

namespace lemma {

/// What is printed of a job.
struct RunReply {
  RunStatus status = RunStatus::passed;
  std::string output, errors;  // whole lines, for the two streams
};

/// One line of JSON, and what it says.
std::string to_json(const RunReply& reply);
Result<RunReply> parse_reply(const std::string& line);

class RunWorker {
 public:
  /// `arguments`: of this program, such that it reads jobs from standard input, a line for each, and writes a line
  /// with a RunReply for each. `time_limit_seconds`: for each job; 0: none.
  RunWorker(std::vector<std::string> arguments, double time_limit_seconds)
      : arguments_(std::move(arguments)), time_limit_seconds_(time_limit_seconds) {}

  /// An error says why there is no reply: the process timed out (`unsupported`), or was killed, crashed or could not be
  /// started. The next job has a new process then. `timed_out`: whether it was that.
  Result<RunReply> run(const std::string& job, bool& timed_out);

 private:
  Result<void> start();
  std::vector<std::string> arguments_;
  double time_limit_seconds_;
  std::optional<RunningProgram> program_;
};

/// The words that this process was started with, without its name.
std::vector<std::string> command_words();

}  // namespace lemma
