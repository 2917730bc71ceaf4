#pragma once
// What directories of CUDA source have in common, whatever stands around their persistent kernels.

#include "backend_cuda/emit_cuda/cuda_kernels.h"
#include "backend_cuda/emit_cuda/cuda_tables.h"

namespace lemma::backend {

struct CudaSource {
  CudaKernels kernels;
  CudaMemory memory;
};

/// The source of programs with as many units each, on one device.
Result<CudaSource> cuda_source(Programs programs, const CudaOptions& options);

/// Words of the kernels, which come before those of program_words.
Words cuda_words(Programs programs, const CudaOptions& options, const CudaSource& source);
/// Sets in words, which have those of program_words, what the self-check allows and the README says where factors
/// are rounded.
void allow_rounded_factors(const CudaOptions& options, Words& words);

/// The kernels and their tables, and what runs a program: all but the interface, the build file and the README.
ProgramFiles kernel_files(Programs programs, const CudaOptions& options, const CudaSource& source,
                          const Words& words);

}  // namespace lemma::backend
