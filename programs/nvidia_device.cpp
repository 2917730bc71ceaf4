#include "programs/nvidia_device.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/execute/built_program.h"
#include "backend/execute/cuda_driver.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

struct Architecture {
  std::string_view name,
      device;  // the device that is meant where none is given; none: it has to be
  // What the CUDA programming guide says of it ("Compute Capabilities"), and AMD's instruction sets: 10 wavefronts of each of
  // four SIMD units, 8 for CDNA 2.
  std::uint32_t threads;       // that a multiprocessor holds at most
  std::uint64_t shared_bytes;  // that a block has at most
};
constexpr Architecture architectures[] = {
    {"sm_75", "t4", 1024, 64 << 10},     {"sm_80", "a100", 2048, 163 << 10},
    {"sm_86", "a10", 1536, 99 << 10},    {"sm_89", "l4", 1536, 99 << 10},
    {"sm_90", "h100", 2048, 227 << 10},  {"sm_100", "b200", 2048, 227 << 10},
    {"sm_103", "b300", 2048, 227 << 10}, {"sm_120", "rtx5090", 1536, 99 << 10},
    {"gfx906", "mi60", 2560, 64 << 10},  {"gfx90a", "mi250", 2048, 64 << 10}};

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& architecture : architectures)
    if (architecture.name == name) return &architecture;
  return nullptr;
}

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

/// Shares multiprocessors among units: where there are more units, several blocks have the memory and the
/// registers of one.
Result<void> share_multiprocessors(const CudaChoice& choice, std::uint32_t multiprocessors,
                                   NvidiaDevice& target) {
  // Of shared memory, that each block takes besides.
  const std::uint64_t bytes_of_system = target.options.is_hip() ? 0 : 1024;
  const std::uint32_t blocks = (target.device.units + multiprocessors - 1) / multiprocessors;
  if (blocks <= 1) return {};
  const Architecture* const architecture = find_architecture(choice.architecture);
  if (architecture != nullptr && blocks * choice.block_threads > architecture->threads)
    return bad_input(fmt::format(
        "--units {}: {} blocks of {} threads would share a multiprocessor, which holds {} "
        "threads; the device has {} multiprocessors",
        target.device.units, blocks, choice.block_threads, architecture->threads, multiprocessors));
  std::uint64_t& shared = target.device.shared_bytes_per_unit;
  const std::uint64_t part = (shared + bytes_of_system) / blocks;
  shared = part > bytes_of_system ? part - bytes_of_system : 0;
  target.options.blocks = blocks;
  return {};
}

}  // namespace

static std::vector<std::string> architectures_of(bool is_hip) {
  std::vector<std::string> names;
  for (const Architecture& architecture : architectures)
    if (architecture.name.starts_with("gfx") == is_hip) names.emplace_back(architecture.name);
  return names;
}

std::vector<std::string> cuda_architectures() { return architectures_of(false); }
std::vector<std::string> hip_architectures() { return architectures_of(true); }

Result<backend::KnownResources> known_resources(const ResourceChoice& choice,
                                                const std::string& architecture,
                                                std::uint32_t blocks) {
  if (choice.is_ignored) return backend::KnownResources();
  LEMMA_ASSIGN_OR_RETURN(const auto database, ProfileDatabase::open_to_read(choice.database));
  if (!database) return backend::KnownResources();
  LEMMA_ASSIGN_OR_RETURN(std::vector<ResourceFacts> facts, database->resources(architecture));
  if (facts.empty()) return backend::KnownResources();
  std::string compiler = choice.compiler;
  if (compiler.empty()) compiler = backend::cuda_compiler_version().value_or("");
  std::erase_if(facts, [&compiler](const ResourceFacts& resource_facts) {
    return resource_facts.source.compiler != compiler;
  });
  return backend::KnownResources(facts, blocks);
}

std::string device_name(const CudaChoice& choice) {
  if (!choice.device.empty()) return choice.device;
  const Architecture* const architecture = find_architecture(choice.architecture);
  return architecture == nullptr ? "" : std::string(architecture->device);
}

Result<void> choose_device_here(CudaChoice& choice) {
  LEMMA_ASSIGN_OR_RETURN(const auto device, backend::first_cuda_device());
  choice.architecture = device.architecture;
  choice.units = choice.multiprocessors = device.multiprocessors;
  return {};
}

Result<NvidiaDevice> nvidia_device(const CudaChoice& choice) {
  const std::string device = device_name(choice);
  if (device.empty())
    return bad_input(
        fmt::format("--arch {}: no description of such a device is shipped; give "
                    "--device",
                    choice.architecture));
  NvidiaDevice target;
  target.options.architecture = choice.architecture;
  constexpr std::uint32_t most_threads = 1024;
  const std::uint32_t warp = target.options.warp_lanes();
  if (choice.block_threads < warp || choice.block_threads > most_threads ||
      choice.block_threads % warp != 0)
    return bad_input(fmt::format("--block-threads: a multiple of {} up to 1024", warp));
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(device, DevicePart::schedule));
  if (choice.takes_tf32 && !target.options.has_matrix_units())
    return bad_input(fmt::format("--tf32: {} no products of TF32",
                                 target.options.is_hip()
                                     ? "source for AMD devices has"
                                     : "devices of " + choice.architecture + " have"));
  LEMMA_ASSIGN_OR_RETURN(target.device, backend::load_virtual_device(file, choice.units));
  // The device that is described may be another one.
  if (const Architecture* const architecture = find_architecture(choice.architecture))
    target.device.shared_bytes_per_unit =
        std::min(target.device.shared_bytes_per_unit, architecture->shared_bytes);
  target.options.block_threads = choice.block_threads;
  target.options.takes_tf32 = choice.takes_tf32;
  target.options.keeps_weights = choice.keeps_weights;
  LEMMA_ASSIGN_OR_RETURN(const backend::VirtualDevice described,
                         backend::load_virtual_device(file));
  LEMMA_RETURN_IF_ERROR(share_multiprocessors(
      choice, choice.multiprocessors != 0 ? choice.multiprocessors : described.units, target));
  for (const std::string& resource_file : choice.resources)
    LEMMA_RETURN_IF_ERROR(refuse_spilling_tiles(resource_file, target.options));
  if (!target.options.is_hip()) {
    LEMMA_ASSIGN_OR_RETURN(
        target.known, known_resources(choice.known, choice.architecture, target.options.blocks));
  }
  // Times are those of this source.
  if (target.device.multiprocessor) target.device.multiprocessor->source = target.options;
  return target;
}

}  // namespace lemma
