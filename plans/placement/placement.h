#pragma once
// Where the elements of a tensor are: on the devices of a mesh, whole, in parts, or as what has to be added up.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/shares/share.h"

namespace lemma::plans {

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// Devices in a grid. A distributed tensor has an axis of devices for each axis of the mesh, in this order, in front.
struct Mesh {
  std::vector<MeshAxis> axes;

  std::size_t rank() const { return axes.size(); }
  std::int64_t device_count() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

Placement replicated(const Mesh& mesh);
/// "rows: axis 0 in parts, columns: replicated".
std::string text(const Placement& placement, const Mesh& mesh);

/// The shape on one device. An error: a size that cannot be cut into so many parts, or an axis that there is not.
Result<Shape> local_shape(const Shape& whole, const Placement& placement, const Mesh& mesh);
/// All placements in which a tensor of one shape has the other one on each device; partial ones with this reduction,
/// behind those without.
std::vector<Placement> placements_between(const Shape& whole, const Shape& local, const Mesh& mesh,
                                          std::vector<Reduction> reductions);

/// Adds to `graph` what the devices have of a tensor. Along the partial axes of the mesh `whole` has axes of devices
/// already, in their order and in front.
Result<ValueId> place(Graph& graph, ValueId whole, const Placement& placement, const Mesh& mesh);
/// Adds the whole of a tensor that has axes of devices for the partial axes of the mesh only, in front: the last one is
/// reduced first. Reductions of different kinds do not commute.
Result<ValueId> reduced(Graph& graph, ValueId parts, const Placement& placement);
/// Adds what stands in place of the axes of devices: parts are joined, of replicas the first one is taken, and what is
/// partial is reduced.
Result<ValueId> collect(Graph& graph, ValueId distributed, const Placement& placement,
                        const Mesh& mesh);

}  // namespace lemma::plans
