#include "cli/cuda_target.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<std::string> cuda_architectures() {
  std::vector<std::string> names;
  for (const Architecture& each : architectures) names.emplace_back(each.name);
  return names;
}

Result<CudaTarget> cuda_target(const CudaChoice& choice) {
  std::string device = choice.device;
  for (const Architecture& each : architectures)
    if (device.empty() && each.name == choice.architecture) device = each.device;
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
  return target;
}

}  // namespace lemma
