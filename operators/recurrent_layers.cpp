#include <array>
#include <limits>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/recurrence.h"

// Layers of recurrences as ONNX has them.

namespace lemma::operators {
namespace {

using namespace recurrence_operand;
using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr std::array directions = {std::string_view("bidirectional"), std::string_view("forward"),
                                   std::string_view("reverse")};
constexpr AttributeSpecification direction_attribute = {
    "direction", AttributeKind::string, "\"forward\"", AttributeRole::plain, directions};
constexpr AttributeSpecification layout_attribute = {"layout", AttributeKind::integer, "0"};

bool is_bidirectional(const Instance& in) {
  return in.attributes.string("direction") == "bidirectional";
}

Types infer_layer(const Instance& in, const RecurrenceKind& kind) {
  const std::int64_t layout = in.attributes.integer("layout");
  if (layout != 0 && layout != 1)
    return bad_input(fmt::format("layout is {}, neither 0 nor 1", layout));
  return infer_recurrence(in, kind, is_bidirectional(in) ? 2 : 1, layout == 1);
}

/// The part of one direction in a tensor that has a part for each on axis 0.
ValueId direction_of(Composer& c, ValueId value, std::int64_t direction, bool both) {
  if (!both) return value;
  return c("Slice", {value},
           {{"starts", Shape{direction}}, {"ends", Shape{direction + 1}}, {"axes", Integers{0}}});
}

/// The steps from the last one to the first one.
ValueId reversed(Composer& c, ValueId value) {
  return c("Slice", {value},
           {{"starts", Shape{-1}},
            {"ends", Shape{std::numeric_limits<std::int64_t>::min()}},
            {"axes", Integers{0}},
            {"steps", Integers{-1}}});
}

ValueId zeros(Composer& c, DataType type, Shape shape) {
  return c("ConstantOfShape", {},
           {{"data_type", type}, {"shape", std::move(shape)}, {"value", 0.0}});
}

ValueId exchanged(Composer& c, ValueId value) {
  return c("Transpose", {value}, {{"perm", Integers{1, 0, 2}}});
}

/// The operands as recurrences take them, but for both directions.
std::vector<ValueId> whole_operands(Composer& c, const Instance& in, const RecurrenceKind& kind,
                                    std::span<const ValueId> inputs) {
  const bool batch_first = in.attributes.integer("layout") == 1;
  const Dimension count = is_bidirectional(in) ? 2 : 1, size = in.shape(hidden_weight)[2],
                  batch = in.shape(sequence)[batch_first ? 0 : 1];
  std::vector<ValueId> result(inputs.begin(), inputs.begin() + bias);
  if (batch_first) result[sequence] = exchanged(c, result[sequence]);
  result.push_back(in.has(bias) ? inputs[bias]
                                : zeros(c, in.type(0), {count, Dimension(2 * kind.gates) * size}));
  for (std::size_t i = hidden; i < kind.operands(); ++i) {
    if (!in.has(i))
      result.push_back(zeros(c, in.type(0), {count, batch, size}));
    else
      result.push_back(batch_first ? exchanged(c, inputs[i]) : inputs[i]);
  }
  return result;
}

Compose compose_layer(Graph& graph, const RecurrenceKind& kind, const Instance& in,
                      std::span<const ValueId> inputs) {
  Composer c(graph);
  const bool both = is_bidirectional(in);
  const std::vector<ValueId> whole = whole_operands(c, in, kind, inputs);
  Attributes attributes = in.attributes;
  attributes.erase("direction");
  attributes.erase("layout");
  std::vector<std::vector<ValueId>> parts(1 + kind.states);  // by output, of each direction
  for (std::int64_t direction = 0; direction < (both ? 2 : 1); ++direction) {
    const bool backward = direction == 1 || in.attributes.string("direction") == "reverse";
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < whole.size(); ++i)
      operands.push_back(i == sequence ? whole[i] : direction_of(c, whole[i], direction, both));
    if (backward) operands[sequence] = reversed(c, operands[sequence]);
    LEMMA_ASSIGN_OR_RETURN(const NodeId steps,
                           graph.add_operation(operator_named(kind.name), std::move(operands),
                                               attributes, parts.size()));
    for (std::uint32_t k = 0; k < parts.size(); ++k) {
      const ValueId value = graph.node(steps).output(k);
      parts[k].push_back(k == 0 && backward ? reversed(c, value) : value);
    }
  }
  std::vector<ValueId> outputs;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::int64_t axis = k == 0 ? 1 : 0;
    outputs.push_back(both ? c("Concat", parts[k], {{"axis", axis}}) : parts[k].front());
    if (in.attributes.integer("layout") == 0) continue;
    outputs.back() = k == 0 ? c("Transpose", {outputs.back()}, {{"perm", Integers{2, 0, 1, 3}}})
                            : exchanged(c, outputs.back());
  }
  return c.outputs(std::move(outputs));
}

// ---- Records -----------------------------------------------------------------------------------

template <const RecurrenceKind& kind>
Types infer_layer_of(const Instance& in) {
  return infer_layer(in, kind);
}

template <const RecurrenceKind& kind>
Compose compose_layer_of(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  return compose_layer(graph, kind, in, inputs);
}

template <const RecurrenceKind& kind>
Result<ImportedCall> import_layer(const OnnxCall& call, ImportedCall imported) {
  return import_recurrence(call, std::move(imported), kind, true);
}

template <const RecurrenceKind& kind>
Result<ExportedCall> export_layer(const Instance& in, int opset, ExportedCall exported) {
  constexpr int first_with_layout = 14;
  if (opset < first_with_layout && in.attributes.integer("layout") != 0)
    return unsupported(fmt::format("operator set {} has no layout 1", opset));
  return export_recurrence(in, std::move(exported), kind);
}

template <const RecurrenceKind& kind>
constexpr std::array layer_onnx = {OnnxMapping{.name = kind.name,
                                               .since = 7,
                                               .import_hook = import_layer<kind>,
                                               .export_hook = export_layer<kind>,
                                               .takes_strings = true}};

template <const RecurrenceKind& kind>
constexpr OperatorRecord layer_record(std::string_view name, std::string_view summary,
                                      std::span<const AttributeSpecification> attributes,
                                      std::span<const OperatorExample> examples) {
  constexpr int operands = 4 + static_cast<int>(kind.states),
                results = 1 + static_cast<int>(kind.states);
  return {.name = name,
          .summary = summary,
          .inputs = {3, operands},
          .outputs = {results, results},
          .attributes = attributes,
          .infer = infer_layer_of<kind>,
          .compose = compose_layer_of<kind>,
          .onnx = layer_onnx<kind>,
          .examples = examples};
}

constexpr std::array gru_layer_attributes = {direction_attribute, layout_attribute,
                                             linear_before_reset_attribute};
constexpr std::array lstm_layer_attributes = {direction_attribute, layout_attribute};
constexpr std::array rnn_layer_attributes = {direction_attribute, layout_attribute,
                                             activation_attribute};

constexpr std::array gru_layer_examples = {
    OperatorExample{"f32[2, B, I]; f32[1, 3*H, I]; f32[1, 3*H, H]", "", 2},
    OperatorExample{"f32[2, B, I]; f32[2, 3*H, I]; f32[2, 3*H, H]; f32[2, 6*H]; f32[2, B, H]",
                    "direction=\"bidirectional\"", 2},
    OperatorExample{"f32[B, 2, I]; f32[1, 3*H, I]; f32[1, 3*H, H]; f32[1, 6*H]; f32[B, 1, H]",
                    "direction=\"reverse\"; layout=1", 2},
};
constexpr std::array lstm_layer_examples = {
    OperatorExample{"f32[2, B, I]; f32[1, 4*H, I]; f32[1, 4*H, H]", "", 3},
    OperatorExample{
        "f32[2, B, I]; f32[2, 4*H, I]; f32[2, 4*H, H]; f32[2, 8*H]; f32[2, B, H]; f32[2, B, H]",
        "direction=\"bidirectional\"", 3},
    OperatorExample{
        "f32[B, 2, I]; f32[1, 4*H, I]; f32[1, 4*H, H]; f32[1, 8*H]; f32[B, 1, H]; f32[B, 1, H]",
        "direction=\"reverse\"; layout=1", 3},
};
constexpr std::array rnn_layer_examples = {
    OperatorExample{"f32[2, B, I]; f32[1, H, I]; f32[1, H, H]", "", 2},
    OperatorExample{"f32[2, B, I]; f32[2, H, I]; f32[2, H, H]; f32[2, 2*H]; f32[2, B, H]",
                    "direction=\"bidirectional\"", 2},
    OperatorExample{"f32[B, 2, I]; f32[1, H, I]; f32[1, H, H]; f32[1, 2*H]; f32[B, 1, H]",
                    "direction=\"reverse\"; layout=1; activation=\"Relu\"", 2},
};

constexpr std::array layer_records = {
    layer_record<gru>("GRULayer",
                      "GRU forward, in reverse or in both directions; without bias or state "
                      "before they are 0",
                      gru_layer_attributes, gru_layer_examples),
    layer_record<lstm>("LSTMLayer",
                       "LSTM forward, in reverse or in both directions; without bias or states "
                       "before they are 0",
                       lstm_layer_attributes, lstm_layer_examples),
    layer_record<rnn>("RNNLayer",
                      "RNN forward, in reverse or in both directions; without bias or state "
                      "before they are 0",
                      rnn_layer_attributes, rnn_layer_examples),
};
static_assert(is_complete(layer_records));

}  // namespace

std::span<const OperatorRecord> recurrent_layers() { return layer_records; }

}  // namespace lemma::operators
