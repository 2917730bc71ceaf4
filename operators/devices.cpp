#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"

// Tensors over devices (docs/plans.md). A distributed tensor has an axis of devices: the element at d is what device d
// holds. Partition, Combine, Replicate and Reduce lead from one device to many and back; the collectives are their
// compositions. The attribute `device_axis` is the place of the axis of devices, `axis` an axis of the tensor without it.
// Sources: Unger et al., Unity (OSDI 2022), section 3, for the four; MPI 4.0, chapter 6, for the collectives.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr std::array<std::string_view, 4> reductions = {"sum", "max", "min", "mean"};

std::string_view reduction_operator(const Instance& in) {
  const std::string& reduction = in.attributes.string("reduction");
  if (reduction == "max") return "ReduceMax";
  if (reduction == "min") return "ReduceMin";
  return reduction == "mean" ? "ReduceMean" : "ReduceSum";
}

/// An attribute that is a place among `count` ones.
Result<std::size_t> place(const Instance& in, std::string_view attribute, std::size_t count) {
  const std::int64_t value = in.attributes.integer(attribute);
  if (value < 0 || value >= static_cast<std::int64_t>(count))
    return bad_input(
        fmt::format("{} {} is not one of the {} that there are", attribute, value, count));
  return static_cast<std::size_t>(value);
}

/// The axis of devices of a distributed tensor.
Result<std::size_t> device_axis(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  return place(in, "device_axis", in.rank(0));
}

Shape without(Shape shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<long>(axis));
  return shape;
}
Shape with(Shape shape, std::size_t axis, Dimension size) {
  shape.insert(shape.begin() + static_cast<long>(axis), std::move(size));
  return shape;
}

/// The permutation that moves an axis to another place; the others keep their order.
Integers moved(std::size_t rank, std::size_t from, std::size_t to) {
  Integers result;
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (axis != from) result.push_back(static_cast<std::int64_t>(axis));
  result.insert(result.begin() + static_cast<long>(to), static_cast<std::int64_t>(from));
  return result;
}

Result<Dimension> part_of(const Instance& in, const Dimension& size, const Dimension& parts) {
  if (!in.is_at_most(1, parts))
    return bad_input(fmt::format("a tensor is cut into {} parts", parts.text()));
  if (!in.divides(parts, size))
    return bad_input(
        fmt::format("the size {} cannot be cut into {} equal parts", size.text(), parts.text()));
  return floor_div(size, parts);
}

// Steps between shapes, for all records below.

/// [.., parts * n, ..] as [.., parts, .., n, ..].
Result<Shape> partitioned(const Instance& in, const Shape& shape, std::size_t axis,
                          const Dimension& parts, std::size_t devices) {
  Shape result = shape;
  LEMMA_ASSIGN_OR_RETURN(result[axis], part_of(in, shape[axis], parts));
  return with(std::move(result), devices, parts);
}

ValueId partition(Composer& c, ValueId x, std::size_t axis, const Dimension& parts,
                  std::size_t devices) {
  Shape shape = *c.type(x).shape;
  shape[axis] = floor_div(shape[axis], parts);
  const ValueId cut = c("Reshape", {x}, {{"shape", with(shape, axis, parts)}});
  return c("Transpose", {cut}, {{"perm", moved(shape.size() + 1, axis, devices)}});
}

/// [.., k, .., n, ..] as [.., k * n, ..].
Shape combined(const Shape& shape, std::size_t axis, std::size_t devices) {
  Shape result = without(shape, devices);
  result[axis] = shape[devices] * result[axis];
  return result;
}

ValueId combine(Composer& c, ValueId x, std::size_t axis, std::size_t devices) {
  const Shape shape = *c.type(x).shape;
  const ValueId beside = c("Transpose", {x}, {{"perm", moved(shape.size(), devices, axis)}});
  return c("Reshape", {beside}, {{"shape", combined(shape, axis, devices)}});
}

ValueId replicate(Composer& c, ValueId x, const Dimension& parts, std::size_t devices) {
  const Shape shape = with(*c.type(x).shape, devices, parts);
  const ValueId row = c("Unsqueeze", {x}, {{"axes", Integers{static_cast<std::int64_t>(devices)}}});
  return c("Expand", {row}, {{"shape", shape}});
}

ValueId reduce(Composer& c, const Instance& in, ValueId x, std::size_t devices, bool keeps) {
  return c(reduction_operator(in), {x},
           {{"axes", Integers{static_cast<std::int64_t>(devices)}},
            {"keepdims", std::int64_t{keeps ? 1 : 0}}});
}

Result<void> require_reducible(const Instance& in) { return require_type(in, 0, TypeSet::numeric); }

// ---- Partition, Combine, Replicate, Reduce ----------------------------------------------------

Types infer_partition(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, place(in, "axis", in.rank(0)));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, place(in, "device_axis", in.rank(0) + 1));
  LEMMA_ASSIGN_OR_RETURN(
      Shape shape, partitioned(in, in.shape(0), axis, in.attributes.dimension("parts"), devices));
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}
Compose compose_partition(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  return c.outputs(
      {partition(c, inputs[0], *place(in, "axis", in.rank(0)), in.attributes.dimension("parts"),
                 *place(in, "device_axis", in.rank(0) + 1))});
}

Types infer_combine(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, place(in, "axis", in.rank(0) - 1));
  return std::vector<TensorType>{{in.type(0), combined(in.shape(0), axis, devices)}};
}
Compose compose_combine(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  return c.outputs({combine(c, inputs[0], *place(in, "axis", in.rank(0) - 1), *device_axis(in))});
}

Types infer_replicate(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, place(in, "device_axis", in.rank(0) + 1));
  const Dimension& parts = in.attributes.dimension("parts");
  if (!in.is_at_most(1, parts))
    return bad_input(fmt::format("{} replicas are asked for", parts.text()));
  return std::vector<TensorType>{{in.type(0), with(in.shape(0), devices, parts)}};
}
Compose compose_replicate(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  return c.outputs({replicate(c, inputs[0], in.attributes.dimension("parts"),
                              *place(in, "device_axis", in.rank(0) + 1))});
}

Types infer_reduce(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_reducible(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  return std::vector<TensorType>{{in.type(0), without(in.shape(0), devices)}};
}
Compose compose_reduce(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  return c.outputs({reduce(c, in, inputs[0], *device_axis(in), false)});
}

// ---- Collectives ------------------------------------------------------------------------------

Types infer_all_reduce(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_reducible(in));
  LEMMA_RETURN_IF_ERROR(device_axis(in));
  return std::vector<TensorType>{in.inputs[0]};
}
Compose compose_all_reduce(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId all = reduce(c, in, inputs[0], *device_axis(in), true);
  return c.outputs({c("Expand", {all}, {{"shape", in.shape(0)}})});
}

Types infer_all_gather(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, place(in, "axis", in.rank(0) - 1));
  return std::vector<TensorType>{
      {in.type(0), with(combined(in.shape(0), axis, devices), devices, in.shape(0)[devices])}};
}
Compose compose_all_gather(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const std::size_t devices = *device_axis(in);
  const ValueId whole = combine(c, inputs[0], *place(in, "axis", in.rank(0) - 1), devices);
  return c.outputs({replicate(c, whole, in.shape(0)[devices], devices)});
}

Types infer_reduce_scatter(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_reducible(in));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, place(in, "axis", in.rank(0) - 1));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, partitioned(in, without(in.shape(0), devices), axis,
                                                  in.shape(0)[devices], devices));
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}
Compose compose_reduce_scatter(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const std::size_t devices = *device_axis(in);
  const ValueId all = reduce(c, in, inputs[0], devices, false);
  return c.outputs(
      {partition(c, all, *place(in, "axis", in.rank(0) - 1), in.shape(0)[devices], devices)});
}

Types infer_all_to_all(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t joined, place(in, "concat_axis", in.rank(0) - 1));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t cut, place(in, "split_axis", in.rank(0) - 1));
  const Dimension& count = in.shape(0)[devices];
  Shape shape = without(in.shape(0), devices);
  LEMMA_ASSIGN_OR_RETURN(shape[cut], part_of(in, shape[cut], count));
  shape[joined] = count * shape[joined];
  return std::vector<TensorType>{{in.type(0), with(std::move(shape), devices, count)}};
}

/// Device d gets part d of what each device has, and joins these parts in the order of the devices.
Definition define_all_to_all(const Instance& in) {
  DefinitionBuilder d;
  const std::size_t devices = *device_axis(in);
  const std::size_t joined = *place(in, "concat_axis", in.rank(0) - 1),
                    cut = *place(in, "split_axis", in.rank(0) - 1);
  const Shape local = without(in.shape(0), devices);
  const Dimension part = floor_div(local[cut], in.shape(0)[devices]);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_all_to_all));
  std::vector<Expression> indices = axes;
  const Expression device = axes[devices];
  indices.erase(indices.begin() + static_cast<long>(devices));
  const Dimension& from_each = joined == cut ? part : local[joined];
  const Expression sender = d.floor_div(indices[joined], from_each);
  indices[joined] = d.floor_mod(indices[joined], from_each);
  indices[cut] = device * part + indices[cut];
  indices.insert(indices.begin() + static_cast<long>(devices), sender);
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

Types infer_same_on_devices(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(device_axis(in));
  return std::vector<TensorType>{in.inputs[0]};
}
Types infer_broadcast(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  const Dimension& root = in.attributes.dimension("root");
  if (!in.is_at_most(0, root) || !in.is_at_most(root + 1, in.shape(0)[devices]))
    return bad_input(
        fmt::format("root {} is none of {} devices", root.text(), in.shape(0)[devices].text()));
  return infer_same_on_devices(in);
}

Definition define_broadcast(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  std::vector<Expression> indices = axes;
  indices[*device_axis(in)] = d.extent(in.attributes.dimension("root"));
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

/// What device d has comes from device d - shift. Beyond the ends are zeros, or in a ring the other end.
Definition define_permute(const Instance& in) {
  DefinitionBuilder d;
  const std::size_t devices = *device_axis(in);
  const std::vector<Expression> axes = d.variables(in.shape(0));
  std::vector<Expression> indices = axes;
  const Expression from = axes[devices] - d.integer(in.attributes.integer("shift"));
  const Dimension& count = in.shape(0)[devices];
  const bool ring = in.attributes.integer("ring") != 0;
  indices[devices] = ring ? d.floor_mod(from, count) : from;
  const Expression element = d.read(0, in.type(0), indices);
  d.output(axes, ring ? element
                      : d.select(d.in_range(from, count), element, d.constant(0.0, in.type(0))));
  return std::move(d).finish();
}

/// Each device keeps its own part of what it has.
Types infer_own_part(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t devices, device_axis(in));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, place(in, "axis", in.rank(0) - 1));
  const Dimension& count = in.shape(0)[devices];
  Shape shape = without(in.shape(0), devices);
  LEMMA_ASSIGN_OR_RETURN(shape[axis], part_of(in, shape[axis], count));
  return std::vector<TensorType>{{in.type(0), with(std::move(shape), devices, count)}};
}

Definition define_own_part(const Instance& in) {
  DefinitionBuilder d;
  const std::size_t devices = *device_axis(in);
  std::size_t axis = *place(in, "axis", in.rank(0) - 1);
  if (axis >= devices) ++axis;
  const Shape shape = output_shape(in, infer_own_part);
  const std::vector<Expression> axes = d.variables(shape);
  std::vector<Expression> indices = axes;
  indices[axis] = axes[devices] * shape[axis] + axes[axis];
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

Types infer_permute(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::wide));
  return infer_same_on_devices(in);
}

// ---- Records ----------------------------------------------------------------------------------

constexpr AttributeSpecification axis_attribute{"axis", AttributeKind::integer};
constexpr AttributeSpecification parts_attribute{"parts", AttributeKind::dimension};
constexpr AttributeSpecification devices_attribute{"device_axis", AttributeKind::integer, "0"};
constexpr AttributeSpecification reduction_attribute{"reduction", AttributeKind::string, "\"sum\"",
                                                     AttributeRole::plain, reductions};

constexpr std::array partition_attributes = {axis_attribute, parts_attribute, devices_attribute};
constexpr std::array axis_attributes = {axis_attribute, devices_attribute};
constexpr std::array replicate_attributes = {parts_attribute, devices_attribute};
constexpr std::array reduce_attributes = {devices_attribute, reduction_attribute};
constexpr std::array scatter_attributes = {axis_attribute, devices_attribute, reduction_attribute};
constexpr std::array all_to_all_attributes = {
    AttributeSpecification{"split_axis", AttributeKind::integer},
    AttributeSpecification{"concat_axis", AttributeKind::integer}, devices_attribute};
constexpr std::array broadcast_attributes = {
    AttributeSpecification{"root", AttributeKind::dimension, "0"}, devices_attribute};
constexpr std::array permute_attributes = {
    AttributeSpecification{"shift", AttributeKind::integer}, devices_attribute,
    AttributeSpecification{"ring", AttributeKind::integer, "0"}};

constexpr std::array partition_examples = {
    OperatorExample{"f32[6, 4]", "axis=0; parts=3; device_axis=0"},
    OperatorExample{"f32[6, 4]", "axis=1; parts=2; device_axis=0"},
    OperatorExample{"f32[6, 4]", "axis=1; parts=2; device_axis=1"}};
constexpr std::array own_part_examples = {OperatorExample{"f32[2, 6, 4]", "axis=0; device_axis=0"},
                                          OperatorExample{"f32[6, 2, 4]", "axis=1; device_axis=1"}};
constexpr std::array combine_examples = {OperatorExample{"f32[3, 2, 4]", "axis=0; device_axis=0"},
                                         OperatorExample{"f32[3, 2, 4]", "axis=1; device_axis=0"},
                                         OperatorExample{"f32[3, 2, 4]", "axis=1; device_axis=1"}};
constexpr std::array replicate_examples = {OperatorExample{"f32[3, 2]", "parts=4; device_axis=0"},
                                           OperatorExample{"f32[3, 2]", "parts=4; device_axis=2"}};
constexpr std::array reduce_examples = {
    OperatorExample{"f32[3, 2]", "device_axis=0; reduction=\"sum\""},
    OperatorExample{"f32[3, 2]", "device_axis=1; reduction=\"max\""}};
constexpr std::array scatter_examples = {
    OperatorExample{"f32[2, 3, 4]", "axis=1; device_axis=0; reduction=\"sum\""}};
constexpr std::array all_to_all_examples = {
    OperatorExample{"f32[2, 3, 4]", "split_axis=1; concat_axis=0; device_axis=0"},
    OperatorExample{"f32[2, 3, 4]", "split_axis=1; concat_axis=1; device_axis=0"}};
constexpr std::array broadcast_examples = {OperatorExample{"f32[3, 2]", "root=1; device_axis=0"}};
constexpr std::array permute_examples = {
    OperatorExample{"f32[3, 2]", "shift=1; device_axis=0; ring=0"},
    OperatorExample{"f32[3, 2]", "shift=1; device_axis=0; ring=1"}};

constexpr std::array table = {
    OperatorRecord{.name = "AllGather",
                   .summary = "on each device the parts of all devices, joined along an axis",
                   .attributes = axis_attributes,
                   .flags = data_movement,
                   .infer = infer_all_gather,
                   .compose = compose_all_gather,
                   .examples = combine_examples},
    OperatorRecord{.name = "AllReduce",
                   .summary = "on each device the sum over all devices",
                   .attributes = reduce_attributes,
                   .infer = infer_all_reduce,
                   .compose = compose_all_reduce,
                   .examples = reduce_examples},
    OperatorRecord{.name = "AllToAll",
                   .summary = "parts along one axis become parts along another one",
                   .attributes = all_to_all_attributes,
                   .flags = data_movement,
                   .infer = infer_all_to_all,
                   .define = define_all_to_all,
                   .examples = all_to_all_examples},
    OperatorRecord{.name = "Broadcast",
                   .summary = "on each device what one of them has",
                   .attributes = broadcast_attributes,
                   .flags = data_movement,
                   .infer = infer_broadcast,
                   .define = define_broadcast,
                   .examples = broadcast_examples},
    OperatorRecord{.name = "Combine",
                   .summary = "the parts of all devices, joined along an axis",
                   .attributes = axis_attributes,
                   .flags = data_movement,
                   .infer = infer_combine,
                   .compose = compose_combine,
                   .examples = combine_examples},
    OperatorRecord{.name = "OwnPart",
                   .summary = "on each device its part of what it has, cut along an axis",
                   .attributes = axis_attributes,
                   .flags = data_movement,
                   .infer = infer_own_part,
                   .define = define_own_part,
                   .examples = own_part_examples},
    OperatorRecord{.name = "Partition",
                   .summary = "a part of a tensor for each device, cut along an axis",
                   .attributes = partition_attributes,
                   .flags = data_movement,
                   .infer = infer_partition,
                   .compose = compose_partition,
                   .examples = partition_examples},
    OperatorRecord{.name = "Permute",
                   .summary = "on each device what a neighbour has",
                   .attributes = permute_attributes,
                   .infer = infer_permute,
                   .define = define_permute,
                   .examples = permute_examples},
    OperatorRecord{.name = "Reduce",
                   .summary = "the sum over all devices",
                   .attributes = reduce_attributes,
                   .infer = infer_reduce,
                   .compose = compose_reduce,
                   .examples = reduce_examples},
    OperatorRecord{.name = "ReduceScatter",
                   .summary = "on each device a part of the sum over all devices",
                   .attributes = scatter_attributes,
                   .infer = infer_reduce_scatter,
                   .compose = compose_reduce_scatter,
                   .examples = scatter_examples},
    OperatorRecord{.name = "Replicate",
                   .summary = "the same tensor on each device",
                   .attributes = replicate_attributes,
                   .flags = data_movement,
                   .infer = infer_replicate,
                   .compose = compose_replicate,
                   .examples = replicate_examples},
};
static_assert(is_complete(table));

}  // namespace

std::span<const OperatorRecord> devices() { return table; }

}  // namespace lemma::operators
