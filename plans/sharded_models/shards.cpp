#include "plans/sharded_models/shards.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace lemma::plans {

namespace {

constexpr std::size_t most_orders = 720;  // of the factors of the number of devices
constexpr std::int64_t most_parts = 1 << 16;

/// How the axis is cut; nothing: it is not.
Result<std::optional<Shards::Cut>> cut_of(const ShardedAxis& axis, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis.axis < -rank || axis.axis >= rank)
    return bad_input(fmt::format("axis {} is none of {}", axis.axis, text(shape)));
  const auto position = static_cast<std::size_t>(axis.axis < 0 ? axis.axis + rank : axis.axis);
  std::int64_t parts = 1;
  bool is_behind_another = false;  // a part of the axis that is not cut
  for (const ShardedAxis::Factor& factor : axis.factors) {
    if (factor.shards < 1 || factor.shards > most_parts)
      return bad_input(
          fmt::format("axis {} has no number of shards from 1 to {}", axis.axis, most_parts));
    if (axis.factors.size() == 1 && factor.size && !shape[position].is(*factor.size))
      return bad_input(fmt::format("axis {} of {} is said to have the size {}", axis.axis,
                                   text(shape), *factor.size));
    if (factor.shards > 1 && is_behind_another)
      return unsupported(fmt::format(
          "axis {} is cut as several axes in one: a device would have many parts", axis.axis));
    // What is cut into single elements leaves the next factor as a whole.
    is_behind_another |= !factor.size || *factor.size != factor.shards;
    parts = std::min(parts * factor.shards, most_parts + 1);
  }
  if (parts == 1) return std::optional<Shards::Cut>();
  if (!exact_div(shape[position], Dimension(parts)))
    return bad_input(fmt::format("axis {} of {} cannot be cut into {} equal parts", axis.axis,
                                 text(shape), parts));
  return std::optional(Shards::Cut{position, parts});
}

/// The devices that an entry of the list stands for.
Result<std::vector<std::int64_t>> devices_of(const ShardingSpecification& specification,
                                             std::int64_t entry, std::int64_t devices) {
  const auto group = specification.groups.find(entry);
  const std::vector<std::int64_t> result =
      group == specification.groups.end() ? std::vector{entry} : group->second;
  for (const std::int64_t device : result)
    if (device < 0 || device >= devices)
      return bad_input(
          fmt::format("device {} is none of the {} of the configuration", device, devices));
  return result;
}

std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t factor = 2; number > 1; ++factor)
    for (; number % factor == 0; number /= factor) result.push_back(factor);
  return result;
}

/// What stands at each rank in place of coordinates along the axes of a mesh.
std::vector<std::int64_t> coordinates_of(const Mesh& mesh, std::size_t rank) {
  std::vector<std::int64_t> result(mesh.rank());
  for (std::size_t axis = mesh.rank(); axis-- > 0;) {
    result[axis] = static_cast<std::int64_t>(rank) % mesh.axes[axis].size;
    rank /= static_cast<std::size_t>(mesh.axes[axis].size);
  }
  return result;
}

/// The number of a part along each cut.
std::vector<std::int64_t> places_of(const Shards& shards, std::size_t part) {
  std::vector<std::int64_t> result(shards.cuts.size());
  for (std::size_t i = shards.cuts.size(); i-- > 0;) {
    result[i] = static_cast<std::int64_t>(part) % shards.cuts[i].parts;
    part /= static_cast<std::size_t>(shards.cuts[i].parts);
  }
  return result;
}

/// Whether each rank has the part that the placement says.
bool is_placed(const DeviceGrid& grid, const Shards& shards, const Placement& placement) {
  for (std::size_t rank = 0; rank < grid.devices.size(); ++rank) {
    const std::vector<std::int64_t> places = places_of(shards, *shards.part_of[grid.devices[rank]]);
    const std::vector<std::int64_t> at = coordinates_of(grid.mesh, rank);
    for (std::size_t i = 0; i < shards.cuts.size(); ++i) {
      std::int64_t place = 0, parts = 1;
      for (std::size_t axis = 0; axis < placement.size(); ++axis) {
        if (placement[axis].sharing != Sharing::parted ||
            placement[axis].axis != shards.cuts[i].axis)
          continue;
        place = place * grid.mesh.axes[axis].size + at[axis];
        parts *= grid.mesh.axes[axis].size;
      }
      if (place != places[i] || parts != shards.cuts[i].parts) return false;
    }
  }
  return true;
}

void name_axes(Mesh& mesh) {
  for (std::size_t i = 0; i < mesh.rank(); ++i)
    mesh.axes[i].name = mesh.rank() == 1 ? "devices" : fmt::format("devices_{}", i);
}

/// Axes that follow each other and cut all tensors alike become one.
DeviceGrid with_fewest_axes(DeviceGrid grid, const std::vector<Shards>& tensors) {
  std::vector<Placement> placements;
  for (const Shards& shards : tensors) placements.push_back(*placement_on(grid, shards));
  for (std::size_t i = 1; i < grid.mesh.rank();) {
    const bool is_alike =
        std::all_of(placements.begin(), placements.end(),
                    [i](const Placement& placement) { return placement[i] == placement[i - 1]; });
    if (!is_alike) {
      ++i;
      continue;
    }
    grid.mesh.axes[i - 1].size *= grid.mesh.axes[i].size;
    grid.mesh.axes.erase(grid.mesh.axes.begin() + static_cast<long>(i));
    for (Placement& placement : placements)
      placement.erase(placement.begin() + static_cast<long>(i));
  }
  name_axes(grid.mesh);
  return grid;
}

/// The devices as they are numbered, and in the order in which a tensor's parts are on them.
std::vector<std::vector<std::size_t>> device_orders(const std::vector<Shards>& tensors,
                                                    std::size_t devices) {
  std::vector<std::size_t> order(devices);
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::vector<std::size_t>> result = {order};
  const auto finest =
      std::max_element(tensors.begin(), tensors.end(), [](const Shards& a, const Shards& b) {
        const auto parts = [](const Shards& shards) {
          std::int64_t count = 1;
          for (const Shards::Cut& cut : shards.cuts) count *= cut.parts;
          return count;
        };
        return parts(a) < parts(b);
      });
  if (finest == tensors.end()) return result;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *finest->part_of[a] < *finest->part_of[b];
  });
  if (order != result.front()) result.push_back(std::move(order));
  return result;
}

}  // namespace

std::size_t Shards::device_count() const {
  return static_cast<std::size_t>(std::count_if(part_of.begin(), part_of.end(),
                                                [](const auto& part) { return part.has_value(); }));
}

Result<Shards> shards_of(const ShardingSpecification& specification, const Shape& shape,
                         std::int64_t devices) {
  Shards result;
  std::size_t parts = 1;
  std::set<std::size_t> axes;
  for (const ShardedAxis& axis : specification.axes) {
    LEMMA_ASSIGN_OR_RETURN(const auto cut, cut_of(axis, shape));
    if (!cut) continue;
    if (!axes.insert(cut->axis).second)
      return bad_input(fmt::format("axis {} is cut twice", axis.axis));
    result.cuts.push_back(*cut);
    parts = std::min(parts * static_cast<std::size_t>(cut->parts), std::size_t{most_parts} + 1);
  }
  if (specification.devices.size() != parts)
    return bad_input(fmt::format("{} parts are on a list of {} devices or groups", parts,
                                 specification.devices.size()));
  result.part_of.resize(static_cast<std::size_t>(devices));
  for (std::size_t part = 0; part < parts; ++part) {
    LEMMA_ASSIGN_OR_RETURN(const auto group,
                           devices_of(specification, specification.devices[part], devices));
    for (const std::int64_t device : group) {
      auto& own = result.part_of[static_cast<std::size_t>(device)];
      if (own) return bad_input(fmt::format("device {} is there twice", device));
      own = part;
    }
  }
  return result;
}

std::optional<Placement> placement_on(const DeviceGrid& grid, const Shards& shards) {
  Placement placement(grid.mesh.rank());
  std::size_t stride = grid.devices.size();
  for (std::size_t axis = 0; axis < grid.mesh.rank(); ++axis) {
    stride /= static_cast<std::size_t>(grid.mesh.axes[axis].size);
    if (grid.mesh.axes[axis].size == 1) continue;
    // What changes from one device to the next one along this axis.
    const std::vector<std::int64_t> places =
        places_of(shards, *shards.part_of[grid.devices[stride]]);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] != 0) placement[axis] = {Sharing::parted, shards.cuts[i].axis};
  }
  if (!is_placed(grid, shards, placement)) return std::nullopt;
  return placement;
}

std::optional<DeviceGrid> grid_of(const std::vector<Shards>& tensors, std::int64_t devices) {
  for (const std::vector<std::size_t>& order :
       device_orders(tensors, static_cast<std::size_t>(devices))) {
    std::vector<std::int64_t> factors = prime_factors(devices);
    for (std::size_t tried = 0; tried < most_orders; ++tried) {
      DeviceGrid grid{{}, order};
      for (const std::int64_t factor : factors) grid.mesh.axes.push_back({"", factor});
      if (grid.mesh.axes.empty()) grid.mesh.axes.push_back({"", 1});
      const bool fits = std::all_of(tensors.begin(), tensors.end(), [&](const Shards& shards) {
        return placement_on(grid, shards).has_value();
      });
      if (fits) return with_fewest_axes(std::move(grid), tensors);
      if (!std::next_permutation(factors.begin(), factors.end())) break;
    }
  }
  return std::nullopt;
}

ShardingSpecification specification_of(std::string tensor, const Shape& shape,
                                       const Placement& placement, const Mesh& mesh) {
  ShardingSpecification result;
  result.tensor = std::move(tensor);
  std::map<std::size_t, std::int64_t> cuts;  // parts by axis of the tensor
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (placement[i].sharing == Sharing::parted && mesh.axes[i].size > 1)
      cuts.try_emplace(placement[i].axis, 1).first->second *= mesh.axes[i].size;
  for (const auto& [axis, parts] : cuts) {
    ShardedAxis& sharded = result.axes.emplace_back();
    sharded.axis = static_cast<std::int64_t>(axis);
    sharded.factors.push_back({shape[axis].constant(), parts});
  }
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> holders;  // devices by part
  for (std::int64_t device = 0; device < mesh.device_count(); ++device) {
    const std::vector<std::int64_t> at = coordinates_of(mesh, static_cast<std::size_t>(device));
    std::vector<std::int64_t> part;
    for (const auto& [axis, parts] : cuts) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < placement.size(); ++i)
        if (placement[i].sharing == Sharing::parted && placement[i].axis == axis)
          place = place * mesh.axes[i].size + at[i];
      part.push_back(place);
    }
    holders[part].push_back(device);
  }
  for (const auto& [part, devices] : holders) {
    if (devices.size() == 1) {
      result.devices.push_back(devices.front());
      continue;
    }
    const std::int64_t key = -1 - static_cast<std::int64_t>(result.groups.size());
    result.devices.push_back(key);
    result.groups.emplace(key, devices);
  }
  return result;
}

}  // namespace lemma::plans
