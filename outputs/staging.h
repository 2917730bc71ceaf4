#pragma once
// Entries of folders that are not finished: files and folders that are renamed to their place when they are complete.
//
// Each has a name of its own, ".lemma-" and 16 random digits, and holds a lock (flock) while its process lives. What a
// killed process left is therefore known by its name and by the lock that died with it; the next process that writes to
// the folder removes it. A signal that ends the process removes its entries first, SIGKILL excepted.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace lemma {

class StagedEntry {
 public:
  /// An empty file, open for writing. `mode`: its permissions, less the process's umask.
  static Result<StagedEntry> file(const std::filesystem::path& folder, unsigned mode);
  /// An empty folder that only its owner may enter.
  static Result<StagedEntry> directory(const std::filesystem::path& folder);

  StagedEntry(StagedEntry&& other) noexcept;
  StagedEntry& operator=(StagedEntry&&) = delete;
  /// Removes what has not been kept.
  ~StagedEntry();

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// Keeps what is there: it has another name now, or none, and nothing is removed.
  void keep();
  /// Closes the descriptor, which gives the lock back. Returns what close() does.
  int close();

 private:
  StagedEntry(std::filesystem::path path, int descriptor);
  std::filesystem::path path_;  // empty once it is kept
  int descriptor_ = -1;
};

/// Whether an entry's name is that of a staged one.
bool is_staged_name(const std::string& name);

/// Removes the entries that processes left in the folder when they were killed. Those that are in use stay.
void remove_abandoned(const std::filesystem::path& folder);

}  // namespace lemma
