#include "profiler/operator_timer.h"

#include <chrono>

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

Result<std::size_t> DirectTimer::measure(ProfileDatabase& database,
                                         const std::vector<CostKey>& keys, WeightPlace weights,
                                         NodeTimes& times, const MeasurementOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const TargetIdentity target, identity());
  return measure_each(
      keys, weights, times, options, [&](const CostKey& key) -> Result<bool> {
        const auto timed = time(key, weights, options);
        if (!timed) {
          const bool is_over = options.is_interrupted && options.is_interrupted();
          if (options.on_refusal && !is_over) options.on_refusal(key, timed.error().message);
          return false;
        }
        const RuntimeNode node = profiled_operator(key, weights);
        const ProfileEntry entry{node.key,           node.kind,      node.elements,
                                 node.work,          timed->seconds, timed->spread,
                                 timed->repetitions, Provenance::measured, options.date};
        LEMMA_RETURN_IF_ERROR(database.put(target, std::span(&entry, 1)));
        times.add(entry);
        return true;
      });
}

}  // namespace lemma
