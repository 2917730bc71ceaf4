// LSTM, GRU and RNN in the forms that their records leave out, over a known number of steps: the steps one after the other.
// Where ONNX does not say what is meant, it is what ONNX Runtime does: limits are on what the activations of gates are
// given, and a sequence of length 0 ends in a state of zeros.

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/graph_builder.h"
#include "frontend_onnx/made_nodes.h"
#include "frontend_onnx/recurrence_node.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using Kind = RecurrenceNode::Kind;
using Names = std::vector<std::string>;
using Attributes = std::vector<NodeMaker::Attribute>;

constexpr std::int64_t most_steps = 1024;
enum Input : std::size_t {
  sequence,
  input_weight,
  hidden_weight,
  bias,
  lengths,
  hidden,
  cell,
  peepholes
};

/// Values are names; what is not valid makes the whole be left.
class RecurrenceUnroller {
 public:
  RecurrenceUnroller(GraphBuilder& builder, const NodeMessage& node, RecurrenceNode recurrence,
                     int operator_set, std::string place)
      : builder_(builder),
        node_(node),
        recurrence_(std::move(recurrence)),
        maker_(builder, operator_set),
        place_(std::move(place)) {}

  bool run() {
    if (!read_sizes()) return false;
    prepare();
    std::vector<Names> steps(static_cast<std::size_t>(steps_));
    std::vector<Names> last(static_cast<std::size_t>(recurrence_.states));
    for (std::size_t k = 0; k < recurrence_.reversed.size(); ++k) add_direction(k, steps, last);
    if (is_valid_) give_results(steps, last);
    return is_valid_;
  }

 private:
  // ---- Nodes -------------------------------------------------------------------------------------

  std::string fresh() { return builder_.fresh_name(fmt::format("{}/{}", place_, ++made_)); }
  std::string op(const std::string& name, const Names& inputs, const Attributes& attributes = {}) {
    std::string output = fresh();
    is_valid_ = is_valid_ && maker_.add(name, inputs, output, attributes);
    return output;
  }
  std::string sum(const std::string& a, const std::string& b) { return op("Add", {a, b}); }
  std::string product(const std::string& a, const std::string& b) { return op("Mul", {a, b}); }
  std::string real(double value) {
    std::string name = fresh();
    is_valid_ = is_valid_ && maker_.add_real(name, value, type_);
    return name;
  }
  std::string element(const std::string& value, std::int64_t position, std::int64_t axis = 0) {
    std::string output = fresh();
    is_valid_ = is_valid_ && maker_.gather(value, position, axis, output);
    return output;
  }
  std::string with_axis(const std::string& value, std::int64_t axis) {
    std::string output = fresh();
    is_valid_ = is_valid_ && maker_.unsqueeze(value, axis, output);
    return output;
  }
  std::string joined(const Names& values, std::int64_t axis) {
    std::string output = fresh();
    is_valid_ = is_valid_ && maker_.concat(values, axis, output);
    return output;
  }
  std::string transposed(const std::string& value, const std::vector<std::int64_t>& order) {
    return op("Transpose", {value}, {{"perm", order}});
  }
  /// Parts of the size of the state.
  Names parts(const std::string& value, std::int64_t axis, int count) {
    if (count == 1) return {value};
    Names outputs;
    for (int k = 0; k < count; ++k) outputs.push_back(fresh());
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), recurrence_.size);
    is_valid_ = is_valid_ && maker_.split(value, sizes, axis, outputs);
    return outputs;
  }

  // ---- Operands ----------------------------------------------------------------------------------

  bool has(Input input) const {
    return static_cast<int>(input) < node_.input_size() &&
           !node_.input(static_cast<int>(input)).empty();
  }
  const std::string& operand(Input input) const { return node_.input(static_cast<int>(input)); }
  const TensorType& type_of(Input input) const {
    return builder_.graph().type(*builder_.find(operand(input)));
  }

  bool read_sizes() {
    if (!has(sequence) || !has(input_weight) || !has(hidden_weight)) return false;
    const TensorType& type = type_of(sequence);
    if (!type.is_known() || type.rank() != 3) return false;
    const Dimension& steps = (*type.shape)[recurrence_.batch_first ? 1 : 0];
    if (!steps.is_constant() || steps.offset() < 1 || steps.offset() > most_steps) return false;
    const Dimension& batch = (*type.shape)[recurrence_.batch_first ? 0 : 1];
    if (!batch.is_constant() || batch.offset() < 1) return false;
    type_ = type.data_type;
    steps_ = steps.offset();
    batch_ = batch.offset();
    return node_.output_size() <= 1 + recurrence_.states;
  }

  std::string steps_first(const std::string& value) {
    return recurrence_.batch_first ? transposed(value, {1, 0, 2}) : value;
  }

  void prepare() {
    sequence_ = steps_first(operand(sequence));
    const std::string zero = real(0);
    const std::string shape = fresh();
    is_valid_ = is_valid_ && maker_.add_integers(shape, {batch_, recurrence_.size});
    zeros_ = op("Expand", {zero, shape});
    if (!has(lengths)) return;
    // As a column, for each step: whether a sequence is not at its end.
    const std::string column = with_axis(
        op("Cast", {operand(lengths)}, {{"to", static_cast<std::int64_t>(DataType::i64)}}), 1);
    for (std::int64_t t = 0; t < steps_; ++t) {
      const std::string step = fresh();
      is_valid_ = is_valid_ && maker_.add_integer(step, t);
      goes_on_.push_back(op("Less", {step, column}));
    }
  }

  struct Weights {
    std::string hidden;                     // as a matrix from the right
    std::string candidate, candidate_bias;  // of a GRU: what is made of the state for the candidate
    std::string hidden_bias;
    Names peepholes;  // of the input, output and forget gates
  };

  /// [gates * size, inputs] as matrices from the right.
  std::string matrix(Input input, std::int64_t direction) {
    return transposed(element(operand(input), direction), {1, 0});
  }

  // ---- Steps -------------------------------------------------------------------------------------

  std::string limited(const std::string& value) {
    if (!recurrence_.limit) return value;
    return op("Min", {op("Max", {value, real(-*recurrence_.limit)}), real(*recurrence_.limit)});
  }

  std::string activated(const GateActivation& activation, std::string value) {
    if (activation.inner_factor != 1) value = product(value, real(activation.inner_factor));
    Attributes attributes;
    if (activation.alpha) attributes.push_back({"alpha", *activation.alpha});
    if (activation.beta) attributes.push_back({"beta", *activation.beta});
    if (!activation.op.empty()) value = op(activation.op, {value}, attributes);
    if (activation.factor != 1) value = product(value, real(activation.factor));
    if (activation.addend != 0) value = sum(value, real(activation.addend));
    return value;
  }

  /// What the gate's function makes of the sum.
  std::string gate(std::size_t direction, std::size_t function, const std::string& value) {
    return activated(recurrence_.activations[direction][function], limited(value));
  }
  std::string rest(const std::string& gate) { return op("Sub", {real(1), gate}); }

  Names lstm_step(std::size_t direction, const Weights& weights, const std::string& given,
                  const Names& state) {
    const Names sums = parts(sum(given, op("MatMul", {state[0], weights.hidden})), 1, 4);
    const auto seen = [&](std::size_t position, const std::string& sums_of_gate,
                          const std::string& memory) {
      if (weights.peepholes.empty()) return sums_of_gate;
      return sum(sums_of_gate, product(weights.peepholes[position], memory));
    };
    const std::string input = gate(direction, 0, seen(0, sums[0], state[1]));
    const std::string forget =
        recurrence_.couples_gates ? rest(input) : gate(direction, 0, seen(2, sums[2], state[1]));
    const std::string candidate = gate(direction, 1, sums[3]);
    const std::string memory = sum(product(forget, state[1]), product(input, candidate));
    const std::string output = gate(direction, 0, seen(1, sums[1], memory));
    return {product(output, activated(recurrence_.activations[direction][2], memory)), memory};
  }

  Names gru_step(std::size_t direction, const Weights& weights, const std::string& given,
                 const Names& state) {
    const Names of_input = parts(given, 1, 3);
    const Names of_state =
        parts(sum(op("MatMul", {state[0], weights.hidden}), weights.hidden_bias), 1, 2);
    const std::string update = gate(direction, 0, sum(of_input[0], of_state[0])),
                      reset = gate(direction, 0, sum(of_input[1], of_state[1]));
    const auto remembered = [&](const std::string& from) {
      return sum(op("MatMul", {from, weights.candidate}), weights.candidate_bias);
    };
    const std::string kept = recurrence_.resets_after_product
                                 ? product(reset, remembered(state[0]))
                                 : remembered(product(reset, state[0]));
    const std::string candidate = gate(direction, 1, sum(of_input[2], kept));
    return {sum(product(rest(update), candidate), product(update, state[0]))};
  }

  Names step(std::size_t direction, const Weights& weights, const std::string& given,
             const Names& state) {
    switch (recurrence_.kind) {
      case Kind::lstm: return lstm_step(direction, weights, given, state);
      case Kind::gru: return gru_step(direction, weights, given, state);
      case Kind::rnn: break;
    }
    return {gate(direction, 0, sum(given, op("MatMul", {state[0], weights.hidden})))};
  }

  /// `biases`: those of the products with the input, with what can be added to them from the others.
  Weights weights_of(std::int64_t direction, std::string& biases) {
    Weights weights;
    weights.hidden = matrix(hidden_weight, direction);
    Names both;
    if (has(bias)) both = halves(element(operand(bias), direction));
    if (recurrence_.kind == Kind::gru) {
      const Names columns = parts(weights.hidden, 1, 3);
      weights.hidden = joined({columns[0], columns[1]}, 1);
      weights.candidate = columns[2];
      const Names of_state = both.empty() ? Names(3, real(0)) : parts(both[1], 0, 3);
      weights.hidden_bias = both.empty() ? of_state[0] : joined({of_state[0], of_state[1]}, 0);
      weights.candidate_bias = of_state[2];
      biases = both.empty() ? "" : both[0];
    } else {
      biases = both.empty() ? "" : sum(both[0], both[1]);
    }
    if (has(peepholes)) weights.peepholes = parts(element(operand(peepholes), direction), 0, 3);
    return weights;
  }

  Names halves(const std::string& value) {
    const std::int64_t gates = recurrence_.gates * recurrence_.size;
    Names outputs = {fresh(), fresh()};
    is_valid_ = is_valid_ && maker_.split(value, {gates, gates}, 0, outputs);
    return outputs;
  }

  std::string first_state(Input input, std::size_t direction) {
    if (!has(input)) return zeros_;
    return element(operand(input), static_cast<std::int64_t>(direction),
                   recurrence_.batch_first ? 1 : 0);
  }

  /// Adds what each step and the last one give to the lists of all directions.
  void add_direction(std::size_t direction, std::vector<Names>& steps, std::vector<Names>& last) {
    std::string biases;
    const Weights weights = weights_of(static_cast<std::int64_t>(direction), biases);
    std::string products =
        op("MatMul", {sequence_, matrix(input_weight, static_cast<std::int64_t>(direction))});
    if (!biases.empty()) products = sum(products, biases);
    Names state = {first_state(hidden, direction)};
    if (recurrence_.kind == Kind::lstm) state.push_back(first_state(cell, direction));
    for (std::int64_t i = 0; i < steps_ && is_valid_; ++i) {
      const std::int64_t t = recurrence_.reversed[direction] ? steps_ - 1 - i : i;
      const auto place = static_cast<std::size_t>(t);
      const Names next = step(direction, weights, element(products, t), state);
      for (std::size_t k = 0; k < state.size(); ++k)
        state[k] = has(lengths) ? op("Where", {goes_on_[place], next[k], state[k]}) : next[k];
      steps[place].push_back(has(lengths) ? op("Where", {goes_on_[place], next[0], zeros_})
                                          : next[0]);
    }
    for (std::size_t k = 0; k < state.size(); ++k)
      last[k].push_back(has(lengths) ? op("Where", {goes_on_[0], state[k], zeros_}) : state[k]);
  }

  // ---- Results -----------------------------------------------------------------------------------

  /// Gives one of the node's outputs its value.
  void give(int output, const std::string& value) {
    if (output < node_.output_size() && is_valid_)
      builder_.alias(node_.output(output), *builder_.find(value));
  }

  /// [directions, batch, size] or, batch first, [batch, directions, size].
  std::string stacked(const Names& directions) {
    const std::int64_t axis = recurrence_.batch_first ? 1 : 0;
    Names values;
    for (const std::string& value : directions) values.push_back(with_axis(value, axis));
    return joined(values, axis);
  }

  void give_results(const std::vector<Names>& steps, const std::vector<Names>& last) {
    if (!node_.output(0).empty()) {
      const std::int64_t axis = recurrence_.batch_first ? 1 : 0;
      Names values;
      for (const Names& directions : steps) values.push_back(with_axis(stacked(directions), axis));
      give(0, joined(values, axis));
    }
    for (std::size_t k = 0; k < last.size(); ++k) give(static_cast<int>(k) + 1, stacked(last[k]));
  }

  GraphBuilder& builder_;
  const NodeMessage& node_;
  RecurrenceNode recurrence_;
  NodeMaker maker_;
  std::string place_;
  bool is_valid_ = true;
  int made_ = 0;
  DataType type_ = DataType::undefined;
  std::int64_t steps_ = 0, batch_ = 0;
  std::string sequence_, zeros_;
  Names goes_on_;  // by step, where there are lengths
};

}  // namespace

/// Adds the steps in place of the node. False, and the node is to be opaque, if it is no recurrence, or something of it is
/// not understood.
bool GraphBuilder::add_unrolled_recurrence(const NodeMessage& node) {
  auto recurrence = recurrence_of(node);
  const auto set = operator_set_of(node);
  constexpr int expand_exists_since = 8;
  if (!recurrence || !set || *set < expand_exists_since) return false;
  const auto named = std::find_if(node.output().begin(), node.output().end(),
                                  [](const std::string& name) { return !name.empty(); });
  if (named == node.output().end()) return false;
  RecurrenceUnroller unroller(*this, node, std::move(*recurrence), *set, *named);
  if (!unroller.run()) return false;
  ++taken_branches_;
  return true;
}

}  // namespace lemma::frontend
