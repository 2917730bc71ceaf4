#pragma once
// Kernels as files: a header that declares them, and sources of about equal size, which can be compiled at the same time.

#include <string>
#include <vector>

#include "backend/emit/emit_program.h"
#include "backend/emit/kernel_text.h"

namespace lemma::backend {

/// "kernels_0.cpp" and so on, which the same programs always have as many of; last of all the header "kernels.h".
ProgramFiles kernel_files(const KernelTexts& kernels, const std::string& name, bool has_residues);

/// Whether a file of a program is a source of kernels.
bool is_kernel_source(std::string_view file);

}  // namespace lemma::backend
