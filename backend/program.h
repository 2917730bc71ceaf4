#pragma once
// The task program: a graph as a static schedule of tasks on the units of a device.
//
// An operator (rOperator) makes one or more tensors. It is a group of independent tasks (rTasks) that run the same
// phase program on different points of a grid; a kernel (rKernel) is one way to cut the grid into parts. The grid is
// the first axes of each phase's loop nest; of an operator with one phase, all of them. A program (rProgram) says which unit runs which tasks in which order. A task begins when the one before it on its unit has
// ended and all its waits have passed, and may signal when it has ended.
//
// A wait (counter, value) passes once the counter is at least `value` above where it stood when the run began.
// Counters are never set back: their values grow from run to run.
//
// Memory. The arena's contents are undefined when a run begins. Inputs and weights are only read. Whether every
// task finds what it reads, and disturbs no other, is shown by prove/check_program.h.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/loop_schedule.h"
#include "backend/own_kernel.h"
#include "backend/resident_weights.h"
#include "backend/virtual_device.h"
#include "ir/constant.h"
#include "lowering/lower.h"

namespace lemma::backend {

enum class Memory : std::uint8_t {
  arena,    // one block, of which buffers share parts
  weights,  // one block, the same in all runs
  input,    // given by the caller, a block for each
  output,
};

using BufferNumber = std::uint32_t;
using OperatorNumber = std::uint32_t;
using UnitNumber = std::uint32_t;
using CounterNumber = std::uint32_t;

/// A tensor in memory, in row-major order. Written by at most one operator.
struct Buffer {
  std::string name;
  Memory memory = Memory::arena;
  DataType type = DataType::undefined;
  lowering::Sizes sizes;
  std::int64_t elements = 0;
  std::uint64_t offset = 0;               // in bytes, in the arena or the weights
  std::uint32_t position = 0;             // of an input or output, among those of the program
  std::optional<Constant> contents = {};  // of weights

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(elements) * byte_size(type); }
};

/// Elements base + the sum of i_k * stride_k of a buffer, 0 <= i_k < extent_k.
struct Region {
  struct Axis {
    std::int64_t extent = 1, stride = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  BufferNumber buffer = 0;
  std::int64_t base = 0;
  std::vector<Axis> axes;  // strides descend, extents are above 1

  std::int64_t last() const;  // the greatest element
  friend bool operator==(const Region&, const Region&) = default;
};

/// What one phase of a task takes from earlier phases of the task, and what it makes. Regions are of the whole
/// tensor, also where the task keeps only its part of it.
struct PhaseAccess {
  struct Part {
    std::uint32_t argument = 0;  // as in Phase::operands
    Region region;               // without a buffer
  };
  std::vector<Part> reads;
  Part write;
};

/// What a task reads, perhaps less than that, and what it writes, exactly that.
struct TaskAccess {
  std::vector<Region> reads;   // of operands
  std::vector<Region> writes;  // of each result, in order
  /// The accesses of each phase of an operator with several. Where phases run point by point, those of the first
  /// point; at the others, regions are shifted by the elements of a tensor for each point.
  std::vector<PhaseAccess> phases;
};

inline constexpr std::uint32_t no_argument = 0xffffffffU;

/// One step of a task: the elements of a part of one tensor, each computed by itself.
struct Phase {
  lowering::LoweredOutput nest;
  /// What each input of the nest is: an argument of the operator, a shared buffer counted from there on, or
  /// no_argument.
  std::vector<std::uint32_t> operands;
  std::uint32_t result = 0;  // the same
  bool has_barrier = false;  // the phase begins when all threads have ended those before it
  LoopSchedule schedule = {};
};

/// A tensor that never reaches memory: a task keeps the elements of its points of the grid, which are neighbours.
struct SharedBuffer {
  DataType type = DataType::undefined;
  std::int64_t elements_per_point = 0;
  /// Buffers of the same slot are not in use at the same time, and have the same type.
  std::uint32_t slot = 0;
};

/// How the threads of a task share the work of several phases (Zheng et al., "FusionStitching: boosting memory
/// intensive computations for deep learning workloads", section 4).
enum class Stitching : std::uint8_t {
  /// Each phase for all points of the task. Barriers are those of the block.
  block,
  /// All phases for one point, then for the next one. A point is the work of one warp, and barriers are the warp's.
  warp,
};

/// Phases run one after the other; without a barrier between two, at the same time.
struct PhaseProgram {
  std::vector<Phase> phases;
  std::vector<SharedBuffer> shared;
  Stitching stitching = Stitching::block;
};

/// The axes of the grid (those longer than 1) cut into parts of these extents; the last part may be smaller. Tasks
/// are numbered with the last axis fastest.
struct Kernel {
  std::vector<std::int64_t> extents, parts;
  double seconds_per_task = 0;
  /// What all tasks bring from memory and to it takes at the bandwidth that units share; 0 where that is not modelled.
  double memory_seconds = 0;
  /// Of tiles: the part of seconds_per_task that it would take to receive all that a task reads.
  double exchange_seconds = 0;
  bool is_recorded = false;  // the time is from a file (kernel_times.h), not modelled
  // Of multiprocessors.
  std::uint64_t shared_bytes = 0;  // of the memory of a unit, that a task takes for itself
  std::vector<ResidentLayout> residents = {};  // arguments that tasks may read from there instead
  double seconds_with_residents = 0;           // where they do

  std::int64_t task_count() const;
  /// First element and end along each axis.
  std::vector<std::pair<std::int64_t, std::int64_t>> box(std::int64_t task) const;
  /// First point and end of a box whose points are neighbours in row-major order; nothing for other boxes.
  std::optional<std::pair<std::int64_t, std::int64_t>> points(std::int64_t task) const;
  /// The most points that a task has.
  std::int64_t most_points() const;
};

struct TaskOperator {
  std::string name;                     // of the last tensor
  std::string description;              // operators of the model that it stands for
  std::vector<BufferNumber> arguments;  // operands, then the results
  std::size_t result_count = 1;
  PhaseProgram body;
  std::vector<Kernel> kernels;  // from the fewest tasks to the most
  /// Operators of one kind have the same body, and the same positions of arguments: they differ in buffers only.
  std::uint32_t kind = 0;
  std::string digest;  // of what the kind has in common, the same in all programs
  /// Stands in place of the loops; or null. The nest of the only phase then says what is read and written: all of the
  /// operands, and rows of the result.
  std::shared_ptr<const OwnKernel> own = nullptr;

  std::span<const BufferNumber> operands() const {
    return std::span(arguments).first(arguments.size() - result_count);
  }
  std::span<const BufferNumber> results() const { return std::span(arguments).last(result_count); }
  bool is_stitched() const { return body.phases.size() > 1; }
};

struct Task {
  OperatorNumber op = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const Task&, const Task&) = default;
};

struct Wait {
  CounterNumber counter = 0;
  std::uint32_t value = 0;
  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Step {
  Task task;
  std::vector<Wait> waits;
  std::vector<CounterNumber> signals;  // that grow by 1 each when the task has ended
};

/// What is scheduled: operators in an order in which each comes after those whose results it reads.
struct OperatorGraph {
  std::vector<Buffer> buffers;
  std::vector<TaskOperator> operators;
  std::vector<BufferNumber> inputs, outputs;  // of the program, in order
};

/// What a limit of memory did to a program.
struct MemoryFigures {
  std::uint64_t limit = 0;
  std::uint64_t arena_before = 0;  // of the program without a limit
  std::string given_up = {};       // what that program has and this one has not; or empty
  /// Of operators that run once, and of those that run in this program, as modelled.
  double seconds_before = 0, seconds = 0;
  double seconds_bound = 0;           // what no program takes less than
  bool bounds_order = false;          // no program with this order of first runs, that is
  std::string method;                 // how it was found
  std::vector<std::string> repeated;  // names of operators that run again, as often as they do
  /// Bytes that are in use as each operator runs: in the order without a limit, and in this one.
  std::vector<std::uint64_t> before, after;
};

struct TaskProgram {
  OperatorGraph graph;
  VirtualDevice device;
  std::vector<std::uint32_t> chosen_kernels;      // by operator
  std::vector<std::vector<TaskAccess>> accesses;  // by operator and task
  std::vector<std::vector<Step>> units;
  std::uint32_t counters = 0;
  lowering::Domain domain = lowering::Domain::native;  // or prime_field (emit/prime_field.h)
  std::uint64_t arena_bytes = 0, weight_bytes = 0;
  ResidentWeights residents;
  std::optional<MemoryFigures> memory = {};  // where there is a limit

  const Kernel& kernel(OperatorNumber op) const {
    return graph.operators[op].kernels[chosen_kernels[op]];
  }
  std::size_t task_count() const;
  bool has_residents(const Task& task) const {
    return !residents.is_empty() && !residents.reads[task.op][task.number].empty();
  }
  double seconds_of(const Task& task) const;
  /// What no schedule takes less than: units that run beside each other share the bandwidth of memory.
  double memory_seconds() const;
  /// Until a unit has the weights that it keeps.
  double loading_seconds(UnitNumber unit) const;
};

/// The operators of programs that have kernels of their own: "y: MaxPool by a kernel of its own", each once.
std::vector<std::string> own_kernel_lines(std::span<const TaskProgram> programs);

/// The memory of a unit that the addresses of a task's arguments take: as much as the operator with the most needs.
std::uint64_t address_bytes(const OperatorGraph& graph);

/// Whether each buffer has weights that several operators read.
std::vector<bool> repeated_weights(const OperatorGraph& graph);

/// Bytes of each slot of shared memory that a task of the kernel takes: as many as the largest buffer that has the slot.
std::map<std::uint32_t, std::uint64_t> slot_bytes(const TaskOperator& op, const Kernel& kernel);

/// Alignment of buffers in the arena and in the weights: a cache line.
inline constexpr std::uint64_t buffer_alignment = 64;

/// "add [unit 1]: wait 0 >= 3; run 4.2; signal 1": a line for each step, for people and tests.
std::string text(const TaskProgram& program);

}  // namespace lemma::backend
