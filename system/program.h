#pragma once
// Child processes, without a shell. Each has a supervisor (supervisor.cpp), which ends it and all of its descendants when
// this process ends, in whatever way, so that none outlives it. A program's descendants end with the program, too.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma {

struct Program {
  /// The program's file, looked for on the search path unless the name has a slash, and its
  /// arguments.
  std::vector<std::string> words;
  std::filesystem::path directory = {};  // that it works in; empty: this process's
  bool shows_errors = false;             // its standard error is ours; else nobody reads it
  std::size_t memory_limit_bytes = 0;    // of the data of each of its processes; 0: none of its own
};

struct ProgramEnd {
  int exit_status = -1;  // of a program that exited
  int signal = 0;        // that ended it, else 0
  double seconds = 0;    // since it was started
  long peak_memory_bytes = 0;

  bool succeeded() const { return exit_status == 0; }
};

class RunningProgram {
 public:
  static Result<RunningProgram> start(const Program& program);
  RunningProgram(RunningProgram&& other) noexcept;
  RunningProgram& operator=(RunningProgram&& other) noexcept;
  /// Kills it and its descendants, unless wait() has told its end.
  ~RunningProgram();

  /// Sends text to its standard input; false if it reads no more. Waits while more is sent than it
  /// has read.
  bool send(std::string_view text);
  void close_input();

  /// Readable when there is output, or its end.
  int output_descriptor() const { return output_; }
  /// Takes in what comes on its standard output within so many seconds: returns at the first bytes, and
  /// false if there were none.
  bool receive(double seconds);
  /// A line that came, without its end, waiting for so many seconds; nothing if none has come.
  std::optional<std::string> read_line(double seconds);
  /// Takes what came and was not read.
  std::string take_output();
  /// Nothing more will come.
  bool is_output_closed() const { return is_output_closed_; }

  double seconds() const;
  /// Kills it and all of its descendants. wait() tells when they are gone.
  void kill();
  /// Sends a signal to its process group.
  void signal(int number);
  /// Waits for the program's end: that, if it comes within so many seconds.
  std::optional<ProgramEnd> wait(double seconds);

 private:
  RunningProgram() = default;

  pid_t process_ = -1;   // of the supervisor, which ends as the program did
  int connection_ = -1;  // to the supervisor: it kills the program when this end is closed
  int input_ = -1, output_ = -1;
  bool is_output_closed_ = false;
  std::string received_;
  std::chrono::steady_clock::time_point begin_;
};

struct ProgramRun : ProgramEnd {
  bool was_stopped = false;  // by is_over
  std::string output;        // up to where it ended
};

/// Whether so many seconds have passed since this call: the limit of a program that has no other one.
std::function<bool()> has_passed(double seconds);

/// Runs a program that reads nothing; is_over() is asked about fifty times a second and ends it.
Result<ProgramRun> run_program(const Program& program, const std::function<bool()>& is_over);

/// Runs programs, at most so many at a time, and returns how each ended, in their order. When one has failed or is_over()
/// says so, those that run are ended and no others begin: `was_stopped` is theirs, too.
Result<std::vector<ProgramRun>> run_programs(const std::vector<Program>& programs,
                                             std::size_t at_a_time,
                                             const std::function<bool()>& is_over);

/// The running program itself, as Program::words name it: it is found even if its file has been replaced or removed.
std::string own_program();

/// The program's place on the search path; empty if it is not installed.
std::string find_program(const std::string& name);

}  // namespace lemma
