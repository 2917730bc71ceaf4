#pragma once
// A graph as a proved task program: the stages of the backend in order.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/fuse/stitch.h"
#include "backend/kernel_times.h"
#include "backend/lower/computation.h"
#include "backend/program.h"
#include "backend/schedule/placement.h"
#include "ir/graph.h"

namespace lemma::backend {

/// Is told what each pass made, as text.
using PassObserver = std::function<void(std::string_view pass, const std::string& text)>;

struct CompileOptions {
  VirtualDevice device = cpu_device(1);
  /// The program may have fewer units than the device, where it ends sooner with them as planned.
  bool chooses_units = false;
  Policy policy = place_by_critical_path;
  const KernelTimes* times = nullptr;  // that are taken in place of modelled ones
  bool fuses = true;                   // the thread scheme
  StitchOptions stitching = {};
  /// Windows of 3x3 are computed by tiles (layout/layout.h) where that pays on a processor.
  bool tiles_windows = false;
  /// The domain that weights of tiles are transformed in; the rest of a program becomes one of the prime
  /// field later (emit/prime_field.h).
  lowering::Domain domain = lowering::Domain::native;
  /// The arena is to have no more bytes, also where operators have to run again for that (docs/memory.md).
  std::optional<std::uint64_t> memory_limit = std::nullopt;
  /// Schedules of computations, which replace what constants and estimates decide; or none.
  std::shared_ptr<const LoopSchedules> schedules = nullptr;
  bool takes_own_kernels = true;    // of ir/kernel_override.h, where they apply
  bool takes_least_memory = false;  // the order that needs the least, where each operator runs once
  PassObserver observer = {};       // or none
};

/// Numbers of units that are tried, ascending: powers of two, and all.
std::vector<std::uint32_t> unit_counts(const CompileOptions& options);

/// The stages up to the kernels of each operator: what is scheduled, by plan of stitching. The last plan stitches
/// nothing.
Result<std::vector<OperatorGraph>> task_operators(const Graph& graph,
                                                  const CompileOptions& options);

/// Sizes must be constant. Errors are `bad_input` and `unsupported` for the graph, and `internal` if the program
/// cannot be proved.
Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options);

// The same from computations as they are lowered (lower/computation.h).
Result<std::vector<OperatorGraph>> task_operators(ComputationGraph computations,
                                                  const CompileOptions& options);
Result<TaskProgram> compile(ComputationGraph computations, const CompileOptions& options);

/// Programs whose kernels are in one source have room for as many addresses as the one with the most needs. What units keep
/// lies behind that: as much of it as there is room for then.
void make_room_for_addresses(TaskProgram& program, std::uint64_t bytes);

/// Operators one after the other on one unit, each with the kernel of this number: what times of tasks are measured with.
Result<TaskProgram> compile_in_order(OperatorGraph graph, std::vector<std::uint32_t> kernels);

/// A program for each graph: one model with several sizes of its inputs. They share their weights.
Result<std::vector<TaskProgram>> compile_sizes(std::span<const Graph> graphs,
                                               const CompileOptions& options);

}  // namespace lemma::backend
