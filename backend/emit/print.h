#pragma once
// Statements as text. The printer decides about indentation, braces, pragmas, and what a language has for a statement.

#include <string>
#include <string_view>

#include "backend/emit/statements.h"

namespace lemma::backend::source {

enum class Dialect : std::uint8_t { cpp, cuda };

/// What a function is for.
enum class Linkage : std::uint8_t {
  exported,  // called from elsewhere, by its name
  kernel,    // of a task
  phase,     // of kernels: code that they share, and that stays one piece
  dispatch,  // one for all kernels
};

std::string print(const Statements& statements, Dialect dialect, int indent);

/// "(parameters) {...}"
std::string print_unnamed(const Function& function, Dialect dialect);
/// What stands before the name: "__device__ __noinline__ void ".
std::string function_head(const Function& function, Linkage linkage, Dialect dialect);
std::string print(const Function& function, Linkage linkage, std::string_view name,
                  Dialect dialect);

}  // namespace lemma::backend::source
