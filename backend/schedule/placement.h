#pragma once
// What a scheduling policy decides, and what it decides from. Events, memory and proof follow from a placement; a
// policy is one file of this folder.

#include <string_view>

#include "backend/program.h"

namespace lemma::backend {

struct PlacedTask {
  Task task;
  UnitNumber unit = 0;
};

struct Placement {
  std::vector<std::uint32_t> kernels;  // by operator
  /// Each unit runs its tasks in this order. All tasks of an operator come after those of the operators whose
  /// results it reads.
  std::vector<PlacedTask> tasks;
};

using Policy = Placement (*)(const OperatorGraph& graph, const VirtualDevice& device);

/// Operators by the length of the longest path that begins with them, each with the kernel that ends first for
/// the time it takes from others; tasks where they begin first, counting the events they would wait for. Several
/// weights of the time that is taken from others are tried where the graph is small.
Placement place_by_critical_path(const OperatorGraph& graph, const VirtualDevice& device);

/// Rammer's waves ("Rammer: enabling holistic deep learning compiler optimizations with rTasks", OSDI 2020):
/// breadth first, each operator with the kernel with which it ends first if it has the device to itself, or, where a wave
/// fills the units and what follows ends sooner, with a more economical one. Ends no later than without the choice.
Placement place_by_waves(const OperatorGraph& graph, const VirtualDevice& device);

/// The same waves, each operator with the kernel with which it ends first if it has the device to itself.
Placement place_by_waves_without_choice(const OperatorGraph& graph, const VirtualDevice& device);

/// The critical path or the waves, with or without a choice of kernels: what ends first; of those that end at the same
/// time, the first one. On one unit, the critical path.
Placement place_by_best(const OperatorGraph& graph, const VirtualDevice& device);

struct NamedPolicy {
  std::string_view name;
  Policy policy;
};
/// The first one is the default of plans for devices that are described.
std::span<const NamedPolicy> policies();

/// The operators whose results each operator reads, ascending.
std::vector<std::vector<OperatorNumber>> predecessors(const OperatorGraph& graph);

}  // namespace lemma::backend
