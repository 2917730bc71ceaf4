#pragma once
// Programs for an NVIDIA device, run by a process of their own: what goes wrong on the device ends only that.

#include <filesystem>
#include <span>
#include <vector>

#include "backend/program.h"
#include "base/result.h"
#include "interpreter/tensor.h"

namespace lemma::backend {

struct CudaRun {
  bool found_device = false;  // else there is nothing more
  std::vector<interpreter::Tensor> outputs;
  double seconds = 0;  // of the run alone
};

/// `folder`: what ProgramBuilder::create_for_cuda has built of the program. Inputs are in the order of the program.
Result<CudaRun> run_on_cuda(const std::filesystem::path& folder, const TaskProgram& program,
                            std::span<const interpreter::Tensor> inputs);

}  // namespace lemma::backend
