#pragma once
// What a command reads and writes, known before it writes anything.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma {

class FilePlan {
 public:
  /// `role` names the file in messages: "the input", "--report".
  void reads(const std::filesystem::path& file, std::string role);
  void writes(const std::filesystem::path& file, std::string role);
  /// All files in a folder and below whose names begin so.
  void reads_below(const std::filesystem::path& folder, const std::string& role,
                   std::string_view prefix = "");
  /// A folder that is made or filled: nothing else of the plan may be it.
  void fills(const std::filesystem::path& folder, std::string role);

  /// An error, which names both: two outputs that are one file, an output that is an input, or an output that is a
  /// folder. Files are one if they have one path, if links lead to one, or if their names differ by the case of letters
  /// only, which many file systems do not tell apart. Character devices may be named several times.
  Result<void> check() const;

 private:
  struct Entry {
    std::filesystem::path file;
    std::string role;
    bool is_folder = false;
  };
  std::vector<Entry> read_, written_;
};

/// A path for what the user did not name: the one that is asked for if it may be taken, else the first one that may be of
/// "NAME-1.EXTENSION", "NAME-2.EXTENSION", ...
std::filesystem::path free_path(
    const std::filesystem::path& wanted,
    const std::function<bool(const std::filesystem::path&)>& may_be_taken);
/// Whether nothing is there, or a file that Lemma wrote: its contents hold the marker, within the first 4 KiB.
bool is_free(const std::filesystem::path& file, std::string_view marker);
/// The same for a file, which may be taken if it is free.
std::filesystem::path free_path(const std::filesystem::path& wanted, std::string_view marker);

/// The process makes no file from now on that someone may read who may not read this one.
void limit_permissions_to(const std::filesystem::path& file);

}  // namespace lemma
