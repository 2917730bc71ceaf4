#include "costmodel/cost_provider.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lemma {

std::string_view name(Provenance provenance) {
  switch (provenance) {
    case Provenance::measured: return "measured";
    case Provenance::interpolated: return "interpolated";
    case Provenance::measured_elsewhere: return "measured elsewhere";
    case Provenance::analytic: return "analytic";
  }
  return "?";
}

void CostObjections::add(const CostKey& key, const Cost& cost) {
  std::string of_key = lemma::text(key);
  const std::lock_guard lock(mutex_);
  if (!text_.empty() && key_ <= of_key) return;
  text_ = fmt::format(
      "a cost provider says that {} takes {} seconds; a cost has to be finite and not negative",
      of_key, cost.seconds);
  key_ = std::move(of_key);
}

std::string CostObjections::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

std::optional<Cost> ProviderChain::find(const CostKey& key) const {
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    std::optional<Cost> cost = providers_[i]->find(key);
    if (cost && objections_ && !(std::isfinite(cost->seconds) && cost->seconds >= 0)) {
      objections_->add(key, *cost);
      cost = i + 1 < providers_.size() ? std::nullopt : std::optional(Cost{});
    }
    if (!cost && i + 1 < providers_.size()) continue;
    if (i > 0 || !cost) {
      const std::lock_guard lock(mutex_);
      misses_.try_emplace(text(key), Miss{key, cost ? cost->seconds : 0});
    }
    return cost;
  }
  return std::nullopt;
}

std::vector<ProviderChain::Miss> ProviderChain::misses() const {
  const std::lock_guard lock(mutex_);
  std::vector<Miss> result;
  for (const auto& [text, miss] : misses_) result.push_back(miss);
  std::stable_sort(result.begin(), result.end(),
                   [](const Miss& a, const Miss& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace lemma
