#pragma once
// A model planned for a device that may only be described (`lemma schedule`).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/compile/compile.h"
#include "backend/program.h"
#include "backend/tile_program.h"
#include "backend_cuda/libraries/library_plan.h"
#include "backend_cuda/regions/plan_regions.h"
#include "programs/nvidia_device.h"

namespace lemma {

struct ScheduleRequest {
  std::string model;   // file
  std::string device;  // "cpu" (this processor), a shipped description or a file
  std::string policy = "best";
  std::vector<std::string> shapes;  // NAME:1,3,224,224
  std::uint32_t units = 0;          // 0: as many as the device has
  bool fuses = true, stitches = false, keeps_weights = true;
  ResourceChoice known;
  std::string times;        // file of times of tasks, taken in place of modelled ones; empty: none
  std::string write_times;  // file that the modelled times of all kernels are added to; empty: none
  std::string measured;     // file for times that are measured here; empty: none
  /// The device whose description prices calls of libraries, or its file; empty: calls are not looked at.
  std::string libraries;
  bool cuts = false;  // also into calls and persistent kernels
};

/// On a device whose units are tiles.
struct TileSchedule {
  backend::TileProgram program;
  backend::TileTimes times;
  /// Where each operator has all tiles for itself; nothing if a tile has no room for that.
  std::optional<backend::TileTimes> alone;
};

struct ScheduledModel {
  backend::TaskProgram program;       // none on tiles
  std::optional<TileSchedule> tiles;  // proved, in place of it
  double planning_seconds = 0, planning_cpu_seconds = 0;
  std::optional<backend::LibraryPlan> libraries;
  std::optional<backend::RegionPlan> regions;
};

/// Writes the files of times that the request names. `notes`: for people.
Result<ScheduledModel> schedule_model(const ScheduleRequest& request,
                                      std::vector<std::string>& notes);

/// Names that `policy` may have, and what each means.
std::vector<std::string> policy_names();
backend::Policy policy_named(const std::string& name);

}  // namespace lemma
