#pragma once
// What the cost model knows about a device, read from a description file (the part `operators` of targets/devices/*.json).

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/data_type.h"

namespace lemma {

/// An operator whose arithmetic takes longer than that of others, where its first operand has so many axes.
struct SlowForm {
  std::string op;
  std::size_t rank = 0;
  double factor = 1;
};

struct Device {
  std::string name;
  std::string source;  // where the figures come from
  /// Arithmetic peaks, floating-point operations a second, by element type; `contraction` for
  /// sums of products (matrix units), `elementwise` for everything else.
  std::map<DataType, double> contraction_peak;
  std::map<DataType, double> elementwise_peak;
  double memory_bandwidth = 0;  // bytes a second
  double launch_overhead = 0;   // seconds to start one operator
  double view_overhead = 0;     // seconds for an operator that moves no data, such as Reshape
  /// Work that keeps all units busy: a contraction of this many flops (an operator of this many
  /// bytes) runs at half the peak (or bandwidth). Models that small operators cannot fill a wide device.
  double half_peak_flops = 0;
  double half_peak_bytes = 0;
  std::vector<SlowForm> slow_forms;
  /// Values of parameters that rules leave to the target (`free k : target`), such as numbers of
  /// devices.
  std::vector<std::int64_t> target_values;
  /// Rules of partial equivalence were measured to win here (docs/partial_equivalence.md).
  bool takes_partial = false;

  double contraction(DataType type) const;
  double elementwise(DataType type) const;
  /// 1 for most.
  double slowness(std::string_view op, std::size_t rank) const;
};

/// Errors name the file and the missing or malformed entry.
Result<Device> load_device(const std::filesystem::path& file);

}  // namespace lemma
