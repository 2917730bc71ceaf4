#include "plans/lift/ranked_models.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "frontend_onnx/kept_node.h"
#include "plans/lift/weights.h"

namespace lemma::plans {

namespace {

constexpr std::string_view own_domain = "lemma";

bool is_sender(const OpaqueOperator& op) { return op.domain == own_domain && op.name == "Send"; }
bool is_receiver(const OpaqueOperator& op) { return op.domain == own_domain && op.name == "Recv"; }

/// The two ends of a channel: rank and node.
struct Channel {
  std::optional<std::pair<std::size_t, NodeId>> sender, receiver;
  std::size_t to = 0, from = 0;  // as sender and receiver say
  std::size_t number = 0;        // of the transfer
  bool is_sent = false;
};

/// What the ranks of a group have brought to a collective so far.
struct Meeting {
  std::map<std::size_t, NodeId> nodes;  // by rank
  bool is_done = false;
};

/// Lifts node by node of each rank, in the order of its file, as far as what it waits for is there.
class RankedLift {
 public:
  RankedLift(const OnnxModel& single, const RankModels& ranks)
      : single_(single.graph), ranks_(ranks), weights_(single.graph, ranks.mesh) {
    const std::size_t count = ranks.models.size();
    result_.sources.resize(count);
    result_.steps.resize(count);
    next_.assign(count, 0);
    met_.resize(count);
    for (std::size_t rank = 0; rank < count; ++rank) {
      values_.emplace_back(graph(rank).value_count(), ValueId::none());
      is_needed_.push_back(needed_nodes(graph(rank)));
    }
    for (const NodeId id : single_.inputs())
      single_inputs_.emplace(single_.input_name(single_.node(id)), single_.node(id).output());
  }

  Result<RankedProgram> operator()() && {
    LEMMA_RETURN_IF_ERROR(find_channels());
    bool moves = true;
    while (moves) {
      moves = false;
      for (std::size_t rank = 0; rank < next_.size(); ++rank)
        for (;;) {
          LEMMA_ASSIGN_OR_RETURN(const bool has_moved, advance(rank));
          if (!has_moved) break;
          moves = true;
        }
    }
    LEMMA_RETURN_IF_ERROR(check_finished());
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
      LEMMA_RETURN_IF_ERROR(give_outputs(rank));
    LEMMA_RETURN_IF_ERROR(add_outputs(result_, single_));
    return std::move(result_);
  }

 private:
  const Graph& graph(std::size_t rank) const { return ranks_.models[rank]->graph; }
  Graph& program() { return result_.program.graph; }

  /// What an output, another rank, or a group depends on.
  static std::vector<bool> needed_nodes(const Graph& graph) {
    std::vector<bool> needed(graph.node_count(), false);
    for (const GraphOutput& output : graph.outputs()) needed[graph.producer(output.value).v] = true;
    for (std::size_t id = graph.node_count(); id-- > 0;) {
      const Node& node = graph.nodes()[id];
      if (node.kind == NodeKind::opaque) needed[id] = true;
      if (!needed[id]) continue;
      for (const ValueId operand : node.inputs)
        if (!operand.is_none()) needed[graph.producer(operand).v] = true;
    }
    return needed;
  }

  Result<KeptNode> kept(std::size_t rank, NodeId id) const {
    return KeptNode::read(graph(rank).opaque(graph(rank).node(id)), ranks_.models[rank]->envelope);
  }
  std::string place_of(std::size_t rank, NodeId id) const {
    const Graph& own = graph(rank);
    const Node& node = own.node(id);
    return fmt::format("{} '{}' of rank {}", own.opaque(node).name,
                       own.suggested_name(node.output()), rank);
  }

  // ---- Channels ---------------------------------------------------------------------------------

  Result<void> find_channels() {
    for (std::size_t rank = 0; rank < ranks_.models.size(); ++rank)
      for (std::uint32_t id = 0; id < graph(rank).node_count(); ++id) {
        const Node& node = graph(rank).node(NodeId{id});
        if (node.kind != NodeKind::opaque) continue;
        const OpaqueOperator& op = graph(rank).opaque(node);
        if (is_sender(op) || is_receiver(op))
          LEMMA_RETURN_IF_ERROR(add_end(rank, NodeId{id}, is_sender(op)));
      }
    for (auto& [name, channel] : channels_) {
      if (!channel.sender)
        return bad_input(fmt::format("channel '{}' is received by rank {}, and sent by none", name,
                                     channel.receiver->first));
      if (!channel.receiver)
        return bad_input(fmt::format("channel '{}' is sent by rank {}, and received by none", name,
                                     channel.sender->first));
      const std::size_t from = channel.sender->first, to = channel.receiver->first;
      if (channel.to != to)
        return bad_input(fmt::format("channel '{}': rank {} sends to rank {}, but rank {} receives",
                                     name, from, channel.to, to));
      if (channel.from != from)
        return bad_input(
            fmt::format("channel '{}': rank {} receives from rank {}, but rank {} sends", name, to,
                        channel.from, from));
      channel.number = result_.transfers.size();
      result_.transfers.push_back({name, from, to, ValueId::none()});
    }
    return {};
  }

  Result<void> add_end(std::size_t rank, NodeId id, bool sends) {
    LEMMA_ASSIGN_OR_RETURN(const KeptNode node, kept(rank, id));
    const std::string name = node.attributes().string("channel", "");
    if (name.empty()) return bad_input(fmt::format("{} names no channel", place_of(rank, id)));
    Channel& channel = channels_[name];
    auto& end = sends ? channel.sender : channel.receiver;
    if (end)
      return bad_input(fmt::format("channel '{}' is {} twice, by rank {} and by rank {}", name,
                                   sends ? "sent" : "received", end->first, rank));
    end = std::pair(rank, id);
    const std::int64_t other = node.attributes().integer(sends ? "to" : "from", -1);
    if (other < 0 || other >= static_cast<std::int64_t>(ranks_.models.size()) ||
        other == static_cast<std::int64_t>(rank))
      return bad_input(
          fmt::format("{} of channel '{}': {} is no other rank", place_of(rank, id), name, other));
    (sends ? channel.to : channel.from) = static_cast<std::size_t>(other);
    channel_of_[{rank, id}] = name;
    return {};
  }

  // ---- Steps ------------------------------------------------------------------------------------

  /// One node of a rank. False: it waits, or all are done.
  Result<bool> advance(std::size_t rank) {
    if (next_[rank] == graph(rank).node_count()) return false;
    const NodeId id{static_cast<std::uint32_t>(next_[rank])};
    if (is_needed_[rank][id.v]) {
      LEMMA_ASSIGN_OR_RETURN(const bool is_added, add(rank, id));
      if (!is_added) return false;
    }
    ++next_[rank];
    return true;
  }

  Result<bool> add(std::size_t rank, NodeId id) {
    const Node& node = graph(rank).node(id);
    switch (node.kind) {
      case NodeKind::input: LEMMA_RETURN_IF_ERROR(input(rank, node)); return true;
      case NodeKind::constant: LEMMA_RETURN_IF_ERROR(constant(rank, node)); return true;
      case NodeKind::operation: LEMMA_RETURN_IF_ERROR(operation(rank, node)); return true;
      case NodeKind::opaque: break;
    }
    const OpaqueOperator& op = graph(rank).opaque(node);
    if (is_sender(op)) return send(rank, id);
    if (is_receiver(op)) return receive(rank, id);
    return collective(rank, id);
  }

  ValueId& here(std::size_t rank, ValueId value) { return values_[rank][value.v]; }

  /// The names tell at which rank a value was computed first.
  void enter(std::size_t rank, ValueId own, ValueId value) {
    here(rank, own) = value;
    const std::string& name = graph(rank).suggested_name(own);
    if (program().node(program().producer(value)).kind == NodeKind::operation && !name.empty())
      program().suggest_name(value, fmt::format("rank {}: {}", rank, name));
  }

  Result<void> operation(std::size_t rank, const Node& node) {
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs)
      operands.push_back(operand.is_none() ? operand : here(rank, operand));
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId copy,
        program().add_operation(node.op, std::move(operands), node.attributes, node.output_count));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      enter(rank, node.output(i), program().node(copy).output(i));
    result_.steps[rank].push_back({StepKind::compute, copy, 0});
    return {};
  }

  Result<bool> send(std::size_t rank, NodeId id) {
    const Node& node = graph(rank).node(id);
    if (node.inputs.size() != 1 || node.inputs[0].is_none())
      return bad_input(fmt::format("{} has no operand", place_of(rank, id)));
    Channel& channel = channels_.at(channel_of_.at({rank, id}));
    channel.is_sent = true;
    result_.transfers[channel.number].value = here(rank, node.inputs[0]);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      here(rank, node.output(i)) = here(rank, node.inputs[0]);
    result_.steps[rank].push_back({StepKind::send, {}, channel.number});
    return true;
  }

  Result<bool> receive(std::size_t rank, NodeId id) {
    const Node& node = graph(rank).node(id);
    const std::string& name = channel_of_.at({rank, id});
    const Channel& channel = channels_.at(name);
    if (!channel.is_sent) return false;
    const ValueId value = result_.transfers[channel.number].value;
    const TensorType &sent = program().type(value), &expected = graph(rank).type(node.output());
    if (!(sent == expected))
      return bad_input(fmt::format("channel '{}': rank {} sends {}, but rank {} receives {}", name,
                                   channel.from, lemma::text(sent), rank, lemma::text(expected)));
    here(rank, node.output()) = value;
    result_.steps[rank].push_back({StepKind::receive, {}, channel.number});
    return true;
  }

  Result<void> check_finished() const {
    std::vector<std::string> waits;
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] == graph(rank).node_count()) continue;
      const NodeId id{static_cast<std::uint32_t>(next_[rank])};
      const auto channel = channel_of_.find({rank, id});
      waits.push_back(channel == channel_of_.end()
                          ? fmt::format("rank {} at {}", rank, place_of(rank, id))
                          : fmt::format("rank {} for channel '{}' from rank {}", rank,
                                        channel->second, channels_.at(channel->second).from));
    }
    if (waits.empty()) return {};
    return bad_input(fmt::format("the ranks wait for each other: {}", fmt::join(waits, "; ")));
  }

  // ---- Inputs, weights, outputs -----------------------------------------------------------------

  /// The whole of a value of the single-device graph.
  Result<ValueId> whole_of(ValueId single, const std::string& name) {
    const auto known = wholes_.find(single);
    if (known != wholes_.end()) return known->second;
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, program().add_input(name, single_.type(single)));
    result_.program.inputs.push_back({value, single, {}});
    wholes_.emplace(single, value);
    return value;
  }

  Result<void> add_source(std::size_t rank, ValueId own, ValueId single, const std::string& name,
                          Window window) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId whole, whole_of(single, name));
    LEMMA_ASSIGN_OR_RETURN(here(rank, own), cut(program(), whole, window));
    result_.sources[rank].push_back({here(rank, own), single, std::move(window)});
    return {};
  }

  Result<void> input(std::size_t rank, const Node& node) {
    const std::string& name = graph(rank).input_name(node);
    const auto single = single_inputs_.find(name);
    if (single == single_inputs_.end())
      return bad_input(fmt::format("the single-device model has no input '{}'", name));
    const TensorType& local = graph(rank).type(node.output());
    if (local.data_type != single_.type(single->second).data_type)
      return bad_input(
          fmt::format("input '{}' of rank {} has elements of another type", name, rank));
    std::vector<std::size_t> owners;
    for (std::size_t other = 0; other < ranks_.models.size(); ++other) {
      const Graph& its = graph(other);
      if (std::any_of(its.inputs().begin(), its.inputs().end(),
                      [&](NodeId id) { return its.input_name(its.node(id)) == name; }))
        owners.push_back(other);
    }
    LEMMA_ASSIGN_OR_RETURN(Window window,
                           window_at(name, single_.type(single->second), local, owners, rank));
    return add_source(rank, node.output(), single->second, name, std::move(window));
  }

  Result<void> constant(std::size_t rank, const Node& node) {
    const Constant& contents = graph(rank).constant(node);
    const std::string& name = graph(rank).suggested_name(node.output());
    if (auto weight = weights_.find_window(name, contents))
      return add_source(
          rank, node.output(), weight->single,
          fmt::format("weight {} {}", weight->single.v, single_.suggested_name(weight->single)),
          std::move(weight->window));
    here(rank, node.output()) = program().add_constant(contents);
    return {};
  }

  /// What a rank has of an input or output, if these ranks have it.
  Result<Window> window_at(const std::string& name, const TensorType& whole,
                           const TensorType& local, const std::vector<std::size_t>& owners,
                           std::size_t rank) const {
    const auto sizes = whole.shape ? constant_sizes(*whole.shape) : std::nullopt;
    if (!sizes || !local.shape)
      return unsupported(fmt::format("the sizes of '{}' are not known", name));
    const auto told = ranks_.placements.find(name);
    Mesh mesh = ranks_.mesh;
    if (owners.size() != ranks_.models.size()) {
      if (mesh.rank() != 1 && told != ranks_.placements.end())
        return bad_input(fmt::format("'{}' is on {} of {} ranks, which are no mesh of several axes",
                                     name, owners.size(), ranks_.models.size()));
      mesh = {{{"ranks", static_cast<std::int64_t>(owners.size())}}};
    }
    std::vector<Placement> possible;
    if (told != ranks_.placements.end())
      possible = {told->second};
    else
      possible = placements_between(*whole.shape, *local.shape, mesh, {});
    if (possible.size() != 1)
      return bad_input(
          fmt::format("how '{}' is placed on {} ranks cannot be told by its shapes {} and {}: say "
                      "it by --place",
                      name, owners.size(), lemma::text(*whole.shape), lemma::text(*local.shape)));
    LEMMA_ASSIGN_OR_RETURN(const Shape shape, local_shape(*whole.shape, possible[0], mesh));
    if (shape != *local.shape)
      return bad_input(fmt::format("'{}' has the shape {} on rank {}, not {}", name,
                                   lemma::text(*local.shape), rank, lemma::text(shape)));
    const auto place = std::find(owners.begin(), owners.end(), rank) - owners.begin();
    return window_of(possible[0], mesh, static_cast<std::size_t>(place), *sizes);
  }

  Result<void> give_outputs(std::size_t rank) {
    for (const GraphOutput& output : graph(rank).outputs()) {
      const auto single = std::find_if(single_.outputs().begin(), single_.outputs().end(),
                                       [&](const GraphOutput& o) { return o.name == output.name; });
      if (single == single_.outputs().end())
        return bad_input(fmt::format("the single-device model has no output '{}'", output.name));
      std::vector<std::size_t> owners;
      for (std::size_t other = 0; other < ranks_.models.size(); ++other)
        if (std::any_of(graph(other).outputs().begin(), graph(other).outputs().end(),
                        [&](const GraphOutput& o) { return o.name == output.name; }))
          owners.push_back(other);
      LEMMA_ASSIGN_OR_RETURN(Window window,
                             window_at(output.name, single_.type(single->value),
                                       graph(rank).type(output.value), owners, rank));
      result_.outputs.push_back({output.name, rank, here(rank, output.value), std::move(window)});
    }
    return {};
  }

  // ---- Collectives of a group -------------------------------------------------------------------

  /// The ranks that take part; all of them if the node does not say.
  Result<std::vector<std::size_t>> group_of(std::size_t rank, NodeId id,
                                            const KeptNode& node) const {
    const auto count = static_cast<std::int64_t>(ranks_.models.size());
    std::vector<std::size_t> group;
    if (const auto told = node.attributes().integers("ranks")) {
      for (const std::int64_t member : *told) {
        if (member < 0 || member >= count)
          return bad_input(fmt::format("{}: there is no rank {}", place_of(rank, id), member));
        group.push_back(static_cast<std::size_t>(member));
      }
    } else {
      for (std::size_t member = 0; member < ranks_.models.size(); ++member) group.push_back(member);
    }
    if (std::set<std::size_t>(group.begin(), group.end()).size() != group.size() ||
        std::find(group.begin(), group.end(), rank) == group.end())
      return bad_input(fmt::format("{}: its ranks are not different ones with it among them",
                                   place_of(rank, id)));
    const auto size = static_cast<std::int64_t>(group.size());
    if (node.attributes().integer("group_size", size) != size)
      return bad_input(fmt::format("{}: group_size is not the number of its ranks, {}",
                                   place_of(rank, id), size));
    return group;
  }

  Result<bool> collective(std::size_t rank, NodeId id) {
    LEMMA_ASSIGN_OR_RETURN(const KeptNode node, kept(rank, id));
    if (node.domain() != "com.microsoft" && node.domain() != own_domain)
      return unsupported(fmt::format("{} is not understood", place_of(rank, id)));
    const Node& own = graph(rank).node(id);
    if (own.inputs.size() != 1 || own.inputs[0].is_none() || own.output_count != 1)
      return bad_input(fmt::format("{} has not one operand and one result", place_of(rank, id)));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::size_t> group, group_of(rank, id, node));
    Meeting& meeting = meetings_[{group, met_[rank][group]}];
    if (!meeting.is_done) {
      meeting.nodes[rank] = id;
      if (meeting.nodes.size() < group.size()) return false;
      LEMMA_RETURN_IF_ERROR(meet(group, meeting.nodes, node));
      meeting.is_done = true;
    }
    ++met_[rank][group];
    return true;
  }

  /// All of the group are there.
  Result<void> meet(const std::vector<std::size_t>& group,
                    const std::map<std::size_t, NodeId>& nodes, const KeptNode& node) {
    GroupExchange exchange{node.name(), {{"device_axis", std::int64_t{0}}}, group, {}, {}};
    for (const std::size_t rank : group) {
      const NodeId id = nodes.at(rank);
      LEMMA_ASSIGN_OR_RETURN(const KeptNode other, kept(rank, id));
      const ValueId operand = here(rank, graph(rank).node(id).inputs[0]);
      if (other.name() != node.name() || !(other.attributes().values == node.attributes().values) ||
          !(program().type(operand) ==
            program().type(exchange.operands.empty() ? operand : exchange.operands.front())))
        return bad_input(fmt::format(
            "the ranks {} meet in different collectives: {} and {}", fmt::join(group, ", "),
            place_of(group.front(), nodes.at(group.front())), place_of(rank, id)));
      exchange.operands.push_back(operand);
    }
    LEMMA_RETURN_IF_ERROR(results_of(exchange, node));
    for (std::size_t place = 0; place < group.size(); ++place) {
      const Node& own = graph(group[place]).node(nodes.at(group[place]));
      enter(group[place], own.output(), exchange.results[place]);
      if (!(program().type(exchange.results[place]) == graph(group[place]).type(own.output())))
        return internal_error(fmt::format("{}: its result has another type than was read",
                                          place_of(group[place], nodes.at(group[place]))));
      result_.steps[group[place]].push_back({StepKind::exchange, {}, result_.exchanges.size()});
    }
    result_.exchanges.push_back(std::move(exchange));
    return {};
  }

  /// An axis of the operands that a collective names.
  Result<std::size_t> axis_of(const GroupExchange& exchange, const KeptNode& node,
                              std::string_view name) {
    const std::int64_t axis = node.attributes().integer(name, 0);
    if (axis < 0 || axis >= static_cast<std::int64_t>(program().type(exchange.operands[0]).rank()))
      return bad_input(fmt::format("{}: {} {} is no axis", exchange.op, name, axis));
    return static_cast<std::size_t>(axis);
  }

  /// Part `place` of so many along an axis.
  Result<ValueId> part_at(ValueId value, std::size_t axis, std::size_t place, std::size_t count) {
    const auto sizes = constant_sizes(*program().type(value).shape);
    if (!sizes) return unsupported("a collective of tensors of unknown sizes");
    if ((*sizes)[axis] % static_cast<std::int64_t>(count) != 0)
      return bad_input(fmt::format("a collective cuts {} elements of axis {} into {} parts",
                                   (*sizes)[axis], axis, count));
    const std::int64_t size = (*sizes)[axis] / static_cast<std::int64_t>(count);
    Window window;
    for (const std::int64_t whole : *sizes) window.push_back({0, whole});
    window[axis] = {static_cast<std::int64_t>(place) * size, size};
    return cut(program(), value, window);
  }

  Result<ValueId> sum_of(const GroupExchange& exchange, const KeptNode& node) {
    const std::string reduction = node.attributes().string("reduction", "sum");
    const std::string_view op = reduction == "sum"   ? "Add"
                                : reduction == "max" ? "Max"
                                : reduction == "min" ? "Min"
                                                     : "";
    if (op.empty())
      return unsupported(
          fmt::format("{} of some ranks with the reduction '{}'", exchange.op, reduction));
    ValueId result = exchange.operands.front();
    for (std::size_t i = 1; i < exchange.operands.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(result, program().add(op, {result, exchange.operands[i]}));
    }
    return result;
  }

  Result<ValueId> joined(std::vector<ValueId> parts, std::size_t axis) {
    return program().add("Concat", std::move(parts), {{"axis", static_cast<std::int64_t>(axis)}});
  }

  /// What each rank of a group gets, in operators of one device; and what ranks need to know to run it.
  Result<void> results_of(GroupExchange& exchange, const KeptNode& node) {
    const std::size_t count = exchange.ranks.size();
    Attributes& attributes = exchange.attributes;
    const auto all_get = [&](ValueId value) { exchange.results.assign(count, value); };
    const std::string& op = exchange.op;
    if (op == "AllReduce" || op == "ReduceScatter")
      attributes.set("reduction", node.attributes().string("reduction", "sum"));
    if (op == "AllReduce") {
      LEMMA_ASSIGN_OR_RETURN(const ValueId sum, sum_of(exchange, node));
      all_get(sum);
      return {};
    }
    if (op == "Broadcast") {
      const std::int64_t root = node.attributes().integer("root", 0);
      if (root < 0 || root >= static_cast<std::int64_t>(count))
        return bad_input(fmt::format("Broadcast: root {} is none of {} ranks", root, count));
      attributes.set("root", Dimension(root));
      all_get(exchange.operands[static_cast<std::size_t>(root)]);
      return {};
    }
    if (op == "AllGather" || op == "ReduceScatter") {
      LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(exchange, node, "axis"));
      attributes.set("axis", static_cast<std::int64_t>(axis));
      if (op == "AllGather") {
        LEMMA_ASSIGN_OR_RETURN(const ValueId all, joined(exchange.operands, axis));
        all_get(all);
        return {};
      }
      LEMMA_ASSIGN_OR_RETURN(const ValueId sum, sum_of(exchange, node));
      for (std::size_t place = 0; place < count; ++place) {
        LEMMA_ASSIGN_OR_RETURN(const ValueId part, part_at(sum, axis, place, count));
        exchange.results.push_back(part);
      }
      return {};
    }
    if (op == "AllToAll") {
      LEMMA_ASSIGN_OR_RETURN(const std::size_t split, axis_of(exchange, node, "split_axis"));
      LEMMA_ASSIGN_OR_RETURN(const std::size_t concat, axis_of(exchange, node, "concat_axis"));
      attributes.set("split_axis", static_cast<std::int64_t>(split));
      attributes.set("concat_axis", static_cast<std::int64_t>(concat));
      for (std::size_t place = 0; place < count; ++place) {
        std::vector<ValueId> parts;
        for (const ValueId operand : exchange.operands) {
          LEMMA_ASSIGN_OR_RETURN(const ValueId part, part_at(operand, split, place, count));
          parts.push_back(part);
        }
        LEMMA_ASSIGN_OR_RETURN(const ValueId all, joined(std::move(parts), concat));
        exchange.results.push_back(all);
      }
      return {};
    }
    return unsupported(fmt::format("{} of some ranks is not understood", op));
  }

  const Graph& single_;
  const RankModels& ranks_;
  Weights weights_;
  RankedProgram result_;
  std::map<std::string, ValueId, std::less<>> single_inputs_;
  std::map<ValueId, ValueId> wholes_;         // by value of the single-device graph
  std::vector<std::vector<ValueId>> values_;  // by rank, by value of its graph
  std::vector<std::vector<bool>> is_needed_;  // by rank, by node
  std::vector<std::size_t> next_;             // by rank, the node that comes next
  std::map<std::string, Channel> channels_;
  std::map<std::pair<std::size_t, NodeId>, std::string> channel_of_;
  std::map<std::pair<std::vector<std::size_t>, std::size_t>, Meeting> meetings_;
  std::vector<std::map<std::vector<std::size_t>, std::size_t>> met_;  // by rank, how often by group
};

}  // namespace

bool is_ranked(const OnnxModel& model) {
  return std::any_of(model.graph.nodes().begin(), model.graph.nodes().end(), [&](const Node& node) {
    if (node.kind != NodeKind::opaque) return false;
    const OpaqueOperator& op = model.graph.opaque(node);
    if (is_sender(op) || is_receiver(op)) return true;
    if (op.domain != own_domain && op.domain != "com.microsoft") return false;
    const auto kept = KeptNode::read(op, model.envelope);
    return kept && kept->attributes().integers("ranks").has_value();
  });
}

Result<RankedProgram> lift_ranked(const OnnxModel& single, const RankModels& ranks) {
  if (ranks.models.size() != static_cast<std::size_t>(ranks.mesh.device_count()))
    return bad_input(fmt::format("{} models are given for a mesh of {} devices",
                                 ranks.models.size(), ranks.mesh.device_count()));
  return RankedLift(single, ranks)();
}

}  // namespace lemma::plans
