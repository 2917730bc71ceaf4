#include "training/narrow_joins.h"

#include <algorithm>
#include <string_view>

#include "ir/rebuild.h"

namespace lemma::training {

namespace {

using Values = std::vector<ValueId>;

/// Groups of at most most_joined, in order: the first of each, and the end.
std::vector<std::size_t> bounds_of_groups(std::size_t count) {
  std::vector<std::size_t> bounds;
  for (std::size_t begin = 0; begin < count; begin += most_joined) bounds.push_back(begin);
  bounds.push_back(count);
  return bounds;
}

template <typename Sequence>
Sequence part(const Sequence& all, std::size_t begin, std::size_t end) {
  return Sequence(all.begin() + static_cast<std::ptrdiff_t>(begin),
                  all.begin() + static_cast<std::ptrdiff_t>(end));
}

Result<ValueId> joined(Graph& target, const Node& node, Values inputs) {
  while (inputs.size() > most_joined) {
    const std::vector<std::size_t> bounds = bounds_of_groups(inputs.size());
    Values groups;
    for (std::size_t at = 0; at + 1 < bounds.size(); ++at) {
      LEMMA_ASSIGN_OR_RETURN(groups.emplace_back(),
                             joined(target, node, part(inputs, bounds[at], bounds[at + 1])));
    }
    inputs = std::move(groups);
  }
  if (inputs.size() == 1) return inputs.front();
  LEMMA_ASSIGN_OR_RETURN(const Values outputs, add_copy(target, node, node.attributes, inputs));
  return outputs.front();
}

/// A value cut into parts of these sizes along the axis of a Split.
Result<Values> cut(Graph& target, const Node& node, ValueId value, const Shape& sizes) {
  if (sizes.size() == 1) return Values{value};
  if (sizes.size() <= most_joined) {
    Attributes attributes = node.attributes;
    attributes.set("split", sizes);
    LEMMA_ASSIGN_OR_RETURN(const NodeId added,
                           target.add_operation(node.op, {value}, attributes,
                                                static_cast<std::uint32_t>(sizes.size())));
    Values parts;
    for (std::uint32_t output = 0; output < sizes.size(); ++output)
      parts.push_back(target.node(added).output(output));
    return parts;
  }
  // So few groups that one Split makes them: their sizes are as near to each other as they can be.
  std::vector<std::size_t> bounds;
  for (std::size_t group = 0; group <= most_joined; ++group)
    bounds.push_back(group * sizes.size() / most_joined);
  Shape sums;
  for (std::size_t at = 0; at < most_joined; ++at) {
    Dimension sum(0);
    for (const Dimension& size : part(sizes, bounds[at], bounds[at + 1])) sum = sum + size;
    sums.push_back(sum);
  }
  LEMMA_ASSIGN_OR_RETURN(const Values groups, cut(target, node, value, sums));
  Values parts;
  for (std::size_t at = 0; at < most_joined; ++at) {
    LEMMA_ASSIGN_OR_RETURN(const Values of_group,
                           cut(target, node, groups[at], part(sizes, bounds[at], bounds[at + 1])));
    parts.insert(parts.end(), of_group.begin(), of_group.end());
  }
  return parts;
}

}  // namespace

Result<Graph> with_narrow_joins(const Graph& graph) {
  return rebuild(
      graph, [](const Graph& source, ValueId value) { return source.type(value); },
      [](Graph& target, const Node& node, Values inputs) -> Result<Values> {
        const std::string_view name = target.op(node).name;
        if (name == "Concat" && inputs.size() > most_joined) {
          LEMMA_ASSIGN_OR_RETURN(const ValueId whole, joined(target, node, std::move(inputs)));
          return Values{whole};
        }
        if (name == "Split" && node.output_count > most_joined)
          return cut(target, node, inputs.front(), node.attributes.dimensions("split"));
        return add_copy(target, node, node.attributes, std::move(inputs));
      });
}

}  // namespace lemma::training
