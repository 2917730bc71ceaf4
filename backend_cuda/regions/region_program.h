#pragma once
// A graph cut into regions: calls of libraries, and task programs between them. They are the nodes of one graph that a
// device runs (a CUDA graph). A node begins when those that it comes after have ended.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/program.h"
#include "backend_cuda/libraries/exact_call.h"

namespace lemma::backend {

/// A call of a library. Its operands are buffers of the region program.
struct LibraryStep {
  ExactCall call;
  std::string name, description;  // of the tensor, and of the operators that it computes
  std::vector<BufferNumber> operands;
  BufferNumber result = 0;
  std::uint32_t workspace = 0;  // calls that have the same one come one after the other
  double seconds = 0;           // its price
};

/// A task program, with places in the whole program's arena and weights.
struct RegionStep {
  TaskProgram program;
  std::vector<BufferNumber> inputs, outputs;  // of the region program, as the task program's
  std::uint64_t first = 0, bytes = 0;         // of the arena: tensors that do not leave the region
  double seconds = 0;                         // as simulated, with its launch
};

struct RegionNode {
  enum class Kind : std::uint8_t {
    input,  // copies an input to its place in the arena
    region,
    call,
    output,  // copies an output from there
  };
  Kind kind = Kind::region;
  std::uint32_t number = 0;          // among those of its kind
  std::vector<std::uint32_t> after;  // nodes, ascending; what they come after is left out
};

struct RegionProgram {
  /// Tensors that go from node to node, in the arena, and the weights of calls. Numbers are those of the graph that was
  /// cut; buffers of regions alone have no place here.
  std::vector<Buffer> buffers;
  std::vector<BufferNumber> inputs, outputs;
  std::vector<LibraryStep> calls;
  std::vector<RegionStep> regions;
  std::vector<RegionNode> nodes;  // each comes behind those that it comes after
  std::uint64_t arena_bytes = 0, weight_bytes = 0;
  std::uint32_t workspaces = 0;
  double launch_seconds = 0;  // of the whole graph
  double seconds = 0;         // of all nodes one after the other, and the launch
};

/// What a node reads and writes of the buffers.
std::vector<BufferNumber> reads_of(const RegionProgram& program, const RegionNode& node);
std::vector<BufferNumber> writes_of(const RegionProgram& program, const RegionNode& node);

/// Buffers are at multiples of so many bytes in the arena, which suits all calls.
inline constexpr std::uint64_t region_alignment = 256;

}  // namespace lemma::backend
