#pragma once
// Digests of what files hold.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace lemma {

/// Of a file.
Result<std::string> file_digest(const std::filesystem::path& file);

/// Of all files below a folder, with their names.
Result<std::string> folder_digest(const std::filesystem::path& folder);

/// Of a model with the files that its tensors refer to, and their names. Not of the model's own name.
Result<std::string> model_digest(const std::filesystem::path& model);
/// Of a model that is not in its folder yet; its data is.
Result<std::string> model_digest(const std::filesystem::path& model,
                                 const std::filesystem::path& data_folder);

/// Size, time of change and inode of a model's files: as long as they stay the same, so do the contents. Empty if the
/// model cannot be read.
std::string model_state(const std::filesystem::path& model);

/// Of this program and what it means by its operators.
Result<std::string> program_digest();

}  // namespace lemma
