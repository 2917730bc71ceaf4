#include "plans/choice/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace lemma::choice {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t no_placement = std::numeric_limits<std::size_t>::max();

/// By dimension, into how many parts it is cut.
std::vector<std::size_t> cuts_of(const Placement& placement, const MeshSizes& mesh,
                                 std::size_t rank) {
  std::vector<std::size_t> cuts(rank, 1);
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    if (placement[axis].sharing == Sharing::parted) cuts[placement[axis].axis] *= mesh[axis];
  return cuts;
}

}  // namespace

MeshSizes sizes_of(const clusters::Mesh& mesh) {
  MeshSizes sizes;
  for (const clusters::Axis& axis : mesh.axes) sizes.push_back(axis.size);
  return sizes;
}

double bytes_of(const Tensor& tensor) {
  auto bytes = static_cast<double>(tensor.element_bytes);
  for (const std::int64_t size : tensor.sizes) bytes *= static_cast<double>(size);
  return bytes;
}

std::string text_of(const Placement& placement) {
  std::string text;
  for (const Share& place : placement) {
    if (!text.empty()) text += ' ';
    if (place.sharing == Sharing::parted)
      text += fmt::format("S{}", place.axis);
    else
      text += place.sharing == Sharing::partial ? "P" : "R";
  }
  return text;
}

Placement normalized(Placement placement, const MeshSizes& mesh) {
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    if (mesh[axis] == 1) placement[axis] = replicated;
  return placement;
}

bool is_possible(const Tensor& tensor, const Placement& placement, const MeshSizes& mesh) {
  if (placement.size() != mesh.size()) return false;
  for (const Share& place : placement)
    if (place.sharing == Sharing::parted && place.axis >= tensor.sizes.size()) return false;
  const std::vector<std::size_t> cuts = cuts_of(placement, mesh, tensor.sizes.size());
  for (std::size_t dimension = 0; dimension < cuts.size(); ++dimension)
    if (cuts[dimension] > 1 && std::cmp_less(tensor.sizes[dimension], cuts[dimension]))
      return false;
  return true;
}

std::vector<Placement> placements_of(const Tensor& tensor, const MeshSizes& mesh) {
  std::vector<Share> places = {replicated};
  for (std::uint32_t dimension = 0; dimension < tensor.sizes.size(); ++dimension)
    places.push_back(sharded(dimension));
  places.push_back(partial);
  std::vector<Placement> result = {{}};
  for (const std::size_t size : mesh) {
    std::vector<Placement> longer;
    for (const Placement& placement : result)
      for (const Share& place : places) {
        if (size == 1 && place != replicated) continue;
        longer.push_back(placement);
        longer.back().push_back(place);
      }
    result = std::move(longer);
  }
  std::erase_if(result,
                [&](const Placement& placement) { return !is_possible(tensor, placement, mesh); });
  return result;
}

std::size_t parts_of(const Placement& placement, const MeshSizes& mesh) {
  std::size_t parts = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    if (placement[axis].sharing == Sharing::parted) parts *= mesh[axis];
  return parts;
}

Bytes memory_on_device(const Tensor& tensor, const Placement& placement, const MeshSizes& mesh) {
  const std::vector<std::size_t> cuts = cuts_of(placement, mesh, tensor.sizes.size());
  Bytes bytes = tensor.element_bytes;
  for (std::size_t dimension = 0; dimension < cuts.size(); ++dimension)
    bytes *= (static_cast<Bytes>(tensor.sizes[dimension]) + cuts[dimension] - 1) / cuts[dimension];
  return bytes;
}

CollectivePrice best_prices(const clusters::Mesh& mesh) {
  return [axes = mesh.axes](clusters::Collective collective, double bytes, std::size_t axis) {
    return clusters::seconds_along(axes[axis], collective, bytes);
  };
}

CollectivePrice alpa_prices(const MeshSizes& mesh, std::vector<double> alpha,
                            std::vector<double> beta) {
  return [mesh, alpha = std::move(alpha), beta = std::move(beta)](clusters::Collective collective,
                                                                  double bytes, std::size_t axis) {
    return clusters::alpa_cost(collective, bytes, mesh[axis], alpha[axis], beta[axis]);
  };
}

Reshardings::Reshardings(Tensor tensor, MeshSizes mesh, CollectivePrice price)
    : tensor_(std::move(tensor)),
      mesh_(std::move(mesh)),
      price_(std::move(price)),
      placements_(placements_of(tensor_, mesh_)) {
  for (std::size_t number = 0; number < placements_.size(); ++number)
    numbers_[placements_[number]] = number;
}

/// Whether no later axis cuts the dimension that the axis cuts.
bool Reshardings::is_innermost(const Placement& placement, std::size_t axis) const {
  if (placement[axis].sharing != Sharing::parted) return true;
  for (std::size_t other = axis + 1; other < mesh_.size(); ++other)
    if (placement[other] == placement[axis]) return false;
  return true;
}

Move Reshardings::collective_move(clusters::Collective collective, std::size_t axis,
                                  const Placement& from, Share place) const {
  Move move{false, collective, axis, false, from, 0};
  move.to[axis] = place;
  // What the group has together: the axis itself cuts nothing there.
  Placement around = from;
  around[axis] = replicated;
  const double bytes = bytes_of(tensor_) / static_cast<double>(parts_of(around, mesh_));
  move.seconds = price_(collective, bytes, axis);
  return move;
}

std::vector<Move> Reshardings::moves_from(const Placement& from) const {
  using clusters::Collective;
  std::vector<Move> moves;
  for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
    if (mesh_[axis] == 1) continue;
    std::vector<Share> places = {replicated, partial};
    for (std::uint32_t dimension = 0; dimension < tensor_.sizes.size(); ++dimension)
      places.push_back(sharded(dimension));
    for (const Share& place : places) {
      if (place == from[axis]) continue;
      Move move{true, Collective::permute, axis, false, from, 0};
      move.to[axis] = place;
      const Sharing before = from[axis].sharing, after = place.sharing;
      if (before == Sharing::parted && after == Sharing::replicated)
        move = collective_move(Collective::all_gather, axis, from, place);
      else if (before == Sharing::parted && after == Sharing::parted)
        move = collective_move(Collective::all_to_all, axis, from, place);
      else if (before == Sharing::partial && after == Sharing::replicated)
        move = collective_move(Collective::all_reduce, axis, from, place);
      else if (before == Sharing::partial && after == Sharing::parted)
        move = collective_move(Collective::reduce_scatter, axis, from, place);
      if (!is_possible(tensor_, move.to, mesh_)) continue;
      for (const Placement* side : {&from, static_cast<const Placement*>(&move.to)}) {
        if (is_innermost(*side, axis)) continue;
        double slowest = 0;
        for (std::size_t other = axis; other < mesh_.size(); ++other) {
          if ((*side)[other] != (*side)[axis]) continue;
          // All parts of what the devices along this axis have change places.
          const double bytes = bytes_of(tensor_) / static_cast<double>(parts_of(*side, mesh_)) *
                               static_cast<double>(mesh_[other]);
          slowest = std::max(slowest, price_(Collective::permute, bytes, other));
        }
        move.seconds += slowest;
        move.permutes = true;
      }
      moves.push_back(std::move(move));
    }
  }
  return moves;
}

/// Dijkstra's algorithm; of equal ways the one that was seen first.
const std::vector<Reshardings::Way>& Reshardings::ways_from(std::size_t from) {
  const auto [at, is_new] = ways_.try_emplace(from);
  std::vector<Way>& ways = at->second;
  if (!is_new) return ways;
  ways.assign(placements_.size(), {infinite, no_placement, {}});
  ways[from].seconds = 0;
  std::set<std::pair<double, std::size_t>> open = {{0.0, from}};
  while (!open.empty()) {
    const auto [seconds, number] = *open.begin();
    open.erase(open.begin());
    for (Move& move : moves_from(placements_[number])) {
      const std::size_t next = number_of(move.to);
      if (!(seconds + move.seconds < ways[next].seconds)) continue;
      open.erase({ways[next].seconds, next});
      ways[next] = {seconds + move.seconds, number, std::move(move)};
      open.emplace(ways[next].seconds, next);
    }
  }
  return ways;
}

std::size_t Reshardings::number_of(const Placement& placement) const {
  const auto at = numbers_.find(normalized(placement, mesh_));
  return at == numbers_.end() ? no_placement : at->second;
}

double Reshardings::seconds(const Placement& from, const Placement& to) {
  const std::size_t first = number_of(from), last = number_of(to);
  if (first == no_placement || last == no_placement) return infinite;
  return ways_from(first)[last].seconds;
}

std::vector<Move> Reshardings::moves(const Placement& from, const Placement& to) {
  std::vector<Move> moves;
  const std::size_t first = number_of(from), last = number_of(to);
  if (first == no_placement || last == no_placement) return moves;
  const std::vector<Way>& ways = ways_from(first);
  for (std::size_t at = last; at != first; at = ways[at].before) moves.push_back(ways[at].move);
  std::reverse(moves.begin(), moves.end());
  return moves;
}

double alpa_resharding(const Tensor& tensor, const Placement& from, const Placement& to,
                       const CollectivePrice& price) {
  double seconds = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis].sharing == Sharing::parted && to[axis] != from[axis])
      seconds += price(clusters::Collective::all_gather, bytes_of(tensor), axis);
  return seconds;
}

}  // namespace lemma::choice
