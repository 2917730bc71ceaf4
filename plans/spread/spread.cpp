#include "plans/spread/spread.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "ir/data_type.h"

namespace lemma::plans {

namespace {

/// Whether a name is that of a pattern in which * stands for any text.
bool fits_pattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (fits_pattern(pattern, name.substr(skipped))) return true;
  return false;
}

/// What a way costs, to be compared in this order.
struct Price {
  double moved = 0;     // bytes that a device sends before the node
  double computed = 0;  // elements that a device reads and makes
  double partial = 0;   // elements of results that are still to be added up

  friend bool operator<(const Price& a, const Price& b) {
    return std::tie(a.moved, a.computed, a.partial) < std::tie(b.moved, b.computed, b.partial);
  }
};

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Bytes that each of so many devices sends where a tensor of so many bytes is placed otherwise along one axis.
double moved_bytes(const Share& from, const Share& to, double bytes, double devices) {
  if (from == to) return 0;
  const double others = (devices - 1) / devices;
  if (to.sharing == Sharing::partial) return impossible;
  if (from.sharing == Sharing::replicated) return 0;
  if (from.sharing == Sharing::partial)
    return (to.sharing == Sharing::parted ? 1 : 2) * others * bytes;
  return others * bytes / (to.sharing == Sharing::parted ? devices : 1);
}

class Spread {
 public:
  Spread(const Graph& graph, const Mesh& mesh,
         const std::map<std::string, Placement, std::less<>>& placements, Strategies& strategies)
      : graph_(graph), mesh_(mesh), asked_(placements), strategies_(strategies) {
    choice_.mesh = mesh;
    placed_.resize(graph.value_count());
  }

  Result<PlanChoice> operator()() && {
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(
            fmt::format("{} is not understood, and cannot be split", graph_.opaque(node).name));
      if (node.kind == NodeKind::operation)
        LEMMA_RETURN_IF_ERROR(add_operation(id));
      else
        LEMMA_RETURN_IF_ERROR(add_source(node));
    }
    for (const GraphOutput& output : graph_.outputs()) LEMMA_RETURN_IF_ERROR(add_output(output));
    for (const auto& [name, placement] : asked_)
      if (!used_.contains(name))
        return bad_input(
            fmt::format("--place '{}': no input, weight or output has this name", name));
    return std::move(choice_);
  }

 private:
  Result<Placement> asked_for(const std::string& name, const TensorType& type,
                              const Placement& otherwise) {
    for (const auto& [pattern, placement] : asked_) {
      if (!fits_pattern(pattern, name)) continue;
      used_.insert(pattern);
      const auto local = type.shape ? local_shape(*type.shape, placement, mesh_)
                                    : Result<Shape>(bad_input("its sizes are not known"));
      if (local) return placement;
      // A pattern is for those of its tensors that can be cut so.
      if (pattern.find('*') == std::string::npos)
        return with_context(fmt::format("--place '{}'", name), local.error());
    }
    return otherwise;
  }

  Result<void> add_source(const Node& node) {
    const std::string name = node.kind == NodeKind::input ? graph_.input_name(node)
                                                          : graph_.suggested_name(node.output());
    LEMMA_ASSIGN_OR_RETURN(const Placement placement,
                           asked_for(name, graph_.type(node.output()), replicated(mesh_)));
    choice_.sources[node.output()] = placed_[node.output().v] = placement;
    if (node.kind == NodeKind::input) inputs_[name] = placement;
    return {};
  }

  /// Along each axis of the mesh the cheapest way that goes with those of the axes before.
  Result<void> add_operation(NodeId id) {
    const Node& node = graph_.node(id);
    NodePlacements chosen{std::vector<Placement>(node.inputs.size(), replicated(mesh_)),
                          std::vector<Placement>(node.output_count, replicated(mesh_))};
    for (std::size_t axis = 0; axis < mesh_.rank(); ++axis) {
      std::optional<Price> least;
      NodePlacements best = chosen;
      for (const Strategy& strategy : strategies_.of(node, mesh_.axes[axis].size)) {
        NodePlacements way = chosen;
        for (std::size_t i = 0; i < way.reads.size(); ++i) way.reads[i][axis] = strategy.reads[i];
        for (std::size_t i = 0; i < way.gives.size(); ++i) way.gives[i][axis] = strategy.gives[i];
        const std::optional<Price> price = price_of(node, way, axis);
        if (!price || (least && !(*price < *least))) continue;
        least = price;
        best = std::move(way);
      }
      chosen = std::move(best);
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      placed_[node.output(i).v] = chosen.gives[i];
    choice_.nodes[id] = std::move(chosen);
    return {};
  }

  /// Nothing: sizes cannot be cut so, or an operand would have to become partial.
  std::optional<Price> price_of(const Node& node, const NodePlacements& way,
                                std::size_t axis) const {
    Price price;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_none()) continue;
      const TensorType& type = graph_.type(node.inputs[i]);
      const auto elements = elements_on_device(type, way.reads[i]);
      const auto whole = elements_on_device(type, replicated(mesh_));
      if (!elements || !whole) return std::nullopt;
      price.computed += *elements;
      price.moved += moved_bytes(placed_[node.inputs[i].v][axis], way.reads[i][axis],
                                 *whole * static_cast<double>(byte_size(type.data_type)),
                                 static_cast<double>(mesh_.axes[axis].size));
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const auto elements = elements_on_device(graph_.type(node.output(i)), way.gives[i]);
      if (!elements) return std::nullopt;
      price.computed += *elements;
      if (way.gives[i][axis].sharing == Sharing::partial) price.partial += *elements;
    }
    if (price.moved == impossible) return std::nullopt;
    return price;
  }

  std::optional<double> elements_on_device(const TensorType& type,
                                           const Placement& placement) const {
    if (!type.shape) return std::nullopt;
    const auto local = local_shape(*type.shape, placement, mesh_);
    const auto sizes = local ? constant_sizes(*local) : std::nullopt;
    if (!sizes) return std::nullopt;
    double count = 1;
    for (const std::int64_t size : *sizes) count *= static_cast<double>(size);
    return count;
  }

  Result<void> add_output(const GraphOutput& output) {
    constexpr std::string_view next = ".next";
    Placement usual = placed_[output.value.v];
    for (Share& share : usual)
      if (share.sharing == Sharing::partial) share = {};
    if (output.name.ends_with(next)) {
      const auto state = inputs_.find(output.name.substr(0, output.name.size() - next.size()));
      if (state != inputs_.end()) usual = state->second;
    }
    LEMMA_ASSIGN_OR_RETURN(choice_.outputs[output.name],
                           asked_for(output.name, graph_.type(output.value), usual));
    return {};
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const std::map<std::string, Placement, std::less<>>& asked_;
  Strategies& strategies_;
  std::vector<Placement> placed_;  // by value
  std::map<std::string, Placement> inputs_;
  std::set<std::string> used_;
  PlanChoice choice_;
};

}  // namespace

Result<PlanChoice> spread(const Graph& graph, const Mesh& mesh,
                          const std::map<std::string, Placement, std::less<>>& placements) {
  Strategies strategies(graph);
  return spread(graph, mesh, placements, strategies);
}

Result<PlanChoice> spread(const Graph& graph, const Mesh& mesh,
                          const std::map<std::string, Placement, std::less<>>& placements,
                          Strategies& strategies) {
  return Spread(graph, mesh, placements, strategies)();
}

}  // namespace lemma::plans
