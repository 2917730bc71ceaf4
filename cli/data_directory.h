#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ir/result.h"

namespace lemma {

// The folder that holds the data the program needs, `rules/` above all: $LEMMA_DATA if set, else
// `../share/lemma` seen from the program, which holds both in a build folder and once installed.
std::filesystem::path data_directory();

/// ONNX Runtime on this processor.
inline constexpr std::string_view onnx_runtime_target = "onnxruntime-cpu";
/// Task programs on this processor (docs/rtask.md).
inline constexpr std::string_view rtask_cpu_target = "rtask-cpu";
/// Operators on an NVIDIA device, by calls of its libraries.
inline constexpr std::string_view rtask_cuda_target = "rtask-cuda";

/// The description that an option means: the file, or that of a shipped device. An error lists these.
Result<std::filesystem::path> device_file(const std::string& device,
                                          std::string_view option = "--device");

/// The same for descriptions of devices for schedules (backend_cuda/devices).
Result<std::filesystem::path> virtual_device_file(const std::string& device,
                                                  std::string_view option = "--device");

/// The target that is meant where none is given: $LEMMA_TARGET if set, else ONNX Runtime on this processor.
std::string default_target();

/// The file that `--set` means: one with this name, or that of a shipped operator set.
std::filesystem::path operator_set_file(const std::string& set);

/// The Python that is asked for ONNX Runtime: $LEMMA_PYTHON if set, else the one that the checkout's scripts made
/// (.venv), if this program was built in one, else "python3".
std::string python_program();

}  // namespace lemma
