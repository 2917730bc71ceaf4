#pragma once
// Copying a model file with the files that its tensors refer to.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace lemma {

/// Where the file says that data of its tensors is: paths relative to its folder, sorted. The model need not be
/// one that can be imported.
Result<std::vector<std::string>> external_locations(const std::filesystem::path& model);

/// Bytes of the file and of those that it refers to, each as a whole. Those that are not there count nothing.
Result<std::uintmax_t> model_bytes(const std::filesystem::path& model);

/// The model and the files that it refers to, whether they are there or not.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& model);

/// Permissions for what is made of a model: those of its file, less what its data files keep from others. Nothing if it is
/// no regular file.
std::optional<std::filesystem::perms> model_permissions(const std::filesystem::path& model);

/// Is called with the file of a model that is complete, before it has its name, and the folder of its data, which is there.
using CompleteModel = std::function<void(const std::filesystem::path& model,
                                         const std::filesystem::path& data_folder)>;

/// Puts a file that computes the same in place of `target`, with the same bytes where possible. In another folder the
/// files that it refers to are copied beside it first, under names by their contents (external_data.h), and the copy
/// names these.
Result<void> copy_model(const std::filesystem::path& model, const std::filesystem::path& target,
                        const CompleteModel& before_publishing = nullptr);

}  // namespace lemma
