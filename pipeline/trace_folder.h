#pragma once
// A folder with a file for each step of something, for people who want to know what a step did.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lemma {

/// Writes DIR/01-read.txt, DIR/02-folding-constants.txt and so on, named after the steps: a line with the step, and a
/// text. Without a folder, nothing is written.
class TraceFolder {
 public:
  /// Files of an earlier trace in the folder are removed; they are known by their first line.
  explicit TraceFolder(std::filesystem::path folder);

  bool is_written() const { return !folder_.empty(); }
  /// `more`: of the first line, behind the step.
  void add(std::string_view step, std::string_view more, std::string_view text);
  /// The error of the first file that could not be written.
  Result<void> outcome() const { return outcome_; }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
  Result<void> outcome_;
};

}  // namespace lemma
