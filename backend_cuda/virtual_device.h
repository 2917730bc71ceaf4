#pragma once
// What a schedule is made for: execution units that run one task at a time, and what it costs them to wait for
// each other. Threads of a processor, blocks of a GPU, or a simulated device of any width.

#include <cstdint>
#include <string>

namespace lemma::backend {

struct VirtualDevice {
  std::string name;
  std::uint32_t units = 1;
  std::uint64_t shared_bytes_per_unit = 0;  // of memory that the threads of one unit share
  // Modelled, not measured: they only have to put tasks into proportion.
  double least_task_seconds = 0;     // shorter tasks are not worth one of their own
  double seconds_per_operation = 0;  // of one unit
  double seconds_per_byte = 0;       // read or written by one unit
  double seconds_per_task = 0;       // to begin a task
  double seconds_per_event = 0;      // from a signal on one unit to the end of a wait on another
  double seconds_per_synchronization = 0;  // of all units
};

/// Threads of a processor, one for each unit.
VirtualDevice cpu_device(std::uint32_t threads);
/// The proportions of a GPU with so many multiprocessors; runs nowhere.
VirtualDevice simulated_device(std::uint32_t units);

}  // namespace lemma::backend
