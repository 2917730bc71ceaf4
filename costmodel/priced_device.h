#pragma once
// What costs are predicted for: a device, and a runtime on it.

#include <filesystem>
#include <string>

#include "costmodel/device.h"

namespace lemma {

struct PricedDevice {
  /// Tells it from others in cost keys: "roofline/generic CPU".
  std::string identity;
  /// The device's description. What no provider knows is priced from it.
  Device device;
  /// The runtime, if it has operators of its own (OperatorRecord::runtime), which a search may make then.
  std::string runtime = {};
  int threads = 0;  // of the runtime; 0: as many as there are processors
};

/// Operators one after the other, priced by the roofline.
PricedDevice priced_by_roofline(Device device);

}  // namespace lemma
