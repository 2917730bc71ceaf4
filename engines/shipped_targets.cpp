#include "engines/shipped_targets.h"

#include "engines/onnx_runtime_target.h"
#include "programs/hip_target.h"
#include "programs/library_target.h"
#include "programs/task_program_target.h"
#include "targets/target.h"

namespace lemma {

void add_shipped_targets() {
  add_target(onnx_runtime_target());
  add_target(task_program_target());
  add_target(library_target());
  add_target(hip_target());
}

}  // namespace lemma
