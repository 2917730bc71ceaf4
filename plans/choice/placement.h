#pragma once
// Where the parts of a tensor are on a mesh of devices, what it takes to bring them elsewhere, and how much memory they need.
// Operators say in placements what they need and what they make (shardings.h).

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plans/choice/problem.h"
#include "plans/clusters/cluster.h"
#include "plans/clusters/collectives.h"
#include "plans/shares/share.h"

namespace lemma::choice {

/// By axis of a mesh, how many devices there are in its direction.
using MeshSizes = std::vector<std::size_t>;
MeshSizes sizes_of(const clusters::Mesh& mesh);

using plans::Placement;
using plans::Share;
using plans::Sharing;

inline constexpr Share replicated = {};
inline constexpr Share partial = {Sharing::partial};
constexpr Share sharded(std::size_t axis) { return {Sharing::parted, axis}; }

struct Tensor {
  std::vector<std::int64_t> sizes;
  std::size_t element_bytes = 4;
  auto operator<=>(const Tensor&) const = default;
};
double bytes_of(const Tensor& tensor);

/// As "S0 R P": sharded on dimension 0 along the first axis, replicated along the second one, partial along the third one.
std::string text_of(const Placement& placement);

/// Axes of one device are replicated, whatever was said.
Placement normalized(Placement placement, const MeshSizes& mesh);

/// Whether the tensor has the dimensions, and each device gets elements of them.
bool is_possible(const Tensor& tensor, const Placement& placement, const MeshSizes& mesh);

/// All that are normalized and possible, in order.
std::vector<Placement> placements_of(const Tensor& tensor, const MeshSizes& mesh);

/// How many parts a tensor is cut into.
std::size_t parts_of(const Placement& placement, const MeshSizes& mesh);

/// What the largest part needs on a device.
Bytes memory_on_device(const Tensor& tensor, const Placement& placement, const MeshSizes& mesh);

/// Seconds of a collective along an axis of the mesh. The bytes are those of the tensor that a group of devices along the axis
/// has together (collectives.h).
using CollectivePrice = std::function<double(clusters::Collective, double bytes, std::size_t axis)>;
/// What the cluster says of the axis, or the best algorithm with its latency and bandwidth (clusters::seconds_along).
CollectivePrice best_prices(const clusters::Mesh& mesh);
/// Alpa's formulas, with its alpha and beta for each axis.
CollectivePrice alpa_prices(const MeshSizes& mesh, std::vector<double> alpha,
                            std::vector<double> beta);

/// One step to another placement: a collective along an axis, or nothing that is sent (a part is cut out, or zeros stand
/// for what others have).
struct Move {
  bool is_local = false;
  clusters::Collective collective = clusters::Collective::all_gather;
  std::size_t axis = 0;
  /// Parts have to change places before or after it, because another axis cuts the same dimension later: a permute more.
  bool permutes = false;
  Placement to;
  double seconds = 0;
};

/// The cheapest ways between all placements of a tensor.
class Reshardings {
 public:
  Reshardings(Tensor tensor, MeshSizes mesh, CollectivePrice price);

  /// Infinity: a placement is not possible.
  double seconds(const Placement& from, const Placement& to);
  /// In order; none where nothing has to be done.
  std::vector<Move> moves(const Placement& from, const Placement& to);

 private:
  struct Way {
    double seconds = 0;
    std::size_t before = 0;  // the placement before the last move
    Move move;
  };
  std::vector<Move> moves_from(const Placement& from) const;
  Move collective_move(clusters::Collective collective, std::size_t axis, const Placement& from,
                       Share place) const;
  bool is_innermost(const Placement& placement, std::size_t axis) const;
  const std::vector<Way>& ways_from(std::size_t from);
  std::size_t number_of(const Placement& placement) const;

  Tensor tensor_;
  MeshSizes mesh_;
  CollectivePrice price_;
  std::vector<Placement> placements_;
  std::map<Placement, std::size_t> numbers_;
  std::map<std::size_t, std::vector<Way>> ways_;
};

/// What Alpa's solver takes for a change of placement: the whole tensor is gathered along each axis that shards a dimension,
/// if that is not sharded along the same axis after it; to cut out a part is free.
double alpa_resharding(const Tensor& tensor, const Placement& from, const Placement& to,
                       const CollectivePrice& price);

}  // namespace lemma::choice
