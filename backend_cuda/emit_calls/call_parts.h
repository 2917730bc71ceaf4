#pragma once
// The files of emitted programs with calls of libraries that hardly depend on the program, as text in this library.

#include <string_view>

namespace lemma::backend::call_parts {

// Those of parts/, where "{{word}}" stands for what the program has.
extern const std::string_view program, library_codes, products, windows, cmake, readme;

}  // namespace lemma::backend::call_parts
