#include "plans/calibration/operators_on_ranks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "plans/planner/operator_times.h"
#include "plans/planner/planner.h"

namespace lemma::plans {

namespace {

/// Knows no costs, and keeps what it is asked for.
class AskedOperators : public CostProvider {
 public:
  std::optional<Cost> find(const CostKey& key) const override {
    const std::lock_guard lock(mutex_);
    if (key.sizes_fit) keys_.try_emplace(operator_text(key), key);
    return std::nullopt;
  }
  const std::map<std::string, CostKey>& keys() const { return keys_; }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, CostKey> keys_;
};

}  // namespace

Result<std::vector<LoneOperator>> operators_in_all_ways(const Graph& graph,
                                                        const clusters::Cluster& cluster,
                                                        const Device& device) {
  const auto asked = std::make_shared<AskedOperators>();
  const OperatorCosts costs(priced_by_roofline(device), {asked});
  for (const clusters::Mesh& mesh : cluster.meshes) {
    PlannerRequest request;
    request.mesh = mesh;
    request.costs = &costs;
    LEMMA_RETURN_IF_ERROR(plan_for(graph, request));
  }
  const Roofline roofline(device);
  std::vector<LoneOperator> operators;
  for (const auto& [text, key] : asked->keys()) {
    CostKey variable = key;  // no operand is a constant
    variable.constant.clear();
    auto alone = single_operator(variable);
    const double predicted = roofline.find(key)->seconds;
    if (alone && predicted > 0) operators.push_back({text, predicted, std::move(*alone)});
  }
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.predicted > b.predicted; });
  return operators;
}

Result<std::vector<clusters::MeasuredOperator>> operators_on_ranks(
    Communicator& communicator, RankTimer& timer, const std::vector<LoneOperator>& operators,
    const OperatorsOnRanksRequest& request) {
  std::vector<clusters::MeasuredOperator> measured;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const bool is_over, timer.is_over());
    if (is_over) break;
    if (request.on_progress) request.on_progress(i, operators.size());
    communicator.enter(operators[i].text);
    const SingleOperator& alone = operators[i].alone;
    const auto seconds = timer.seconds([&]() -> Result<void> {
      LEMMA_RETURN_IF_ERROR(request.engine(i, alone.graph, alone.inputs));
      return {};
    });
    if (seconds) measured.push_back({operators[i].text, *seconds, operators[i].predicted});
    if (!seconds && communicator.is_over()) return communicator.left();
  }
  std::sort(measured.begin(), measured.end(),
            [](const auto& a, const auto& b) { return a.text < b.text; });
  return measured;
}

}  // namespace lemma::plans
