#include "check/usual_sizes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace lemma {

namespace {

struct Pair {
  std::int64_t typical, other;
};

constexpr Pair batch = {1, 1};
constexpr Pair channels = {3, 3};
constexpr Pair side = {224, 320};
constexpr Pair side_of_volume = {64, 96};
constexpr Pair frames = {100, 250};
constexpr Pair samples = {16000, 32000};
constexpr Pair sequence = {128, 32};
constexpr Pair unknown = {16, 32};

struct Word {
  std::string_view text;
  Pair sizes;
  bool is_whole = false;  // the name is this, and does not only contain it
};

/// The first that fits decides.
constexpr std::array<Word, 33> words = {{
    {"batch", batch},     {"images", batch},     {"n", batch, true},    {"b", batch, true},
    {"bs", batch, true},  {"height", side},      {"width", side},       {"h", side, true},
    {"w", side, true},    {"channel", channels}, {"c", channels, true}, {"sample", samples},
    {"audio", samples},   {"wave", samples},     {"frame", frames},     {"time", frames},
    {"t", frames, true},  {"past", sequence},    {"cache", sequence},   {"seq", sequence},
    {"token", sequence},  {"text", sequence},    {"context", sequence}, {"position", sequence},
    {"length", sequence}, {"len", sequence},     {"l", sequence, true}, {"s", sequence, true},
    {"word", sequence},   {"image", side},       {"size", side},        {"pixel", side},
    {"step", frames},
}};

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return result;
}

std::optional<Pair> by_name(std::string_view symbol) {
  const std::string name = lower_case(symbol);
  for (const Word& word : words)
    if (word.is_whole ? name == word.text : name.find(word.text) != std::string::npos)
      return word.sizes;
  return std::nullopt;
}

/// "past_length + 1" is a symbol of its own, whose name has three underscores for " + ".
std::vector<std::string> summands(std::string_view symbol) {
  constexpr std::string_view plus = "___";
  std::vector<std::string> result;
  for (std::size_t at = symbol.find(plus); at != std::string_view::npos; at = symbol.find(plus)) {
    result.emplace_back(symbol.substr(0, at));
    symbol.remove_prefix(at + plus.size());
  }
  result.emplace_back(symbol);
  return result;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Pair> by_sum(std::string_view symbol) {
  const std::vector<std::string> parts = summands(symbol);
  if (parts.size() < 2) return std::nullopt;
  Pair sum = {0, 0};
  for (const std::string& part : parts) {
    std::optional<Pair> sizes = by_name(part);
    if (is_number(part)) sizes = Pair{std::stoll(part), std::stoll(part)};
    if (!sizes) return std::nullopt;
    sum = {sum.typical + sizes->typical, sum.other + sizes->other};
  }
  return sum;
}

Pair by_axis(const TensorType& type, std::size_t axis) {
  const std::size_t rank = type.rank();
  if (axis == 0) return rank > 1 ? batch : unknown;
  if (rank == 4) {
    const auto last = type.shape->back().constant();
    const bool channels_last = last && *last <= 4;
    if (channels_last) return side;
    return axis == 1 ? channels : side;
  }
  if (rank == 5) return axis == 1 ? channels : side_of_volume;
  if (rank == 3) return is_integer(type.data_type) ? sequence : frames;
  return rank == 2 ? sequence : unknown;
}

/// The symbol that an unnamed size of a file gets (frontend_onnx/declared_types.h): it says only which input it is of.
bool is_unnamed(std::string_view symbol, std::string_view input, std::size_t axis) {
  const std::string end = fmt::format("_{}", axis);
  return symbol.size() == input.size() + end.size() && symbol.ends_with(end);
}

Pair sizes_of(std::string_view symbol, std::string_view input, const TensorType& type,
              std::size_t axis) {
  if (!is_unnamed(symbol, input, axis)) {
    if (const auto sum = by_sum(symbol)) return *sum;
    if (const auto named = by_name(symbol)) return *named;
  }
  return by_axis(type, axis);
}

}  // namespace

SizesOfSymbols smaller_sizes(SizesOfSymbols sizes) {
  constexpr std::int64_t step = 32;
  for (auto& [symbol, size] : sizes)
    if (size > step) size = std::max(step, size / 2 / step * step);
  return sizes;
}

UsualSizes usual_sizes(const Graph& graph) {
  UsualSizes result;
  std::map<std::string, Pair, std::less<>> sizes;
  const auto add = [&](const std::string& symbol, Pair pair) { sizes.try_emplace(symbol, pair); };
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape) continue;
    for (std::size_t axis = 0; axis < type.rank(); ++axis)
      if (const auto symbol = (*type.shape)[axis].as_symbol())
        add(*symbol, sizes_of(*symbol, graph.input_name(graph.node(id)), type, axis));
  }
  // What occurs in terms only.
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    if (!type.shape) continue;
    for (const Dimension& dimension : *type.shape) {
      std::map<std::string, int> counts;
      collect_symbols(dimension, counts);
      for (const auto& [symbol, count] : counts) add(symbol, by_name(symbol).value_or(unknown));
    }
  }
  // The whole of what was there before and what is new.
  for (auto& [symbol, pair] : sizes)
    if (lower_case(symbol).find("total") != std::string::npos)
      pair = {2 * sequence.typical, 2 * sequence.other};
  const bool varies = std::any_of(sizes.begin(), sizes.end(), [](const auto& entry) {
    return entry.second.typical != entry.second.other;
  });
  for (const auto& [symbol, pair] : sizes) {
    result.typical.emplace(symbol, pair.typical);
    const bool is_batch = pair.typical == batch.typical;
    result.other.emplace(symbol, !varies && is_batch ? 4 : pair.other);
  }
  return result;
}

}  // namespace lemma
