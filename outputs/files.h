#pragma once
// The one way to write a file. A regular file is written under another name in its folder, flushed to the device and then
// renamed, so that it appears complete or not at all; a symbolic link is followed and stays. Devices, FIFOs and
// descriptors of the process are written to.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "outputs/output_target.h"
#include "outputs/staging.h"

namespace lemma {

struct OutputOptions {
  /// The permissions of the file. Nothing: those of the file that is replaced, else those that the
  /// umask leaves.
  std::optional<std::filesystem::perms> permissions = std::nullopt;
};

class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& target,
                                   const OutputOptions& options = {});
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes what was written unless it was published.
  ~OutputFile();

  Result<void> write(std::span<const std::byte> bytes);
  /// Zeros up to the offset.
  Result<void> pad_to(std::uint64_t offset);
  /// Where what was written is until it is published; empty for a stream.
  std::filesystem::path path() const { return staged_ ? staged_->path() : std::filesystem::path(); }
  std::uint64_t written() const { return written_; }
  /// Flushes to the device, so that publish() cannot put an incomplete file in place.
  Result<void> finish();
  /// Puts it in place; the folder is flushed too.
  Result<void> publish();
  /// Puts it in place under a name in the folder of the target, unless something has the name: false then.
  Result<bool> publish_new(const std::filesystem::path& name);

 private:
  explicit OutputFile(std::filesystem::path shown) : shown_(std::move(shown)) {}
  int descriptor() const { return staged_ ? staged_->descriptor() : stream_; }
  std::optional<StagedEntry> staged_;  // of a regular file
  int stream_ = -1;                    // else
  std::uint64_t written_ = 0;
  std::filesystem::path target_;
  std::filesystem::path shown_;  // as the caller named it
};

/// The file has the new contents or, on any failure, is as it was.
Result<void> write_file_atomically(const std::filesystem::path& file, std::string_view contents,
                                   const OutputOptions& options = {});

/// The same for each of many files of one folder, which are flushed together before the first is put in place.
Result<void> write_files_atomically(
    const std::filesystem::path& folder,
    std::span<const std::pair<std::string, std::string>> contents_by_name);

/// Renames a file or folder, unless something has the new name: false then. Never replaces anything.
Result<bool> rename_new(const std::filesystem::path& from, const std::filesystem::path& to);
/// Renames a file over what is there.
Result<void> rename_over(const std::filesystem::path& from, const std::filesystem::path& to);
/// Removes a regular file, which a symbolic link may lead to; nothing else, and no error.
void remove_file(const std::filesystem::path& file);
/// Flushes a folder's list of names. Some file systems cannot, which is no failure.
void flush_folder(const std::filesystem::path& folder);

/// Makes a folder with those above it; no error if it is there.
Result<void> make_folder(const std::filesystem::path& folder);

/// $HOME, else what the system knows of the user; empty if neither gives an absolute path.
std::filesystem::path home_folder();

/// The folder that holds the file; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& file);

}  // namespace lemma
