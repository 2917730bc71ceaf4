#pragma once
// Copying a model file with the files that its tensors refer to.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ir/result.h"

namespace lemma {

/// Where the file says that data of its tensors is: paths relative to its folder, sorted. The model need not be
/// one that can be imported.
Result<std::vector<std::string>> external_locations(const std::filesystem::path& model);

/// Bytes of the file and of those that it refers to, each as a whole. Those that are not there count nothing.
Result<std::uintmax_t> model_bytes(const std::filesystem::path& model);

/// Puts a file with the same bytes in place of `target`, and the files that it refers to beside it if that is
/// another folder. False, and nothing is changed, if another file has the place of one of these.
Result<bool> copy_model(const std::filesystem::path& model, const std::filesystem::path& target);

}  // namespace lemma
