#include "profiler/node_measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "ir/files.h"
#include "profiler/model_timing.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

constexpr double least_seconds = 1e-7;  // no node takes less
constexpr double seconds_without_slope =
    1e-3;  // what a run takes beside the node does not matter here
constexpr double seconds_of_copies = 4e-4;
constexpr int most_copies = 64;
constexpr std::size_t neighbors = 4;

/// With the size of a node its time grows a little slower than its work.
constexpr double growth = 0.9;

double distance(const ProfileEntry& entry, const RuntimeNode& node) {
  const double work = std::log((1 + entry.work) / (1 + node.work));
  const double elements = std::log((1 + entry.elements) / (1 + node.elements));
  // Attributes stand in front of the sizes.
  const auto head = [](const std::string& key) { return key.substr(0, key.find('}')); };
  const auto place = [](const std::string& key) {
    const std::size_t found = key.rfind(", weights in");
    return found == std::string::npos ? std::string() : key.substr(found);
  };
  return work * work + elements * elements + (head(entry.key) == head(node.key) ? 0 : 1) +
         (place(entry.key) == place(node.key) ? 0 : 1);
}

double carried_over(const ProfileEntry& entry, const RuntimeNode& node) {
  const double ratio = std::max((1 + node.work) / (1 + entry.work), 1e-9);
  return entry.seconds * std::pow(ratio, growth);
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
    request.flushed_bytes = node.weights == WeightPlace::memory
                                ? static_cast<std::size_t>(2 * options_.caches.last_bytes)
                                : 0;
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
    if (once >= seconds_without_slope && node.weights != WeightPlace::last_cache) {
      entry.seconds = once;
      entry.spread = quartile_deviation(first.front());
      entry.repetitions = static_cast<int>(first.front().size());
      return entry;
    }
    // Copies that are more than the second cache holds find their weights in the last one.
    const double least = node.weights == WeightPlace::last_cache
                             ? std::ceil(2 * options_.caches.second_bytes / node.weight_bytes)
                             : 4;
    const int copies =
        static_cast<int>(std::clamp(std::ceil(seconds_of_copies / once),
                                    std::min(least, 1.0 * most_copies), 1.0 * most_copies));
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

void NodeTimes::add(const ProfileEntry& entry) {
  if (entries_.insert_or_assign(entry.key, entry).second)
    keys_by_kind_[entry.kind].push_back(entry.key);
}

NodeTimes NodeTimes::without(const std::set<std::string>& keys) const {
  std::vector<ProfileEntry> left;
  for (const auto& [key, entry] : entries_)
    if (!keys.contains(key)) left.push_back(entry);
  return NodeTimes(std::move(left));
}

double NodeTimes::run_seconds() const {
  const auto found = entries_.find(std::string(run_key));
  return found == entries_.end() ? 0 : found->second.seconds;
}

std::optional<Cost> NodeTimes::find(const RuntimeNode& node) const {
  if (const auto known = entries_.find(node.key); known != entries_.end()) {
    const ProfileEntry& entry = known->second;
    return Cost{entry.seconds, entry.spread, entry.provenance};
  }
  const auto kind = keys_by_kind_.find(node.kind);
  if (kind == keys_by_kind_.end()) return std::nullopt;
  std::vector<std::pair<double, const ProfileEntry*>> near;
  for (const std::string& key : kind->second) {
    const ProfileEntry& entry = entries_.at(key);
    near.emplace_back(distance(entry, node), &entry);
  }
  const std::size_t count = std::min(neighbors, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                    [](const auto& a, const auto& b) {
                      return std::tie(a.first, a.second->key) < std::tie(b.first, b.second->key);
                    });
  double weights = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = 1 / (0.01 + near[i].first);
    const double logarithm = std::log(carried_over(*near[i].second, node));
    weights += weight;
    sum += weight * logarithm;
    squares += weight * logarithm * logarithm;
  }
  const double mean = sum / weights;
  const double variance = std::max(0.0, squares / weights - mean * mean);
  const double seconds = std::max(least_seconds, std::exp(mean));
  return Cost{seconds, seconds * std::sqrt(variance), Provenance::interpolated};
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
                                  const TargetIdentity& target,
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
