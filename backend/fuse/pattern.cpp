#include "backend/fuse/pattern.h"

#include <algorithm>
#include <set>

namespace lemma::backend {

namespace {

constexpr std::size_t most_members = 32;  // so that functions stay of a size that compilers take
constexpr std::size_t most_arguments = 96;
/// Lanes of a warp: a point with fewer elements leaves most of them idle.
constexpr double warp_lanes = 32;
/// Elements of a point that the lanes of a warp can hold in registers and exchange, and those that stay in a near cache of a
/// processor from one phase to the next.
constexpr double most_warp_elements = 8192, most_near_elements = 32768;

bool contains(const std::vector<std::size_t>& sorted, std::size_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

void add_once(std::vector<std::size_t>& list, std::size_t value) {
  if (list.empty() || list.back() != value) list.push_back(value);
}

}  // namespace

Result<DeltaEvaluator> DeltaEvaluator::make(const ComputationGraph& graph,
                                            const VirtualDevice& device,
                                            const StitchOptions& options) {
  DeltaEvaluator result(graph, device, options);
  if (device.multiprocessor) result.times_ = std::make_shared<GroupTimes>(graph, device);
  const std::size_t count = graph.computations.size();
  result.readers_.resize(count);
  result.producers_.resize(count);
  std::vector<std::optional<std::size_t>> makers(graph.buffers.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Computation& computation = graph.computations[i];
    LEMMA_ASSIGN_OR_RETURN(GridChoices choices, grid_choices(computation));
    result.choices_.push_back(std::move(choices));
    std::set<std::size_t> before;
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer && makers[operand]) before.insert(*makers[operand]);
    for (const std::size_t producer : before) add_once(result.readers_[producer], i);
    result.producers_[i].assign(before.begin(), before.end());
    std::size_t depth = 0;
    for (const std::size_t producer : before) depth = std::max(depth, result.depths_[producer] + 1);
    result.depths_.push_back(depth);
    makers[computation.result] = i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    result.alone_.push_back(result.make_alone(i));
    result.is_bound_by_memory_.push_back(result.is_bound_by_memory(i));
  }
  return result;
}

DeltaEvaluator DeltaEvaluator::without_packing() const {
  DeltaEvaluator result = *this;
  result.options_.packing = false;
  return result;
}

double DeltaEvaluator::bytes_of(BufferNumber buffer) const {
  return static_cast<double>(graph_->buffers[buffer].bytes());
}

/// The time of work. As many units share it as it has independent parts, none of them shorter than a
/// task should be.
double DeltaEvaluator::seconds(const Work& work) const {
  const double all =
      work.bytes * device_.seconds_per_byte + work.operations * device_.seconds_per_operation;
  const double parts = device_.least_task_seconds > 0 ? all / device_.least_task_seconds : all;
  const double units =
      std::clamp(std::min(parts, work.most_units), 1.0, static_cast<double>(device_.units));
  const double call =
      device_.seconds_per_task + (device_.units > 1 ? device_.seconds_per_event : 0);
  return all / units + call;
}

Pattern DeltaEvaluator::make_alone(std::size_t computation) const {
  const Buffer& result = graph_->buffers[graph_->computations[computation].result];
  Work work = work_of({computation}, 1, 1);
  work.most_units = static_cast<double>(result.elements);
  const Group group = {{computation}, 1, Stitching::block};
  const auto planned = times_ ? times_->seconds(group, {true}) : std::nullopt;
  return {group, planned ? *planned : seconds(work), 0};
}

bool DeltaEvaluator::is_small(std::size_t computation) const {
  constexpr double tasks = 16;
  return alone(computation).seconds <=
         tasks * device_.least_task_seconds + device_.seconds_per_task + device_.seconds_per_event;
}

bool DeltaEvaluator::is_stored(std::size_t member, const std::vector<std::size_t>& members) const {
  const Computation& computation = graph_->computations[member];
  return graph_->buffers[computation.result].memory != Memory::arena || readers_[member].empty() ||
         std::any_of(readers_[member].begin(), readers_[member].end(),
                     [&members](std::size_t reader) { return !contains(members, reader); });
}

bool DeltaEvaluator::is_connected(const std::vector<std::size_t>& members) const {
  std::set<std::size_t> reached = {members.front()};
  std::vector<std::size_t> open = {members.front()};
  while (!open.empty()) {
    const std::size_t member = open.back();
    open.pop_back();
    for (const auto* neighbours : {&readers_[member], &producers_[member]})
      for (const std::size_t other : *neighbours)
        if (contains(members, other) && reached.insert(other).second) open.push_back(other);
  }
  return reached.size() == members.size();
}

/// Whether a member is bound by memory. What computes much longer than it moves gains nothing from a scheme,
/// and loses the loops that suit it best.
bool DeltaEvaluator::is_bound_by_memory(std::size_t member) const {
  constexpr double most_ratio = 72;  // a product of about 48 terms for each element
  const Work work = work_of({member}, 1, 1);
  return work.operations * device_.seconds_per_operation <=
         most_ratio * work.bytes * device_.seconds_per_byte;
}

/// Whether a member takes the same elements of an operand at each point, in sums: rows of a block of points share them. A single
/// element stays in a register anyway.
bool DeltaEvaluator::reads_rows_again(std::size_t member, std::int64_t points) const {
  const GridChoices& choices = choices_[member];
  return choices.has_reduction &&
         std::any_of(choices.most_points.begin(), choices.most_points.end(),
                     [&](const auto& row_points) {
                       const auto& [operand, most] = row_points;
                       return most < points &&
                              (operand == no_buffer || graph_->buffers[operand].elements > 1);
                     });
}

/// The first one is the choice where operations and bytes decide.
std::vector<Stitching> DeltaEvaluator::schemes(const std::vector<std::size_t>& members,
                                               std::int64_t points, double shared_bytes,
                                               bool has_edges) const {
  if (!has_edges) return {Stitching::block};
  double most_elements = 0;
  bool has_rows_again = false;
  for (const std::size_t member : members) {
    const Buffer& made = graph_->buffers[graph_->computations[member].result];
    most_elements =
        std::max(most_elements, static_cast<double>(made.elements) / static_cast<double>(points));
    has_rows_again = has_rows_again || reads_rows_again(member, points);
  }
  std::vector<Stitching> result;
  if (options_.warp && points > 1 && !has_rows_again && most_elements >= warp_lanes &&
      most_elements <= (device_.multiprocessor ? most_warp_elements : most_near_elements))
    result.push_back(Stitching::warp);
  if (options_.block && shared_bytes <= static_cast<double>(device_.shared_bytes_per_unit))
    result.push_back(Stitching::block);
  return result;
}

/// Operands are read once, and those that all points share once more for each task beyond one for each unit.
DeltaEvaluator::Work DeltaEvaluator::work_of(const std::vector<std::size_t>& members,
                                             std::int64_t points, double tasks) const {
  Work work;
  work.most_units = static_cast<double>(points);
  const double again = std::max(0.0, tasks - static_cast<double>(device_.units));
  std::set<BufferNumber> made, seen;
  for (const std::size_t member : members) made.insert(graph_->computations[member].result);
  for (const std::size_t member : members) {
    const Computation& computation = graph_->computations[member];
    work.operations += choices_[member].operations;
    if (is_stored(member, members)) work.bytes += bytes_of(computation.result);
    for (const auto& [operand, most] : choices_[member].most_points) {
      if (operand == no_buffer || made.contains(operand) || !seen.insert(operand).second) continue;
      work.bytes += bytes_of(operand) * (most < points ? 1 + again : 1);
    }
  }
  return work;
}

/// A product between two transforms of tiles, each of which hands its results to the next one alone. It is stitched although it
/// computes long: its loops go over a part of the tiles as they go over all of them.
std::vector<std::size_t> DeltaEvaluator::product_of_tiles(std::size_t tiles) const {
  const auto only_reader = [this](std::size_t member) -> std::optional<std::size_t> {
    if (readers_[member].size() != 1 ||
        graph_->buffers[graph_->computations[member].result].memory != Memory::arena)
      return std::nullopt;
    return readers_[member].front();
  };
  const auto product = only_reader(tiles);
  const auto results = product ? only_reader(*product) : std::nullopt;
  if (!results || !choices_[tiles].has_cases || !choices_[*product].has_reduction ||
      !choices_[*results].has_cases)
    return {};
  return {tiles, *product, *results};
}

/// Products of rows, their softmax in four steps, and products with its rows.
std::vector<std::size_t> DeltaEvaluator::members_of_attention(std::size_t scores) const {
  const std::vector<std::size_t>& first = readers_[scores];
  if (!times_ || !choices_[scores].has_reduction || first.size() != 2) return {};
  const std::size_t greatest = first[0], exponential = first[1];
  const auto is_read_by = [this](std::size_t member, const std::vector<std::size_t>& others) {
    return readers_[member] == others;
  };
  if (!is_read_by(greatest, {exponential}) || readers_[exponential].size() != 2) return {};
  const std::size_t sum = readers_[exponential][0], quotient = readers_[exponential][1];
  if (!is_read_by(sum, {quotient}) || readers_[quotient].size() != 1) return {};
  return {scores, greatest, exponential, sum, quotient, readers_[quotient].front()};
}

std::optional<Pattern> DeltaEvaluator::pattern_of_attention(std::size_t scores) const {
  std::vector<std::size_t> members = members_of_attention(scores);
  if (members.empty() || !std::is_sorted(members.begin(), members.end()) || !options_.block)
    return std::nullopt;
  return pattern(std::move(members));
}

/// One task for each group of tiles (layout/tile_windows.cpp), for which weights are read again.
std::optional<Pattern> DeltaEvaluator::pattern_of_tiles(std::size_t tiles) const {
  std::vector<std::size_t> members = product_of_tiles(tiles);
  if (members.empty()) return std::nullopt;
  constexpr double most_shared = 1 << 20;  // bytes: a near cache, and what a stack has room for
  std::vector<const GridChoices*> choices;
  std::set<BufferNumber> made;
  for (const std::size_t member : members) {
    choices.push_back(&choices_[member]);
    made.insert(graph_->computations[member].result);
  }
  const std::int64_t points = common_points(choices, made);
  const double shared = bytes_of(graph_->computations[members[0]].result) +
                        bytes_of(graph_->computations[members[1]].result);
  if (!options_.block || points == 1 || shared > most_shared * static_cast<double>(points))
    return std::nullopt;
  Pattern result;
  result.seconds = seconds(work_of(members, points, 1));
  for (const std::size_t member : members) result.gain += alone(member).seconds;
  result.gain -= result.seconds;
  result.group = {std::move(members), points, Stitching::block};
  return result;
}

std::optional<Pattern> DeltaEvaluator::pattern(std::vector<std::size_t> members) const {
  if (members.size() == 1) return alone(members.front());
  if (members.size() > most_members) return std::nullopt;
  if (std::ranges::any_of(members, [this](std::size_t member) {
        return graph_->computations[member].own != nullptr;
      }))
    return std::nullopt;
  if (!options_.packing && !is_connected(members)) return std::nullopt;
  std::vector<const GridChoices*> choices;
  std::set<BufferNumber> made;
  std::size_t arguments = 0;
  bool has_edges = false;
  for (const std::size_t member : members) {
    if (!times_ && !is_bound_by_memory_[member]) return std::nullopt;
    choices.push_back(&choices_[member]);
    made.insert(graph_->computations[member].result);
    arguments += choices_[member].most_points.size() + 1;
    for (const std::size_t producer : producers_[member])
      has_edges = has_edges || contains(members, producer);
  }
  if (arguments > most_arguments) return std::nullopt;
  const std::int64_t points = common_points(choices, made);
  double shared = 0;  // bytes of a point, at most
  for (const std::size_t member : members)
    if (!is_stored(member, members))
      shared += bytes_of(graph_->computations[member].result) / static_cast<double>(points);
  double apart = 0;
  for (const std::size_t member : members) apart += alone(member).seconds;
  std::optional<Pattern> best;
  for (const Stitching stitching : schemes(members, points, shared, has_edges)) {
    const Group group = {members, points, stitching};
    const auto taken = seconds(group, shared);
    if (taken && (!best || *taken < best->seconds)) best = {group, *taken, apart - *taken};
    if (!times_) break;
  }
  return best;
}

/// The time of a group of several members. `shared_bytes`: those of a point.
std::optional<double> DeltaEvaluator::seconds(const Group& group, double shared_bytes) const {
  if (times_) {
    std::vector<bool> stored;
    for (const std::size_t member : group.members)
      stored.push_back(is_stored(member, group.members));
    return times_->seconds(group, stored);
  }
  const double tasks = group.stitching == Stitching::block
                           ? shared_bytes * static_cast<double>(group.points) /
                                 static_cast<double>(device_.shared_bytes_per_unit)
                           : 1;
  return seconds(work_of(group.members, group.points, std::max(1.0, tasks)));
}

}  // namespace lemma::backend
