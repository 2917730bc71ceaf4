#include "profiler/node_measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "outputs/files.h"
#include "profiler/model_timing.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

constexpr double least_seconds = 1e-7;  // no node takes less
constexpr double seconds_without_slope =
    1e-3;  // what a run takes beside the node does not matter here
constexpr double seconds_of_copies = 4e-4, most_seconds_of_copies = 0.02;
constexpr double most_copies = 64;
constexpr double most_model_bytes =
    1.5e9;  // of a benchmark; a file of protobuf has less than 2 GiB
constexpr double most_weight_bytes = 256e6;
constexpr std::size_t neighbors = 6;
constexpr double distance_of_kinds =
    4;  // of one family: as much as sizes that differ by a factor of e^2

/// The part of a node's time that its size does not change.
constexpr double seconds_to_start = 2.5e-7;
/// Weights that are far away arrive no faster: bytes a second.
constexpr double fastest_weights = 25e9;

/// What a time grows with. A product with a vector takes as long as its elements take to arrive, one of large matrices
/// as long as its multiplications take: the larger of both (Williams, Waterman, Patterson, CACM 2009, section 3), on a core
/// with 150 GFLOP/s, and 100 GB/s from a cache or 25 GB/s from memory.
double expected_seconds(NodeFamily family, double work, double elements, bool has_far_weights) {
  constexpr double multiplications_a_second = 75e9, cache = 100e9 / 4, memory = 25e9 / 4;
  if (family == NodeFamily::other) return elements / memory;
  return std::max(elements / (has_far_weights ? memory : cache), work / multiplications_a_second);
}

/// Products and convolutions gain a little by size, everything else takes time for each element.
double carried_over(const ProfileEntry& entry, bool entry_has_far_weights,
                    const RuntimeNode& node) {
  const NodeFamily family = family_of(node.kind);
  const double growth = family == NodeFamily::other ? 1 : 0.95;
  const double ratio =
      expected_seconds(family, 1 + node.work, 1 + node.elements, !node.weights.is_near()) /
      expected_seconds(family, 1 + entry.work, 1 + entry.elements, entry_has_far_weights);
  const double fixed = std::min(seconds_to_start, 0.9 * entry.seconds);
  return fixed + (entry.seconds - fixed) * std::pow(ratio, growth);
}

class Measurement {
 public:
  Measurement(OnnxRuntimeWorker& worker, const MeasurementOptions& options)
      : worker_(worker), options_(options) {}

  /// Seconds by block of one run of each of the models.
  Result<std::vector<std::vector<double>>> time(const RuntimeNode& node,
                                                const std::vector<int>& copies, int rounds) {
    TimingRequest request;
    request.scratch_folder = options_.scratch_folder;
    request.threads = options_.threads;
    request.optimized = false;
    request.sessions = 1;
    request.rounds = rounds;
    request.block_seconds = 5e-4;
    for (const int count : copies) {
      LEMMA_ASSIGN_OR_RETURN(Benchmark benchmark, benchmark_of(node, count));
      request.models.push_back(options_.scratch_folder / fmt::format("benchmark_{}.onnx", count));
      LEMMA_RETURN_IF_ERROR(write_file_atomically(request.models.back(), benchmark.model));
      request.inputs.push_back(std::move(benchmark.inputs));
    }
    auto timings = time_models(worker_, request);
    std::error_code ignored;
    for (const fs::path& file : request.models) fs::remove(file, ignored);
    if (!timings) return tl::unexpected(timings.error());
    std::vector<std::vector<double>> result;
    for (ModelTiming& timing : *timings) {
      if (timing.seconds.empty()) return bad_input(timing.failure);
      result.push_back(std::move(timing.seconds));
    }
    return result;
  }

  /// The slope over copies; what a run takes beside them is in none of it.
  Result<ProfileEntry> measure(const RuntimeNode& node) {
    ProfileEntry entry{node.key, node.kind, node.elements,        node.work,    0,
                       0,        0,         Provenance::measured, options_.date};
    LEMMA_ASSIGN_OR_RETURN(const auto first, time(node, {1}, 5));
    const double once = median(first.front());
    const double wanted = wanted_copies(node, once);
    if (once >= seconds_without_slope && (node.weights.is_near() || wanted <= 1)) {
      entry.seconds = once;
      entry.spread = quartile_deviation(first.front());
      entry.repetitions = static_cast<int>(first.front().size());
      return entry;
    }
    const int copies = static_cast<int>(wanted);
    LEMMA_ASSIGN_OR_RETURN(const auto both, time(node, {1, 1 + copies}, 12));
    std::vector<double> slopes;
    for (std::size_t i = 0; i < both[0].size(); ++i)
      slopes.push_back((both[1][i] - both[0][i]) / copies);
    entry.seconds = std::max(least_seconds, median(slopes));
    entry.spread = quartile_deviation(slopes);
    entry.repetitions = static_cast<int>(slopes.size());
    last_run_seconds_ = std::max(0.0, median(both[0]) - entry.seconds);
    return entry;
  }

  /// Copies with weights of their own are as many as have those of the model together, so that each finds its own
  /// as far away as the model does; but no more than there is time for.
  static double wanted_copies(const RuntimeNode& node, double once) {
    const double of_time = std::ceil(seconds_of_copies / once);
    if (node.weights.is_near()) return std::clamp(of_time, 4.0, most_copies);
    const double of_weights =
        std::ceil(std::min(static_cast<double>(node.weights.among_bytes), most_weight_bytes) /
                  node.weight_bytes);
    const double affordable = std::max(4.0, most_seconds_of_copies / once);
    const double room = std::max(1.0, std::floor(most_model_bytes / node.weight_bytes) - 1);
    return std::min({std::max(of_time, of_weights), affordable, most_copies, room});
  }

  /// What the last run took beside its nodes; a good figure if these were fast.
  double last_run_seconds() const { return last_run_seconds_; }

 private:
  OnnxRuntimeWorker& worker_;
  const MeasurementOptions& options_;
  double last_run_seconds_ = 0;
};

}  // namespace

NodeTimes::NodeTimes(std::vector<ProfileEntry> entries) {
  for (const ProfileEntry& entry : entries) add(entry);
}

NodeTimes::NodeTimes(const NodeTimes& other) {
  for (const auto& [key, entry] : other.entries_) add(entry);
}

/// Attributes stand in front of the sizes in a key, the place of weights at its end.
NodeTimes::Known NodeTimes::known(std::string_view key, double work, double elements) {
  const std::size_t place = key.rfind(", weights among");
  return {nullptr, std::log(1 + work), std::log(1 + elements), key.substr(0, key.find('}')),
          place == std::string_view::npos ? std::string_view() : key.substr(place)};
}

double NodeTimes::distance(const Known& a, const Known& b) {
  const double work = a.log_work - b.log_work, elements = a.log_elements - b.log_elements;
  // How many other weights there are matters less than whether there are any.
  const double place = a.place == b.place ? 0 : a.place.empty() != b.place.empty() ? 1 : 0.25;
  return work * work + elements * elements + (a.attributes == b.attributes ? 0 : 1) + place;
}

void NodeTimes::add(const ProfileEntry& entry) {
  const auto [place, is_new] = entries_.insert_or_assign(entry.key, entry);
  if (!is_new) return;
  Known added = known(place->first, entry.work, entry.elements);
  added.entry = &place->second;
  by_kind_[entry.kind].push_back(added);
}

NodeTimes NodeTimes::without(const std::set<std::string>& keys) const {
  std::vector<ProfileEntry> left;
  for (const auto& [key, entry] : entries_)
    if (!keys.contains(key)) left.push_back(entry);
  return NodeTimes(std::move(left));
}

double NodeTimes::run_seconds() const {
  const auto entry = entries_.find(std::string(run_key));
  return entry == entries_.end() ? 0 : entry->second.seconds;
}

std::vector<NodeTimes::Near> NodeTimes::near(const RuntimeNode& node, bool only_kind) const {
  const Known sought = known(node.key, node.work, node.elements);
  std::vector<Near> result;
  for (const auto& [kind, entries] : by_kind_) {
    const bool is_same = kind == node.kind;
    if (!is_same && (only_kind || kind == run_key || kind.starts_with(operator_kind) ||
                     family_of(kind) != family_of(node.kind)))
      continue;
    for (const Known& entry : entries)
      result.push_back({distance(entry, sought) + (is_same ? 0 : distance_of_kinds), &entry});
  }
  const std::size_t count = std::min(neighbors, result.size());
  std::partial_sort(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(count),
                    result.end(), [](const Near& a, const Near& b) {
                      return std::tie(a.distance, a.known->entry->key) <
                             std::tie(b.distance, b.known->entry->key);
                    });
  result.resize(count);
  return result;
}

std::optional<Cost> NodeTimes::find(const RuntimeNode& node, double farthest) const {
  if (const auto known = entries_.find(node.key); known != entries_.end()) {
    const ProfileEntry& entry = known->second;
    return Cost{entry.seconds, entry.spread, entry.provenance};
  }
  const std::vector<Near> neighbors_of = near(node, farthest < infinity);
  if (neighbors_of.empty() || neighbors_of.front().distance > farthest) return std::nullopt;
  double weights = 0, sum = 0, squares = 0;
  Provenance provenance = Provenance::interpolated;
  for (const auto& [distance, known] : neighbors_of) {
    const double weight = 1 / (0.01 + distance);
    const double logarithm = std::log(carried_over(*known->entry, !known->place.empty(), node));
    weights += weight;
    sum += weight * logarithm;
    squares += weight * logarithm * logarithm;
    provenance = std::max(provenance, known->entry->provenance);
  }
  const double mean = sum / weights;
  const double variance = std::max(0.0, squares / weights - mean * mean);
  const double least = node.weights.is_near() ? 0 : node.weight_bytes / fastest_weights;
  const double seconds = std::max({least_seconds, least, std::exp(mean)});
  return Cost{seconds, seconds * std::sqrt(variance), provenance};
}

GraphPrice price_of(const RuntimeGraph& graph, const NodeTimes& times) {
  GraphPrice price;
  price.unknown = graph.unpriced;
  price.cost = {times.run_seconds(), 0, Provenance::measured};
  for (const RuntimeNode& node : graph.nodes) {
    const auto cost = times.find(node);
    if (!cost) {
      ++price.unknown;
      continue;
    }
    price.cost.seconds += cost->seconds;
    price.cost.spread += cost->spread;
    price.cost.provenance = std::max(price.cost.provenance, cost->provenance);
  }
  return price;
}

Result<std::size_t> measure_nodes(OnnxRuntimeWorker& worker, ProfileDatabase& database,
                                  const RuntimeIdentity& target,
                                  const std::vector<RuntimeNode>& nodes, NodeTimes& times,
                                  const MeasurementOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::map<std::string, const RuntimeNode*> missing;
  for (const RuntimeNode& node : nodes)
    if (!times.is_measured(node.key)) missing.emplace(node.key, &node);
  std::vector<const RuntimeNode*> order;
  for (const auto& [key, node] : missing) order.push_back(node);
  std::stable_sort(order.begin(), order.end(),
                   [](const RuntimeNode* a, const RuntimeNode* b) { return a->work > b->work; });
  Measurement measurement(worker, options);
  std::vector<double> run_seconds;
  std::size_t measured = 0, done = 0;
  for (const RuntimeNode* node : order) {
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (taken > options.seconds || (options.is_interrupted && options.is_interrupted())) break;
    if (options.on_progress) options.on_progress(done++, order.size());
    const auto entry = measurement.measure(*node);
    if (!entry) {
      LEMMA_RETURN_IF_ERROR(worker.version(0));  // it ended: no other node can be measured either
      continue;
    }
    LEMMA_RETURN_IF_ERROR(database.put(target, std::span(&*entry, 1)));
    times.add(*entry);
    ++measured;
    if (entry->seconds < 2e-6 && measurement.last_run_seconds() > 0)
      run_seconds.push_back(measurement.last_run_seconds());
  }
  if (times.run_seconds() == 0 && !run_seconds.empty()) {
    const ProfileEntry run{std::string(run_key),
                           std::string(run_key),
                           0,
                           0,
                           median(run_seconds),
                           quartile_deviation(run_seconds),
                           static_cast<int>(run_seconds.size()),
                           Provenance::measured,
                           options.date};
    LEMMA_RETURN_IF_ERROR(database.put(target, std::span(&run, 1)));
    times.add(run);
  }
  return measured;
}

}  // namespace lemma
