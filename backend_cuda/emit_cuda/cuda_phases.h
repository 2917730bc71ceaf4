#pragma once
// The phases of stitched operators as device functions of their own, which equal phases share, and where a block keeps
// what phases hand to each other.

#include <map>
#include <string>
#include <vector>

#include "backend_cuda/emit/nest_text.h"
#include "backend_cuda/program.h"

namespace lemma::backend {

/// The places of an operator's slots, one after the other, in bytes from where those of the block (Stitching::block) or
/// of the warp begin.
struct SlotLayout {
  std::map<std::uint32_t, std::uint64_t> offsets;  // by slot
  std::uint64_t bytes = 0;
};
SlotLayout slot_layout(const TaskOperator& op, const Kernel& kernel);

class CudaPhases {
 public:
  explicit CudaPhases(std::uint32_t block_threads) : block_threads_(block_threads) {}

  /// The body of an operator's kernel, where `arguments`, `threads`, `slots` and the bounds of the grid's axes are
  /// declared: calls of the phases, with barriers.
  Result<std::string> body_text(const TaskOperator& op, const Kernel& kernel,
                                std::vector<LoopBounds> grid);

  /// All functions, in the order in which they were first called.
  const std::string& text() const { return text_; }

 private:
  Result<std::string> call_text(const TaskOperator& op, const Phase& phase, const SlotLayout& slots,
                                const std::vector<LoopBounds>& grid);

  std::uint32_t block_threads_;
  std::map<std::string, std::size_t> numbers_;  // by text without the name
  std::string text_;
};

}  // namespace lemma::backend
