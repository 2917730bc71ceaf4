#pragma once
// The name of an emitted program: of its files, its functions and the targets of its build.

#include <string>
#include <string_view>

#include "backend/emit/emit_program.h"

namespace lemma::backend {

/// Letters, digits and underscores, beginning with a letter.
std::string identifier_of(std::string_view text);

/// The value of ProgramNames::name where the name is not decided yet.
inline constexpr std::string_view undecided_name = "ProgramToBeNamed7f3a";

/// Files that were emitted under the undecided name, with `wanted` in its place. "_model" is added to what cannot be used,
/// and "model_" goes before names that begin as those of the C library or of CUDA (pthread_mutex): a file of that name is among them (kernels.h), the source has an identifier that it would make again (last_message), the compiler
/// or the standard library includes a header of that name (time.h), or CMake keeps it for itself (test).
ProgramFiles with_name(ProgramFiles files, const std::string& wanted);

}  // namespace lemma::backend
