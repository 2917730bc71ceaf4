#pragma once
// A region program as a directory of CUDA source: one CUDA graph of library calls and persistent kernels.

#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// The task programs of the regions, then one without operators that has the inputs, the outputs and all weights: what
/// write_program takes beside the files.
std::vector<TaskProgram> programs_of(const RegionProgram& program, const VirtualDevice& device);

/// Contents by name of file, as emit_cuda_program has them, with the same errors. `programs`: programs_of.
Result<ProgramFiles> emit_region_program(const RegionProgram& program, Programs programs,
                                         const ProgramNames& names, const CudaOptions& options);

}  // namespace lemma::backend
