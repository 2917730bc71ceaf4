#include "facts/position.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma {
namespace {

/// All values on the way, the output first.
Result<std::vector<ValueId>> way(const Graph& graph, std::span<const ValueId> tuple,
                                 const Position& position) {
  if (position.empty() || position[0] >= tuple.size()) return bad_input("there is no such output");
  std::vector<ValueId> result = {tuple[position[0]]};
  for (std::size_t i = 1; i < position.size(); ++i) {
    const Node& node = graph.node(graph.producer(result.back()));
    if (position[i] >= node.inputs.size() || node.inputs[position[i]].is_none())
      return bad_input("there is no such position");
    result.push_back(node.inputs[position[i]]);
  }
  return result;
}

}  // namespace

std::string text(const Position& position) { return fmt::format("{}", fmt::join(position, ".")); }

Result<Position> parse_position(std::string_view written) {
  Position result;
  const char* next = written.data();
  const char* const end = next + written.size();
  while (true) {
    std::uint32_t number = 0;
    const auto [after, error] = std::from_chars(next, end, number);
    if (error == std::errc()) result.push_back(number);
    if (error != std::errc() || after == end) break;
    next = after + 1;
  }
  if (result.empty() || text(result) != written)
    return bad_input(fmt::format("'{}' is no position", written));
  return result;
}

Result<ValueId> value_at(const Graph& graph, std::span<const ValueId> tuple,
                         const Position& position) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> values, way(graph, tuple, position));
  return values.back();
}

Result<ValueId> replaced_at(Graph& graph, std::span<const ValueId> tuple, const Position& position,
                            ValueId replacement) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> values, way(graph, tuple, position));
  for (std::size_t i = position.size(); i-- > 1;) {
    const Node& node = graph.node(graph.producer(values[i - 1]));
    const OperatorId op = node.op;
    const std::uint32_t output = graph.output_index(values[i - 1]), count = node.output_count;
    std::vector<ValueId> inputs = node.inputs;
    inputs[position[i]] = replacement;
    Attributes attributes = node.attributes;
    LEMMA_ASSIGN_OR_RETURN(const NodeId changed, graph.add_operation(op, std::move(inputs),
                                                                     std::move(attributes), count));
    replacement = graph.node(changed).output(output);
  }
  return replacement;
}

}  // namespace lemma
