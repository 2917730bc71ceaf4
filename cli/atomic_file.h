#pragma once

#include <filesystem>
#include <string_view>

#include "ir/result.h"

namespace lemma {

/// The file has the new contents or, on any failure, is as it was: written beside it, then renamed.
Result<void> write_file_atomically(const std::filesystem::path& file, std::string_view contents);

}  // namespace lemma
