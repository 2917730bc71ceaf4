#include "profiler/operator_timer.h"

#include <chrono>
#include <span>

#include "profiler/operator_measurement.h"

namespace lemma {

Result<std::size_t> measure_each(const std::vector<CostKey>& keys, WeightPlace weights,
                                 const NodeTimes& times, const MeasurementOptions& options,
                                 const std::function<Result<bool>(const CostKey&)>& measure) {
  const auto begin = std::chrono::steady_clock::now();
  std::size_t measured = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (taken > options.seconds || (options.is_interrupted && options.is_interrupted())) break;
    if (!has_times(keys[i]) || times.is_measured(profiled_operator(keys[i], weights).key)) continue;
    if (options.on_progress) options.on_progress(i, keys.size());
    LEMMA_ASSIGN_OR_RETURN(const bool is_new, measure(keys[i]));
    measured += is_new ? 1 : 0;
  }
  return measured;
}

namespace {

ProfileEntry entry_of(const RuntimeNode& node, const OperatorTime& time, const std::string& date) {
  return {node.key,    node.kind,        node.elements,        node.work, time.seconds,
          time.spread, time.repetitions, Provenance::measured, date};
}

}  // namespace

Result<std::size_t> DirectTimer::measure(ProfileDatabase& database,
                                         const std::vector<CostKey>& keys, WeightPlace weights,
                                         NodeTimes& times, const MeasurementOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const RuntimeIdentity target, identity());
  const auto keep = [&](const ProfileEntry& entry) -> Result<void> {
    LEMMA_RETURN_IF_ERROR(database.put(target, std::span(&entry, 1)));
    times.add(entry);
    return {};
  };
  std::vector<CostKey> missing;
  for (const CostKey& key : keys)
    if (has_times(key) && !times.is_measured(profiled_operator(key, weights).key))
      missing.push_back(key);
  expect(std::move(missing));
  const auto measured =
      measure_each(keys, weights, times, options, [&](const CostKey& key) -> Result<bool> {
        const auto timed = time(key, weights, options);
        if (!timed) {
          const bool is_over = options.is_interrupted && options.is_interrupted();
          if (options.on_refusal && !is_over) options.on_refusal(key, timed.error().message);
          return false;
        }
        LEMMA_RETURN_IF_ERROR(
            keep(entry_of(profiled_operator(key, weights), *timed, options.date)));
        return true;
      });
  if (const auto run = time_of_run(); run && times.run_seconds() == 0) {
    RuntimeNode node;
    node.key = node.kind = run_key;
    LEMMA_RETURN_IF_ERROR(keep(entry_of(node, *run, options.date)));
  }
  return measured;
}

}  // namespace lemma
