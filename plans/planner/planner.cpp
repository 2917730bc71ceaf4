#include "plans/planner/planner.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "costmodel/graph_cost.h"
#include "plans/choice/metropolis.h"
#include "plans/choice/placement.h"
#include "plans/partition/strategies.h"
#include "plans/spread/spread.h"

namespace lemma::plans {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Ways of an operator on a mesh: those beyond are left out.
constexpr std::size_t most_ways = 512;

/// The placement as it is priced: all reductions of partial values take the same.
Placement priced(Placement placement) {
  for (Share& share : placement) share.reduction = Reduction::sum;
  return placement;
}

Mesh mesh_for_programs(const clusters::Mesh& mesh) {
  Mesh result;
  for (const clusters::Axis& axis : mesh.axes)
    result.axes.push_back({axis.name, static_cast<std::int64_t>(axis.size)});
  return result;
}

Result<choice::Tensor> tensor_of(const TensorType& type) {
  const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
  if (!sizes)
    return unsupported("a plan needs known sizes, and a size within the model depends on values");
  return choice::Tensor{*sizes, std::max<std::size_t>(1, byte_size(type.data_type))};
}

/// What a node of the problem stands for, and its strategies.
struct Candidates {
  std::vector<NodePlacements> ways;  // of an input or a constant: only how the output is placed
};

class Planner {
 public:
  Planner(const Graph& graph, const PlannerRequest& request)
      : graph_(graph),
        request_(request),
        mesh_(mesh_for_programs(request.mesh)),
        own_strategies_(graph,
                        [this] {
                          if (request_.on_progress) request_.on_progress(done_, all_);
                        }),
        strategies_(request.strategies == nullptr ? own_strategies_ : *request.strategies),
        sizes_(choice::sizes_of(request.mesh)),
        price_(choice::best_prices(request.mesh)) {}

  Result<Planned> operator()() && {
    LEMMA_RETURN_IF_ERROR(check_inputs());
    node_of_.assign(graph_.node_count(), 0);
    const std::vector<NodeId> live = graph_.live_nodes();
    end_ = static_cast<choice::Moment>(live.size() + 1);
    last_uses_ = last_uses(live);
    all_ = live.size();
    for (done_ = 0; done_ < all_; ++done_) LEMMA_RETURN_IF_ERROR(add(live[done_]));
    for (const GraphOutput& output : graph_.outputs()) LEMMA_RETURN_IF_ERROR(add_output(output));
    problem_.limit = request_.memory_limit;
    LEMMA_RETURN_IF_ERROR(choice::check_problem(problem_));
    Planned planned;
    planned.outcome = choice::choose(problem_);
    if (!planned.outcome.is_found())
      return bad_input(fmt::format(
          "no plan needs at most {} bytes on a device{}", request_.memory_limit.value_or(0),
          planned.outcome.is_impossible ? "" : ", as far as was searched"));
    enter(planned);
    if (request_.compares) compare(planned);
    return planned;
  }

 private:
  Result<void> check_inputs() const {
    for (const NodeId id : graph_.inputs()) {
      const Node& node = graph_.node(id);
      const TensorType& type = graph_.type(node.output());
      if (!type.shape || !constant_sizes(*type.shape))
        return bad_input(
            fmt::format("input '{0}' has the type {1}, and a plan needs known sizes: fix them by "
                        "--shape {0}:SIZE,...",
                        graph_.input_name(node), text(type)));
    }
    return {};
  }

  Result<void> add(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::opaque)
      return unsupported(
          fmt::format("{} is not understood, and cannot be split", graph_.opaque(node).name));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<NodePlacements> ways,
                           node.kind == NodeKind::operation ? ways_of(node) : source_ways(node));
    const auto number = static_cast<choice::NodeNumber>(problem_.nodes.size());
    node_of_[id.v] = number;
    choice::Node added;
    // Weights and inputs are there all the time.
    added.begin = node.kind == NodeKind::operation ? moment_ : 0;
    added.end = end_;
    if (node.kind == NodeKind::operation) added.end = last_uses_[id.v];
    for (const NodePlacements& way : ways) {
      choice::Strategy strategy;
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        LEMMA_ASSIGN_OR_RETURN(const choice::Tensor tensor, tensor_of(graph_.type(node.output(i))));
        strategy.bytes += choice::memory_on_device(tensor, priced(way.gives[i]), sizes_);
      }
      if (node.kind == NodeKind::operation) strategy.seconds = seconds_of(node, way);
      added.strategies.push_back(strategy);
    }
    ++moment_;
    problem_.nodes.push_back(std::move(added));
    candidates_.push_back({ways});
    ids_.push_back(id);
    if (node.kind != NodeKind::operation) return {};
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!node.inputs[i].is_none())
        LEMMA_RETURN_IF_ERROR(connect(node.inputs[i], number, [&, i](std::size_t way) {
          return candidates_[number].ways[way].reads[i];
        }));
    return {};
  }

  /// By node, until when its results are read.
  std::vector<choice::Moment> last_uses(const std::vector<NodeId>& live) const {
    std::vector<choice::Moment> result(graph_.node_count(), 0);
    choice::Moment at = 0;
    for (const NodeId id : live) {
      result[id.v] = ++at;
      for (const ValueId operand : graph_.node(id).inputs)
        if (!operand.is_none()) result[graph_.producer(operand).v] = at;
    }
    for (const GraphOutput& output : graph_.outputs())
      result[graph_.producer(output.value).v] = end_;
    return result;
  }

  /// An output may be placed in any way that is not partial.
  Result<void> add_output(const GraphOutput& output) {
    const auto number = static_cast<choice::NodeNumber>(problem_.nodes.size());
    LEMMA_ASSIGN_OR_RETURN(const choice::Tensor tensor, tensor_of(graph_.type(output.value)));
    Candidates candidates;
    for (const Placement& placement : whole_placements(graph_.type(output.value)))
      candidates.ways.push_back({{placement}, {placement}});
    problem_.nodes.push_back(
        {std::vector<choice::Strategy>(candidates.ways.size()), end_ - 1, end_});
    candidates_.push_back(candidates);
    outputs_.emplace(output.name, number);
    return connect(output.value, number,
                   [&](std::size_t way) { return candidates_[number].ways[way].reads[0]; });
  }

  /// All placements that are not partial, the replicated one first.
  std::vector<Placement> whole_placements(const TensorType& type) const {
    std::vector<Placement> result = {{}};
    for (std::size_t i = 0; i < mesh_.rank(); ++i) {
      std::vector<Placement> longer;
      for (const Placement& placement : result) {
        longer.push_back(placement);
        longer.back().emplace_back();
        for (std::size_t axis = 0; axis < type.rank() && mesh_.axes[i].size > 1; ++axis) {
          Placement cut = placement;
          cut.push_back({Sharing::parted, axis});
          longer.push_back(std::move(cut));
        }
      }
      result = std::move(longer);
    }
    std::erase_if(result, [&](const Placement& placement) {
      return !local_shape(*type.shape, placement, mesh_);
    });
    return result;
  }

  Result<std::vector<NodePlacements>> source_ways(const Node& node) const {
    if (!graph_.type(node.output()).is_known())
      return unsupported("a plan needs known sizes, and a size within the model depends on values");
    std::vector<NodePlacements> ways;
    for (Placement& placement : whole_placements(graph_.type(node.output())))
      ways.push_back({{}, {std::move(placement)}});
    return ways;
  }

  /// One way along each axis of the mesh, as far as sizes can be cut by all of them.
  Result<std::vector<NodePlacements>> ways_of(const Node& node) {
    std::vector<NodePlacements> ways = {
        {std::vector<Placement>(node.inputs.size()), std::vector<Placement>(node.output_count)}};
    for (const MeshAxis& axis : mesh_.axes) {
      std::vector<NodePlacements> longer;
      for (const NodePlacements& way : ways)
        for (const Strategy& strategy : strategies_.of(node, axis.size)) {
          NodePlacements next = way;
          for (std::size_t i = 0; i < next.reads.size(); ++i)
            next.reads[i].push_back(strategy.reads[i]);
          for (std::size_t i = 0; i < next.gives.size(); ++i)
            next.gives[i].push_back(strategy.gives[i]);
          if (longer.size() < most_ways && fits(node, next)) longer.push_back(std::move(next));
        }
      ways = std::move(longer);
    }
    return ways;
  }

  bool fits(const Node& node, const NodePlacements& way) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!node.inputs[i].is_none() &&
          !local_shape(*graph_.type(node.inputs[i]).shape, way.reads[i], mesh_))
        return false;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (!local_shape(*graph_.type(node.output(i)).shape, way.gives[i], mesh_)) return false;
    return true;
  }

  /// What one device takes for its copy.
  double seconds_of(const Node& node, const NodePlacements& way) {
    Graph alone;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      operands.push_back(ValueId::none());
      if (node.inputs[i].is_none()) continue;
      const TensorType& type = graph_.type(node.inputs[i]);
      operands.back() = *alone.add_input(
          fmt::format("x{}", i), {type.data_type, *local_shape(*type.shape, way.reads[i], mesh_)});
    }
    const auto attributes = local_attributes(graph_, node, way.gives[0], mesh_);
    const auto copy = attributes
                          ? alone.add_operation(node.op, operands, *attributes, node.output_count)
                          : tl::unexpected(attributes.error());
    if (!copy) return infinity;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      (void)alone.add_output(fmt::format("y{}", i), alone.node(*copy).output(i));
    return cost_of(alone, *request_.costs).seconds;
  }

  choice::Reshardings& reshardings(const choice::Tensor& tensor) {
    const auto known = reshardings_.find(tensor);
    if (known != reshardings_.end()) return known->second;
    return reshardings_.emplace(tensor, choice::Reshardings(tensor, sizes_, price_)).first->second;
  }

  template <typename Reads>
  Result<void> connect(ValueId value, choice::NodeNumber to, Reads reads) {
    const choice::NodeNumber from = node_of_[graph_.producer(value).v];
    LEMMA_ASSIGN_OR_RETURN(const choice::Tensor tensor, tensor_of(graph_.type(value)));
    choice::Reshardings& ways = reshardings(tensor);
    const std::uint32_t output = graph_.output_index(value);
    choice::Edge edge{from, to, {}};
    std::map<std::pair<Placement, Placement>, double> known;
    for (const NodePlacements& given : candidates_[from].ways)
      for (std::size_t way = 0; way < candidates_[to].ways.size(); ++way) {
        const Placement& here = given.gives[output];
        const Placement there = reads(way);
        const auto key = std::pair(priced(here), priced(there));
        // Partial values of other reductions are not told apart there.
        if (is_partial(there) && !(here == there)) {
          edge.seconds.push_back(infinity);
          continue;
        }
        const auto [place, is_new] = known.emplace(key, 0.0);
        if (is_new) place->second = ways.seconds(key.first, key.second);
        edge.seconds.push_back(place->second);
      }
    problem_.edges.push_back(std::move(edge));
    return {};
  }

  void enter(Planned& planned) {
    const choice::Choice& chosen = planned.outcome.choice;
    planned.choice.mesh = mesh_;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const Node& node = graph_.node(ids_[i]);
      const NodePlacements& way = candidates_[i].ways[chosen[i]];
      if (node.kind == NodeKind::operation) {
        planned.choice.nodes[ids_[i]] = way;
        planned.computing += problem_.nodes[i].strategies[chosen[i]].seconds;
      } else {
        planned.choice.sources[node.output()] = way.gives[0];
      }
    }
    for (const auto& [name, number] : outputs_)
      planned.choice.outputs[name] = candidates_[number].ways[chosen[number]].gives[0];
    for (const choice::Edge& edge : problem_.edges)
      planned.communicating +=
          edge.seconds[chosen[edge.from] * candidates_[edge.to].ways.size() + chosen[edge.to]];
    planned.on_one_device = cost_of(graph_, *request_.costs).seconds;
    planned.claims = strategies_.claims();
  }

  /// Only strategies that have something, by node of the problem.
  template <typename Predicate>
  choice::Outcome chosen_among(Predicate is_wanted) const {
    choice::Problem problem = problem_;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
      for (std::size_t way = 0; way < problem.nodes[i].strategies.size(); ++way)
        if (!is_wanted(i, way)) problem.nodes[i].strategies[way].seconds = infinity;
    return choice::choose(problem);
  }

  /// Inputs that are as long as the first one along axis 0 are cut there by all axes of the mesh, and all else follows.
  Result<PlanChoice> data_parallel() const {
    std::map<std::string, Placement, std::less<>> asked;
    const std::vector<NodeId>& inputs = graph_.inputs();
    if (inputs.empty()) return bad_input("the model has no inputs");
    const auto samples = [&](NodeId id) -> std::int64_t {
      const TensorType& type = graph_.type(graph_.node(id).output());
      return type.rank() == 0 ? 0 : constant_sizes(*type.shape)->front();
    };
    for (const NodeId id : inputs)
      if (samples(id) == samples(inputs.front()))
        asked[std::string(graph_.input_name(graph_.node(id)))] =
            Placement(mesh_.rank(), {Sharing::parted, 0});
    return spread(graph_, mesh_, asked);
  }

  /// The choice that a plan is, with the best placements of outputs.
  choice::Outcome priced_plan(const PlanChoice& plan) const {
    const Placement replicated_everywhere(mesh_.rank());
    return chosen_among([&](std::size_t node, std::size_t way) {
      if (node >= ids_.size()) return true;
      const NodePlacements& own = candidates_[node].ways[way];
      if (graph_.node(ids_[node]).kind == NodeKind::operation) {
        const auto planned = plan.nodes.find(ids_[node]);
        return planned != plan.nodes.end()
                   ? own.reads == planned->second.reads && own.gives == planned->second.gives
                   : std::all_of(own.gives.begin(), own.gives.end(), [&](const Placement& each) {
                       return each == replicated_everywhere;
                     });
      }
      const auto planned = plan.sources.find(graph_.node(ids_[node]).output());
      return own.gives[0] ==
             (planned == plan.sources.end() ? replicated_everywhere : planned->second);
    });
  }

  void compare(Planned& planned) const {
    const auto seconds = [](const choice::Outcome& outcome) {
      return outcome.is_found() && outcome.seconds < infinity ? std::optional(outcome.seconds)
                                                              : std::nullopt;
    };
    const choice::Outcome replicated = priced_plan({mesh_, {}, {}, {}});
    planned.others.push_back({"everything on every device", seconds(replicated)});
    const auto plan = data_parallel();
    const choice::Outcome data = plan ? priced_plan(*plan) : choice::Outcome{};
    planned.others.push_back({"data parallelism", seconds(data)});
    const choice::Outcome& start = seconds(data) ? data : replicated;
    planned.others.push_back({"Metropolis, from data parallelism", std::nullopt});
    if (seconds(start))
      planned.others.back().seconds = choice::metropolis(problem_, start.choice).seconds;
  }

  const Graph& graph_;
  const PlannerRequest& request_;
  Mesh mesh_;
  Strategies own_strategies_;
  Strategies& strategies_;
  std::size_t done_ = 0, all_ = 0;  // operators whose ways are found, of how many
  choice::MeshSizes sizes_;
  choice::CollectivePrice price_;
  choice::Problem problem_;
  std::vector<choice::NodeNumber> node_of_;  // by node of the graph
  std::vector<Candidates> candidates_;       // by node of the problem
  std::vector<NodeId> ids_;                  // the same, outputs left out
  std::map<std::string, choice::NodeNumber> outputs_;
  std::map<choice::Tensor, choice::Reshardings> reshardings_;
  choice::Moment moment_ = 0, end_ = 0;
  std::vector<choice::Moment> last_uses_;  // by node of the graph
};

}  // namespace

Result<Planned> plan_for(const Graph& graph, const PlannerRequest& request) {
  return Planner(graph, request)();
}

}  // namespace lemma::plans
