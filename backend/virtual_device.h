#pragma once
// What a schedule is made for: execution units that run one task at a time, and what it costs them to wait for
// each other. Threads of a processor, blocks of a GPU, or a simulated device of any width.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "backend/multiprocessor.h"
#include "base/result.h"

namespace lemma::backend {

/// What it costs units that have no memory but their own to copy from each other, all at the same time.
struct TileExchange {
  double seconds = 0;           // for all units to begin one together, and to go on after it
  double seconds_per_byte = 0;  // that a unit receives, or sends
};

struct VirtualDevice {
  std::string name;
  std::uint32_t units = 1;
  std::uint64_t shared_bytes_per_unit = 0;  // of memory that the threads of one unit share
  // Modelled, not measured: they only have to put tasks into proportion.
  double least_task_seconds = 0;     // shorter tasks are not worth one of their own
  double seconds_per_operation = 0;  // of one unit
  double seconds_per_byte = 0;       // read or written by one unit
  /// The time of an operator for each byte of weights: its tasks bring weights and inputs from
  /// memory once, each an equal share.
  double seconds_per_weight_byte = 0;
  /// Of the last cache. The outputs of the model, and tensors that are larger, take seconds_per_weight_byte, too, where they
  /// are written and read. Nothing: only weights and inputs do.
  std::optional<double> cache_bytes = {};
  double seconds_per_task = 0;   // to begin a task
  double seconds_per_event = 0;  // from a signal on one unit to the end of a wait on another
  double seconds_per_synchronization = 0;  // of all units
  /// The time at the start and the end of a run: until units beside the first begin, and until it
  /// is known that they have ended.
  double seconds_to_start_units = 0;
  double seconds_per_launch =
      0;  // from the end of one operator to the next, where each is started alone
  /// The multiprocessor of a GPU: what tasks compute takes as many cycles as their source needs (blocks/block_time.h),
  /// and seconds_per_operation does not count.
  std::optional<Multiprocessor> multiprocessor = {};
  /// Units are tiles (tile_program.h): shared_bytes_per_unit is all memory that they have.
  std::optional<TileExchange> exchange = {};
};

inline constexpr std::uint32_t most_units = 2048;

/// Threads of a processor, one for each unit, with costs as measured (docs/rtask.md, "Costs of a processor").
VirtualDevice cpu_device(std::uint32_t threads);
/// Reads the part `schedule` of a description such as targets/devices/simulated-80.json, or a file that is such a part: one JSON object with the members of
/// VirtualDevice and `source`, where the figures come from; `seconds_to_start_units` may be left out, for 0, `cache_bytes`, and
/// `multiprocessor`, an object with the numbers of Multiprocessor and `architecture`, and `exchange`, with those of TileExchange. `units`:
/// that many instead, each as in the description; 0: as many as it says. Errors name the file and the entry that is missing or malformed.
Result<VirtualDevice> load_virtual_device(const std::filesystem::path& file,
                                          std::uint32_t units = 0);

}  // namespace lemma::backend
