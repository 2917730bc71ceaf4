#include <array>

#include <fmt/format.h>

#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

namespace lemma::operators {
namespace {

// ---- Tile -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_tile(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  const Shape& repeats = in.attributes.dimensions("repeats");
  if (repeats.size() != in.rank(0))
    return bad_input(fmt::format("repeats {} are given for {} axes", text(repeats), in.rank(0)));
  Shape shape = in.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!in.is_at_most(0, repeats[i]))
      return bad_input(fmt::format("repeats {} has a negative number", text(repeats)));
    shape[i] = shape[i] * repeats[i];
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_tile(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_tile));
  std::vector<Expression> indices;
  for (std::size_t i = 0; i < axes.size(); ++i)
    indices.push_back(d.floor_mod(axes[i], in.shape(0)[i]));
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

constexpr std::array tile_attributes = {
    AttributeSpecification{"repeats", AttributeKind::dimensions}};
constexpr std::array tile_parameters = {OnnxParameter{"repeats", 1, 6}};
constexpr std::array tile_onnx = {
    OnnxMapping{.name = "Tile", .since = 6, .parameters = tile_parameters}};

// ---- DepthToSpace and SpaceToDepth ------------------------------------------------------------

Result<void> check_block_size(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 4, 4));
  const Dimension& block = in.attributes.dimension("blocksize");
  if (!in.is_at_most(1, block))
    return bad_input(fmt::format("blocksize {} is not positive", block.text()));
  const std::string& mode = in.attributes.string("mode");
  if (mode == "DCR" || mode == "CRD") return {};
  return bad_input(fmt::format("mode '{}' is not known", mode));
}

/// size / divisor, which must be exact unless it depends on symbols.
Result<Dimension> divided(const Instance& in, const Dimension& size, const Dimension& divisor,
                          const char* what) {
  if (!in.divides(divisor, size))
    return bad_input(
        fmt::format("{} {} cannot be divided by {}", what, size.text(), divisor.text()));
  return floor_div(size, divisor);
}

Result<std::vector<TensorType>> infer_depth_to_space(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_block_size(in));
  const Dimension& block = in.attributes.dimension("blocksize");
  const Shape& x = in.shape(0);
  LEMMA_ASSIGN_OR_RETURN(Dimension depth,
                         divided(in, x[1], block * block, "the number of channels"));
  return std::vector<TensorType>{{in.type(0), Shape{x[0], depth, x[2] * block, x[3] * block}}};
}

/// Channels are (block row, block column, depth) for DCR and (depth, row, column) for CRD.
Definition define_depth_to_space(const Instance& in) {
  DefinitionBuilder d;
  const Dimension& block = in.attributes.dimension("blocksize");
  const Shape shape = output_shape(in, infer_depth_to_space);
  const std::vector<Expression> axes = d.variables(shape);
  const Expression cell = d.floor_mod(axes[2], block) * block + d.floor_mod(axes[3], block);
  const Expression channel = in.attributes.string("mode") == "DCR"
                                 ? cell * shape[1] + axes[1]
                                 : axes[1] * (block * block) + cell;
  d.output(axes,
           d.read(0, in.type(0),
                  {axes[0], channel, d.floor_div(axes[2], block), d.floor_div(axes[3], block)}));
  return std::move(d).finish();
}

Result<std::vector<TensorType>> infer_space_to_depth(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_block_size(in));
  const Dimension& block = in.attributes.dimension("blocksize");
  const Shape& x = in.shape(0);
  LEMMA_ASSIGN_OR_RETURN(Dimension height, divided(in, x[2], block, "the height"));
  LEMMA_ASSIGN_OR_RETURN(Dimension width, divided(in, x[3], block, "the width"));
  return std::vector<TensorType>{
      {in.type(0), Shape{x[0], x[1] * block * block, std::move(height), std::move(width)}}};
}

Definition define_space_to_depth(const Instance& in) {
  DefinitionBuilder d;
  const Dimension& block = in.attributes.dimension("blocksize");
  const Dimension& depth = in.shape(0)[1];
  const Dimension cells = block * block;
  const bool depth_last = in.attributes.string("mode") == "DCR";
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_space_to_depth));
  const Expression cell = depth_last ? d.floor_div(axes[1], depth) : d.floor_mod(axes[1], cells);
  const Expression channel = depth_last ? d.floor_mod(axes[1], depth) : d.floor_div(axes[1], cells);
  d.output(axes, d.read(0, in.type(0),
                        {axes[0], channel, axes[2] * block + d.floor_div(cell, block),
                         axes[3] * block + d.floor_mod(cell, block)}));
  return std::move(d).finish();
}

/// Exports a rearrangement of blocks. Only the mode DCR existed before it became an attribute.
template <int mode_since>
Result<ExportedCall> export_blocks(const Instance& in, int opset, ExportedCall standard) {
  if (opset >= mode_since) return standard;
  if (in.attributes.string("mode") != "DCR")
    return unsupported(fmt::format("mode CRD needs operator set {}", mode_since));
  standard.attributes.erase("mode");
  return standard;
}

constexpr std::array block_attributes = {
    AttributeSpecification{"blocksize", AttributeKind::dimension},
    AttributeSpecification{"mode", AttributeKind::string, "\"DCR\""}};
constexpr std::array depth_to_space_onnx = {
    OnnxMapping{.name = "DepthToSpace", .since = 1, .export_hook = export_blocks<11>}};
constexpr std::array space_to_depth_onnx = {
    OnnxMapping{.name = "SpaceToDepth", .since = 1, .export_hook = export_blocks<28>}};

// ---- ReverseSequence --------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_reverse_sequence(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::any));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::integer));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1, 1));
  const std::int64_t batch = in.attributes.integer("batch_axis");
  if (batch == in.attributes.integer("time_axis"))
    return bad_input("batch_axis and time_axis are the same");
  const Dimension& count = in.shape(0)[static_cast<std::size_t>(batch)];
  if (!agree(in, in.shape(1)[0], count))
    return bad_input(fmt::format("{} sequence lengths are given for {} sequences",
                                 in.shape(1)[0].text(), count.text()));
  return std::vector<TensorType>{in.inputs[0]};
}

Definition define_reverse_sequence(const Instance& in) {
  DefinitionBuilder d;
  const auto time = static_cast<std::size_t>(in.attributes.integer("time_axis"));
  const auto batch = static_cast<std::size_t>(in.attributes.integer("batch_axis"));
  const std::vector<Expression> axes = d.variables(in.shape(0));
  std::vector<Expression> indices = axes;
  const Expression length = d.cast(d.read(1, in.type(1), {axes[batch]}), DataType::i64);
  indices[time] = d.select(axes[time] < length, length - d.integer(1) - axes[time], axes[time]);
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

constexpr std::array reverse_sequence_attributes = {
    AttributeSpecification{"time_axis", AttributeKind::integer, "0", AttributeRole::axis},
    AttributeSpecification{"batch_axis", AttributeKind::integer, "1", AttributeRole::axis}};
constexpr std::array reverse_sequence_onnx = {OnnxMapping{.name = "ReverseSequence", .since = 10}};

constexpr std::array rearrangement_records = {
    OperatorRecord{.name = "Tile",
                   .summary = "repeats a tensor along each axis",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = tile_attributes,
                   .flags = data_movement | linear,
                   .infer = infer_tile,
                   .define = define_tile,
                   .onnx = tile_onnx},
    OperatorRecord{.name = "DepthToSpace",
                   .summary = "moves blocks of channels into spatial blocks",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = block_attributes,
                   .flags = data_movement | linear,
                   .infer = infer_depth_to_space,
                   .define = define_depth_to_space,
                   .onnx = depth_to_space_onnx},
    OperatorRecord{.name = "SpaceToDepth",
                   .summary = "moves spatial blocks into channels",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = block_attributes,
                   .flags = data_movement | linear,
                   .infer = infer_space_to_depth,
                   .define = define_space_to_depth,
                   .onnx = space_to_depth_onnx},
    OperatorRecord{.name = "ReverseSequence",
                   .summary = "reverses a prefix of each sequence of a batch",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .attributes = reverse_sequence_attributes,
                   .flags = data_movement,
                   .infer = infer_reverse_sequence,
                   .define = define_reverse_sequence,
                   .onnx = reverse_sequence_onnx},
};
static_assert(is_complete(rearrangement_records));

}  // namespace

std::span<const OperatorRecord> rearrangement() { return rearrangement_records; }

}  // namespace lemma::operators
