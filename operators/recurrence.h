#pragma once
// Operators that go along a sequence. There are two records of each kind: the recurrence itself, in one direction and
// with all operands given, of which axioms and rules speak; and the layer as ONNX files may have it, in another
// direction, with other axes first, or without bias and initial states. A layer is composed of recurrences.

#include <array>
#include <string_view>

#include "ir/onnx_mapping.h"
#include "ir/operator.h"

namespace lemma::operators {

struct RecurrenceKind {
  std::string_view name;    // of the recurrence, and in ONNX
  std::int64_t gates;       // one after the other in the weights
  std::size_t states;       // how many tensors are handed on from step to step
  std::string_view option;  // its attribute, if it has one
  /// The only activations of the gates that the record describes; those of a kind whose attribute names one are given
  /// by that.
  std::array<std::string_view, 3> activations;

  std::size_t operands() const { return 4 + states; }
};

inline constexpr std::string_view linear_before_reset = "linear_before_reset",
                                  activation_option = "activation";
inline constexpr RecurrenceKind gru = {"GRU", 3, 1, linear_before_reset, {"Sigmoid", "Tanh"}},
                                lstm = {"LSTM", 4, 2, "", {"Sigmoid", "Tanh", "Tanh"}},
                                rnn = {"RNN", 1, 1, activation_option, {}};

constexpr std::array activations_of_rnn = {std::string_view("Relu"), std::string_view("Sigmoid"),
                                           std::string_view("Tanh")};
constexpr AttributeSpecification linear_before_reset_attribute = {linear_before_reset,
                                                                  AttributeKind::integer, "0"};
constexpr AttributeSpecification activation_attribute = {
    activation_option, AttributeKind::string, "\"Tanh\"", AttributeRole::plain, activations_of_rnn};

/// Operands of both records; the cell is that of LSTM alone.
namespace recurrence_operand {
enum : std::size_t { sequence, input_weight, hidden_weight, bias, hidden, cell };
}

/// Shapes of the operands: the sequence [steps, batch, inputs], the weights of the gates [directions, gates * hidden,
/// inputs] and [directions, gates * hidden, hidden], their biases for both [directions, 2 * gates * hidden], and what
/// the state consists of, [directions, batch, hidden] each. With `batch_first` the batch is axis 0 of the sequence and
/// of the states. Demands that those that are there have them; types of the outputs: the hidden state after each step
/// [steps, directions, batch, hidden], or [batch, steps, directions, hidden], and the states after the last one.
Result<std::vector<TensorType>> infer_recurrence(const Instance& in, const RecurrenceKind& kind,
                                                 std::int64_t directions, bool batch_first);

/// Reads ONNX's operator as the recurrence, or as the layer (`as_layer`) where it is not one.
Result<ImportedCall> import_recurrence(const OnnxCall& call, ImportedCall imported,
                                       const RecurrenceKind& kind, bool as_layer);
Result<ExportedCall> export_recurrence(const Instance& in, ExportedCall exported,
                                       const RecurrenceKind& kind);

}  // namespace lemma::operators
