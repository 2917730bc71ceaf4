#include "backend/lower/own_computation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace lemma::backend {

bool has_own_kernel(const Graph& graph, const Node& node, std::string_view target) {
  if (target.empty() || node.kind != NodeKind::operation) return false;
  const std::vector<TensorType> types = graph.input_types(node);
  return find_override(graph.op(node), target, {types, node.attributes, node.output_count})
      .has_value();
}

Definition access_definition(const std::vector<lowering::InputView>& operands, DataType result,
                             std::int64_t rows, std::int64_t elements) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = {d.variable(rows), d.variable(elements / rows)};
  Expression all = d.real(0, DataType::f64);
  for (std::uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type == DataType::undefined) continue;
    std::vector<Expression> indices, bound;
    for (const std::int64_t size : operands[i].sizes) {
      indices.push_back(size == 1 ? d.integer(0) : d.variable(size));
      if (size != 1) bound.push_back(indices.back());
    }
    Expression element = d.cast(d.read(i, operands[i].type, indices), DataType::f64);
    all = all + (bound.empty() ? element : d.sum(bound, element));
  }
  d.output(axes, d.cast(all, result));
  return std::move(d).finish();
}

void HiddenComputations::keep(ComputationGraph& graph, BufferNumber number, bool is_result) {
  if (std::ranges::find(numbers_, number) != numbers_.end()) return;
  Buffer& buffer = graph.buffers[number];
  const bool is_input =
      is_result || buffer.memory == Memory::weights || buffer.memory == Memory::input;
  numbers_.push_back(number);
  kept_.push_back({buffer.memory, is_input});
  buffer.memory = is_input ? Memory::input : Memory::output;
  (is_input ? graph.inputs : graph.outputs).push_back(number);
}

ComputationGraph HiddenComputations::hide(ComputationGraph graph) {
  std::vector<Computation> others;
  for (Computation& computation : graph.computations)
    (computation.own ? computations_ : others).push_back(std::move(computation));
  graph.computations = std::move(others);
  // Results first: one that another hidden computation reads is made by none that is seen.
  for (const Computation& own : computations_) keep(graph, own.result, true);
  for (const Computation& own : computations_)
    for (const BufferNumber operand : own.operands)
      if (operand != no_buffer) keep(graph, operand, false);
  return graph;
}

namespace {

/// Computations in an order in which each comes after what it reads; the given order as far as that goes.
class Ordered {
 public:
  explicit Ordered(std::vector<Computation> computations)
      : computations_(std::move(computations)), is_taken_(computations_.size(), false) {
    for (std::size_t i = 0; i < computations_.size(); ++i) makers_[computations_[i].result] = i;
  }

  std::vector<Computation> take() {
    for (std::size_t i = 0; i < computations_.size(); ++i) add(i);
    return std::move(result_);
  }

 private:
  /// Deeper only along hidden computations that come later than what reads them.
  void add(std::size_t number) {
    if (is_taken_[number]) return;
    is_taken_[number] = true;
    for (const BufferNumber operand : computations_[number].operands)
      if (const auto maker = makers_.find(operand); maker != makers_.end()) add(maker->second);
    result_.push_back(std::move(computations_[number]));
  }

  std::vector<Computation> computations_, result_;
  std::vector<bool> is_taken_;
  std::map<BufferNumber, std::size_t> makers_;
};

}  // namespace

ComputationGraph HiddenComputations::shown(ComputationGraph graph) {
  if (computations_.empty()) return graph;
  std::map<BufferNumber, BufferNumber> now;  // by number when they were hidden
  for (std::size_t i = kept_.size(); i-- > 0;) {
    std::vector<BufferNumber>& list = kept_[i].is_input ? graph.inputs : graph.outputs;
    now[numbers_[i]] = list.back();
    list.pop_back();
    graph.buffers[now[numbers_[i]]].memory = kept_[i].memory;
  }
  for (Computation& own : computations_) {
    own.result = now.at(own.result);
    for (BufferNumber& operand : own.operands)
      if (operand != no_buffer) operand = now.at(operand);
  }
  std::vector<Computation> all = std::move(graph.computations);
  std::ranges::move(computations_, std::back_inserter(all));
  graph.computations = Ordered(std::move(all)).take();
  computations_.clear();
  return graph;
}

}  // namespace lemma::backend
