#pragma once

#include <memory>

#include "targets/target.h"

namespace lemma {

/// rtask-cuda: operators on an NVIDIA device, by calls of its libraries (docs/costs.md).
std::unique_ptr<Target> library_target();

}  // namespace lemma
