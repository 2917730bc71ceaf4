#include "plans/choice/placement.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace lemma::choice {
namespace {

using clusters::Collective;

clusters::Mesh mesh_of(const MeshSizes& sizes) {
  clusters::Mesh mesh{"test", {}};
  double bandwidth = 1e9;
  for (const std::size_t size : sizes) {
    mesh.axes.push_back({"axis", size, 1e-6, bandwidth});
    bandwidth *= 8;
  }
  return mesh;
}

/// The elements of a tensor with two dimensions, and what each device has of them.
class Devices {
 public:
  Devices(const Tensor& tensor, const MeshSizes& mesh) : tensor_(tensor), mesh_(mesh) {}

  std::size_t count() const {
    std::size_t count = 1;
    for (const std::size_t size : mesh_) count *= size;
    return count;
  }
  std::vector<std::size_t> coordinates(std::size_t device) const {
    std::vector<std::size_t> result(mesh_.size());
    for (std::size_t axis = mesh_.size(); axis-- > 0;) {
      result[axis] = device % mesh_[axis];
      device /= mesh_[axis];
    }
    return result;
  }

  /// The elements that a device has, from the definition of placements: axes cut a dimension in order.
  std::set<std::int64_t> elements(const Placement& placement, std::size_t device) const {
    const std::vector<std::size_t> at = coordinates(device);
    std::vector<std::int64_t> begin(2, 0), size = tensor_.sizes;
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      if (placement[axis].sharing != Sharing::parted) continue;
      const std::uint32_t dimension = placement[axis].axis;
      size[dimension] /= static_cast<std::int64_t>(mesh_[axis]);
      begin[dimension] += size[dimension] * static_cast<std::int64_t>(at[axis]);
    }
    std::set<std::int64_t> result;
    for (std::int64_t row = begin[0]; row < begin[0] + size[0]; ++row)
      for (std::int64_t column = begin[1]; column < begin[1] + size[1]; ++column)
        result.insert(row * tensor_.sizes[1] + column);
    return result;
  }

  /// Which of the pieces it is in, if what the device has is cut once more along an axis.
  std::size_t piece(const Placement& placement, std::size_t device, std::int64_t element,
                    std::uint32_t dimension, std::size_t axis) const {
    std::set<std::int64_t> places;
    const auto place = [&](std::int64_t of) {
      return dimension == 0 ? of / tensor_.sizes[1] : of % tensor_.sizes[1];
    };
    for (const std::int64_t other : elements(placement, device)) places.insert(place(other));
    const auto at = std::distance(places.begin(), places.find(place(element)));
    return static_cast<std::size_t>(at) * mesh_[axis] / places.size();
  }

  /// The devices that differ from this one in this axis only, and itself.
  std::vector<std::size_t> group(std::size_t device, std::size_t axis) const {
    std::vector<std::size_t> result;
    for (std::size_t other = 0; other < count(); ++other) {
      std::vector<std::size_t> a = coordinates(device), b = coordinates(other);
      a[axis] = b[axis] = 0;
      if (a == b) result.push_back(other);
    }
    return result;
  }

 private:
  Tensor tensor_;
  MeshSizes mesh_;
};

/// Numbers of devices, by element.
using State = std::vector<std::map<std::int64_t, double>>;

double value_of(std::int64_t element) { return static_cast<double>(element * element + 3); }

/// A state that a placement allows: along partial axes the numbers are split.
State state_of(const Devices& devices, const Placement& placement, const MeshSizes& mesh) {
  State state(devices.count());
  for (std::size_t device = 0; device < devices.count(); ++device) {
    const std::vector<std::size_t> at = devices.coordinates(device);
    for (const std::int64_t element : devices.elements(placement, device)) {
      double value = value_of(element);
      for (std::size_t axis = 0; axis < mesh.size(); ++axis)
        if (placement[axis].sharing ==
            Sharing::partial)  // all but the first have a number of their own
          value = at[axis] > 0 ? value / 2 / static_cast<double>(mesh[axis] - 1) : value / 2;
      state[device][element] = value;
    }
  }
  return state;
}

/// Carries out a move, whose numbers have to be there in the devices that take part.
State moved(const Devices& devices, const State& before, const Placement& from, const Move& move) {
  State after(devices.count());
  for (std::size_t device = 0; device < devices.count(); ++device) {
    const std::size_t coordinate = devices.coordinates(device)[move.axis];
    for (const std::int64_t element : devices.elements(move.to, device)) {
      if (move.is_local && !move.permutes) {
        // Only the first keeps what all had; zeros stand for what others have.
        const bool keeps = move.to[move.axis].sharing != Sharing::partial ||
                           from[move.axis].sharing == Sharing::parted || coordinate == 0;
        const auto own = before[device].find(element);
        EXPECT_TRUE(move.to[move.axis].sharing == Sharing::partial || own != before[device].end());
        after[device][element] = keeps && own != before[device].end() ? own->second : 0;
        continue;
      }
      if (move.is_local && move.to[move.axis].sharing == Sharing::partial) {
        // Parts have changed places so that this axis cuts last; zeros stand for what others have then.
        const bool keeps =
            devices.piece(move.to, device, element, from[move.axis].axis, move.axis) == coordinate;
        after[device][element] = keeps ? value_of(element) : 0;
        continue;
      }
      double sum = 0;
      bool is_there = false;
      std::vector<std::size_t> sources = devices.group(device, move.axis);
      if (move.permutes) {
        // Parts change places along the later axes as well: one of the devices has what is needed.
        sources.clear();
        for (std::size_t other = 0; other < devices.count(); ++other) sources.push_back(other);
      }
      const bool adds = move.collective == Collective::all_reduce ||
                        move.collective == Collective::reduce_scatter;
      std::set<std::size_t> added;
      for (const std::size_t other : sources) {
        const auto at = before[other].find(element);
        if (at == before[other].end()) continue;
        if (adds && !move.is_local) {
          if (!added.insert(devices.coordinates(other)[move.axis]).second) continue;
          sum += at->second;
        } else {
          sum = at->second;
        }
        is_there = true;
      }
      EXPECT_TRUE(is_there) << text_of(from) << " -> " << text_of(move.to);
      after[device][element] = sum;
    }
  }
  return after;
}

/// Whether each device has its elements, and sums along partial axes are the tensor.
void expect_state(const Devices& devices, const State& state, const Placement& placement,
                  const MeshSizes& mesh) {
  for (std::size_t device = 0; device < devices.count(); ++device)
    for (const std::int64_t element : devices.elements(placement, device)) {
      double sum = 0;
      for (std::size_t other = 0; other < devices.count(); ++other) {
        bool counts = true;
        for (std::size_t axis = 0; axis < mesh.size(); ++axis)
          if (placement[axis].sharing != Sharing::partial)
            counts =
                counts && devices.coordinates(other)[axis] == devices.coordinates(device)[axis];
        if (counts) sum += state[other].at(element);
      }
      EXPECT_NEAR(sum, value_of(element), 1e-9) << text_of(placement);
    }
}

TEST(Placement, AllPairsAreReachedByMovesThatHaveWhatTheyNeed) {
  const Tensor tensor{{12, 12}, 4};
  for (const MeshSizes& mesh : {MeshSizes{2, 3}, MeshSizes{3, 2}, MeshSizes{4, 1}}) {
    Reshardings reshardings(tensor, mesh, best_prices(mesh_of(mesh)));
    const Devices devices(tensor, mesh);
    const std::vector<Placement> placements = placements_of(tensor, mesh);
    EXPECT_EQ(placements.size(), mesh[1] == 1 ? 4U : 16U);
    for (const Placement& from : placements)
      for (const Placement& to : placements) {
        State state = state_of(devices, from, mesh);
        expect_state(devices, state, from, mesh);
        Placement at = from;
        double seconds = 0;
        for (const Move& move : reshardings.moves(from, to)) {
          state = moved(devices, state, at, move);
          at = move.to;
          expect_state(devices, state, at, mesh);
          seconds += move.seconds;
        }
        EXPECT_EQ(at, to);
        EXPECT_DOUBLE_EQ(seconds, reshardings.seconds(from, to));
        EXPECT_EQ(from == to, reshardings.moves(from, to).empty());
      }
  }
}

TEST(Placement, NoDetourIsCheaper) {
  const Tensor tensor{{64, 96}, 4};
  const MeshSizes mesh = {4, 8};
  Reshardings reshardings(tensor, mesh, best_prices(mesh_of(mesh)));
  const std::vector<Placement> placements = placements_of(tensor, mesh);
  for (const Placement& from : placements)
    for (const Placement& to : placements)
      for (const Placement& over : placements)
        EXPECT_LE(reshardings.seconds(from, to),
                  reshardings.seconds(from, over) + reshardings.seconds(over, to) + 1e-15);
}

TEST(Placement, CostsAreThoseOfTheCollectives) {
  const Tensor tensor{{64, 96}, 4};
  const double bytes = 64 * 96 * 4;
  const MeshSizes mesh = {4, 8};
  const CollectivePrice price = best_prices(mesh_of(mesh));
  Reshardings reshardings(tensor, mesh, price);
  const auto seconds = [&](const Placement& from, const Placement& to) {
    return reshardings.seconds(from, to);
  };
  const Share s0 = sharded(0), s1 = sharded(1);
  EXPECT_EQ(seconds({replicated, replicated}, {s0, s1}), 0);
  EXPECT_EQ(seconds({replicated, s1}, {partial, s1}), 0);
  EXPECT_DOUBLE_EQ(seconds({replicated, s0}, {replicated, replicated}),
                   price(Collective::all_gather, bytes, 1));
  // Along the slow axis each device gets only what it then gives to the others along the fast one.
  EXPECT_DOUBLE_EQ(
      seconds({s0, replicated}, {replicated, replicated}),
      price(Collective::all_gather, bytes / 8, 0) + price(Collective::all_gather, bytes, 1));
  // The other axis cuts the tensor as well: less is gathered.
  EXPECT_DOUBLE_EQ(seconds({s0, s1}, {replicated, s1}),
                   price(Collective::all_gather, bytes / 8, 0));
  EXPECT_DOUBLE_EQ(seconds({replicated, s0}, {replicated, s1}),
                   price(Collective::all_to_all, bytes, 1));
  EXPECT_DOUBLE_EQ(seconds({replicated, partial}, {replicated, s1}),
                   price(Collective::reduce_scatter, bytes, 1));
  EXPECT_DOUBLE_EQ(seconds({replicated, partial}, {replicated, replicated}),
                   price(Collective::all_reduce, bytes, 1));
  // Both axes cut dimension 0; the second one is the inner one.
  EXPECT_DOUBLE_EQ(seconds({s0, s0}, {s0, replicated}),
                   price(Collective::all_gather, bytes / 4, 1));
  EXPECT_EQ(seconds({s0, replicated}, {s0, s0}), 0);
  EXPECT_GT(seconds({replicated, s0}, {s0, s0}), 0);
  EXPECT_TRUE(std::isinf(seconds({sharded(2), replicated}, {replicated, replicated})));
}

TEST(Placement, WhatTheTensorCannotBeCutIntoIsLeftOut) {
  EXPECT_TRUE(is_possible({{4, 8}, 4}, {sharded(0), replicated}, {4, 2}));
  EXPECT_FALSE(is_possible({{4, 8}, 4}, {sharded(0), sharded(0)}, {4, 2}));
  EXPECT_FALSE(is_possible({{4, 8}, 4}, {sharded(2), replicated}, {4, 2}));
  EXPECT_FALSE(is_possible({{4, 8}, 4}, {sharded(0)}, {4, 2}));
  EXPECT_EQ(normalized({sharded(0), partial}, {4, 1}), (Placement{sharded(0), replicated}));
}

TEST(Placement, MemoryIsThatOfTheLargestPart) {
  const MeshSizes mesh = {4, 2};
  EXPECT_EQ(memory_on_device({{10, 8}, 4}, {sharded(0), sharded(1)}, mesh), 3U * 4 * 4);
  EXPECT_EQ(memory_on_device({{10, 8}, 2}, {partial, replicated}, mesh), 10U * 8 * 2);
  EXPECT_EQ(memory_on_device({{16, 8}, 4}, {sharded(0), sharded(0)}, mesh), 2U * 8 * 4);
}

TEST(Placement, AlpaGathersTheWholeTensor) {
  const MeshSizes mesh = {4, 8};
  const CollectivePrice price = alpa_prices(mesh, {1, 1}, {1, 0.01});
  const Tensor tensor{{64, 64}, 4};
  const Share s0 = sharded(0), s1 = sharded(1);
  EXPECT_EQ(alpa_resharding(tensor, {replicated, replicated}, {s0, s1}, price), 0);
  EXPECT_DOUBLE_EQ(alpa_resharding(tensor, {s0, s1}, {s0, replicated}, price),
                   price(Collective::all_gather, 16384, 1));
  EXPECT_DOUBLE_EQ(
      alpa_resharding(tensor, {s0, s1}, {s1, s0}, price),
      price(Collective::all_gather, 16384, 0) + price(Collective::all_gather, 16384, 1));
}

}  // namespace
}  // namespace lemma::choice
