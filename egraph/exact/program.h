#pragma once
// Runs another program as a child that can be ended at any time.

#include <filesystem>
#include <string>
#include <vector>

#include "egraph/exact/outcome.h"

namespace lemma::exact {

/// Removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  /// False if none could be made.
  bool good() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The program's place on the search path; empty if it is not installed.
std::string find_program(const std::string& name);

struct ProgramRun {
  bool ended = false;  // by itself, before the limit
  int exit_status = -1;
  std::string output;  // standard output, up to where it was ended
};

/// Standard output goes through a file in `directory`, which becomes the child's working directory.
ProgramRun run_program(const std::vector<std::string>& words,
                       const std::filesystem::path& directory, const Limit& limit);

}  // namespace lemma::exact
