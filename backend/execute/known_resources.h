#pragma once
// What nvcc made of functions before, and what is chosen in their place where it spilled registers, or where the kernel does not
// fit on a multiprocessor.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "profiler/function_resources.h"

namespace lemma::backend {

class KnownResources {
 public:
  KnownResources() = default;
  /// The facts of one architecture and one compiler, for so many blocks of a multiprocessor. Facts of other launch
  /// bounds, or of other headers than those of this program, are left out.
  KnownResources(const std::vector<ResourceFacts>& facts, std::uint32_t blocks);

  bool empty() const { return functions_.empty(); }

  /// Whether something speaks against programs that were planned with these options. What is not to be chosen again is added
  /// to the options then: tiles, cuts of operators, or so many threads of a block. `device`: has the options too, if it
  /// describes a multiprocessor. An error (`unsupported`): there is no other choice.
  Result<bool> refuse(Programs programs, CudaOptions& options, VirtualDevice& device) const;

 private:
  const FunctionResources* find(const CudaOptions& options, const std::string& digest) const;

  /// The functions that spill, and kernels that do not fit, by threads of a block and digest.
  std::map<std::pair<std::int64_t, std::string>, FunctionResources> functions_;
};

}  // namespace lemma::backend
