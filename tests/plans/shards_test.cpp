// Sharding specifications as placements on a mesh that is found for them.

#include "plans/sharded_models/shards.h"

#include <gtest/gtest.h>

#include "plans/placement/window.h"

namespace lemma::plans {
namespace {

Shape shape_of(const std::vector<std::int64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

/// The part of each device, as the specification says it.
std::vector<std::size_t> parts_of(const ShardingSpecification& specification, const Shape& shape,
                                  std::int64_t devices) {
  const auto shards = shards_of(specification, shape, devices);
  EXPECT_TRUE(shards.has_value()) << shards.error().message;
  std::vector<std::size_t> parts;
  for (const auto& part : shards->part_of) parts.push_back(*part);
  return parts;
}

/// The number of the block that a rank has, of all blocks in the order of their elements.
std::size_t block_of(const Placement& placement, const Mesh& mesh, std::size_t rank,
                     const std::vector<std::int64_t>& sizes) {
  std::size_t number = 0;
  const Window window = window_of(placement, mesh, rank, sizes);
  for (std::size_t axis = 0; axis < window.size(); ++axis)
    number = number * static_cast<std::size_t>(sizes[axis] / window[axis].size) +
             static_cast<std::size_t>(window[axis].begin / window[axis].size);
  return number;
}

TEST(Shards, EachPlacementComesBack) {
  const std::vector<std::int64_t> sizes = {24, 48};
  for (const Mesh& mesh : {Mesh{{{"a", 6}}}, Mesh{{{"a", 2}, {"b", 3}}}, Mesh{{{"a", 3}, {"b", 2}}},
                           Mesh{{{"a", 2}, {"b", 2}, {"c", 2}}}}) {
    std::vector<Placement> placements = {{}};
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      std::vector<Placement> longer;
      for (const Placement& placement : placements)
        for (const Share& share : {Share{}, Share{Sharing::parted, 0}, Share{Sharing::parted, 1}}) {
          longer.push_back(placement);
          longer.back().push_back(share);
        }
      placements = std::move(longer);
    }
    for (const Placement& placement : placements) {
      const ShardingSpecification written = specification_of("t", shape_of(sizes), placement, mesh);
      const auto shards = shards_of(written, shape_of(sizes), mesh.device_count());
      ASSERT_TRUE(shards.has_value()) << shards.error().message;
      const auto grid = grid_of({*shards}, mesh.device_count());
      ASSERT_TRUE(grid.has_value()) << text(placement, mesh);
      const auto read = placement_on(*grid, *shards);
      ASSERT_TRUE(read.has_value());
      for (std::size_t rank = 0; rank < grid->devices.size(); ++rank)
        EXPECT_EQ(block_of(*read, grid->mesh, rank, sizes),
                  block_of(placement, mesh, grid->devices[rank], sizes))
            << text(placement, mesh);
    }
  }
}

TEST(Shards, OneGridIsFoundForSeveralTensors) {
  const Mesh mesh{{{"rows", 2}, {"columns", 3}}};
  std::vector<Shards> tensors;
  for (const Placement& placement :
       {Placement{{Sharing::parted, 0}, {}}, Placement{{}, {Sharing::parted, 1}},
        Placement{{Sharing::parted, 1}, {Sharing::parted, 0}}})
    tensors.push_back(
        *shards_of(specification_of("t", shape_of({6, 6}), placement, mesh), shape_of({6, 6}), 6));
  const auto grid = grid_of(tensors, 6);
  ASSERT_TRUE(grid.has_value());
  ASSERT_EQ(grid->mesh.rank(), 2U);
  EXPECT_EQ(grid->mesh.axes[0].size, 2);
  EXPECT_EQ(grid->mesh.axes[1].size, 3);
}

TEST(Shards, DevicesThatStandInNoGrid) {
  const Shape shape = shape_of({4});
  const ShardingSpecification cut{"t", {0, 1, 2, 3}, {}, {{0, {{std::nullopt, 4}}}}};
  ShardingSpecification other = cut;
  other.devices = {0, 2, 3, 1};
  EXPECT_EQ(parts_of(other, shape, 4), (std::vector<std::size_t>{0, 3, 1, 2}));
  EXPECT_TRUE(grid_of({*shards_of(other, shape, 4)}, 4).has_value());
  EXPECT_FALSE(grid_of({*shards_of(cut, shape, 4), *shards_of(other, shape, 4)}, 4).has_value());
}

TEST(Shards, AxesThatAreSeveralInOne) {
  const auto cut = [](std::vector<ShardedAxis::Factor> factors) {
    const ShardingSpecification specification{"t", {0, 1}, {}, {{0, std::move(factors)}}};
    return shards_of(specification, shape_of({12}), 2).has_value();
  };
  EXPECT_TRUE(cut({{12, 2}}));
  EXPECT_TRUE(cut({{4, 2}, {3, 1}}));
  EXPECT_TRUE(cut({{1, 1}, {12, 2}}));
  EXPECT_FALSE(cut({{3, 1}, {4, 2}}));  // a device would have three parts
  EXPECT_FALSE(cut({{8, 2}}));          // the axis has another size
}

}  // namespace
}  // namespace lemma::plans
