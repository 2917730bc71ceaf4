#pragma once
// A task program as a directory of CUDA source: one persistent kernel, in which each block is a unit of the schedule.

#include <string>
#include <string_view>

#include "backend/emit/emit_program.h"
#include "backend/multiprocessor.h"

namespace lemma::backend {

/// Contents by name of file, as emit_program has them for a processor, with the same errors. The shared memory of a block
/// is that of a unit of the programs' device.
Result<ProgramFiles> emit_cuda_program(Programs programs, const ProgramNames& names,
                                       const CudaOptions& options);

/// The digest of all that nvcc makes the code of a function from, but its text, the architecture and the number of
/// threads: the files that kernels.cuh includes, and the launch bounds of the persistent kernel, of which so many share
/// a multiprocessor. scripts/cuda_resources has it of a directory.
std::string header_digest(std::uint32_t blocks);
/// The digest of the text of a function, made in the same way.
std::string text_digest(std::string_view text);

}  // namespace lemma::backend
