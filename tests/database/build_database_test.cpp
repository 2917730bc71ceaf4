// The job of `lemma rules build` as a function of the library: the enumeration runs in this process.

#include "database/build_database.h"

#include <gtest/gtest.h>

#include "outputs/scratch.h"
#include "rule_language/rule_database.h"
#include "system/program.h"

namespace lemma::database {
namespace {

namespace fs = std::filesystem;

DatabaseOptions small_database(const fs::path& folder) {
  DatabaseOptions options;
  options.name = "small";
  options.folders = {"rules", {}, folder / "work", folder / "built"};
  options.enumeration.sets = {"rules/operator_sets/small.set"};
  options.enumeration.generation.most_operators = 1;
  return options;
}

TEST(BuildDatabase, IsResumedAfterAnInterruption) {
  const TemporaryDirectory folder;
  DatabaseOptions options = small_database(folder.path());
  options.build.cancelled = [] { return true; };
  auto report = build_database(options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, interrupted);
  EXPECT_FALSE(fs::exists(options.folders.output));

  options.build.cancelled = nullptr;
  report = build_database(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->enumeration.graphs, 14);
  EXPECT_GT(report->build.candidates.size(), 0U);
  const auto rules = load_rules(options.folders.output);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->substitutions().size(),
            report->build.count_rules().basis + report->build.count_rules().derived_and_kept);

  std::size_t answers = 0;
  options.on_resumed = [&answers](std::size_t known) { answers = known; };
  options.enumeration.enumerate =
      [](const fs::path&, const fs::path&,
         const generator::GenerateOptions&) -> Result<EnumerationFigures> {
    return bad_input("the candidates were not kept");
  };
  const auto again = build_database(options);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_GT(answers, 0U);
  EXPECT_EQ(again->enumeration.classes, report->enumeration.classes);
}

TEST(BuildDatabase, ReportsTheErrorOfTheEnumeration) {
  const TemporaryDirectory folder;
  DatabaseOptions options = small_database(folder.path());
  options.enumeration.sets = {"rules/operator_sets/missing.set"};
  const auto report = build_database(options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message,
            "rules/operator_sets/missing.set: there is no such operator set");
}

}  // namespace
}  // namespace lemma::database
