#pragma once
// A compiled expression: straight-line instructions on registers of lanes, with loops for
// reductions and jumps around what a guard excludes.
//
// A strip is a run of consecutive elements along the lane axes (the last axes of an output,
// flattened); every instruction works on all lanes of the strip. A register whose value is the same
// for all lanes is uniform and holds one element. Terms that do not depend on the variable of a
// loop are computed before it.
//
// Where few elements are computed by long reductions there are no lane axes; instead the last
// variable of a reduction runs along the lanes, and the lanes are added up (in pairs) at its end.
//
// Undefined elements (reads outside a tensor, division by zero, overflow of exact integers) are
// kept track of lane by lane, as they may be selected away; only a result that depends on one is an
// error.

#include <cstdint>
#include <vector>

#include "interpreter/lane_kernels.h"
#include "interpreter/lane_memory.h"
#include "lowering/terms.h"

namespace lemma::interpreter {

using RegisterId = std::uint32_t;

/// A linear form whose terms are sorted by how they vary along a strip.
struct CompiledLinear {
  std::int64_t constant = 0;
  std::vector<std::pair<LoopVariable, std::int64_t>> variables;  // the same for all lanes
  std::vector<std::pair<RegisterId, std::int64_t>> uniform;      // registers of one element
  std::vector<std::pair<RegisterId, std::int64_t>> lanes;        // registers of lanes
  std::vector<std::int64_t> along;  // coefficient of each lane axis; empty if all are 0
  bool is_uniform() const { return lanes.empty() && along.empty(); }
};

struct Load {
  struct Check {
    CompiledLinear index;
    std::int64_t size = 0;
    std::uint32_t axis = 0;
  };
  std::uint32_t input = 0;
  CompiledLinear address;
  std::vector<Check> checks;                // of the indices that may lie outside
  std::vector<RegisterId> index_registers;  // that may be undefined
  ElementAccess access;
  bool consecutive = false;  // lanes are consecutive elements, and none is checked for each lane
};

enum class Opcode : std::uint8_t {
  unary,
  binary,
  linear,          // integer lanes of a linear form
  compare_linear,  // linear form (kind) 0
  floor_divide,    // linear form by a constant
  load,
  test,          // notes whether none, some or all lanes of `a` are true
  jump_if_none,  // by the note of the last test of slot `index`
  jump_if_all,
  select,
  logical_and,
  loop_begin,
  loop_end,
  lane_loop_begin,
  lane_loop_end,
  reduce_begin,
  accumulate,
  combine_lanes,  // the result of a reduction along the lanes
};

struct Instruction {
  Opcode opcode = Opcode::unary;
  ExpressionKind kind = ExpressionKind::add;
  RegisterId out = 0, a = 0, b = 0, c = 0;
  std::uint32_t index = 0;   // of a linear form, a load, a test slot, a loop variable
  std::uint32_t target = 0;  // jumps; loops: the other end
  std::int64_t number = 0;   // divisor, extent, bits of the neutral element
  bool tracks = false;       // the result may be undefined
  UnaryKernel unary = nullptr;
  BinaryKernel binary = nullptr;
  const char* failure = nullptr;  // kernels that may fail
};

struct RegisterInfo {
  LaneKind lanes = LaneKind::integer;
  bool uniform = true;
  bool tracks = false;
  std::size_t offset = 0;  // into the memory of an evaluator
};

struct Program {
  std::vector<Instruction> code;
  std::vector<RegisterInfo> registers;
  std::vector<std::pair<RegisterId, std::uint64_t>> constants;
  std::vector<CompiledLinear> linears;
  std::vector<Load> loads;
  std::uint32_t test_slots = 0;
  std::size_t memory = 0;  // bytes of all registers
  RegisterId result = 0;
  double work = 0;             // instructions executed for a strip, if no guard excludes any
  std::size_t lane_count = 0;  // at most so many lanes in a strip
  std::vector<std::int64_t> lane_sizes;  // extents of the lane axes
};

/// How the lanes of a program are used.
struct LaneLayout {
  std::vector<LoopVariable> axes;  // in order; other free variables are the same for all lanes
  std::size_t count = 512;
  bool reduce_along_lanes = false;  // only without axes
};

Result<Program> compile(const TermGraph& graph, TermNumber root, const LaneLayout& layout);

}  // namespace lemma::interpreter
