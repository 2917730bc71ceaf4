#pragma once
// What the path of an output stands for, before anything is written.

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace lemma {

struct OutputTarget {
  enum class Kind : std::uint8_t {
    file,        // a regular file, or none yet: it appears complete or not at all
    device,      // a device or a FIFO, which is written to
    descriptor,  // one of this process's own: /dev/stdout, /dev/fd/3, and what a shell gives for >(...)
  };
  Kind kind = Kind::file;
  std::filesystem::path path;  // with symbolic links followed, also one that leads to no file yet
  int descriptor = -1;         // of this process, which stays open

  bool is_stream() const { return kind != Kind::file; }
};

/// An error: a folder or a socket, or too many links.
Result<OutputTarget> output_target(const std::filesystem::path& path);

/// Whether writing goes on where the last write ended, with no file that could be replaced. False on any doubt.
bool is_stream(const std::filesystem::path& path);

}  // namespace lemma
