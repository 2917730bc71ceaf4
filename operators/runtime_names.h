#pragma once
// Runtimes that have operators beside those of ONNX, and the domains in which they stand in files.

#include <string_view>

namespace lemma::operators {

inline constexpr std::string_view onnx_runtime = "onnxruntime";
inline constexpr std::string_view onnx_runtime_domain = "com.microsoft";

}  // namespace lemma::operators
