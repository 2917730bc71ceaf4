#include "cli/cuda_target.h"

#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/data_directory.h"

namespace lemma {

namespace {

struct Architecture {
  std::string_view name,
      device;  // the device that is meant where none is given; none: it has to be
};
constexpr Architecture architectures[] = {{"sm_75", "t4"}, {"sm_80", "a100"}, {"sm_86", ""},
                                          {"sm_89", ""},   {"sm_90", "h100"}, {"sm_100", ""},
                                          {"sm_120", ""}};

/// Reads what scripts/cuda_resources found for the architecture: tiles with which a function spills registers.
Result<void> refuse_spilling_tiles(const std::string& file, backend::CudaOptions& options) {
  std::ifstream stream(file);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object() || !json.contains("functions") || !json["functions"].is_array())
    return bad_input(fmt::format("{}: no file of scripts/cuda_resources", file));
  if (json.value("architecture", "") != options.architecture) return {};
  for (const auto& function : json["functions"]) {
    if (!function.is_object() || !function.contains("spill_store_bytes") ||
        !function["spill_store_bytes"].is_number_unsigned())
      return bad_input(fmt::format("{}: no file of scripts/cuda_resources", file));
    if (function["spill_store_bytes"].get<std::uint64_t>() == 0) continue;
    const auto tiles = function.find("tiles");
    if (tiles != function.end() && tiles->is_string())
      options.refused_tiles.insert(tiles->get<std::string>());
  }
  return {};
}

}  // namespace

std::vector<std::string> cuda_architectures() {
  std::vector<std::string> names;
  for (const Architecture& each : architectures) names.emplace_back(each.name);
  return names;
}

std::string device_name(const CudaChoice& choice) {
  std::string device = choice.device;
  for (const Architecture& each : architectures)
    if (device.empty() && each.name == choice.architecture) device = each.device;
  return device;
}

Result<CudaTarget> cuda_target(const CudaChoice& choice) {
  const std::string device = device_name(choice);
  if (device.empty())
    return bad_input(
        fmt::format("--arch {}: no description of such a device is shipped; give "
                    "--device",
                    choice.architecture));
  constexpr std::uint32_t warp = 32, most_threads = 1024;
  if (choice.block_threads < warp || choice.block_threads > most_threads ||
      choice.block_threads % warp != 0)
    return bad_input("--block-threads: a multiple of 32 up to 1024");
  LEMMA_ASSIGN_OR_RETURN(const auto file, virtual_device_file(device));
  if (choice.takes_tf32 && choice.architecture == "sm_75")
    return bad_input("--tf32: devices of sm_75 have no products of TF32");
  CudaTarget target;
  LEMMA_ASSIGN_OR_RETURN(target.device, backend::load_virtual_device(file, choice.units));
  target.options = {choice.architecture, choice.block_threads, choice.takes_tf32};
  for (const std::string& each : choice.resources)
    LEMMA_RETURN_IF_ERROR(refuse_spilling_tiles(each, target.options));
  // Times are those of this source.
  if (target.device.multiprocessor) target.device.multiprocessor->source = target.options;
  return target;
}

}  // namespace lemma
