#include "pipeline/learned_costs.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "outputs/scratch.h"
#include "rule_language/rule_database.h"
#include "system/clock.h"
#include "system/program.h"

namespace lemma {

Result<LearnedCosts> LearnedCosts::open(const CostOptions& options, OperatorTimer* timer,
                                        int threads, double parameter_bytes) {
  LearnedCosts result;
  result.replay_ = options.replay;
  if (options.replay || (options.database.empty() && options.shipped.empty())) return result;
  result.weights_ = weight_place(parameter_bytes, second_cache_bytes());
  result.target_.threads =
      threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  result.target_.processor = processor_identity();
  if (!options.shipped.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(options.shipped));
    const auto profiles = parse_profile(text, Provenance::measured_elsewhere);
    if (!profiles) return bad_input(options.shipped.string() + ": " + profiles.error().message);
    for (const TargetProfile& profile : *profiles)
      if (profile.target.threads == result.target_.threads)
        for (const ProfileEntry& entry : profile.entries) result.elsewhere_.add(entry);
  }
  if (options.database.empty()) return result;
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database, ProfileDatabase::open(options.database));
  result.database_ = std::make_unique<ProfileDatabase>(std::move(database));
  LEMMA_RETURN_IF_ERROR(result.read_database(options, timer));
  if (options.measures && timer != nullptr && result.report_.message.empty()) result.timer_ = timer;
  return result;
}

/// Whose times are read: those of the runtime that is here, or of the one that was measured last.
Result<void> LearnedCosts::read_database(const CostOptions& options, OperatorTimer* timer) {
  const auto here = timer != nullptr ? timer->identity()
                                     : Result<RuntimeIdentity>(bad_input("it is not started"));
  if (here) {
    target_ = *here;
  } else {
    report_.message =
        fmt::format("{}cannot be measured: {}", options.runtime, here.error().message);
    LEMMA_ASSIGN_OR_RETURN(const auto targets, database_->targets());
    for (const RuntimeIdentity& known : targets) {
      const bool is_here = known.threads == target_.threads && known.processor == target_.processor;
      if ((is_here || options.any_device) && known.runtime.starts_with(options.runtime))
        target_ = known;
    }
  }
  LEMMA_ASSIGN_OR_RETURN(auto entries, database_->entries(target_));
  times_ = NodeTimes(std::move(entries));
  return {};
}

std::size_t LearnedCosts::learn(std::span<const Graph* const> graphs, const OperatorCosts& costs,
                                double seconds) {
  if (timer_ == nullptr) return 0;
  const auto begin = std::chrono::steady_clock::now();
  const TemporaryDirectory scratch;
  if (!scratch.good()) return 0;
  MeasurementOptions options;
  options.scratch_folder = scratch.path();
  options.threads = target_.threads;
  options.date = today();
  options.seconds = seconds;
  const auto measured =
      timer_->measure(*database_, distinct_keys(graphs, costs), weights_, times_, options);
  if (!measured) report_.message = measured.error().message;
  report_.measured_now += measured.value_or(0);
  report_.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return measured.value_or(0);
}

OperatorCosts LearnedCosts::in_front_of(const OperatorCosts& costs) {
  if (replay_) return costs.behind({std::make_shared<const ReplayedCosts>(*replay_)});
  asked_ = {std::make_shared<const MeasuredCosts>(times_, weights_),
            std::make_shared<const MeasuredCosts>(elsewhere_, weights_)};
  return costs.behind({asked_.begin(), asked_.end()});
}

CostReport LearnedCosts::report() const {
  CostReport result = report_;
  if (replay_) result.recorded = *replay_;
  for (const auto& provider : asked_)
    for (const auto& [key, answer] : provider->recorded()) result.recorded.emplace(key, answer);
  return result;
}

}  // namespace lemma
