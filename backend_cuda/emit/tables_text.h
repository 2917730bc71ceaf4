#pragma once
// The schedule of a program as constant tables for parts/run_time.h.

#include <string>

#include "backend_cuda/emit/kernel_text.h"

namespace lemma::backend {

std::string tables_text(const TaskProgram& program, const KernelTexts& kernels,
                        const std::string& weight_digest);

// Parts of it, which the tables of other targets share. Memories are the arena, the weights, the inputs and the outputs.
std::string location_text(const TaskProgram& program, const Buffer& buffer);
std::string tensors_text(const TaskProgram& program, std::string_view name,
                         const std::vector<BufferNumber>& buffers);
/// `qualifier`: of the tables.
std::string steps_text(const TaskProgram& program, const std::string& qualifier);

/// As a string of C.
std::string quoted_text(std::string_view text);
/// "f32[1, 3]"
std::string type_text(const Buffer& buffer);

std::size_t wait_count(const TaskProgram& program);

}  // namespace lemma::backend
