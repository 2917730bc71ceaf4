#pragma once
// The modules by which processes are joined: shared libraries that are loaded when a launcher has started several.

#include <cstddef>
#include <filesystem>

#include "base/result.h"

namespace lemma::ranks {

/// The function of this name in a module for so many ranks. Errors (`unsupported`): there is no such module, or it is not made
/// for lemma.
Result<void*> module_function(const std::filesystem::path& module, const char* name,
                              std::size_t ranks);

/// The error where MPI joins another number of ranks than the launcher started.
Error other_launcher(std::size_t started, std::size_t joined);

}  // namespace lemma::ranks
