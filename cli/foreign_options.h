#pragma once
// Options of other programs that clean ONNX models, for those who know them.

#include <string>
#include <string_view>

namespace lemma {

/// What the option is called here, or what takes its place, as a sentence; empty if none of those programs has
/// it. `word` may have a value after '='.
std::string answer_to_foreign_option(std::string_view word);

}  // namespace lemma
