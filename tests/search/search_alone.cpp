// The search for one model alone, without what `lemma optimize` does beside it: nothing is compared, run or written. For models
// whose sizes are too large to compute them (bench/search partial --larger).
//
//   search_alone MODEL DEVICE RULES [SECONDS]
//
// prints one JSON object: seconds of the processor, e-nodes, costs.

#include <ctime>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "costmodel/device.h"
#include "frontend_onnx/import.h"
#include "rule_language/rule_database.h"
#include "search/numbers.h"
#include "search/optimize.h"

namespace lemma {
namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<std::string> searched(const std::filesystem::path& model,
                             const std::filesystem::path& description,
                             const std::filesystem::path& rules, double limit) {
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel read, import_model(model));
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase database, load_rules(rules));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(description));
  SearchOptions options;
  options.takes_partial = device.takes_partial;
  options.time_limit_seconds = limit;
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, with_numbers_as_operators(read.graph));
  const double begin = processor_seconds();
  LEMMA_ASSIGN_OR_RETURN(const SearchResult result, optimize(graph, database, costs, options));
  return fmt::format(
      R"({{"seconds": {:.3f}, "egraph_nodes": {}, "before": {}, "after": {}, "stop_reason": "{}"}})",
      processor_seconds() - begin, result.egraph_nodes, result.before.seconds, result.after.seconds,
      result.stop_reason);
}

}  // namespace
}  // namespace lemma

int main(int count, char** arguments) {
  if (count < 4 || count > 5) {
    fmt::print(stderr, "usage: search_alone MODEL DEVICE RULES [SECONDS]\n");
    return 2;
  }
  const auto said = lemma::searched(arguments[1], arguments[2], arguments[3],
                                    count == 5 ? std::stod(arguments[4]) : 600);
  if (!said)
    fmt::print(stderr, "{}\n", said.error().message);
  else
    fmt::print("{}\n", *said);
  return said ? 0 : 3;
}
