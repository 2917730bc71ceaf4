#pragma once
// A model that comes from standard input, or goes to a place that is no regular file, stands in a file of its own
// meanwhile: it is looked at and run before it is sent.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "outputs/scratch.h"

namespace lemma {

class StandardStreams {
 public:
  /// The word that stands for them.
  static constexpr std::string_view word = "-";
  /// Standard output as a path.
  static constexpr const char* output_path = "/proc/self/fd/1";

  /// A file with what standard input holds.
  Result<std::string> input();
  /// A file to write what is to be sent.
  Result<std::string> output();
  /// Sends it to a device, a FIFO or a descriptor.
  Result<void> send(const std::filesystem::path& target) const;

 private:
  Result<std::filesystem::path> file(const char* name);
  std::optional<TemporaryDirectory> folder_;
};

}  // namespace lemma
