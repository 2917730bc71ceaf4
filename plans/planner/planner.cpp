#include "plans/planner/planner.h"

#include <algorithm>
#include <chrono>
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

/// Whether what is read as partial along an axis of the mesh is given so: nothing becomes partial on the way, and reductions, which
/// are not told apart where placements are priced, stay the same.
bool keeps_partial(const Placement& here, const Placement& there) {
  for (std::size_t axis = 0; axis < there.size(); ++axis)
    if (there[axis].sharing == Sharing::partial && !(here[axis] == there[axis])) return false;
  return true;
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
    LEMMA_ASSIGN_OR_RETURN(const std::vector<KnownPlan> known, known_plans());
    const auto begin = std::chrono::steady_clock::now();
    planned.outcome = chosen(known);
    planned.searching = seconds_since(begin);
    if (!planned.outcome.is_found())
      return bad_input(fmt::format(
          "no plan needs at most {} bytes on a device{}", request_.memory_limit.value_or(0),
          planned.outcome.is_impossible ? "" : ", as far as was searched"));
    enter(planned);
    if (request_.compares || !request_.by_hand.empty()) compare(known, planned);
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
    keep_state(output, number);
    return connect(output.value, number,
                   [&](std::size_t way) { return candidates_[number].ways[way].reads[0]; });
  }

  /// What a step of training gives as `w.next` is where it takes `w` (docs/gradients.md), so that steps can follow each other. The
  /// placements of both have the same numbers.
  void keep_state(const GraphOutput& output, choice::NodeNumber number) {
    constexpr std::string_view next = ".next";
    if (!output.name.ends_with(next)) return;
    const std::string_view name =
        std::string_view(output.name).substr(0, output.name.size() - next.size());
    for (const NodeId id : graph_.inputs()) {
      const Node& node = graph_.node(id);
      if (graph_.input_name(node) != name ||
          !(graph_.type(node.output()) == graph_.type(output.value)))
        continue;
      problem_.alike.push_back({node_of_[id.v], number});
      state_of_output_[number] = node_of_[id.v];
    }
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
        for (const Strategy& strategy : strategies_along(node, axis)) {
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

  /// Those that are known by now, if the search is to end.
  std::vector<Strategy> strategies_along(const Node& node, const MeshAxis& axis) {
    if (!choice::is_stopped(request_.stop)) return strategies_.of(node, axis.size);
    return {{std::vector<Share>(node.inputs.size()), std::vector<Share>(node.output_count)}};
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
        if (!keeps_partial(here, there)) {
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

  /// A plan for comparison, and its choice if it is allowed.
  struct KnownPlan {
    std::string name;
    std::optional<choice::Choice> choice;
  };

  /// What a step of training takes and gives again, as `w` and `w.next` (docs/gradients.md), is no sample.
  bool is_state(NodeId input) const {
    const std::string next = std::string(graph_.input_name(graph_.node(input))) + ".next";
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& output) { return output.name == next; });
  }

  /// Inputs that are as long as the first one along axis 0 are cut there by all axes of the mesh, and all else follows.
  Result<PlanChoice> data_parallel() {
    std::vector<NodeId> inputs = graph_.inputs();
    std::erase_if(inputs, [this](NodeId id) { return is_state(id); });
    if (inputs.empty()) return bad_input("the model has no inputs");
    const auto samples = [&](NodeId id) -> std::int64_t {
      const TensorType& type = graph_.type(graph_.node(id).output());
      return type.rank() == 0 ? 0 : constant_sizes(*type.shape)->front();
    };
    std::map<std::string, Placement, std::less<>> asked;
    for (const NodeId id : inputs)
      if (samples(id) == samples(inputs.front()))
        asked[std::string(graph_.input_name(graph_.node(id)))] =
            Placement(mesh_.rank(), {Sharing::parted, 0});
    return spread(graph_, mesh_, asked, strategies_);
  }

  /// Plans in a fixed order: everything on every device, data parallelism, those by hand.
  Result<std::vector<KnownPlan>> known_plans() {
    std::vector<KnownPlan> known;
    known.push_back({"everything on every device", choice_of({mesh_, {}, {}, {}})});
    if (choice::is_stopped(request_.stop)) return known;
    const auto data = data_parallel();
    known.push_back({"data parallelism", data ? choice_of(*data) : std::nullopt});
    for (const PlanByHand& by_hand : request_.by_hand) {
      LEMMA_ASSIGN_OR_RETURN(const PlanChoice plan,
                             spread(graph_, mesh_, by_hand.placements, strategies_));
      known.push_back({by_hand.name, completed(plan)});
    }
    return known;
  }

  /// Whether a node of the problem is placed so in the plan. What a plan does not name is replicated.
  bool is_in(const PlanChoice& plan, std::size_t node, const NodePlacements& way) const {
    if (graph_.node(ids_[node]).kind == NodeKind::operation) {
      if (const auto planned = plan.nodes.find(ids_[node]); planned != plan.nodes.end())
        return way.reads == planned->second.reads && way.gives == planned->second.gives;
    } else if (const auto planned = plan.sources.find(graph_.node(ids_[node]).output());
               planned != plan.sources.end()) {
      return way.gives[0] == planned->second;
    }
    return std::all_of(way.gives.begin(), way.gives.end(),
                       [&](const Placement& each) { return each == Placement(mesh_.rank()); });
  }

  /// The choice that a plan is, with the best placements of outputs; nothing: it has a way that is none of the candidates, or is
  /// not allowed.
  std::optional<choice::Choice> choice_of(const PlanChoice& plan) const {
    choice::Choice result(problem_.nodes.size(), 0);
    for (std::size_t node = 0; node < ids_.size(); ++node) {
      const std::vector<NodePlacements>& ways = candidates_[node].ways;
      const auto way = std::find_if(ways.begin(), ways.end(), [&](const NodePlacements& each) {
        return is_in(plan, node, each);
      });
      if (way == ways.end()) return std::nullopt;
      result[node] = static_cast<choice::StrategyNumber>(way - ways.begin());
    }
    for (const choice::Edge& edge : problem_.edges) {
      if (edge.to < ids_.size()) continue;
      if (const auto state = state_of_output_.find(edge.to); state != state_of_output_.end()) {
        result[edge.to] = result[state->second];
        continue;
      }
      const std::size_t count = candidates_[edge.to].ways.size();
      const auto row =
          edge.seconds.begin() + static_cast<std::ptrdiff_t>(result[edge.from] * count);
      result[edge.to] = static_cast<choice::StrategyNumber>(
          std::min_element(row, row + static_cast<std::ptrdiff_t>(count)) - row);
    }
    if (!choice::is_allowed(problem_, result)) return std::nullopt;
    if (!(choice::seconds_of(problem_, result) < infinity)) return std::nullopt;
    return result;
  }

  /// With the inputs and weights of a plan: what a quick search finds for the operators, which is no worse than what spreads.
  std::optional<choice::Choice> completed(const PlanChoice& plan) const {
    choice::Problem problem = problem_;
    for (std::size_t node = 0; node < ids_.size(); ++node) {
      if (graph_.node(ids_[node]).kind == NodeKind::operation) continue;
      for (std::size_t way = 0; way < candidates_[node].ways.size(); ++way)
        if (!is_in(plan, node, candidates_[node].ways[way]))
          problem.nodes[node].strategies[way].seconds = infinity;
    }
    choice::ChooseOptions quick;
    quick.most_layer_states = quick.most_states = 0;
    quick.price_rounds = quick.improve_rounds = 5;
    quick.stop = request_.stop;
    if (const auto spread = choice_of(plan)) quick.seeds.push_back(*spread);
    const choice::Outcome outcome = choice::choose(problem, quick);
    if (!outcome.is_found() || !(outcome.seconds < infinity)) return std::nullopt;
    return outcome.choice;
  }

  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  choice::Outcome chosen(const std::vector<KnownPlan>& known) const {
    choice::ChooseOptions options;
    for (const KnownPlan& plan : known)
      if (plan.choice) options.seeds.push_back(*plan.choice);
    options.stop = request_.stop;
    return choice::choose(problem_, options);
  }

  void compare(const std::vector<KnownPlan>& known, Planned& planned) const {
    const choice::Choice* start = nullptr;
    for (const KnownPlan& plan : known) {
      planned.others.push_back({plan.name, std::nullopt, std::nullopt});
      if (!plan.choice) continue;
      planned.others.back().seconds = choice::seconds_of(problem_, *plan.choice);
      if (&plan - known.data() < 2) start = &*plan.choice;
    }
    if (!request_.compares) return;
    planned.others.push_back({"Metropolis, from data parallelism", std::nullopt, std::nullopt});
    if (start == nullptr) return;
    const auto begin = std::chrono::steady_clock::now();
    planned.others.back().seconds =
        choice::metropolis(problem_, *start, {.proposals = request_.proposals}).seconds;
    planned.others.back().searching = seconds_since(begin);
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
  std::map<choice::NodeNumber, choice::NodeNumber> state_of_output_;  // the input that it replaces
  std::map<choice::Tensor, choice::Reshardings> reshardings_;
  choice::Moment moment_ = 0, end_ = 0;
  std::vector<choice::Moment> last_uses_;  // by node of the graph
};

}  // namespace

Result<Planned> plan_for(const Graph& graph, const PlannerRequest& request) {
  return Planner(graph, request)();
}

}  // namespace lemma::plans
