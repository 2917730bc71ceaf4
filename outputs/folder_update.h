#pragma once
// Files of one folder that change together.
//
// A copy of the folder is made beside it (with hard links, so that no contents are copied). What is to change is changed
// there: files are replaced (outputs/files.h), never written in place. Then the copy and the folder exchange their names in one step:
// whoever opens a path sees the old files or the new ones, also after a kill at any moment.
//
// Where folders cannot be exchanged (a mount point, a file system without that, a parent folder that is not writable, or
// a folder in which this process works) the changed files are renamed one by one, new names first, and removals come last.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/result.h"
#include "outputs/staging.h"

namespace lemma {

class FolderUpdate {
 public:
  /// The folder need not be there. Waits while another process updates the same folder.
  static Result<FolderUpdate> begin(const std::filesystem::path& folder);
  FolderUpdate(FolderUpdate&& other) noexcept;
  FolderUpdate& operator=(FolderUpdate&&) = delete;
  /// The folder is as it was unless publish() was called.
  ~FolderUpdate();

  /// The copy, which is to be changed.
  const std::filesystem::path& copy() const { return copy_; }

  Result<void> publish();

 private:
  FolderUpdate(std::filesystem::path folder, StagedEntry staged, int lock);
  Result<void> copy_entries(const std::filesystem::path& below);
  bool is_changed(const std::filesystem::path& name) const;
  bool exchange();
  void keep_late(const std::filesystem::path& below,
                 const std::set<std::filesystem::path>& changed);
  Result<void> rename_each();

  std::filesystem::path folder_;
  StagedEntry staged_;
  std::filesystem::path copy_;  // in the staged entry
  int lock_ = -1;               // on the folder, or on its parent while it is not there
  bool is_in_place_ = false, is_new_ = false;
  std::map<std::filesystem::path, std::pair<ino_t, ino_t>>
      kept_;  // by relative path: in the folder, and of the copy
};

}  // namespace lemma
