#include "backend_cuda/virtual_device.h"

#include <fmt/format.h>

namespace lemma::backend {

VirtualDevice cpu_device(std::uint32_t threads) {
  VirtualDevice device;
  device.name = fmt::format("cpu-{}", threads);
  device.units = threads;
  device.shared_bytes_per_unit = 256U << 10U;
  device.least_task_seconds = 1e-6;
  device.seconds_per_operation = 0.25e-9;
  device.seconds_per_byte = 0.1e-9;
  device.seconds_per_task = 20e-9;
  device.seconds_per_event = 300e-9;
  device.seconds_per_synchronization = 1e-6;
  return device;
}

VirtualDevice simulated_device(std::uint32_t units) {
  VirtualDevice device;
  device.name = fmt::format("simulated-{}", units);
  device.units = units;
  device.shared_bytes_per_unit = 96U << 10U;
  device.least_task_seconds = 1e-6;
  device.seconds_per_operation = 5e-12;
  device.seconds_per_byte = 0.1e-9;
  device.seconds_per_task = 100e-9;
  device.seconds_per_event = 1e-6;
  device.seconds_per_synchronization = 2e-6;
  return device;
}

}  // namespace lemma::backend
