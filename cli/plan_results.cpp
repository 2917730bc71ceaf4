#include "cli/plan_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "cli/error_line.h"
#include "report/table.h"

namespace lemma {

double largest_element(const interpreter::Tensor& tensor) {
  double largest = 0;
  for (const double element : tensor.reals())
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest;
}

double largest_difference(const interpreter::Tensor& expected, const interpreter::Tensor& actual,
                          double least_scale) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (expected.sizes() != actual.sizes()) return infinity;
  const std::vector<double> x = expected.reals(), y = actual.reals();
  double difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return infinity;
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  const double largest = std::max(largest_element(expected), least_scale);
  return largest > 0 ? difference / largest : difference;
}

plans::Group all_ranks(const plans::Communicator& communicator) {
  plans::Group all(communicator.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Result<void> share_counts(RankResults& results, plans::Communicator& communicator) {
  for (auto* counts :
       {&results.bytes, &results.messages, &results.planned_bytes, &results.collectives}) {
    const std::uint64_t own = (*counts)[communicator.rank()];
    LEMMA_RETURN_IF_ERROR(communicator.all_gather(all_ranks(communicator),
                                                  std::as_bytes(std::span(&own, 1)),
                                                  std::as_writable_bytes(std::span(*counts))));
  }
  return {};
}

std::string exchanges_text(const RankResults& results) {
  using Align = Table::Align;
  std::vector<std::string> columns = {"rank", "messages", "bytes sent"};
  const bool is_planned = !results.planned_bytes.empty();
  if (is_planned) columns.insert(columns.end(), {"as planned", "collectives"});
  Table table(columns, std::vector<Align>(columns.size(), Align::right));
  for (std::size_t rank = 0; rank < results.outputs.size(); ++rank) {
    std::vector<std::string> row = {fmt::format("{}", rank),
                                    fmt::format("{}", results.messages[rank]),
                                    fmt::format("{}", results.bytes[rank])};
    if (is_planned) {
      row.push_back(fmt::format("{}", results.planned_bytes[rank]));
      row.push_back(fmt::format("{}", results.collectives[rank]));
    }
    table.add(std::move(row));
  }
  return table.text();
}

plans::Ending ending_of(const Error& error) {
  return {printable("lemma: " + error.message), static_cast<int>(exit_code_of(error.kind))};
}

}  // namespace lemma
