#include "programs/nvidia_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace lemma {
namespace {

std::uint64_t shared_bytes(const std::string& architecture, const std::string& device) {
  CudaChoice choice;
  choice.architecture = architecture;
  choice.device = "targets/devices/" + device + ".json";
  choice.known.is_ignored = true;
  const auto described = nvidia_device(choice);
  EXPECT_TRUE(described.has_value()) << described.error().message;
  return described ? described->device.shared_bytes_per_unit : 0;
}

TEST(NvidiaDevice, BlocksHaveNoMoreSharedMemoryThanTheArchitectureAllows) {
  EXPECT_EQ(shared_bytes("sm_90", "h100"), 227U << 10);
  EXPECT_EQ(shared_bytes("sm_80", "h100"), 163U << 10);
  EXPECT_EQ(shared_bytes("sm_120", "h100"), 99U << 10);
  EXPECT_EQ(shared_bytes("sm_90", "t4"), 64U << 10);  // what is described
}

TEST(NvidiaDevice, EachArchitectureHasADescription) {
  for (const std::string& architecture : cuda_architectures()) {
    CudaChoice choice;
    choice.architecture = architecture;
    const std::string device = device_name(choice);
    ASSERT_FALSE(device.empty()) << architecture;
    EXPECT_GE(shared_bytes(architecture, device), 64U << 10) << architecture;
  }
}

}  // namespace
}  // namespace lemma
