// Graphs that equal a model, good and bad ones: a few rules drawn at random, each applied wherever it fits. For
// measurements of how well costs predict times (bench/models predictions).
//
//   random_variants MODEL FOLDER RULES COUNT SEED
//
// writes at most COUNT distinct models FOLDER/random_0.onnx, random_1.onnx, ... The same arguments give the same files.

#include <cstdio>
#include <filesystem>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>

#include "costmodel/device.h"
#include "egraph/pattern.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "outputs/files.h"
#include "rule_language/rule_database.h"
#include "search/fold_constants.h"
#include "search/neighborhood.h"
#include "search/rule_subset.h"

namespace lemma {
namespace {

constexpr std::size_t most_places = 24;    // of one rule in one variant
constexpr std::size_t most_rules = 3;      // of one variant
constexpr std::size_t most_growth = 2;     // of the predicted cost
constexpr std::size_t tries_for_each = 4;  // variants drawn for each that is wanted

class Walk {
 public:
  Walk(std::span<const CompiledRule> rules, const OperatorCosts& costs, std::uint64_t seed)
      : rules_(rules), costs_(costs), random_(seed) {}

  /// The graph after some rules, each drawn from those that fit then.
  Result<Graph> variant(const Graph& original) {
    Graph graph = original;
    const std::size_t count = 1 + random_() % most_rules;
    for (std::size_t i = 0; i < count; ++i) {
      const std::set<std::uint32_t> fitting = rules_that_fit(graph);
      if (fitting.empty()) break;
      const auto drawn =
          std::next(fitting.begin(), static_cast<std::ptrdiff_t>(random_() % fitting.size()));
      LEMMA_ASSIGN_OR_RETURN(graph, applied_everywhere(std::move(graph), rules_[*drawn]));
    }
    return graph;
  }

 private:
  Neighborhood around(const Graph& graph, std::span<const CompiledRule> rules, double bound) const {
    NeighborhoodOptions options;
    options.match_limit = most_places;
    return neighborhood(graph, rules, costs_, bound, options);
  }

  std::set<std::uint32_t> rules_that_fit(const Graph& graph) const {
    std::set<std::uint32_t> result;
    for (const Neighbor& neighbor :
         around(graph, rules_, std::numeric_limits<double>::infinity()).neighbors)
      result.insert(neighbor.rewrite.rule);
    return result;
  }

  Result<Graph> applied_everywhere(Graph graph, const CompiledRule& rule) const {
    std::set<std::uint64_t> met;
    double bound = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < most_places; ++i) {
      const Neighborhood reachable = around(graph, {&rule, 1}, bound);
      if (i == 0) bound = most_growth * reachable.cost;
      met.insert(reachable.hash);
      const auto next =
          std::find_if(reachable.neighbors.begin(), reachable.neighbors.end(),
                       [&met](const Neighbor& neighbor) { return !met.contains(neighbor.hash); });
      if (next == reachable.neighbors.end()) break;
      auto changed = rewritten(graph, rule, next->rewrite);
      if (!changed) break;
      graph = std::move(*changed);
    }
    return graph;
  }

  std::span<const CompiledRule> rules_;
  const OperatorCosts& costs_;
  std::mt19937_64 random_;
};

Result<void> write_variants(const std::filesystem::path& model, const std::filesystem::path& folder,
                            const std::filesystem::path& rules, std::size_t count,
                            std::uint64_t seed) {
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read, import_model(model));
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase database, load_rules(rules));
  LEMMA_ASSIGN_OR_RETURN(const auto compiled,
                         compile_rules(relevant_rules(read.graph, database.substitutions())));
  LEMMA_ASSIGN_OR_RETURN(Device device,
                         load_device(rules / "../targets/devices/onnxruntime-cpu.json"));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  Walk walk(compiled, costs, seed);
  std::set<std::string> written;
  for (std::size_t i = 0; i < tries_for_each * count && written.size() < count; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const Graph variant, walk.variant(read.graph));
    auto folded = fold_constants(variant, {});
    if (!folded) continue;
    auto bytes = serialize_model({std::move(*folded), read.envelope});
    if (!bytes || !written.insert(*bytes).second) continue;
    const auto file = folder / fmt::format("random_{}.onnx", written.size() - 1);
    LEMMA_RETURN_IF_ERROR(write_file_atomically(file, *bytes));
  }
  return {};
}

}  // namespace
}  // namespace lemma

int main(int count, char** arguments) {
  if (count != 6) {
    fmt::print(stderr, "usage: random_variants MODEL FOLDER RULES COUNT SEED\n");
    return 2;
  }
  const auto done = lemma::write_variants(arguments[1], arguments[2], arguments[3],
                                          std::stoull(arguments[4]), std::stoull(arguments[5]));
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
  return done ? 0 : 3;
}
