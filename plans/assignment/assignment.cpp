#include "plans/assignment/assignment.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "plans/partition/strategies.h"

namespace lemma::plans {

namespace {

Mesh parts_mesh(std::size_t parts) { return {{{"part", static_cast<std::int64_t>(parts)}}}; }

Share share_of(const std::optional<std::size_t>& axis) {
  return axis ? Share{Sharing::parted, *axis} : Share{};
}

std::string described_node(const Graph& graph, const Node& node) {
  const std::string_view op =
      node.kind == NodeKind::opaque ? graph.opaque(node).name : graph.op(node).name;
  return fmt::format("{} '{}'", op, graph.suggested_name(node.output()));
}

/// How the outputs of a node are cut where its operands are cut so.
Result<void> follow(const Graph& graph, const Node& node, Strategies& strategies, BatchCut& cut) {
  const bool reads_cut = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
    return !operand.is_none() && cut.axes[operand.v].has_value();
  });
  if (!reads_cut) return {};
  for (const Strategy& strategy : strategies.of(node, static_cast<std::int64_t>(cut.parts))) {
    bool fits = true;
    for (std::size_t i = 0; fits && i < node.inputs.size(); ++i)
      fits = node.inputs[i].is_none() || strategy.reads[i] == share_of(cut.axes[node.inputs[i].v]);
    for (const Share& share : strategy.gives)
      fits = fits && share.sharing != Sharing::partial &&
             share.sharing == strategy.gives.front().sharing;
    if (!fits) continue;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (strategy.gives[i].sharing == Sharing::parted)
        cut.axes[node.output(i).v] = strategy.gives[i].axis;
    return {};
  }
  return unsupported(fmt::format("{} cannot be computed for {} parts of the batch apart",
                                 described_node(graph, node), cut.parts));
}

/// A value for one part of the batch.
using PartValue = std::pair<ValueId, std::size_t>;

class Assigning {
 public:
  Assigning(const Graph& single, const Assignment& assignment, BatchCut cut)
      : single_(single), assignment_(assignment), cut_(std::move(cut)) {
    result_.sources.resize(assignment.ranks);
    result_.steps.resize(assignment.ranks);
  }

  Result<RankedProgram> operator()() && {
    LEMMA_RETURN_IF_ERROR(find_owners());
    find_receivers();
    for (const PlacedOperator& placed : assignment_.order) LEMMA_RETURN_IF_ERROR(add(placed));
    for (const GraphOutput& output : single_.outputs()) LEMMA_RETURN_IF_ERROR(give(output));
    LEMMA_RETURN_IF_ERROR(add_outputs(result_, single_));
    return std::move(result_);
  }

 private:
  Graph& program() { return result_.program.graph; }

  PartValue key(ValueId value, std::size_t part) const {
    return {value, cut_.axes[value.v] ? part : 0};
  }
  const Node& producer(ValueId value) const { return single_.node(single_.producer(value)); }
  bool is_placed(const Node& node) const {
    return node.kind == NodeKind::operation && !cut_.is_fixed[node.output().v];
  }

  Result<void> find_owners() {
    for (const PlacedOperator& placed : assignment_.order) {
      const Node& node = single_.node(placed.node);
      if (placed.rank >= assignment_.ranks || placed.part >= assignment_.parts)
        return bad_input(fmt::format("{} is on rank {} of {}, for part {} of {}",
                                     described_node(single_, node), placed.rank, assignment_.ranks,
                                     placed.part, assignment_.parts));
      for (const ValueId operand : node.inputs)
        if (!operand.is_none() && is_placed(producer(operand)) &&
            !owners_.contains(key(operand, placed.part)))
          return bad_input(fmt::format("{} comes before {}, which it reads",
                                       described_node(single_, node),
                                       described_node(single_, producer(operand))));
      for (std::uint32_t i = 0; i < node.output_count; ++i)
        if (!owners_.emplace(key(node.output(i), placed.part), placed.rank).second)
          return bad_input(fmt::format("{} is computed twice for part {}",
                                       described_node(single_, node), placed.part));
    }
    for (const NodeId id : single_.live_nodes()) {
      const Node& node = single_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(fmt::format("{} is not understood", described_node(single_, node)));
      if (!is_placed(node)) continue;
      for (std::size_t part = 0; part < (cut_.is_cut(node) ? assignment_.parts : 1); ++part)
        if (!owners_.contains(key(node.output(), part)))
          return bad_input(
              fmt::format("no rank computes {} for part {}", described_node(single_, node), part));
    }
    return {};
  }

  /// The other ranks that read each value, in the order in which they do.
  void find_receivers() {
    for (const PlacedOperator& placed : assignment_.order)
      for (const ValueId operand : single_.node(placed.node).inputs) {
        if (operand.is_none()) continue;
        const auto owner = owners_.find(key(operand, placed.part));
        if (owner == owners_.end() || owner->second == placed.rank) continue;
        std::vector<std::size_t>& readers = receivers_[owner->first];
        if (std::find(readers.begin(), readers.end(), placed.rank) == readers.end())
          readers.push_back(placed.rank);
      }
  }

  Result<void> add(const PlacedOperator& placed) {
    const Node& node = single_.node(placed.node);
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(ValueId::none());
      if (operand.is_none()) continue;
      LEMMA_ASSIGN_OR_RETURN(operands.back(), at(operand, placed.part, placed.rank));
    }
    LEMMA_ASSIGN_OR_RETURN(Attributes attributes, part_attributes(single_, node, cut_));
    const auto copy = program().add_operation(node.op, std::move(operands), std::move(attributes),
                                              node.output_count);
    if (!copy)
      return bad_input(fmt::format("{}: {}", described_node(single_, node), copy.error().message));
    result_.steps[placed.rank].push_back({StepKind::compute, *copy, 0});
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const PartValue part = key(node.output(i), placed.part);
      const ValueId value = program().node(*copy).output(i);
      const std::string& name = single_.suggested_name(node.output(i));
      program().suggest_name(
          value, cut_.is_cut(node) ? fmt::format("{}, part {}", name, placed.part) : name);
      here_[{part, placed.rank}] = value;
      if (const auto readers = receivers_.find(part); readers != receivers_.end())
        for (const std::size_t reader : readers->second) send(part, value, placed.rank, reader);
    }
    return {};
  }

  void send(const PartValue& part, ValueId value, std::size_t from, std::size_t to) {
    const std::size_t number = result_.transfers.size();
    result_.transfers.push_back({fmt::format("{} to {}: {}", from, to, number), from, to, value});
    result_.steps[from].push_back({StepKind::send, {}, number});
    transfers_[{part, to}] = number;
  }

  /// A value on a rank, wherever it comes from.
  Result<ValueId> at(ValueId value, std::size_t part, std::size_t rank) {
    const PartValue wanted = key(value, part);
    if (const auto known = here_.find({wanted, rank}); known != here_.end()) return known->second;
    ValueId result;
    const Node& node = producer(value);
    if (is_placed(node)) {
      const std::size_t number = transfers_.at({wanted, rank});
      result = result_.transfers[number].value;
      result_.steps[rank].push_back({StepKind::receive, {}, number});
    } else if (node.kind == NodeKind::operation) {
      return fixed(node, value, rank);
    } else {
      LEMMA_ASSIGN_OR_RETURN(result, source(node, wanted, rank));
    }
    here_[{wanted, rank}] = result;
    return result;
  }

  Result<ValueId> fixed(const Node& node, ValueId value, std::size_t rank) {
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(ValueId::none());
      if (operand.is_none()) continue;
      LEMMA_ASSIGN_OR_RETURN(operands.back(), at(operand, 0, rank));
    }
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId copy,
        program().add_operation(node.op, std::move(operands), node.attributes, node.output_count));
    result_.steps[rank].push_back({StepKind::compute, copy, 0});
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      here_[{{node.output(i), 0}, rank}] = program().node(copy).output(i);
    return program().node(copy).output(single_.output_index(value));
  }

  Result<ValueId> source(const Node& node, const PartValue& wanted, std::size_t rank) {
    const auto [value, part] = wanted;
    auto whole = wholes_.find(value);
    if (whole == wholes_.end()) {
      const std::string name =
          node.kind == NodeKind::input
              ? single_.input_name(node)
              : fmt::format("weight {} {}", value.v, single_.suggested_name(value));
      LEMMA_ASSIGN_OR_RETURN(const ValueId input, program().add_input(name, single_.type(value)));
      result_.program.inputs.push_back({input, value, {}});
      whole = wholes_.emplace(value, input).first;
    }
    Window window = window_for(value, part);
    LEMMA_ASSIGN_OR_RETURN(const ValueId here, cut(program(), whole->second, window));
    result_.sources[rank].push_back({here, value, std::move(window)});
    return here;
  }

  Window window_for(ValueId value, std::size_t part) const {
    if (!cut_.axes[value.v]) return {};
    return window_of({share_of(cut_.axes[value.v])}, parts_mesh(cut_.parts), part,
                     *constant_sizes(*single_.type(value).shape));
  }

  Result<void> give(const GraphOutput& output) {
    const std::size_t parts = cut_.axes[output.value.v] ? assignment_.parts : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto owner = owners_.find(key(output.value, part));
      const std::size_t rank = owner == owners_.end() ? 0 : owner->second;
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, at(output.value, part, rank));
      result_.outputs.push_back({output.name, rank, value, window_for(output.value, part)});
    }
    return {};
  }

  const Graph& single_;
  const Assignment& assignment_;
  BatchCut cut_;
  RankedProgram result_;
  std::map<ValueId, ValueId> wholes_;  // by value of the single-device graph
  std::map<PartValue, std::size_t> owners_;
  std::map<PartValue, std::vector<std::size_t>> receivers_;
  std::map<std::pair<PartValue, std::size_t>, std::size_t> transfers_;  // by receiving rank
  std::map<std::pair<PartValue, std::size_t>, ValueId> here_;           // by rank
};

}  // namespace

Result<BatchCut> cut_batch(const Graph& graph, std::size_t parts) {
  BatchCut cut;
  cut.parts = parts;
  cut.axes.resize(graph.value_count());
  cut.is_fixed.assign(graph.value_count(), false);
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::input || node.kind == NodeKind::opaque) continue;
    const bool is_fixed = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
      return operand.is_none() || cut.is_fixed[operand.v];
    });
    for (std::uint32_t i = 0; i < node.output_count; ++i) cut.is_fixed[node.output(i).v] = is_fixed;
  }
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const auto& shape = graph.type(node.output(i)).shape;
      if (!shape || !constant_sizes(*shape))
        return bad_input(fmt::format("'{}' has the type {}, and a plan needs known sizes",
                                     graph.suggested_name(node.output(i)),
                                     text(graph.type(node.output(i)))));
    }
  }
  if (parts == 1) return cut;
  std::optional<Dimension> batch;
  for (const NodeId id : graph.inputs()) {
    const Shape& shape = *graph.type(graph.node(id).output()).shape;
    if (shape.empty()) continue;
    if (!batch) batch = shape[0];
    if (!(shape[0] == *batch)) continue;
    if (!exact_div(shape[0], Dimension(static_cast<std::int64_t>(parts))))
      return bad_input(
          fmt::format("a batch of {} cannot be cut into {} equal parts", shape[0].text(), parts));
    cut.axes[graph.node(id).output().v] = 0;
  }
  Strategies strategies(graph);
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation)
      LEMMA_RETURN_IF_ERROR(follow(graph, graph.node(id), strategies, cut));
  return cut;
}

Result<Attributes> part_attributes(const Graph& graph, const Node& node, const BatchCut& cut) {
  if (!cut.is_cut(node)) return node.attributes;
  return local_attributes(graph, node, {share_of(cut.axes[node.output().v])},
                          parts_mesh(cut.parts));
}

TensorType part_type(const Graph& graph, ValueId value, const BatchCut& cut) {
  TensorType type = graph.type(value);
  if (cut.axes[value.v])
    type.shape = *local_shape(*type.shape, {share_of(cut.axes[value.v])}, parts_mesh(cut.parts));
  return type;
}

Result<RankedProgram> assigned(const Graph& single, const Assignment& assignment) {
  LEMMA_ASSIGN_OR_RETURN(BatchCut cut, cut_batch(single, assignment.parts));
  return Assigning(single, assignment, std::move(cut))();
}

}  // namespace lemma::plans
