#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "backend/layout/layout.h"
#include "backend/lower/copy_definition.h"
#include "backend/lower/without_unread.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

/// Numbers that are known when the program is written: the same for all elements, or one for each place on an axis.
struct Numbers {
  std::optional<std::size_t> axis;  // among those of the nest
  std::vector<double> values;

  double at(std::size_t place) const { return axis ? values[place] : values.front(); }
};

/// element * factor + offset, for each place on an axis.
struct Affine {
  std::vector<double> factors, offsets;
};

/// A computation of one step on the element of a tensor and a known number.
struct Step {
  Kind kind = Kind::add;
  std::uint32_t input = 0;  // the tensor
  bool is_left = true;      // it stands before the number
  Numbers numbers;

  void apply_to(Affine& affine) const {
    for (std::size_t i = 0; i < affine.factors.size(); ++i) {
      double &factor = affine.factors[i], &offset = affine.offsets[i];
      const double number = numbers.at(i);
      if (kind == Kind::multiply || kind == Kind::divide) {
        factor = kind == Kind::multiply ? factor * number : factor / number;
        offset = kind == Kind::multiply ? offset * number : offset / number;
      } else if (kind == Kind::add) {
        offset += number;
      } else {
        const double sign = is_left ? 1 : -1;
        factor *= sign;
        offset = sign * (offset - number);
      }
    }
  }
};

/// Products of weights and elements that are added up, and a bias.
struct WeightedSum {
  std::uint32_t weights = 0;    // the input
  std::size_t weight_axis = 0;  // of the weights: the axis of the result
  std::size_t axis = 0;         // of the nest
  std::optional<Numbers> bias;
};

bool is_known(const Computation& computation, const std::vector<Buffer>& buffers,
              std::uint32_t input) {
  const BufferNumber buffer = computation.operands[input];
  return buffer != no_buffer && buffers[buffer].type == DataType::f32 && buffers[buffer].contents &&
         !buffers[buffer].contents->is_symbolic();
}

/// A number that depends on one axis of the result at most.
std::optional<Numbers> numbers_of(const LoweredOutput& nest, const Computation& computation,
                                  const std::vector<Buffer>& buffers, const Term& term) {
  if (term.kind != Kind::read || !is_known(computation, buffers, term.input)) return std::nullopt;
  Numbers numbers;
  for (std::size_t i = 0; i < nest.axes.size(); ++i) {
    if ((term.depends & lowering::set_of(nest.axes[i])) == 0) continue;
    if (numbers.axis) return std::nullopt;
    numbers.axis = i;
  }
  const Linear address = nest.graph.address(term);
  Linear rest = address;
  std::int64_t step = 0, count = 1;
  if (numbers.axis) {
    step = address.coefficient(nest.axes[*numbers.axis]);
    count = nest.graph.extent(nest.axes[*numbers.axis]);
    rest = lowering::combine(address, Linear::atom(nest.axes[*numbers.axis]), -step);
  }
  for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
    if (!nest.graph.is_inside(term, axis)) return std::nullopt;
  if (!rest.is_constant()) return std::nullopt;
  const std::vector<double> all = buffers[computation.operands[term.input]].contents->reals();
  for (std::int64_t i = 0; i < count; ++i)
    numbers.values.push_back(all[static_cast<std::size_t>(rest.constant + i * step)]);
  return numbers;
}

/// The element of the tensor at the place of the result's element.
bool is_same_element(const LoweredOutput& nest, const Term& term) {
  if (term.kind != Kind::read || term.type != DataType::f32) return false;
  Linear place;
  for (const lowering::LoopVariable axis : nest.axes)
    place = lowering::combine(lowering::scale(place, nest.graph.extent(axis)), Linear::atom(axis));
  return nest.graph.address(term) == place;
}

std::optional<Step> step_of(const LoweredOutput& nest, const Computation& computation,
                            const std::vector<Buffer>& buffers) {
  const Term& root = nest.graph.term(nest.root);
  if (nest.type != DataType::f32 || (root.kind != Kind::add && root.kind != Kind::subtract &&
                                     root.kind != Kind::multiply && root.kind != Kind::divide))
    return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const Term& element = nest.graph.term(root.operands[side]);
    if (!is_same_element(nest, element) || (root.kind == Kind::divide && side == 1)) continue;
    auto numbers = numbers_of(nest, computation, buffers, nest.graph.term(root.operands[1 - side]));
    if (numbers) return Step{root.kind, element.input, side == 0, std::move(*numbers)};
  }
  return std::nullopt;
}

/// The axis of the nest that goes with one axis of the weights, and with nothing else of them.
bool find_axes(const LoweredOutput& nest, const Term& weight, WeightedSum& sum) {
  std::optional<std::size_t> axis, weight_axis;
  for (std::size_t i = 0; i < nest.axes.size(); ++i) {
    if ((weight.depends & lowering::set_of(nest.axes[i])) == 0) continue;
    if (axis) return false;
    axis = i;
  }
  if (!axis) return false;
  for (std::size_t i = 0; i < weight.indices.size(); ++i) {
    if (weight.indices[i].coefficient(nest.axes[*axis]) == 0) continue;
    if (weight_axis || !(weight.indices[i] == Linear::atom(nest.axes[*axis]))) return false;
    weight_axis = i;
  }
  if (!weight_axis) return false;
  sum.axis = *axis;
  sum.weight_axis = *weight_axis;
  return true;
}

std::size_t reads_of(const LoweredOutput& nest, std::uint32_t input) {
  std::size_t count = 0;
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    count += nest.graph.term(id).kind == Kind::read && nest.graph.term(id).input == input ? 1 : 0;
  return count;
}

std::optional<WeightedSum> weighted_sum(const LoweredOutput& nest, const Computation& computation,
                                        const std::vector<Buffer>& buffers) {
  if (nest.type != DataType::f32) return std::nullopt;
  WeightedSum result;
  TermNumber sum = nest.root;
  if (const Term& root = nest.graph.term(nest.root); root.kind == Kind::add) {
    sum = root.operands[0];
    result.bias = numbers_of(nest, computation, buffers, nest.graph.term(root.operands[1]));
    if (!result.bias) return std::nullopt;
  }
  const auto products = lowering::sum_of_products(nest.graph, sum);
  if (!products || products->factors.size() != 2) return std::nullopt;
  for (const TermNumber factor : products->factors) {
    const Term& weight = nest.graph.term(factor);
    if (weight.kind != Kind::read || !is_known(computation, buffers, weight.input) ||
        reads_of(nest, weight.input) != 1 || !find_axes(nest, weight, result))
      continue;
    if (result.bias && result.bias->axis && *result.bias->axis != result.axis) return std::nullopt;
    result.weights = weight.input;
    return result;
  }
  return std::nullopt;
}

/// The weights times the factors, unless one of them is then no usual number any more.
std::optional<std::vector<float>> scaled(const std::vector<double>& weights,
                                         const lowering::Sizes& sizes, std::size_t axis,
                                         const std::vector<double>& factors) {
  constexpr double least = 0x1p-100, greatest = 0x1p100;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) inner *= static_cast<std::size_t>(sizes[i]);
  std::vector<float> result;
  result.reserve(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double product = weights[i] * factors[i / inner % factors.size()];
    const bool is_usual = std::abs(product) >= least && std::abs(product) <= greatest;
    if (!is_usual && product != 0) return std::nullopt;
    result.push_back(static_cast<float>(product));
  }
  return result;
}

class FoldedFactors {
 public:
  explicit FoldedFactors(ComputationGraph graph)
      : graph_(std::move(graph)),
        reader_(graph_.buffers.size()),
        readers_(graph_.buffers.size(), 0),
        is_gone_(graph_.computations.size(), false) {
    for (std::size_t i = 0; i < graph_.computations.size(); ++i)
      for (const BufferNumber operand : graph_.computations[i].operands)
        if (operand != no_buffer) {
          reader_[operand] = i;
          ++readers_[operand];
        }
  }

  ComputationGraph run() {
    for (std::size_t i = 0; i < graph_.computations.size(); ++i)
      if (!is_gone_[i]) fold(i);
    std::vector<Computation> kept;
    for (std::size_t i = 0; i < is_gone_.size(); ++i)
      if (!is_gone_[i]) kept.push_back(std::move(graph_.computations[i]));
    graph_.computations = std::move(kept);
    return without_unread(std::move(graph_));
  }

 private:
  /// The steps after a sum, each the only reader of the one before it.
  struct Chain {
    std::vector<Step> steps;
    std::vector<std::size_t> computations;
  };

  void fold(std::size_t number) {
    const Computation& computation = graph_.computations[number];
    const auto nest = nest_of(computation);
    if (!nest) return;
    const auto sum = weighted_sum(*nest, computation, graph_.buffers);
    if (!sum) return;
    const Chain chain = chain_after(number, *nest, sum->axis);
    const bool scales = std::any_of(chain.steps.begin(), chain.steps.end(), [](const Step& step) {
      return step.kind == Kind::multiply || step.kind == Kind::divide;
    });
    if (scales) replace(number, *nest, *sum, chain);
  }

  Chain chain_after(std::size_t number, const LoweredOutput& nest, std::size_t axis) const {
    Chain chain;
    BufferNumber value = graph_.computations[number].result;
    while (graph_.buffers[value].memory == Memory::arena && readers_[value] == 1) {
      const Computation& reader = graph_.computations[*reader_[value]];
      const auto next = nest_of(reader);
      if (!next || next->sizes != nest.sizes) break;
      auto step = step_of(*next, reader, graph_.buffers);
      if (!step || reader.operands[step->input] != value ||
          (step->numbers.axis && *step->numbers.axis != axis))
        break;
      chain.steps.push_back(std::move(*step));
      chain.computations.push_back(*reader_[value]);
      value = reader.result;
    }
    return chain;
  }

  void replace(std::size_t number, const LoweredOutput& nest, const WeightedSum& sum,
               const Chain& chain) {
    Computation& computation = graph_.computations[number];
    const auto count = static_cast<std::size_t>(nest.graph.extent(nest.axes[sum.axis]));
    Affine affine{std::vector<double>(count, 1), std::vector<double>(count, 0)};
    if (sum.bias)
      for (std::size_t i = 0; i < count; ++i) affine.offsets[i] = sum.bias->at(i);
    for (const Step& step : chain.steps) step.apply_to(affine);
    const auto is_finite = [](double offset) { return std::isfinite(static_cast<float>(offset)); };
    if (!std::all_of(affine.offsets.begin(), affine.offsets.end(), is_finite)) return;
    const Buffer& before = graph_.buffers[computation.operands[sum.weights]];
    const lowering::Sizes& sizes = computation.views[sum.weights].sizes;
    const auto weights = scaled(before.contents->reals(), sizes, sum.weight_axis, affine.factors);
    if (!weights) return;
    computation.definition = with_bias(computation, nest, sum);
    computation.output = 0;
    computation.operands[sum.weights] =
        add_weights(before.name + " scaled", before.sizes, *weights);
    const std::vector<float> offsets(affine.offsets.begin(), affine.offsets.end());
    const lowering::Sizes places = {static_cast<std::int64_t>(count)};
    computation.operands.push_back(add_weights(computation.name + " bias", places, offsets));
    computation.views.push_back({DataType::f32, places, false});
    for (const std::size_t step : chain.computations) is_gone_[step] = true;
    const Computation& last = graph_.computations[chain.computations.back()];
    computation.name = last.name;
    computation.result = last.result;
  }

  /// The sum alone, and another bias, which the last input is.
  static Definition with_bias(const Computation& computation, const LoweredOutput& nest,
                              const WeightedSum& sum) {
    const Definition& before = computation.definition;
    const DefinedOutput& output = before.outputs()[computation.output];
    DefinitionBuilder builder;
    std::vector<Expression> axes, long_axes;
    std::map<std::uint32_t, Expression> variables;
    for (std::size_t i = 0; i < output.axes.size(); ++i) {
      axes.push_back(builder.variable(before.extent(output.axes[i])));
      variables.emplace(output.axes[i].v, axes.back());
      if (nest.sizes[i] != 1) long_axes.push_back(axes.back());
    }
    DefinitionCopier copier(
        builder, before, std::move(variables),
        [](ExpressionId, const std::vector<Expression>&) { return std::optional<Expression>(); });
    const ExpressionId value = sum.bias ? before.node(output.value).operands[0] : output.value;
    const auto input = static_cast<std::uint32_t>(computation.operands.size());
    const Expression result =
        copier.copy(value) + builder.read(input, DataType::f32, {long_axes[sum.axis]});
    builder.output(std::move(axes), result);
    return std::move(builder).finish();
  }

  BufferNumber add_weights(std::string name, const lowering::Sizes& sizes,
                           const std::vector<float>& elements) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.memory = Memory::weights;
    buffer.type = DataType::f32;
    buffer.sizes = sizes;
    buffer.elements = static_cast<std::int64_t>(elements.size());
    buffer.contents = Constant::of(DataType::f32, sizes, elements);
    graph_.buffers.push_back(std::move(buffer));
    reader_.emplace_back();
    readers_.push_back(0);
    return static_cast<BufferNumber>(graph_.buffers.size() - 1);
  }

  ComputationGraph graph_;
  std::vector<std::optional<std::size_t>> reader_;  // by buffer: the last one
  std::vector<int> readers_;                        // by buffer: operands
  std::vector<bool> is_gone_;
};

}  // namespace

ComputationGraph fold_factors(ComputationGraph graph) {
  return FoldedFactors(std::move(graph)).run();
}

}  // namespace lemma::backend
