#pragma once
// Models that run as task programs (docs/rtask.md), built here and kept.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel_times.h"
#include "backend/step_times.h"
#include "interpreter/run.h"
#include "ir/graph.h"
#include "programs/emission.h"

namespace lemma {

struct ProgramOutputs {
  std::vector<interpreter::Tensor> values;
  backend::KernelCount kernels;  // that the program was planned from
};
/// Values of the graph's outputs, in order, by a program. It is compiled by $CXX or c++ into a folder named by its
/// source, below $LEMMA_CACHE or ~/.cache/lemma, unless it is there. `seconds` is the time of the computation alone.
Result<ProgramOutputs> run_as_task_program(const Graph& graph,
                                           std::span<const interpreter::NamedTensor> inputs,
                                           const backend::CompileOptions& options, double& seconds);

/// When each step of a program begins and ends on this machine, in seconds, by unit and position: of the run of median
/// length among so many. The program is built as above.
Result<StepTimes> measured_step_times(const backend::TaskProgram& program,
                                      std::span<const interpreter::NamedTensor> inputs, int runs);

struct CudaOutputs {
  std::vector<interpreter::Tensor> values;
  std::string no_device;  // why nothing was computed; the program is built then all the same
};
/// The same on an NVIDIA device, compiled by nvcc ($CUDACXX) and run by a process of its own.
Result<CudaOutputs> run_on_cuda_device(const Graph& graph,
                                       std::span<const interpreter::NamedTensor> inputs,
                                       const NvidiaDevice& target, double& seconds);

}  // namespace lemma
