#pragma once
// The files of emitted CUDA programs that hardly depend on the program, as text in this library.

#include <string_view>

namespace lemma::backend::cuda_parts {

// Those of parts/, where "{{word}}" stands for what the program has.
extern const std::string_view ptx, run_time, persistent, device_checks, program, interface_header,
    device_calls, selfcheck, runner, tiled_products, attention, cmake, readme;
// Those of HIP in place of ptx and others (device_language.h).
extern const std::string_view hip, device_checks_of_hip, cmake_of_hip;

}  // namespace lemma::backend::cuda_parts
