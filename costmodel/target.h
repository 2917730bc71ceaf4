#pragma once
// What a graph is to run on: a runtime on a device. Costs belong to a target.

#include <filesystem>
#include <string>

#include "costmodel/device.h"

namespace lemma {

struct Target {
  /// Tells it from other targets in cost keys: "roofline/generic CPU".
  std::string identity;
  /// The device's description. What no provider knows is priced from it.
  Device device;
  /// The runtime, if it has operators of its own (OperatorRecord::runtime), which a search may make then.
  std::string runtime = {};
  int threads = 0;  // of the runtime; 0: as many as there are processors
};

/// The target of a device's description: operators one after the other, priced by the roofline.
Target roofline_target(Device device);

}  // namespace lemma
