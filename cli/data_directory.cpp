#include "cli/data_directory.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma {

std::filesystem::path data_directory() {
  if (const char* chosen = std::getenv("LEMMA_DATA")) return chosen;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "lemma";
}

std::filesystem::path operator_set_file(const std::string& set) {
  if (set.find('/') != std::string::npos || set.ends_with(".set")) return set;
  return data_directory() / "rules" / "operator_sets" / (set + ".set");
}

namespace {

/// The file of a description: the one that is given, or one of a folder of the data.
Result<std::filesystem::path> description_file(const char* data, const std::string& device,
                                               std::string_view option) {
  namespace fs = std::filesystem;
  if (device.find_first_of("./") != std::string::npos) return fs::path(device);
  const fs::path folder = data_directory() / data;
  std::error_code ignored;
  fs::path file = folder / (device + ".json");
  if (fs::exists(file, ignored)) return file;
  std::vector<std::string> known;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().stem().extension().empty()) known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  return bad_input(
      fmt::format("{} {}: no device has this name; give {}, or the file of a device "
                  "description (a path with '/' or '.')",
                  option, device, fmt::join(known, ", ")));
}

}  // namespace

Result<std::filesystem::path> device_file(const std::string& device, std::string_view option) {
  return description_file("devices", device, option);
}

Result<std::filesystem::path> virtual_device_file(const std::string& device,
                                                  std::string_view option) {
  return description_file("virtual_devices", device, option);
}

std::string default_target() {
  const char* chosen = std::getenv("LEMMA_TARGET");
  return chosen != nullptr && *chosen != 0 ? chosen : std::string(onnx_runtime_target);
}

std::string python_program() {
  if (const char* chosen = std::getenv("LEMMA_PYTHON"); chosen != nullptr && *chosen != 0)
    return chosen;
  // In a checkout the data folder is BUILD/share/lemma, with BUILD two folders below the root.
  const std::filesystem::path checkout =
      std::filesystem::weakly_canonical(data_directory() / "../../../..");
  std::error_code ignored;
  const std::filesystem::path own = checkout / ".venv/bin/python3";
  return std::filesystem::exists(own, ignored) ? own.string() : "python3";
}

}  // namespace lemma
