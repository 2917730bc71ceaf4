#pragma once

#include <memory>

#include "targets/target.h"

namespace lemma {

/// rtask-cpu: task programs on this processor (docs/rtask.md).
std::unique_ptr<Target> task_program_target();

}  // namespace lemma
