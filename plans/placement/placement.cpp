#include "plans/placement/placement.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::plans {

namespace {

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

/// How many axes of the mesh from this one on are partial.
std::size_t partial_from(const Placement& placement, std::size_t first) {
  return static_cast<std::size_t>(
      std::count_if(placement.begin() + static_cast<long>(first), placement.end(),
                    [](const Share& share) { return share.sharing == Sharing::partial; }));
}

/// Every way to share a tensor along the axes of a mesh from `first` on, such that the shape becomes `local`.
class Enumeration {
 public:
  Enumeration(const Shape& local, const Mesh& mesh, const std::vector<Reduction>& reductions)
      : local_(local), mesh_(mesh), reductions_(reductions) {}

  std::vector<Placement> operator()(Shape whole) && {
    enter(std::move(whole));
    std::stable_sort(found_.begin(), found_.end(), [](const Placement& a, const Placement& b) {
      return partial_from(a, 0) < partial_from(b, 0);
    });
    return std::move(found_);
  }

 private:
  void enter(Shape shape) {
    if (placement_.size() == mesh_.rank()) {
      if (shape == local_) found_.push_back(placement_);
      return;
    }
    const Dimension count = mesh_.axes[placement_.size()].size;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto part = exact_div(shape[axis], count);
      if (!part || count.is(1)) continue;
      Shape cut = shape;
      cut[axis] = *part;
      with({Sharing::parted, axis}, std::move(cut));
    }
    with({}, shape);
    if (count.is(1)) return;
    for (const Reduction reduction : reductions_) with({Sharing::partial, 0, reduction}, shape);
  }
  void with(Share share, Shape shape) {
    placement_.push_back(share);
    enter(std::move(shape));
    placement_.pop_back();
  }

  const Shape& local_;
  const Mesh& mesh_;
  const std::vector<Reduction>& reductions_;
  Placement placement_;
  std::vector<Placement> found_;
};

}  // namespace

std::int64_t Mesh::device_count() const {
  std::int64_t count = 1;
  for (const MeshAxis& axis : axes) count *= axis.size;
  return count;
}

Placement replicated(const Mesh& mesh) { return Placement(mesh.rank()); }

std::string text(const Placement& placement, const Mesh& mesh) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Share& share = placement[i];
    std::string what = "replicated";
    if (share.sharing == Sharing::parted) what = fmt::format("axis {} in parts", share.axis);
    if (share.sharing == Sharing::partial) what = fmt::format("partial {}", name(share.reduction));
    parts.push_back(placement.size() == 1 ? what : fmt::format("{}: {}", mesh.axes[i].name, what));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<Shape> local_shape(const Shape& whole, const Placement& placement, const Mesh& mesh) {
  Shape result = whole;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i].sharing != Sharing::parted) continue;
    const std::size_t axis = placement[i].axis;
    if (axis >= result.size())
      return bad_input(fmt::format("a tensor of the shape {} has no axis {}", text(whole), axis));
    const auto part = exact_div(result[axis], Dimension(mesh.axes[i].size));
    if (!part)
      return bad_input(fmt::format("axis {} of {} cannot be cut into {} equal parts", axis,
                                   text(whole), mesh.axes[i].size));
    result[axis] = *part;
  }
  return result;
}

std::vector<Placement> placements_between(const Shape& whole, const Shape& local, const Mesh& mesh,
                                          std::vector<Reduction> reductions) {
  if (whole.size() != local.size()) return {};
  return Enumeration(local, mesh, reductions)(whole);
}

Result<ValueId> place(Graph& graph, ValueId whole, const Placement& placement, const Mesh& mesh) {
  ValueId result = whole;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const Share& share = placement[i];
    if (share.sharing == Sharing::partial) continue;
    Attributes attributes = {{"parts", Dimension(mesh.axes[i].size)}, {"device_axis", number(i)}};
    // In front are the axes of devices of the mesh's axes before, and of the partial ones behind.
    if (share.sharing == Sharing::parted)
      attributes.set("axis", number(share.axis + i + partial_from(placement, i)));
    LEMMA_ASSIGN_OR_RETURN(
        result, graph.add(share.sharing == Sharing::parted ? "Partition" : "Replicate", {result},
                          std::move(attributes)));
  }
  return result;
}

Result<ValueId> collect(Graph& graph, ValueId distributed, const Placement& placement,
                        const Mesh& mesh) {
  ValueId result = distributed;
  for (std::size_t i = mesh.rank(); i-- > 0;) {
    const Share& share = placement[i];
    if (share.sharing == Sharing::parted) {
      LEMMA_ASSIGN_OR_RETURN(
          result, graph.add("Combine", {result},
                            {{"axis", number(share.axis + i + partial_from(placement, i + 1))},
                             {"device_axis", number(i)}}));
    } else if (share.sharing == Sharing::replicated) {
      LEMMA_ASSIGN_OR_RETURN(result, graph.add("Slice", {result},
                                               {{"starts", Shape{Dimension(0)}},
                                                {"ends", Shape{Dimension(1)}},
                                                {"axes", Integers{number(i)}}}));
      LEMMA_ASSIGN_OR_RETURN(result,
                             graph.add("Squeeze", {result}, {{"axes", Integers{number(i)}}}));
    }
  }
  return reduced(graph, result, placement);
}

Result<ValueId> reduced(Graph& graph, ValueId parts, const Placement& placement) {
  ValueId result = parts;
  for (std::size_t i = placement.size(); i-- > 0;) {
    if (placement[i].sharing != Sharing::partial) continue;
    const std::size_t before = partial_from(placement, 0) - partial_from(placement, i);
    LEMMA_ASSIGN_OR_RETURN(result,
                           graph.add("Reduce", {result},
                                     {{"device_axis", number(before)},
                                      {"reduction", std::string(name(placement[i].reduction))}}));
  }
  return result;
}

}  // namespace lemma::plans
