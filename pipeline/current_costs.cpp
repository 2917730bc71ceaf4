#include "pipeline/current_costs.h"

#include <algorithm>

#include "check/usual_sizes.h"

namespace lemma {

namespace {

constexpr double most_learning_seconds = 6;
constexpr double learning = 0.2;  // of the time that is left

}  // namespace

CurrentCosts::CurrentCosts(const OperatorCosts& of_device, const Job& job)
    : of_device_(of_device), costs_(of_device) {
  DimensionBindings sizes;
  for (const auto& [symbol, size] : job.sizes) sizes.emplace(symbol, Dimension(size));
  for (const auto& [symbol, size] : usual_sizes(job.model.graph).typical)
    sizes.emplace(symbol, Dimension(size));
  take_sizes(std::move(sizes));
}

void CurrentCosts::take_sizes(DimensionBindings sizes) {
  AssumedSizes assumed;
  assumed.named = std::move(sizes);
  of_device_ = of_device_.at_sizes(std::move(assumed));
  costs_ = of_device_;
}

double CurrentCosts::seconds_at(const Graph& graph, DimensionBindings sizes) const {
  AssumedSizes assumed;
  assumed.named = std::move(sizes);
  return cost_of(graph, of_device_.at_sizes(std::move(assumed))).seconds;
}

Result<void> CurrentCosts::open(const Job& job, OperatorTimer* timer, const Deadline& deadline) {
  const double parameter_bytes = cost_of(job.model.graph, costs_).parameter_bytes;
  LEMMA_ASSIGN_OR_RETURN(
      learned_, LearnedCosts::open(job.options.costs, timer, job.options.threads, parameter_bytes));
  costs_ = learned_->in_front_of(of_device_);
  seconds_left_ = std::min(most_learning_seconds, learning * deadline.remaining());
  const Graph* original = &job.model.graph;
  learn(job, {&original, 1});
  return {};
}

bool CurrentCosts::learn(const Job& job, std::span<const Graph* const> graphs) {
  if (!learned_ || seconds_left_ <= 0 || !learned_->can_learn()) return false;
  job.stage("measuring operators");
  const double before = learned_->seconds_spent();
  const std::size_t measured = learned_->learn(graphs, costs_, seconds_left_);
  seconds_left_ -= learned_->seconds_spent() - before;
  if (measured == 0) return false;
  costs_ = learned_->in_front_of(of_device_);
  return true;
}

}  // namespace lemma
