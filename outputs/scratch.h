#pragma once
// Folders for what a run needs meanwhile.

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "outputs/staging.h"

namespace lemma {

/// Where processes put their temporary directories, if it is set. A process that is killed removes nothing; the one that
/// started it removes this folder.
inline constexpr const char* scratch_variable = "LEMMA_SCRATCH";

/// Removed with all that is in it: at the end, by the signal that ends the process, or by the next run if the process was
/// killed (outputs/staging.h).
class TemporaryDirectory {
 public:
  /// Makes a directory in the folder that scratch_variable names, else in that of the system.
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  /// False if none could be made.
  bool good() const { return entry_.has_value(); }
  /// `unsupported` in that case.
  Result<void> require() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<StagedEntry> entry_;
  std::filesystem::path path_;
};

}  // namespace lemma
