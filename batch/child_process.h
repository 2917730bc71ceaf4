#pragma once
// Each model is optimized in its own process, so that a crash, an endless loop or a memory limit of
// one does not affect the others. Parent and child exchange lines of text: the request goes to the
// child's standard input, and answers come from its standard output.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "system/program.h"

namespace lemma {

struct ChildOutcome : ProgramEnd {
  std::vector<std::string> lines;  // of standard output
  bool timed_out = false;          // it was killed at its deadline
  bool interrupted = false;        // it ended as this process was asked to end
  std::string not_started;         // why it could not be started; else empty
};

/// How a child's line begins that says that a file was cut while it was read: a child that was told so by
/// tell_cut_files(). The rest is what is said of it. The child ends then.
inline constexpr const char* cut_file_prefix = "cut ";
/// What is said of the file that a child found cut, if one was.
std::optional<std::string> cut_file(const ChildOutcome& outcome);

/// Why a child ended without an answer, for people; not for one that timed out.
std::string end_without_answer(const ProgramEnd& end);
/// Whether that is no fault of the program: the system killed it, could not load it, or refused it something.
bool was_ended_by_system(const ProgramEnd& end);

struct ChildRequest {
  std::vector<std::string> arguments;  // of this program, without its name
  std::string input;                   // for its standard input
  double time_limit_seconds = 0;       // 0: none
};

/// Called for every line as it comes.
using LineHandler = std::function<void(std::size_t child, const std::string& line)>;
/// Called once for each child when it has ended.
using EndHandler = std::function<void(std::size_t child, const ChildOutcome& outcome)>;

/// Runs this program once for each request, at most `jobs` at a time, in order of requests. The
/// callbacks run on the calling thread. An interruption (SIGINT, SIGTERM or SIGHUP, unless this process was started
/// with it ignored) ends all children; returns false then.
bool run_children(const std::vector<ChildRequest>& requests, std::size_t jobs,
                  const LineHandler& on_line, const EndHandler& on_end);

}  // namespace lemma
