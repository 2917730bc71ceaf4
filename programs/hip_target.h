#pragma once

#include <memory>

#include "targets/target.h"

namespace lemma {

/// rtask-hip: task programs as HIP source for AMD devices (docs/cuda.md). Operators are priced by a description; nothing is run.
std::unique_ptr<Target> hip_target();

}  // namespace lemma
