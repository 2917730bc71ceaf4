#pragma once
// Places for blocks of memory of known sizes, some of which may not overlap.

#include <cstdint>
#include <vector>

namespace lemma::backend {

struct PackingProblem {
  struct Block {
    std::uint64_t size = 0;
    double begin = 0, end = 0;  // when it is in use, about: what blocks are ordered by
    std::vector<std::uint32_t>
        conflicts;  // blocks that it may not overlap; those have it among theirs
  };
  std::vector<Block> blocks;
  std::uint64_t least_bytes = 0;  // no packing is smaller, or a smaller one is not looked for
};

struct Packing {
  std::vector<std::uint64_t> offsets;  // by block
  std::uint64_t bytes = 0;             // the greatest end of a block
};

/// Blocks are placed one after the other, where they fit, in several orders (Pisarchyk and Lee, "Efficient memory management
/// for deep neural net inference", 2020). From the best order on, blocks that end last are moved to earlier places of the
/// order as long as that is affordable (Joslin and Clements, "Squeaky wheel optimization", 1999). The same
/// problem gives the same packing.
Packing pack(const PackingProblem& problem);

}  // namespace lemma::backend
