#include "check/check_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "interpreter/random.h"

namespace lemma {

namespace {

using interpreter::NamedTensor;
using interpreter::Sizes;
using interpreter::Tensor;

constexpr std::array<double, 20> small_numbers = {
    0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 0.0, -0.0, 4, -4, 10, -0.25, 0.125, 5, 1.5, -1.5};
constexpr std::array<double, 8> positive_numbers = {1, 0.5, 2, 3, 1.5, 0.25, 4, 7};
constexpr std::array<double, 10> large_numbers = {100,  -100,   200,   -200, 400,
                                                  1000, 1000.5, -3000, 1.0,  0.0};
constexpr std::size_t most_limits = 64;
constexpr std::int64_t small_constant = 16;  // elements of a constant that may be a limit
constexpr std::size_t most_inputs_alone = 8, most_symbols_alone = 4;

/// Scaled to the range of the type.
std::vector<double> huge_numbers(DataType type) {
  const double most = type == DataType::f16 ? 6e4 : 1e30;
  return {most, -most, most / 8, -most / 1024, std::sqrt(most), 1.0, 0.0};
}

std::vector<double> tiny_numbers(DataType type) {
  const double least = type == DataType::f16 ? std::ldexp(1, -24) : 1e-40;
  return {least, -least, 1024 * least, std::sqrt(least), -std::sqrt(least), 0.0};
}

template <typename Numbers>
std::vector<double> list(const Numbers& numbers, double factor = 1) {
  std::vector<double> result(numbers.begin(), numbers.end());
  for (double& number : result) number *= factor;
  return result;
}

std::vector<double> special_numbers(DataType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> result = {
      infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0, 1.0, -1.5};
  for (const double number : huge_numbers(type)) result.push_back(number);
  for (const double number : tiny_numbers(type)) result.push_back(number);
  return result;
}

/// What elements are drawn from; empty for random ones.
std::vector<double> numbers_of(const InputPlan& plan, DataType type,
                               std::span<const double> limits) {
  switch (plan.contents) {
    case InputContents::random: return {};
    case InputContents::small:
    case InputContents::uniform: return list(small_numbers);
    case InputContents::limits: return list(limits);
    case InputContents::zeros: return {0.0, -0.0};
    case InputContents::positive: return list(positive_numbers);
    case InputContents::negative: return list(positive_numbers, -1);
    case InputContents::large: return list(large_numbers);
    case InputContents::huge: return huge_numbers(type);
    case InputContents::tiny: return tiny_numbers(type);
    case InputContents::special: return special_numbers(type);
  }
  return {};
}

Tensor real_elements(const InputPlan& plan, const std::string& name, DataType type,
                     const Sizes& sizes, std::span<const double> limits) {
  const std::uint64_t stream = interpreter::stream_of(name);
  std::vector<double> numbers = numbers_of(plan, type, limits);
  if (plan.zero_input == name) numbers = {0.0};
  if (numbers.empty()) return interpreter::random_tensor(type, sizes, plan.seed, stream);
  std::vector<double> elements(static_cast<std::size_t>(interpreter::element_count(sizes)));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t drawn = plan.contents == InputContents::uniform ? 0 : i;
    elements[i] = numbers[interpreter::random_word(plan.seed, stream, drawn) % numbers.size()];
  }
  return Tensor::from_reals(type, sizes, elements);
}

std::vector<std::int64_t> wide_integers(DataType type) {
  const int width = bits(type);
  const std::int64_t most = is_unsigned_integer(type)
                                ? (width == 64 ? -1 : (std::int64_t{1} << width) - 1)
                                : static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - width));
  const std::int64_t least = is_unsigned_integer(type) ? 0 : -most - 1;
  return {most, least, most / 2 + 1, 1, 0, 2, most - 1, least + 1, std::int64_t{1} << (width / 2)};
}

Tensor other_elements(const InputPlan& plan, const std::string& name, DataType type,
                      const Sizes& sizes) {
  const std::uint64_t stream = interpreter::stream_of(name);
  if (plan.scalar && type != DataType::boolean && interpreter::element_count(sizes) == 1)
    return Tensor::from_integers(type, sizes, std::array{*plan.scalar});
  if (type == DataType::boolean || plan.integers == IntegerContents::indices)
    return interpreter::random_tensor(type, sizes, plan.seed, stream);
  if (plan.integers == IntegerContents::small) {
    const interpreter::RandomRange range{-1, 1, is_unsigned_integer(type) ? 0 : -5, 5};
    return interpreter::random_tensor(type, sizes, plan.seed, stream, range);
  }
  const std::vector<std::int64_t> numbers = wide_integers(type);
  std::vector<std::int64_t> elements(static_cast<std::size_t>(interpreter::element_count(sizes)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = numbers[interpreter::random_word(plan.seed, stream, i) % numbers.size()];
  return Tensor::from_integers(type, sizes, elements);
}

void add_limit(double value, std::set<double>& limits) {
  if (!std::isfinite(value) || std::abs(value) > 1e30 || limits.size() >= most_limits) return;
  const double step = std::abs(value) / 1024;
  for (const double near : {value, -value, value + step, value - step, value + 1, value - 1,
                            2 * value, 4 * value, value / 2})
    limits.insert(near);
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape) continue;
    for (const Dimension& dimension : *type.shape) {
      std::map<std::string, int> symbols;
      collect_symbols(dimension, symbols);
      for (const auto& [symbol, count] : symbols) names.insert(symbol);
    }
  }
  return names;
}

/// Symbols of first axes.
std::set<std::string> batch_symbols_of(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape || type.shape->empty()) continue;
    if (const auto symbol = type.shape->front().as_symbol()) names.insert(*symbol);
  }
  return names;
}

/// Symbols of first axes; the one open size of an input, where other inputs have several (a state that goes along with a
/// sequence); and what is called a batch.
std::set<std::string> likely_batch_symbols_of(const Graph& graph) {
  std::set<std::string> names = batch_symbols_of(graph), alone;
  bool several = false;
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape) continue;
    std::vector<std::string> open;
    for (const Dimension& dimension : *type.shape)
      if (const auto symbol = dimension.as_symbol()) open.push_back(*symbol);
    several = several || open.size() > 1;
    if (open.size() == 1 && type.rank() > 1) alone.insert(open.front());
    for (const std::string& symbol : open)
      if (symbol.find("batch") != std::string::npos) names.insert(symbol);
  }
  if (several) names.merge(alone);
  return names;
}

/// Second axes of images, as colors.
std::set<std::string> channel_symbols_of(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape || type.rank() != 4) continue;
    if (const auto symbol = (*type.shape)[1].as_symbol()) names.insert(*symbol);
  }
  return names;
}

bool has_single_integer_input(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), [&graph](NodeId id) {
    const TensorType& type = graph.type(graph.node(id).output());
    return type.is_known() && is_integer(type.data_type) && element_count(*type.shape).is(1);
  });
}

/// Nothing, then integers above 1 that constants of one element hold, the least first.
std::vector<std::optional<std::int64_t>> scalars_to_try(const Graph& graph) {
  constexpr std::size_t most = 4;
  std::set<std::int64_t> values;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::constant) continue;
    const Constant& constant = graph.constant(node);
    if (!is_integer(constant.type().data_type) || !element_count(*constant.type().shape).is(1))
      continue;
    const std::int64_t value = Tensor::of(constant).integers().front();
    if (value > 1 && values.size() < most) values.insert(value);
  }
  std::vector<std::optional<std::int64_t>> result = {std::nullopt};
  if (has_single_integer_input(graph)) result.insert(result.end(), values.begin(), values.end());
  return result;
}

/// Sizes of the graph's constants beyond those that are tried anyway, the least first.
std::set<std::int64_t> large_sizes_of(const Graph& graph) {
  constexpr std::int64_t least = 225, most = 1 << 16;
  constexpr std::size_t most_sizes = 4;
  std::set<std::int64_t> sizes;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::constant) continue;
    for (const Dimension& size : *graph.type(node.output()).shape)
      if (size.offset() >= least && size.offset() <= most) sizes.insert(size.offset());
  }
  while (sizes.size() > most_sizes) sizes.erase(std::prev(sizes.end()));
  return sizes;
}

}  // namespace

std::vector<SymbolSizes> sizes_to_try(const Graph& graph) {
  constexpr std::array<std::int64_t, 6> small = {2, 3, 4, 1, 8, 16};
  constexpr std::array<std::int64_t, 14> larger = {5,  6,  7,  9,  10,  12,  20,
                                                   24, 32, 48, 64, 100, 128, 224};
  const std::set<std::string> symbols = symbols_of(graph), batch = batch_symbols_of(graph);
  std::vector<SymbolSizes> result;
  for (const std::int64_t size : small) result.push_back({size, {}});
  if (symbols.empty()) return {result.front()};
  if (!batch.empty() && batch.size() < symbols.size()) {
    SymbolSizes mixed;
    for (const std::string& symbol : batch) mixed.sizes.emplace(symbol, 1);
    for (const std::int64_t size : small) result.push_back({size, mixed.sizes});
    for (const std::int64_t size : larger) result.push_back({size, mixed.sizes});
  }
  for (const std::int64_t size : larger) result.push_back({size, {}});
  // A window of 512 positions wants at least as many; a batch of them would only take longer.
  SymbolSizes mixed;
  if (batch.size() < symbols.size())
    for (const std::string& symbol : batch) mixed.sizes.emplace(symbol, 1);
  for (const std::int64_t size : large_sizes_of(graph))
    for (const std::int64_t factor : {1, 2, 4}) result.push_back({factor * size, mixed.sizes});
  return result;
}

std::vector<InputPlan> plans_to_run(const Graph& graph,
                                    const std::map<std::string, std::int64_t, std::less<>>& given,
                                    std::uint64_t seed) {
  constexpr std::array<std::int64_t, 12> usual = {128, 224,  16,  64,   512,   576,
                                                  640, 1024, 256, 1280, 16000, 32000};
  std::vector<SymbolSizes> sizes;
  SymbolSizes mixed;
  for (const std::string& symbol : channel_symbols_of(graph)) mixed.sizes[symbol] = 3;
  for (const std::string& symbol : likely_batch_symbols_of(graph)) mixed.sizes[symbol] = 1;
  const std::set<std::string> symbols = symbols_of(graph);
  if (mixed.sizes.size() == symbols.size()) mixed.sizes.clear();  // there is nothing else
  if (!symbols.empty())
    for (const std::int64_t size : usual) sizes.push_back({size, mixed.sizes});
  const std::vector<SymbolSizes> others = sizes_to_try(graph);
  sizes.insert(sizes.end(), others.begin(), others.end());
  std::vector<InputPlan> plans;
  const auto scalars = scalars_to_try(graph);
  for (SymbolSizes& symbol_sizes : sizes) {
    for (const auto& [symbol, size] : given) symbol_sizes.sizes.insert_or_assign(symbol, size);
    for (const std::optional<std::int64_t> scalar : scalars) {
      InputPlan& plan = plans.emplace_back();
      plan.size = symbol_sizes.size;
      plan.sizes = symbol_sizes.sizes;
      plan.scalar = scalar;
      plan.seed = seed;
    }
  }
  return plans;
}

Result<std::map<std::string, std::int64_t, std::less<>>> symbol_sizes(
    const Graph& graph, const std::map<std::string, Shape, std::less<>>& shapes) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const auto& [name, given] : shapes) {
    const auto input = std::find_if(
        graph.inputs().begin(), graph.inputs().end(),
        [&, &wanted = name](NodeId id) { return graph.input_name(graph.node(id)) == wanted; });
    if (input == graph.inputs().end())
      return bad_input(fmt::format("no graph input is named '{}'", name));
    const TensorType& type = graph.type(graph.node(*input).output());
    if (!type.shape || type.rank() != given.size())
      return bad_input(
          fmt::format("input '{}' is {}; {} does not fit", name, text(type), text(given)));
    for (std::size_t axis = 0; axis < given.size(); ++axis) {
      const Dimension& declared = (*type.shape)[axis];
      const auto size = given[axis].constant();
      if (!size) return bad_input(fmt::format("input '{}': sizes for the check are numbers", name));
      if (declared == given[axis]) continue;
      const auto symbol = declared.as_symbol();
      if (!symbol || sizes.try_emplace(*symbol, *size).first->second != *size)
        return bad_input(fmt::format("input '{}': {} cannot be {}", name, declared.text(), *size));
    }
  }
  return sizes;
}

std::string_view name(InputContents contents) {
  constexpr std::array<std::string_view, 11> names = {
      "random",  "small", "the model's", "zero", "positive", "negative",
      "uniform", "large", "huge",        "tiny", "special"};
  return names[static_cast<std::size_t>(contents)];
}

std::string describe(const InputPlan& plan) {
  std::string result = fmt::format("{} numbers", name(plan.contents));
  if (plan.integers == IntegerContents::small) result += ", small integers";
  if (plan.integers == IntegerContents::wide) result += ", integers at the ends of their range";
  result += fmt::format(", sizes {}", plan.size);
  if (plan.scalar) result += fmt::format(", single integers {}", *plan.scalar);
  for (const auto& [symbol, size] : plan.sizes) result += fmt::format(", {} = {}", symbol, size);
  if (!plan.zero_input.empty()) result += fmt::format(", '{}' is 0", plan.zero_input);
  return result;
}

std::vector<double> limits_of(const Graph& graph) {
  std::set<double> limits;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::constant) {
      const Constant& constant = graph.constant(node);
      const Tensor tensor = Tensor::of(constant);
      if (!is_real(tensor.data_type()) || tensor.element_count() > small_constant) continue;
      for (const double value : tensor.reals()) add_limit(value, limits);
    }
    if (node.kind != NodeKind::operation) continue;
    for (const auto& [name, value] : node.attributes)
      if (const double* real = std::get_if<double>(&value)) add_limit(*real, limits);
  }
  return {limits.begin(), limits.end()};
}

Result<Sizes> input_sizes(const std::string& name, const TensorType& type, const InputPlan& plan,
                          std::int64_t element_limit) {
  if (!type.is_known())
    return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
  Sizes sizes;
  for (const Dimension& dimension : *type.shape) {
    std::map<std::string, int> symbols;
    collect_symbols(dimension, symbols);
    DimensionBindings bindings;
    for (const auto& [symbol, count] : symbols) {
      const auto own = plan.sizes.find(symbol);
      bindings.emplace(symbol, Dimension(own == plan.sizes.end() ? plan.size : own->second));
    }
    sizes.push_back(substitute(dimension, bindings).constant().value_or(-1));
    if (sizes.back() < 0) return unsupported(fmt::format("input '{}' has no valid size", name));
  }
  const Dimension count = element_count(Shape(sizes.begin(), sizes.end()));
  if (!count.is_valid() || count.offset() > element_limit)
    return unsupported(fmt::format("input '{}' is too large to be sampled", name));
  return sizes;
}

Tensor make_input(const std::string& name, DataType type, const Sizes& sizes, const InputPlan& plan,
                  std::span<const double> limits) {
  return is_real(type) ? real_elements(plan, name, type, sizes, limits)
                       : other_elements(plan, name, type, sizes);
}

Result<std::vector<NamedTensor>> make_inputs(const Graph& graph, const InputPlan& plan,
                                             std::span<const double> limits,
                                             std::int64_t element_limit) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    const std::string& name = graph.input_name(node);
    LEMMA_ASSIGN_OR_RETURN(const Sizes sizes, input_sizes(name, type, plan, element_limit));
    inputs.push_back({name, make_input(name, type.data_type, sizes, plan, limits)});
  }
  return inputs;
}

std::vector<InputPlan> adversarial_plans(const Graph& graph, std::int64_t size,
                                         std::span<const double> numbers, bool with_special,
                                         std::uint64_t seed) {
  using enum InputContents;
  std::vector<InputPlan> plans;
  const auto add = [&](InputContents contents, std::int64_t sizes,
                       IntegerContents integers = IntegerContents::indices) -> InputPlan& {
    InputPlan plan{contents, integers, sizes, {}, "", std::nullopt, seed + 1000 + plans.size()};
    return plans.emplace_back(std::move(plan));
  };
  const std::set<std::string> symbols = symbols_of(graph);
  if (with_special) add(InputContents::special, size);
  add(small, size);
  if (!numbers.empty()) add(InputContents::limits, size);
  if (!symbols.empty()) add(small, 0);
  add(positive, size, IntegerContents::small);
  add(zeros, size);
  std::size_t alone = 0;
  for (const NodeId id : graph.inputs()) {
    if (alone++ == most_inputs_alone) break;
    add(positive, size).zero_input = graph.input_name(graph.node(id));
  }
  if (!symbols.empty()) add(small, 1), add(InputContents::random, 3), add(small, 17);
  add(large, size, IntegerContents::wide);
  add(negative, size, IntegerContents::wide);
  for (int i = 0; i < 4; ++i) add(uniform, size, IntegerContents::small);
  add(huge, size), add(tiny, size);
  alone = 0;
  if (symbols.size() > 1) {
    for (const std::string& symbol : symbols) {
      if (alone++ == most_symbols_alone) break;
      add(small, 3).sizes[symbol] = 0;
      add(small, 3).sizes[symbol] = 1;
    }
    InputPlan& unequal = add(small, 2);
    for (const std::string& symbol : symbols)
      unequal.sizes[symbol] = 2 + static_cast<std::int64_t>(unequal.sizes.size());
  }
  if (!symbols.empty()) add(small, 300);
  for (int i = 0; i < 8; ++i) add(uniform, size);
  if (!numbers.empty()) add(InputContents::limits, size), add(InputContents::limits, size);
  add(small, size), add(small, size);
  if (with_special) add(InputContents::special, size), add(InputContents::special, size);
  return plans;
}

}  // namespace lemma
