#include "plans/planner/operator_times.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::plans {

namespace {

std::string types_text(const std::vector<TensorType>& types) {
  std::vector<std::string> texts;
  for (const TensorType& type : types)
    texts.push_back(type.data_type == DataType::undefined ? "_" : text(type));
  return fmt::format("{}", fmt::join(texts, ", "));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string operator_text(const CostKey& key) {
  return fmt::format("{}{} {} -> {}", key.op->name, text(key.attributes), types_text(key.inputs),
                     types_text(key.outputs));
}

OperatorTimes::OperatorTimes(const std::vector<clusters::MeasuredOperator>& measured, Device device)
    : predicted_(std::move(device)) {
  std::map<std::string, std::vector<double>> ratios;
  for (const clusters::MeasuredOperator& entry : measured) {
    seconds_.emplace(entry.text, entry.seconds);
    const double ratio = entry.seconds / entry.predicted;
    ratios[entry.text.substr(0, entry.text.find('{'))].push_back(ratio);
    ratios[""].push_back(ratio);
  }
  for (auto& [name, values] : ratios) ratios_.emplace(name, median(std::move(values)));
}

std::optional<Cost> OperatorTimes::find(const CostKey& key) const {
  if (seconds_.empty()) return std::nullopt;
  if (const auto known = seconds_.find(operator_text(key)); known != seconds_.end())
    return Cost{known->second, 0, Provenance::measured};
  auto cost = predicted_.find(key);
  if (!cost) return std::nullopt;
  const auto named = ratios_.find(key.op->name);
  cost->seconds *= named != ratios_.end() ? named->second : ratios_.at("");
  cost->provenance = Provenance::interpolated;
  return cost;
}

}  // namespace lemma::plans
