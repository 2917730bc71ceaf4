#pragma once
// Digests of what files hold.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace lemma {

/// The digest of a file.
Result<std::string> file_digest(const std::filesystem::path& file);

/// The digest of all files below a folder, with their names.
Result<std::string> folder_digest(const std::filesystem::path& folder);

/// The digest of a model with the files that its tensors refer to, and their names. The model's own
/// name is no part of it.
Result<std::string> model_digest(const std::filesystem::path& model);
/// The digest of a model that is not in its folder yet; its data is.
Result<std::string> model_digest(const std::filesystem::path& model,
                                 const std::filesystem::path& data_folder);

/// Size, time of change and inode of a file: as long as they stay the same, so does what it holds. "missing" if it is not there.
std::string file_state(const std::filesystem::path& file);

/// Size, time of change and inode of a model's files: as long as they stay the same, so do the contents. Empty if the
/// model cannot be read.
std::string model_state(const std::filesystem::path& model);

/// The digest of this program and what it means by its operators.
Result<std::string> program_digest();

}  // namespace lemma
