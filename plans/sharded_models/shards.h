#pragma once
// Sharding specifications as placements: on which devices the parts of a tensor are, and a mesh on which all of a model's are
// placed.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "frontend_onnx/sharding_specifications.h"
#include "ir/tensor_type.h"
#include "plans/placement/placement.h"

namespace lemma::plans {

/// The equal parts of a tensor.
struct Shards {
  struct Cut {
    std::size_t axis = 0;  // of the tensor
    std::int64_t parts = 1;
  };
  std::vector<Cut> cuts;  // parts are numbered, those along the last one first
  std::vector<std::optional<std::size_t>> part_of;  // by device; nothing: it has none

  bool is_whole() const { return cuts.empty(); }
  std::size_t device_count() const;
};

/// An error: an axis or a device that there is not, parts that are not equal, or a device with two parts.
Result<Shards> shards_of(const ShardingSpecification& specification, const Shape& shape,
                         std::int64_t devices);

/// Devices in a grid.
struct DeviceGrid {
  Mesh mesh;
  std::vector<std::size_t> devices;  // by rank; the last axis of the mesh is the fastest
};

/// The grid with the fewest axes on which all of these are placed, each of which is on all devices. Nothing: there is none.
std::optional<DeviceGrid> grid_of(const std::vector<Shards>& tensors, std::int64_t devices);

/// Nothing: the parts are not on the devices as any placement has them.
std::optional<Placement> placement_on(const DeviceGrid& grid, const Shards& shards);

/// How a tensor that is placed without partial shares is written for devices 0, 1, ...
ShardingSpecification specification_of(std::string tensor, const Shape& shape,
                                       const Placement& placement, const Mesh& mesh);

}  // namespace lemma::plans
