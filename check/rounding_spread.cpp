#include "check/rounding_spread.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "interpreter/random.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::uint64_t changed_runs = 2;
constexpr std::int64_t most_elements = std::int64_t{1} << 28;  // of weights, which are copied
constexpr double changed_units = 4;                            // of roundoff
/// The share of an output's elements that is common; the others count as jumps where they move much
/// further.
constexpr double common_share = 0.8;

/// The graph with its real constants as inputs, under names that no input has.
class OpenGraph {
 public:
  explicit OpenGraph(const Graph& graph)
      : graph_(graph), values_(graph.value_count(), ValueId::none()) {}

  Result<void> build() {
    for (const NodeId id : graph_.live_nodes()) LEMMA_RETURN_IF_ERROR(copy(graph_.node(id)));
    for (const GraphOutput& output : graph_.outputs())
      LEMMA_RETURN_IF_ERROR(open_.add_output(output.name, values_[output.value.v]));
    return {};
  }

  const Graph& graph() const { return open_; }
  const std::vector<NamedTensor>& weights() const { return weights_; }
  std::int64_t elements() const {
    std::int64_t count = 0;
    for (const NamedTensor& weight : weights_) count += weight.value.element_count();
    return count;
  }

 private:
  Result<void> copy(const Node& node) {
    const bool is_weight =
        node.kind == NodeKind::constant && is_real(graph_.type(node.output()).data_type);
    if (is_weight || node.kind == NodeKind::input) {
      std::string name = node.kind == NodeKind::input ? graph_.input_name(node)
                                                      : fmt::format("\nweight {}", weights_.size());
      if (node.kind == NodeKind::constant)
        weights_.push_back({name, Tensor::of(graph_.constant(node))});
      LEMMA_ASSIGN_OR_RETURN(values_[node.output().v],
                             open_.add_input(std::move(name), graph_.type(node.output())));
      return {};
    }
    if (node.kind == NodeKind::opaque) return unsupported("an opaque node cannot be computed");
    return copy_node(graph_, node, open_, values_, ValueNames::dropped);
  }

  const Graph& graph_;
  Graph open_;
  std::vector<ValueId> values_;
  std::vector<NamedTensor> weights_;
};

/// Small integers are more than approximate: exponents, limits, counts.
bool is_exact(double element) {
  constexpr double largest = 4096;
  return !std::isfinite(element) ||
         (std::abs(element) <= largest && element == std::round(element));
}

/// How far each element was moved at most.
class Movements {
 public:
  explicit Movements(const Tensor& expected) : expected_(expected) {
    if (!is_computable(expected.data_type())) return;
    wanted_ = expected.reals();
    moved_.resize(wanted_.size(), 0);
  }

  void add(const Tensor& actual) {
    if (moved_.empty() || !(actual.type() == expected_.type())) return;
    const std::vector<double> elements = actual.reals();
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const double distance = std::abs(elements[i] - wanted_[i]);
      if (std::isfinite(distance)) moved_[i] = std::max(moved_[i], distance);
    }
  }

  RoundingSpread spread() const {
    RoundingSpread result;
    if (moved_.empty()) return result;
    std::vector<double> sorted = moved_;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(
                                         common_share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), at, sorted.end());
    result.common = *at;
    const DataType type = expected_.data_type();
    const double allowed = allowance_for(type, result).common;
    const double relative = is_real(type) ? relative_allowance(type) : 0;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      if (!(moved_[i] > allowed + relative * std::abs(wanted_[i]))) continue;
      ++result.jumps;
      result.largest = std::max(result.largest, moved_[i]);
    }
    return result;
  }

 private:
  const Tensor& expected_;
  std::vector<double> wanted_, moved_;
};

}  // namespace

Tensor changed_by_rounding(const NamedTensor& tensor, std::uint64_t seed) {
  const Tensor& value = tensor.value;
  if (!is_real(value.data_type()) || !is_computable(value.data_type())) return value;
  const double change = changed_units * unit_roundoff(value.data_type());
  const std::uint64_t stream = interpreter::stream_of(tensor.name);
  std::vector<double> elements = value.reals();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (is_exact(elements[i])) continue;
    // In [-1, 1).
    const double factor =
        std::ldexp(static_cast<double>(interpreter::random_word(seed, stream, i) >> 11U), -52) - 1;
    elements[i] += elements[i] * change * factor;
  }
  return Tensor::from_reals(value.data_type(), value.sizes(), elements);
}

RoundingSpread spread_of(const Tensor& expected, std::span<const Tensor> moved) {
  Movements movements(expected);
  for (const Tensor& tensor : moved) movements.add(tensor);
  return movements.spread();
}

Result<std::vector<RoundingSpread>> measure_rounding_spread(const Graph& graph,
                                                            std::span<const NamedTensor> inputs,
                                                            std::span<const Tensor> outputs,
                                                            const interpreter::RunOptions& options,
                                                            std::uint64_t seed) {
  OpenGraph open(graph);
  LEMMA_RETURN_IF_ERROR(open.build());
  if (open.elements() > most_elements)
    return unsupported("there are too many weights to compute it with others");
  std::vector<Movements> movements(outputs.begin(), outputs.end());
  std::optional<Error> failure;
  bool has_moved = false;
  for (std::uint64_t run = 0; run < changed_runs; ++run) {
    std::vector<NamedTensor> given;
    for (const NamedTensor& tensor : inputs)
      given.push_back({tensor.name, changed_by_rounding(tensor, seed + run)});
    for (const NamedTensor& weight : open.weights())
      given.push_back({weight.name, changed_by_rounding(weight, seed + run)});
    // An index may leave its range.
    const auto moved = interpreter::run(open.graph(), given, options);
    if (!moved) {
      failure = moved.error();
      continue;
    }
    has_moved = true;
    for (std::size_t i = 0; i < movements.size(); ++i) movements[i].add((*moved)[i]);
  }
  if (!has_moved) return tl::unexpected<Error>(std::move(*failure));
  std::vector<RoundingSpread> result;
  for (const Movements& output_movements : movements) result.push_back(output_movements.spread());
  return result;
}

bool is_within(const Tensor& actual, const Tensor& expected, const OutputAllowance& allowed) {
  const std::vector<double> a = actual.reals(), b = expected.reals();
  std::int64_t jumps = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double error = std::abs(a[i] - b[i]), base = allowed.relative * std::abs(b[i]);
    if (error <= base + allowed.common) continue;
    ++jumps;
    if (!(error <= base + allowed.jump)) return false;
  }
  return jumps <= allowed.jumps;
}

std::vector<OutputAllowance> output_allowances(const Graph& graph,
                                               std::span<const NamedTensor> inputs,
                                               std::span<const Tensor> outputs,
                                               const interpreter::RunOptions& options,
                                               std::uint64_t seed) {
  const auto spreads = measure_rounding_spread(graph, inputs, outputs, options, seed);
  const double relative = relative_allowance(narrowest_real_type(graph));
  const SampledTolerance otherwise = tolerance_for(graph, std::nullopt, std::nullopt);
  std::vector<OutputAllowance> result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    OutputAllowance& allowed = result.emplace_back();
    const DataType type = outputs[i].data_type();
    if (spreads) static_cast<RoundingAllowance&>(allowed) = allowance_for(type, (*spreads)[i]);
    if (!is_real(type)) continue;
    allowed.relative = relative;
    if (spreads) continue;
    const auto tolerance = tolerance_of_output(otherwise, outputs[i].reals());
    allowed.relative = tolerance.relative;
    allowed.common = tolerance.absolute;
  }
  return result;
}

}  // namespace lemma
