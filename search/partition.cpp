#include "search/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "facts/weight_only.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options)
      : graph_(graph), options_(options), weight_only_(weight_only_nodes(graph)) {
    for (const NodeId id : graph.live_nodes())
      if (!weight_only_[id.v] && graph.node(id).kind != NodeKind::input) order_.push_back(id);
    find_last_uses();
  }

  Result<std::vector<Part>> run() {
    std::vector<Part> parts;
    const std::vector<std::size_t> crossing = count_crossing();
    std::size_t begin = 0;
    while (begin < order_.size()) {
      const bool first = begin == 0 && options_.offset > 0;
      const std::size_t end = choose_cut(crossing, begin, first ? options_.offset : options_.size);
      LEMMA_ASSIGN_OR_RETURN(Part part, make_part(begin, end));
      parts.push_back(std::move(part));
      begin = end;
    }
    return parts;
  }

 private:
  static constexpr std::size_t never = static_cast<std::size_t>(-1);

  /// Finds for each value the position after its last user; past the end for outputs of the graph.
  void find_last_uses() {
    last_use_.assign(graph_.value_count(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const ValueId input : graph_.node(order_[i]).inputs)
        if (!input.is_none()) last_use_[input.v] = i + 1;
    for (const GraphOutput& output : graph_.outputs()) last_use_[output.value.v] = never;
  }

  /// Counts for each position how many values made before it are used from there on.
  std::vector<std::size_t> count_crossing() const {
    std::vector<std::ptrdiff_t> change(order_.size() + 2, 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Node& node = graph_.node(order_[i]);
      for (std::uint32_t k = 0; k < node.output_count; ++k) {
        const std::size_t last = std::min(last_use_[node.output(k).v], order_.size() + 1);
        if (last <= i + 1) continue;
        ++change[i + 1];
        --change[last];
      }
    }
    std::vector<std::size_t> crossing;
    std::ptrdiff_t sum = 0;
    for (std::size_t position = 0; position <= order_.size(); ++position)
      crossing.push_back(static_cast<std::size_t>(sum += change[position]));
    return crossing;
  }

  std::size_t choose_cut(const std::vector<std::size_t>& crossing, std::size_t begin,
                         std::size_t size) const {
    const std::size_t count = order_.size();
    const std::size_t slack = options_.size / 2;
    if (begin + size + slack >= count) return count;
    const std::size_t target = begin + size;
    std::size_t best = target;
    for (std::size_t position = std::max(begin + 1, target - std::min(slack, target));
         position <= target + slack; ++position) {
      const auto distance = [&](std::size_t p) { return p < target ? target - p : p - target; };
      if (crossing[position] < crossing[best] ||
          (crossing[position] == crossing[best] && distance(position) < distance(best)))
        best = position;
    }
    return best;
  }

  /// Brings in what the part needs of constants, and values from elsewhere, operands first.
  Result<void> bring_in(ValueId root, Part& part, std::vector<ValueId>& places) const {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId value = stack.back();
      const NodeId id = graph_.producer(value);
      const Node& node = graph_.node(id);
      const std::size_t before = stack.size();
      if (places[value.v].is_none() && weight_only_[id.v])
        for (const ValueId input : node.inputs)
          if (!input.is_none() && places[input.v].is_none()) stack.push_back(input);
      if (stack.size() != before) continue;
      stack.pop_back();
      if (!places[value.v].is_none()) continue;
      if (weight_only_[id.v]) {
        LEMMA_RETURN_IF_ERROR(copy_node(graph_, node, part.graph, places));
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(places[value.v], part.graph.add_input(fmt::format("value {}", value.v),
                                                                   graph_.type(value)));
      part.inputs.push_back(value);
    }
    return {};
  }

  Result<Part> make_part(std::size_t begin, std::size_t end) const {
    Part part;
    part.graph.set_name(graph_.name());
    std::vector<ValueId> places(graph_.value_count(), ValueId::none());
    for (std::size_t i = begin; i < end; ++i) {
      const Node& node = graph_.node(order_[i]);
      for (const ValueId input : node.inputs)
        if (!input.is_none()) LEMMA_RETURN_IF_ERROR(bring_in(input, part, places));
      LEMMA_RETURN_IF_ERROR(copy_node(graph_, node, part.graph, places));
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Node& node = graph_.node(order_[i]);
      for (std::uint32_t k = 0; k < node.output_count; ++k) {
        const ValueId value = node.output(k);
        if (last_use_[value.v] <= end) continue;
        LEMMA_RETURN_IF_ERROR(
            part.graph.add_output(fmt::format("value {}", value.v), places[value.v]));
        part.outputs.push_back(value);
      }
    }
    return part;
  }

  const Graph& graph_;
  const PartitionOptions& options_;
  std::vector<bool> weight_only_;
  std::vector<NodeId> order_;          // nodes that are to be divided
  std::vector<std::size_t> last_use_;  // by value, a position
};

}  // namespace

Result<std::vector<Part>> partition(const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph, options).run();
}

Result<Graph> assemble(const Graph& graph, std::span<const Part> parts,
                       std::span<const Graph> replacements) {
  Graph result;
  result.set_name(graph.name());
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  for (const NodeId id : graph.inputs())
    LEMMA_RETURN_IF_ERROR(copy_node(graph, graph.node(id), result, values));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Graph& part = replacements[i];
    std::vector<ValueId> places(part.value_count(), ValueId::none());
    for (std::size_t k = 0; k < part.inputs().size(); ++k)
      places[part.node(part.inputs()[k]).output().v] = values[parts[i].inputs[k].v];
    for (const NodeId id : part.live_nodes()) {
      const Node& node = part.node(id);
      if (node.kind != NodeKind::input)
        LEMMA_RETURN_IF_ERROR(copy_node(part, node, result, places));
    }
    for (std::size_t k = 0; k < part.outputs().size(); ++k)
      values[parts[i].outputs[k].v] = places[part.outputs()[k].value.v];
  }
  // Outputs that depend on constants alone are in no part.
  const auto is_missing = [&](const GraphOutput& output) {
    return values[output.value.v].is_none();
  };
  if (std::any_of(graph.outputs().begin(), graph.outputs().end(), is_missing)) {
    const std::vector<bool> weight_only = weight_only_nodes(graph);
    for (const NodeId id : graph.live_nodes())
      if (weight_only[id.v] && values[graph.node(id).first_output].is_none())
        LEMMA_RETURN_IF_ERROR(copy_node(graph, graph.node(id), result, values));
  }
  for (const GraphOutput& output : graph.outputs())
    LEMMA_RETURN_IF_ERROR(result.add_output(output.name, values[output.value.v]));
  return result;
}

}  // namespace lemma
