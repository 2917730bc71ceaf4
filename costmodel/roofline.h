#pragma once
// Analytic cost of operators: the roofline model (Williams, Waterman, Patterson, "Roofline", CACM
// 2009, section 3) over the operation counts that follow from the definitions, plus a start-up cost
// for each operator and a ramp for operators too small to fill the device.

#include <map>
#include <optional>

#include "costmodel/device.h"
#include "ir/graph.h"
#include "ir/operation_count.h"

namespace lemma {

struct RooflineOptions {
  /// Symbolic sizes are unknown until run time; costs are taken at this value of every symbol
  /// that has no value of its own in `sizes`.
  std::int64_t assumed_size = 16;
  DimensionBindings sizes = {};
};

class RooflineModel {
 public:
  RooflineModel(Device device, RooflineOptions options);

  const Device& device() const { return device_; }
  /// Seconds of one application on the device. Views cost nothing.
  double seconds(const OperatorRecord& record, const Instance& instance,
                 std::span<const TensorType> outputs) const;
  /// Operation counts with symbolic sizes replaced as the options say.
  OperationCount count(const OperatorRecord& record, const Instance& instance,
                       std::span<const TensorType> outputs) const;
  /// Seconds of an operator without a record: its start-up cost, the same before and after.
  double opaque_seconds() const { return device_.operator_overhead; }

 private:
  Dimension bind(const Dimension& dimension) const;
  TensorType bind(const TensorType& type) const;
  Device device_;
  RooflineOptions options_;
};

/// Totals over a graph. Nodes that depend on constants only are computed when the model is built,
/// not when it runs: they are left out of time, flops and bytes.
struct GraphCost {
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  std::int64_t operators = 0;   // operations and opaque nodes that run
  std::int64_t parameters = 0;  // elements of constants that running nodes read
  double parameter_bytes = 0;
};
GraphCost cost_of(const Graph& graph, const RooflineModel& model);

/// For each node, whether it depends on no input and no opaque node.
std::vector<bool> weight_only_nodes(const Graph& graph);

}  // namespace lemma
