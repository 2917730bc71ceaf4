#pragma once
// A task program as a directory of CUDA source: one persistent kernel, in which each block is a unit of the schedule.

#include "backend_cuda/emit/emit_program.h"
#include "backend_cuda/multiprocessor.h"

namespace lemma::backend {

/// Contents by name of file, as emit_program has them for a processor, with the same errors. The shared memory of a block
/// is that of a unit of the programs' device.
Result<ProgramFiles> emit_cuda_program(Programs programs, const ProgramNames& names,
                                       const CudaOptions& options);

}  // namespace lemma::backend
