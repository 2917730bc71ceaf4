#pragma once
// A model that comes from standard input or goes to standard output stands in a file of its own meanwhile.

#include <filesystem>
#include <string>

#include "ir/result.h"

namespace lemma {

class StandardStreams {
 public:
  /// The word that stands for them.
  static constexpr std::string_view word = "-";

  StandardStreams() = default;
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;
  ~StandardStreams();

  /// A file with what standard input holds.
  Result<std::string> input();
  /// A file to write what is to go to standard output.
  Result<std::string> output();
  /// Sends it.
  Result<void> send() const;

 private:
  Result<void> make_folder();
  std::filesystem::path folder_;
};

}  // namespace lemma
