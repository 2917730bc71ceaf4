#pragma once
// A journal of joined groups and of the attempts to join them. A resumed run repeats the attempts,
// whose outcomes are in another journal (generator/rule_cache.h), without matching rules against
// all terms. An interruption loses a fraction of a second of work.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/journal.h"

namespace lemma::generator {

class JoinJournal {
 public:
  /// A rule was wanted between two terms of a group.
  struct Attempt {
    std::size_t group = 0, term = 0, other = 0;
  };
  /// The first groups of a phase, in order.
  struct Finished {
    std::size_t groups = 0;
    std::vector<Attempt> attempts;
  };

  /// Opens the journal; without that nothing is kept.
  Result<void> open(const std::filesystem::path& directory, std::string_view key);
  /// What is known of a phase; it is continued from there. Phases follow one another.
  Finished begin(std::size_t phase);

  void add(const Attempt& attempt);
  /// All attempts of the groups before this one were added.
  void finish(std::size_t groups);
  /// Writes what has not been written.
  void flush();

 private:
  Journal journal_;
  std::vector<Finished> known_;  // by phase
  std::size_t phase_ = 0;
  std::size_t written_ = 0, finished_ = 0;  // groups
  std::string attempts_;                    // not written yet
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace lemma::generator
