#pragma once
// A definition as C++: a function over pointers, from the same loop nests that the interpreter runs.

#include <string>
#include <string_view>
#include <vector>

#include "lowering/lower.h"

namespace lemma::backend {

/// What the functions of one file need above them. The file is compiled with the folder of Lemma's headers
/// on the include path, and without contraction of products and sums (-ffp-contract=off).
std::string_view cpp_prelude();

/// extern "C" void NAME(const void* const* inputs, void* const* outputs): the outputs of a definition whose
/// extents are constant, bit by bit as the interpreter has them where they are defined. Errors are
/// `unsupported`: element types that are not emitted yet. In blocks, axes are merged where they can be
/// (lowering/merge_axes.h), and sums of neighbouring elements are computed side by side (emit_block.h).
Result<std::string> emit_cpp(const Definition& definition,
                             const std::vector<lowering::InputView>& inputs, std::string_view name,
                             bool in_blocks = false);

}  // namespace lemma::backend
