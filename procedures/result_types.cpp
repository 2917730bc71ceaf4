#include "procedures/result_types.h"

#include <algorithm>
#include <array>

namespace lemma {

namespace {

using Types = std::vector<TensorType>;

/// One call, with what its types are made of.
class Typing {
 public:
  Typing(const OnnxCall& call, const UnknownSize& unknown) : call_(call), unknown_(unknown) {}

  const TensorType* known(std::size_t i) const {
    return i < call_.inputs.size() && call_.inputs[i].type.is_known() ? &call_.inputs[i].type
                                                                      : nullptr;
  }
  DataType element(std::size_t i) const {
    return i < call_.inputs.size() ? call_.inputs[i].type.data_type : DataType::undefined;
  }
  Dimension unknown(std::size_t output, std::size_t axis) const { return unknown_(output, axis); }
  Shape unknown_shape(std::size_t output, std::size_t rank) const {
    Shape shape;
    for (std::size_t axis = 0; axis < rank; ++axis) shape.push_back(unknown(output, axis));
    return shape;
  }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const AttributeValue* value = call_.attributes.find(name);
    const auto* integer = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
    return integer != nullptr ? *integer : otherwise;
  }
  bool has(std::string_view name) const { return call_.attributes.find(name) != nullptr; }
  std::optional<Shape> shape(std::string_view name) const {
    const AttributeValue* value = call_.attributes.find(name);
    const auto* integers = value != nullptr ? std::get_if<Integers>(value) : nullptr;
    if (integers == nullptr) return std::nullopt;
    return Shape(integers->begin(), integers->end());
  }
  DataType type_attribute(std::string_view name, DataType otherwise) const {
    return has(name) ? static_cast<DataType>(integer(name, 0)) : otherwise;
  }
  /// How many elements a vector of sizes has.
  std::optional<std::size_t> length(std::size_t i) const {
    const TensorType* type = known(i);
    if (type == nullptr || type->rank() != 1 || !(*type->shape)[0].is_constant())
      return std::nullopt;
    return static_cast<std::size_t>((*type->shape)[0].offset());
  }
  std::size_t output_count() const { return call_.output_count; }

 private:
  const OnnxCall& call_;
  const UnknownSize& unknown_;
};

using Rule = Types (*)(const Typing&);

/// The result types of a record: what it gives, and in which domain.
struct ResultRule {
  std::string_view domain, name;
  Rule types;
};

Types positions_of_nonzero(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr) return {{DataType::i64, std::nullopt}};
  return {
      {DataType::i64, Shape{Dimension(static_cast<std::int64_t>(given->rank())), t.unknown(0, 1)}}};
}

Types selected_boxes(const Typing& t) { return {{DataType::i64, Shape{t.unknown(0, 0), 3}}}; }

Types range(const Typing& t) { return {{t.element(0), Shape{t.unknown(0, 0)}}}; }

/// Rows of an axis, or of all elements, whose number is not known.
std::optional<Shape> some_rows(const Typing& t) {
  const TensorType* given = t.known(0);
  if (!t.has("axis")) return Shape{t.unknown(0, 0)};
  if (given == nullptr) return std::nullopt;
  const std::int64_t axis = t.integer("axis", 0);
  const auto rank = static_cast<std::int64_t>(given->rank());
  if (axis < -rank || axis >= rank) return std::nullopt;
  Shape shape = *given->shape;
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  shape[at] = t.unknown(0, at);
  return shape;
}

Types compressed(const Typing& t) { return {{t.element(0), some_rows(t)}}; }

Types unique_elements(const Typing& t) {
  Types types = {{t.element(0), some_rows(t)}};
  for (std::size_t k = 1; k < t.output_count(); ++k)
    types.push_back({DataType::i64, Shape{t.unknown(k, 0)}});
  return types;
}

Types aligned_regions(const Typing& t) {
  const TensorType *maps = t.known(0), *boxes = t.known(1);
  if (maps == nullptr || boxes == nullptr || maps->rank() != 4 || boxes->rank() != 2) return {};
  return {{t.element(0), Shape{(*boxes->shape)[0], (*maps->shape)[1], t.integer("output_height", 1),
                               t.integer("output_width", 1)}}};
}

Types random_of_shape(const Typing& t) {
  return {{t.type_attribute("dtype", DataType::f32), t.shape("shape")}};
}

Types random_like(const Typing& t) {
  const TensorType* given = t.known(0);
  return {{t.type_attribute("dtype", t.element(0)),
           given != nullptr ? given->shape : std::optional<Shape>()}};
}

Types drawn_classes(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr || given->rank() != 2) return {};
  return {{t.type_attribute("dtype", DataType::i32),
           Shape{(*given->shape)[0], t.integer("sample_size", 1)}}};
}

/// A type with as many axes as the vector of sizes has elements.
template <std::size_t sizes>
Types of_given_rank(const Typing& t) {
  const auto rank = t.length(sizes);
  const DataType element = sizes == 0 ? DataType::undefined : t.element(0);
  if (!rank || element == DataType::undefined) return {};
  return {{element, t.unknown_shape(0, *rank)}};
}

/// A type with as many axes as the first operand has.
Types of_same_rank(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr) return {};
  return {{given->data_type, t.unknown_shape(0, given->rank())}};
}

Types expanded(const Typing& t) {
  const TensorType* given = t.known(0);
  const auto rank = t.length(1);
  if (given == nullptr || !rank) return {};
  return {{given->data_type, t.unknown_shape(0, std::max(given->rank(), *rank))}};
}

Types largest_elements(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr || given->rank() == 0) return {};
  const auto rank = static_cast<std::int64_t>(given->rank());
  const std::int64_t axis = t.integer("axis", -1);
  if (axis < -rank || axis >= rank) return {};
  Shape shape = *given->shape;
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  shape[at] = t.unknown(0, at);
  return {{given->data_type, shape}, {DataType::i64, shape}};
}

/// One row of scores for each row of features; how many classes there are stands in attributes of many forms.
Types scores_of_trees(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr || given->rank() == 0) return {};
  const Dimension rows = given->rank() == 1 ? Dimension(1) : (*given->shape)[0];
  return {{DataType::f32, Shape{rows, t.integer("n_targets", 1)}}};
}

/// Labels are texts where they are not numbers; how many scores there are stands in attributes of many forms.
Types labels_and_scores(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr || given->rank() == 0) return {};
  const Dimension rows = given->rank() == 1 ? Dimension(1) : (*given->shape)[0];
  Types types(2);
  if (t.has("classlabels_int64s") || t.has("classlabels_ints"))
    types[0] = {DataType::i64, Shape{rows}};
  types[1] = {DataType::f32, Shape{rows, t.unknown(1, 1)}};
  return types;
}

/// LSTM, GRU and RNN: all hidden states, then the last of each kind.
Types recurrence(const Typing& t) {
  const TensorType *given = t.known(0), *weight = t.known(2);
  if (given == nullptr || given->rank() != 3 || weight == nullptr || weight->rank() != 3) return {};
  const Dimension directions = (*weight->shape)[0], hidden = (*weight->shape)[2];
  const bool batch_first = t.integer("layout", 0) != 0;
  const Dimension steps = (*given->shape)[batch_first ? 1 : 0];
  const Dimension rows = (*given->shape)[batch_first ? 0 : 1];
  const Shape all =
      batch_first ? Shape{rows, steps, directions, hidden} : Shape{steps, directions, rows, hidden};
  const Shape last =
      batch_first ? Shape{rows, directions, hidden} : Shape{directions, rows, hidden};
  Types types(t.output_count(), {given->data_type, last});
  types.front() = {given->data_type, all};
  return types;
}

/// A product whose inner sizes are not seen to be equal, as they have to be.
Types product(const Typing& t) {
  const TensorType *left = t.known(0), *right = t.known(1);
  if (left == nullptr || right == nullptr || left->rank() < 2 || right->rank() < 2) return {};
  const auto batch_of = [](const TensorType& type) {
    return TensorType{type.data_type, Shape(type.shape->begin(), type.shape->end() - 2)};
  };
  std::optional<Shape> shape = broadcast_shape(
      {batch_of(*left), batch_of(*right)},
      [&t](std::size_t output, std::size_t axis) { return t.unknown(output, axis); });
  if (!shape) return {};
  shape->push_back((*left->shape)[left->rank() - 2]);
  shape->push_back(right->shape->back());
  return {{left->data_type, std::move(shape)}};
}

Types same_shape_in_f32(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr) return {};
  return {{DataType::f32, given->shape}};
}

Types matches(const Typing& t) {
  const TensorType* given = t.known(0);
  return {{DataType::boolean, given != nullptr ? given->shape : std::optional<Shape>()}};
}

Types same_type(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr) return {};
  return {*given};
}

/// What a collective gives of as many devices as its group has: all their parts along an axis.
Types gathered(const Typing& t) {
  const TensorType* given = t.known(0);
  const std::int64_t axis = t.integer("axis", 0), devices = t.integer("group_size", 0);
  if (given == nullptr || devices < 1 || axis < 0 ||
      axis >= static_cast<std::int64_t>(given->rank()))
    return {};
  Shape shape = *given->shape;
  Dimension& size = shape[static_cast<std::size_t>(axis)];
  size = size * devices;
  return {{given->data_type, std::move(shape)}};
}

/// A part of the sum of all devices, along an axis.
Types scattered(const Typing& t) {
  const TensorType* given = t.known(0);
  const std::int64_t axis = t.integer("axis", 0), devices = t.integer("group_size", 0);
  if (given == nullptr || devices < 1 || axis < 0 ||
      axis >= static_cast<std::int64_t>(given->rank()))
    return {};
  Shape shape = *given->shape;
  Dimension& size = shape[static_cast<std::size_t>(axis)];
  const auto part = exact_div(size, Dimension(devices));
  if (!part) return {};
  size = *part;
  return {{given->data_type, std::move(shape)}};
}

/// Parts along one axis become parts along another one; the whole group takes part.
Types exchanged(const Typing& t) {
  const TensorType* given = t.known(0);
  const std::int64_t cut = t.integer("split_axis", 0), joined = t.integer("concat_axis", 0),
                     devices = t.integer("group_size", 0);
  const auto is_axis = [&](std::int64_t axis) {
    return axis >= 0 && axis < static_cast<std::int64_t>(given->rank());
  };
  if (given == nullptr || devices < 1 || !is_axis(cut) || !is_axis(joined)) return {};
  Shape shape = *given->shape;
  const auto part = exact_div(shape[static_cast<std::size_t>(cut)], Dimension(devices));
  if (!part) return {};
  shape[static_cast<std::size_t>(cut)] = *part;
  Dimension& size = shape[static_cast<std::size_t>(joined)];
  size = size * devices;
  return {{given->data_type, std::move(shape)}};
}

/// What comes from another rank has the type that the node says.
Types received(const Typing& t) {
  auto shape = t.shape("shape");
  if (!shape) return {};
  for (const Dimension& size : *shape)
    if (size.offset() < 0) return {};
  return {{t.type_attribute("type", DataType::f32), std::move(*shape)}};
}

/// The types of a batch normalization; in training statistics of channels come after the result.
Types normalized_batch(const Typing& t) {
  const TensorType* given = t.known(0);
  if (given == nullptr || given->rank() < 2) return {};
  const bool is_by_channel = t.integer("spatial", 1) != 0;
  const TensorType statistics{given->data_type, Shape{(*given->shape)[1]}};
  Types types(t.output_count(), is_by_channel ? statistics : TensorType{});
  types.front() = *given;
  return types;
}

constexpr std::array rules = {
    ResultRule{"", "BatchNormalization", normalized_batch},
    ResultRule{"", "Bernoulli", random_like},
    ResultRule{"", "Compress", compressed},
    ResultRule{"", "Expand", expanded},
    ResultRule{"", "GRU", recurrence},
    ResultRule{"", "LSTM", recurrence},
    ResultRule{"", "MatMul", product},
    ResultRule{"", "MaxUnpool", of_same_rank},
    ResultRule{"", "Multinomial", drawn_classes},
    ResultRule{"", "NonMaxSuppression", selected_boxes},
    ResultRule{"", "NonZero", positions_of_nonzero},
    ResultRule{"", "Pad", of_same_rank},
    ResultRule{"", "RNN", recurrence},
    ResultRule{"", "RandomNormal", random_of_shape},
    ResultRule{"", "RandomNormalLike", random_like},
    ResultRule{"", "RandomUniform", random_of_shape},
    ResultRule{"", "RandomUniformLike", random_like},
    ResultRule{"", "Range", range},
    ResultRule{"", "RegexFullMatch", matches},
    ResultRule{"", "Reshape", of_given_rank<1>},
    ResultRule{"", "Resize", of_same_rank},
    ResultRule{"", "RoiAlign", aligned_regions},
    ResultRule{"", "Slice", of_same_rank},
    ResultRule{"", "Tile", of_same_rank},
    ResultRule{"", "TopK", largest_elements},
    ResultRule{"", "Unique", unique_elements},
    ResultRule{"", "Upsample", of_same_rank},
    ResultRule{"ai.onnx.ml", "Binarizer", same_type},
    ResultRule{"ai.onnx.ml", "Imputer", same_type},
    ResultRule{"ai.onnx.ml", "LinearClassifier", labels_and_scores},
    ResultRule{"ai.onnx.ml", "Normalizer", same_shape_in_f32},
    ResultRule{"ai.onnx.ml", "Scaler", same_shape_in_f32},
    ResultRule{"ai.onnx.ml", "SVMClassifier", labels_and_scores},
    ResultRule{"ai.onnx.ml", "TreeEnsembleClassifier", labels_and_scores},
    ResultRule{"ai.onnx.ml", "TreeEnsembleRegressor", scores_of_trees},
    ResultRule{"com.microsoft", "AllGather", gathered},
    ResultRule{"com.microsoft", "AllReduce", same_type},
    ResultRule{"com.microsoft", "AllToAll", same_type},
    ResultRule{"lemma", "AllGather", gathered},
    ResultRule{"lemma", "AllReduce", same_type},
    ResultRule{"lemma", "AllToAll", exchanged},
    ResultRule{"lemma", "Broadcast", same_type},
    ResultRule{"lemma", "OwnPart", scattered},
    ResultRule{"lemma", "Permute", same_type},
    ResultRule{"lemma", "Recv", received},
    ResultRule{"lemma", "ReduceScatter", scattered},
    ResultRule{"lemma", "Send", same_type},
};

}  // namespace

std::vector<TensorType> result_types(const OnnxCall& call, std::string_view domain,
                                     const UnknownSize& unknown) {
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const ResultRule& r) {
    return r.domain == domain && r.name == call.name;
  });
  std::vector<TensorType> types;
  if (rule != rules.end()) types = rule->types(Typing(call, unknown));
  for (TensorType& type : types)
    if (!is_computable(type.data_type) || !type.shape) type = TensorType{};
  types.resize(call.output_count);
  return types;
}

std::optional<Shape> broadcast_shape(const std::vector<TensorType>& operands,
                                     const UnknownSize& unknown) {
  std::size_t rank = 0;
  for (const TensorType& operand : operands) {
    if (!operand.is_known()) return std::nullopt;
    rank = std::max(rank, operand.rank());
  }
  Shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Dimension size = 1;
    bool is_known = true;
    for (const TensorType& operand : operands) {
      if (axis + operand.rank() < rank) continue;
      const Dimension& own = (*operand.shape)[axis + operand.rank() - rank];
      if (own.is(1) || own == size) continue;
      // A fixed size other than 1 is that of the result, whatever the others are.
      if (own.is_constant() || size.is(1))
        size = own;
      else if (!size.is_constant())
        is_known = false;
    }
    result.push_back(is_known || size.is_constant() ? size : unknown(0, axis));
  }
  return result;
}

}  // namespace lemma
