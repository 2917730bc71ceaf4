#include "plans/partition/strategies.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "made_operators/per_device.h"
#include "plans/relations/relations.h"

namespace lemma::plans {

namespace {

/// Operators with many operands have too many combinations: those beyond are not looked at.
constexpr std::size_t most_combinations = 400;

Mesh row_of(std::int64_t devices) { return Mesh{{{"devices", devices}}}; }

/// The ways to place one operand. The sum of what is partial has to be of real numbers.
std::vector<Share> shares_of(const TensorType& type, std::int64_t devices) {
  std::vector<Share> result = {{}};
  for (std::size_t axis = 0; axis < type.rank(); ++axis)
    if (local_shape(*type.shape, {{Sharing::parted, axis}}, row_of(devices)))
      result.push_back({Sharing::parted, axis});
  if (is_real(type.data_type)) result.push_back({Sharing::partial});
  return result;
}

/// What is partial stands beside replicas, or beside partial operands only: a product with a part is no part of a sum.
bool is_worth_a_try(const std::vector<Share>& reads, const std::vector<bool>& present) {
  std::size_t partial = 0, parted = 0, count = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (!present[i]) continue;
    ++count;
    partial += reads[i].sharing == Sharing::partial ? 1U : 0U;
    parted += reads[i].sharing == Sharing::parted ? 1U : 0U;
  }
  if (partial == 0) return parted > 0;
  return parted == 0 && (partial == 1 || partial == count);
}

/// The node alone, on one device and on several, for one way to place its operands.
struct Alone {
  Graph single;
  Program program;
  NodeId node, copies;
};

Result<Alone> alone(const Graph& graph, const Node& node, const std::vector<Placement>& reads,
                    const Attributes& local, const Mesh& mesh) {
  Alone result;
  result.program.mesh = mesh;
  std::vector<ValueId> operands, placed;
  std::map<ValueId, std::pair<ValueId, std::size_t>> known;  // equal operands are one
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].is_none()) {
      operands.push_back(ValueId::none());
      placed.push_back(ValueId::none());
      continue;
    }
    const TensorType& whole = graph.type(node.inputs[i]);
    if (const auto same = known.find(node.inputs[i]); same != known.end()) {
      if (!(reads[i] == reads[same->second.second]))
        return unsupported("an operand is read in two ways");
      operands.push_back(operands[same->second.second]);
      placed.push_back(placed[same->second.second]);
      continue;
    }
    known.emplace(node.inputs[i], std::pair(node.inputs[i], i));
    const std::string name = fmt::format("x{}", i);
    operands.push_back(*result.single.add_input(name, whole));
    LEMMA_ASSIGN_OR_RETURN(const Shape part, local_shape(*whole.shape, reads[i], mesh));
    Shape shape;
    for (const MeshAxis& axis : mesh.axes) shape.emplace_back(axis.size);
    shape.insert(shape.end(), part.begin(), part.end());
    placed.push_back(*result.program.graph.add_input(name, {whole.data_type, std::move(shape)}));
    result.program.inputs.push_back({placed.back(), operands.back(), reads[i]});
  }
  LEMMA_ASSIGN_OR_RETURN(result.node, result.single.add_operation(
                                          node.op, operands, node.attributes, node.output_count));
  LEMMA_ASSIGN_OR_RETURN(
      result.copies,
      result.program.graph.add_operation(
          operator_named(made_operators::per_device_name(record(node.op).name)), placed,
          made_operators::per_device_attributes(local, mesh.rank()), node.output_count));
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const std::string name = fmt::format("y{}", i);
    LEMMA_RETURN_IF_ERROR(
        result.single.add_output(name, result.single.node(result.node).output(i)));
    LEMMA_RETURN_IF_ERROR(
        result.program.graph.add_output(name, result.program.graph.node(result.copies).output(i)));
  }
  return result;
}

/// What is proved of the results of the copies; nothing if it is not proved of all.
std::optional<std::vector<Placement>> proved_placements(const Alone& pair, std::uint32_t outputs,
                                                        const Relations& relations) {
  std::vector<Placement> gives;
  for (std::uint32_t i = 0; i < outputs; ++i) {
    const auto& relation = relations.of[pair.program.graph.node(pair.copies).output(i).v];
    if (!relation || relation->single != pair.single.node(pair.node).output(i)) return std::nullopt;
    gives.push_back(relation->placement);
  }
  return gives;
}

/// How the results of the copies may be placed, by their sizes: as wanted where that is so.
Result<std::vector<Placement>> possible_placements(
    const Alone& pair, const std::vector<std::optional<Placement>>& wanted) {
  std::vector<Placement> gives;
  const Mesh& mesh = pair.program.mesh;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    const Shape& whole = *pair.single.type(pair.single.node(pair.node).output(i)).shape;
    Shape local = *pair.program.graph.type(pair.program.graph.node(pair.copies).output(i)).shape;
    local.erase(local.begin(), local.begin() + static_cast<long>(mesh.rank()));
    const std::vector<Placement> possible = placements_between(whole, local, mesh, {});
    if (possible.empty())
      return bad_input(
          fmt::format("a device gets {}, which is no part of {}", text(local), text(whole)));
    const bool is_wanted =
        wanted[i] && std::find(possible.begin(), possible.end(), *wanted[i]) != possible.end();
    gives.push_back(is_wanted ? *wanted[i] : possible.front());
  }
  return gives;
}

/// All ways to place a tensor whole or in parts; those of all devices alike first.
std::vector<Placement> placements_of(const Shape& shape, const Mesh& mesh) {
  std::vector<Placement> result = {replicated(mesh)};
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const std::vector<Placement> shorter = result;
    for (const Placement& placement : shorter)
      for (std::size_t cut = 0; cut < shape.size(); ++cut) {
        Placement longer = placement;
        longer[axis] = {Sharing::parted, cut};
        if (result.size() < most_combinations && local_shape(shape, longer, mesh))
          result.push_back(std::move(longer));
      }
  }
  return result;
}

std::string signature(const Graph& graph, const Node& node, std::int64_t devices) {
  std::string result = fmt::format("{} {} {} {}", devices, graph.op(node).name,
                                   text(node.attributes), node.output_count);
  std::map<ValueId, std::size_t> first;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].is_none()) {
      result += "; -";
      continue;
    }
    const std::size_t place = first.emplace(node.inputs[i], i).first->second;
    result += fmt::format("; {} {}", place, text(graph.type(node.inputs[i])));
  }
  return result;
}

bool takes_shape_of_output(const Graph& graph, const Node& node) {
  const auto& shape = graph.type(node.output()).shape;
  return shape && std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& a) {
           const auto* dimensions = std::get_if<Shape>(&a.second);
           return dimensions != nullptr && *dimensions == *shape;
         });
}

bool has_known_types(const Graph& graph, const Node& node) {
  for (const ValueId operand : node.inputs)
    if (!operand.is_none() && !graph.type(operand).is_known()) return false;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (!graph.type(node.output(i)).is_known()) return false;
  return node.kind == NodeKind::operation;
}

}  // namespace

Result<Attributes> local_attributes(const Graph& graph, const Node& node, const Placement& output,
                                    const Mesh& mesh) {
  Attributes result = node.attributes;
  const auto& whole = graph.type(node.output()).shape;
  if (!whole) return result;
  for (const auto& [name, value] : node.attributes) {
    const auto* dimensions = std::get_if<Shape>(&value);
    if (dimensions == nullptr || !(*dimensions == *whole)) continue;
    LEMMA_ASSIGN_OR_RETURN(Shape local, local_shape(*whole, output, mesh));
    result.set(name, std::move(local));
  }
  return result;
}

const std::vector<Strategy>& Strategies::of(const Node& node, std::int64_t devices) {
  const std::string key = signature(graph_, node, devices);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return known_.emplace(key, derived(node, devices)).first->second;
}

std::vector<Strategy> Strategies::derived(const Node& node, std::int64_t devices) {
  std::vector<Strategy> result = {
      {std::vector<Share>(node.inputs.size()), std::vector<Share>(node.output_count)}};
  if (devices == 1 || !has_known_types(graph_, node)) return result;
  std::vector<std::vector<Share>> choices;
  std::vector<bool> present;
  for (const ValueId operand : node.inputs) {
    present.push_back(!operand.is_none());
    choices.push_back(operand.is_none() ? std::vector<Share>{{}}
                                        : shares_of(graph_.type(operand), devices));
  }
  // What output shape the copies are told, where they are told one.
  std::vector<Share> told = {{}};
  if (takes_shape_of_output(graph_, node)) told = shares_of(graph_.type(node.output()), devices);
  std::vector<std::size_t> place(choices.size(), 0);
  for (std::size_t tried = 0; tried < most_combinations; ++tried) {
    std::vector<Share> reads;
    for (std::size_t i = 0; i < choices.size(); ++i) reads.push_back(choices[i][place[i]]);
    if (is_worth_a_try(reads, present))
      for (const Share& output : told) {
        const auto local = local_attributes(graph_, node, {output}, row_of(devices));
        if (!local) continue;
        if (on_try_) on_try_();
        std::vector<Placement> placed;
        for (const Share& share : reads) placed.push_back({share});
        const auto pair = alone(graph_, node, placed, *local, row_of(devices));
        if (!pair) continue;
        const Relations relations = relate(pair->single, pair->program);
        const auto gives = proved_placements(*pair, node.output_count, relations);
        if (!gives) continue;
        Strategy strategy{reads, {}};
        for (const Placement& placement : *gives) strategy.gives.push_back(placement[0]);
        result.push_back(std::move(strategy));
        for (const AskedClaim& claim : relations.claims)
          if (claim.is_proved) claims_.push_back(claim.rule);
        break;
      }
    std::size_t i = 0;
    while (i < place.size() && ++place[i] == choices[i].size()) place[i++] = 0;
    if (i == place.size()) break;
  }
  return result;
}

Result<GivenPlacements> Strategies::given(const Node& node, const Mesh& mesh,
                                          const std::vector<Placement>& reads,
                                          const std::vector<std::optional<Placement>>& wanted) {
  std::string key = signature(graph_, node, mesh.device_count());
  for (const MeshAxis& axis : mesh.axes) key += fmt::format("; {}", axis.size);
  for (const Placement& placement : reads) key += "; " + text(placement, mesh);
  for (const auto& placement : wanted) key += "; " + (placement ? text(*placement, mesh) : "-");
  if (const auto known = given_.find(key); known != given_.end()) return known->second;
  return given_.emplace(key, derived_given(node, mesh, reads, wanted)).first->second;
}

Result<GivenPlacements> Strategies::derived_given(
    const Node& node, const Mesh& mesh, const std::vector<Placement>& reads,
    const std::vector<std::optional<Placement>>& wanted) {
  if (!has_known_types(graph_, node)) return unsupported("its sizes are not known");
  std::vector<Placement> told;  // what output shape the copies are told, where they are told one
  if (wanted[0]) told.push_back(*wanted[0]);
  if (takes_shape_of_output(graph_, node)) {
    const auto all = placements_of(*graph_.type(node.output()).shape, mesh);
    told.insert(told.end(), all.begin(), all.end());
  } else if (told.empty()) {
    told.push_back(replicated(mesh));
  }
  std::optional<GivenPlacements> possible;
  std::optional<Error> reason;
  for (const Placement& output : told) {
    const auto local = local_attributes(graph_, node, output, mesh);
    if (!local) continue;
    auto pair = alone(graph_, node, reads, *local, mesh);
    if (!pair) {
      if (!reason) reason = std::move(pair.error());
      continue;
    }
    const Relations relations = relate(pair->single, pair->program);
    if (auto gives = proved_placements(*pair, node.output_count, relations))
      return GivenPlacements{std::move(*gives), true};
    auto gives = possible_placements(*pair, wanted);
    if (gives && !possible) possible = GivenPlacements{std::move(*gives), false};
    if (!gives && !reason) reason = std::move(gives.error());
  }
  if (possible) return *possible;
  if (reason) return tl::unexpected(std::move(*reason));
  return internal_error("no shape of the output was tried");
}

}  // namespace lemma::plans
