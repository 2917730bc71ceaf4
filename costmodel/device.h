#pragma once
// What the cost model knows about a device, read from a description file (the part `operators` of targets/devices/*.json).

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/data_type.h"

namespace lemma {

/// An operator whose arithmetic takes `factor` times as long as that of others, where its first operand has so many axes;
/// less than 1 where a library has an algorithm with fewer multiplications. The other fields are asked for if they are given.
struct SlowForm {
  std::string op;                               // name of its record
  std::size_t rank = 0;                         // axes of the first operand
  double factor = 1;                            // of the time that arithmetic takes
  std::optional<DataType> type = std::nullopt;  // of the first operand
  std::vector<std::int64_t> kernel = {};        // the last sizes of the second operand
  std::map<std::string, std::vector<std::int64_t>> attributes = {};  // a number is a list of one
};

/// A device as the roofline model sees it.
struct Device {
  std::string name;    // that of its file and of the target
  std::string source;  // where the figures come from
  /// Arithmetic peaks, floating-point operations a second, by element type; `contraction` for
  /// sums of products (matrix units), `elementwise` for everything else.
  std::map<DataType, double> contraction_peak;
  std::map<DataType, double> elementwise_peak;  // as `contraction_peak`
  double memory_bandwidth = 0;                  // bytes a second
  double launch_overhead = 0;                   // seconds to start one operator
  /// Seconds that a step of a recurrent operator takes at least, which waits for the one before; 0 where that is not modelled.
  double step_overhead = 0;
  double view_overhead = 0;  // seconds for an operator that moves no data, such as Reshape
  /// Work that keeps all units busy: a contraction of this many flops (an operator of this many
  /// bytes) runs at half the peak (or bandwidth). Models that small operators cannot fill a wide device.
  double half_peak_flops = 0;
  double half_peak_bytes = 0;        // as `half_peak_flops`
  std::vector<SlowForm> slow_forms;  // the first one that fits counts
  /// Values of parameters that rules leave to the target (`free k : target`), such as numbers of
  /// devices.
  std::vector<std::int64_t> target_values;
  /// Rules of partial equivalence were measured to win here (docs/partial_equivalence.md).
  bool takes_partial = false;
  /// The target whose kernels of one's own operators run with (ir/kernel_override.h); empty: none.
  std::string own_kernels = {};

  /// The peak of sums of products, in operations a second; that of f32 for a type without one of its own.
  double contraction(DataType type) const;
  double elementwise(DataType type) const;  // the same for everything else
};

/// Errors name the file and the missing or malformed entry.
Result<Device> load_device(const std::filesystem::path& file);

}  // namespace lemma
