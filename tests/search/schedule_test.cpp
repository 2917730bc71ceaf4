#include "search/schedule.h"

#include <regex>

#include <gmock/gmock.h>

#include "ir/graph_text.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of_passes() {
  std::vector<std::string> names;
  for (const SearchPass& pass : searching_passes()) names.emplace_back(pass.name);
  names.emplace_back(choosing_pass().name);
  return names;
}

TEST(Schedule, TheDocumentHasTheSamePasses) {
  const auto page = read_text_file("docs/search.md");
  ASSERT_TRUE(page) << page.error().message;
  const std::size_t begin = page->find("\n## Passes\n"), end = page->find("\n## Strategies\n");
  ASSERT_TRUE(begin < end && end != std::string::npos);
  const std::string section = page->substr(begin, end - begin);
  std::vector<std::string> names;
  const std::regex row("\n\\| `([^`]*)`");
  for (std::sregex_iterator i(section.begin(), section.end(), row), none; i != none; ++i)
    names.push_back((*i)[1]);
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.back(), "folding");  // and the explanation, which are no passes
  names.pop_back();
  EXPECT_EQ(names, names_of_passes());
}

/// The first words of what is reported.
std::vector<std::string> steps_of(SearchOptions options, const Graph& graph) {
  std::vector<std::string> steps;
  options.on_stage = [&steps](const std::string& step) { steps.push_back(step); };
  const auto result = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
  EXPECT_TRUE(result) << result.error().message;
  return steps;
}

TEST(Schedule, StrategiesChooseThePasses) {
  const auto graph = parse_graph(R"(graph "g"
  input %0 "x" : f32[2, 3]
  %1 = Neg(%0)
  %2 = Neg(%1)
  output "y" = %2
)");
  ASSERT_TRUE(graph) << graph.error().message;
  SearchOptions options;
  options.time_limit_seconds = 1000;
  options.left_out = LeftOut::nothing;
  options.strategy = Strategy::backtracking;
  EXPECT_THAT(steps_of(options, *graph), ElementsAre("backtracking", "choice", "folding"));
  options.strategy = Strategy::saturation;
  options.explain = true;
  options.rounds = 1;
  const std::vector<std::string> steps = steps_of(options, *graph);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "saturation"), 1);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "saturation of parts"), 0);
  EXPECT_EQ(steps.back(), "explanation");
}

/// A pass that finds no memory begins anew from the graphs before it, with lower limits; the others are run.
TEST(Schedule, MemoryThatIsShortLowersLimits) {
  Graph graph;
  ASSERT_TRUE(graph.add_output("y", *graph.add_input("x", {DataType::f32, Shape{2, 3}})));
  const SearchOptions options;
  const RuleSets rules;
  SearchProgress progress(options);
  const OperatorCosts costs = testing::cpu_costs();
  const SearchContext given{graph, costs, options, rules, progress, Deadline::after(100), 0};
  const auto always = [](const SearchContext& /*context*/, const Candidates& /*all*/) {
    return true;
  };
  const std::array passes = {
      SearchPass{"greedy", always, 1,
                 [](const SearchContext& context, Candidates all) -> Result<Candidates> {
                   ++all.figures.rounds;
                   if (context.scaled(160) > 10) throw std::bad_alloc();
                   return all;
                 }},
      SearchPass{"never",
                 [](const SearchContext& /*context*/, const Candidates& /*all*/) { return false; },
                 1,
                 [](const SearchContext& /*context*/, Candidates /*all*/) -> Result<Candidates> {
                   return internal_error("it is not its turn");
                 }},
      SearchPass{"with a share", always, 0.5,
                 [](const SearchContext& context, Candidates all) -> Result<Candidates> {
                   EXPECT_LE(context.deadline.remaining(), 50);
                   EXPECT_EQ(context.scaled(160), 10U);
                   all.figures.passes = 7;
                   return all;
                 }},
  };
  const auto all = run_passes(given, passes, Candidates{});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->figures.rounds, 1U);
  EXPECT_EQ(all->figures.passes, 7U);
}

}  // namespace
}  // namespace lemma
