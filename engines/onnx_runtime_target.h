#pragma once

#include <memory>

#include "targets/target.h"

namespace lemma {

/// onnxruntime-cpu: models as files, which ONNX Runtime runs on this processor.
std::unique_ptr<Target> onnx_runtime_target();

}  // namespace lemma
