#pragma once
// Which tensors stand for others, so that what is handed on is written where it is wanted.

#include <vector>

#include "backend/flow/flow_blocks.h"

namespace lemma::backend {

struct FlowRoles {
  /// By tensor: itself, or the one behind a branch or the output of the program that it is written to at once.
  std::vector<FlowTensorNumber> names;
  /// By tensor: it is the second place of a state of a loop, and has a place as long as that runs.
  std::vector<bool> is_second;
  /// By the `current` tensor of a state: the second place. Either what a step gives, or a tensor of its own that this is
  /// copied to, or no_tensor where a step gives what it takes.
  std::vector<FlowTensorNumber> seconds;

  FlowTensorNumber name(FlowTensorNumber tensor) const {
    return tensor == no_tensor ? no_tensor : names[tensor];
  }
};

/// Adds tensors for second places to the blocks.
FlowRoles find_roles(FlowBlocks& blocks);

}  // namespace lemma::backend
