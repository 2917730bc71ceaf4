#pragma once
// A device on which small tensors are worth several tasks, for schedules of small graphs.

#include <filesystem>

#include <gtest/gtest.h>

#include "backend/virtual_device.h"

namespace lemma::backend {

/// targets/devices/slow-cpu.json with so many units.
inline VirtualDevice slow_device(std::uint32_t units) {
  const auto device = load_virtual_device(
      std::filesystem::path(LEMMA_SOURCE_DIRECTORY) / "targets/devices/slow-cpu.json", units);
  EXPECT_TRUE(device) << device.error().message;
  return device ? *device : VirtualDevice();
}

}  // namespace lemma::backend
