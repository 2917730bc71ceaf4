#pragma once
// The files that the program needs beside itself: rules, descriptions of devices, operator sets, profiles.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lemma {

/// The folder that holds them: $LEMMA_DATA if set, else `../share/lemma` seen from the program, which holds both in a
/// build folder and once installed.
std::filesystem::path data_directory();
/// That folder for a library within another program, to be called before anything looks for it; $LEMMA_DATA comes first
/// still.
void use_data_directory(std::filesystem::path folder);

/// What a device is described for (targets/devices): to price operators, or to schedule the tasks of a program.
enum class DevicePart : std::uint8_t { operators, schedule };

/// The description that an option means: the file, or that of a shipped device. An error lists those that have the part.
Result<std::filesystem::path> device_file(const std::string& device,
                                          DevicePart part = DevicePart::operators,
                                          std::string_view option = "--device");

/// The description of a cluster that an option means (targets/clusters): the file, or that of a shipped cluster.
Result<std::filesystem::path> cluster_file(const std::string& cluster,
                                           std::string_view option = "--cluster");

/// The file that `--set` means: one with this name, or that of a shipped operator set.
std::filesystem::path operator_set_file(const std::string& set);

/// What names the rule database that comes with Lemma.
inline constexpr std::string_view shipped_rules = "shipped";
/// The folder of rules that an option means: one with this name, or `shipped`.
std::filesystem::path rules_folder(const std::string& folder);
/// What is wrong with such a word; empty if nothing is.
std::string check_rules_folder(const std::string& folder);

/// The Python that is asked for ONNX Runtime: $LEMMA_PYTHON if set, else the one that the checkout's scripts made
/// (.venv), if this program was built in one, else "python3".
std::string python_program();

}  // namespace lemma
