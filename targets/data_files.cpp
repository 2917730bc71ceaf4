#include "targets/data_files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lemma {

static std::filesystem::path& chosen_data_directory() {
  static std::filesystem::path folder;
  return folder;
}

void use_data_directory(std::filesystem::path folder) {
  chosen_data_directory() = std::move(folder);
}

std::filesystem::path data_directory() {
  if (const char* chosen = std::getenv("LEMMA_DATA")) return chosen;
  if (!chosen_data_directory().empty()) return chosen_data_directory();
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "lemma";
}

std::filesystem::path rules_folder(const std::string& folder) {
  std::error_code error;
  const bool is_shipped = folder == shipped_rules && !std::filesystem::is_directory(folder, error);
  return is_shipped ? data_directory() / "rules" : std::filesystem::path(folder);
}

std::string check_rules_folder(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_directory(rules_folder(folder), error)
             ? ""
             : "'" + folder + "' is no folder, and not 'shipped'";
}

std::filesystem::path operator_set_file(const std::string& set) {
  if (set.find('/') != std::string::npos || set.ends_with(".set")) return set;
  return data_directory() / "rules" / "operator_sets" / (set + ".set");
}

namespace {

namespace fs = std::filesystem;

std::string_view name(DevicePart part) {
  return part == DevicePart::operators ? "operators" : "schedule";
}

bool has_part(const fs::path& file, DevicePart part) {
  std::ifstream stream(file);
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains(name(part));
}

}  // namespace

Result<fs::path> device_file(const std::string& device, DevicePart part, std::string_view option) {
  if (device.find_first_of("./") != std::string::npos) return fs::path(device);
  const fs::path folder = data_directory() / "devices";
  fs::path file = folder / (device + ".json");
  if (has_part(file, part)) return file;
  std::vector<std::string> known;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().stem().extension().empty() && has_part(entry.path(), part))
      known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  return bad_input(
      fmt::format("{} {}: no device has this name; give {}, or a file (with '/' or '.' in its "
                  "path)",
                  option, device, fmt::join(known, ", ")));
}

Result<fs::path> cluster_file(const std::string& cluster, std::string_view option) {
  if (cluster.find_first_of("./") != std::string::npos) return fs::path(cluster);
  const fs::path folder = data_directory() / "clusters";
  fs::path file = folder / (cluster + ".json");
  std::error_code ignored;
  if (fs::exists(file, ignored)) return file;
  std::vector<std::string> known;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json") known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  return bad_input(
      fmt::format("{} {}: no cluster has this name; give {}, or a file (with '/' or '.' in its "
                  "path)",
                  option, cluster, fmt::join(known, ", ")));
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
