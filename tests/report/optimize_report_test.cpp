// What the table of `lemma optimize` tells at a glance.

#include "report/optimize_report.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

OptimizeAnswer answer(const std::string& name, OptimizeStatus status, double before, double after) {
  OptimizeAnswer result;
  result.model = "some/folder/" + name;
  result.status = std::string(lemma::name(status));
  result.report.status = status;
  result.report.before.operators = 120;
  result.report.after.operators = 80;
  result.report.before.seconds = 0.004;
  result.report.after.seconds = 0.002;
  if (before > 0) {
    result.report.timing.state = TimingReport::State::measured;
    result.report.timing.before_seconds = before;
    result.report.timing.after_seconds = after;
    result.report.timing.rounds = 40;
  }
  result.seconds = 12.5;
  return result;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(SummaryTable, TellsWhatAModelGained) {
  const std::string table =
      summary_table({answer("fast.onnx", OptimizeStatus::optimized, 0.003, 0.0015)});
  EXPECT_THAT(table, HasSubstr("fast.onnx"));
  EXPECT_THAT(table, HasSubstr("2.00x"));
  EXPECT_THAT(table, HasSubstr("measured"));
  EXPECT_THAT(table, Not(HasSubstr("models:")));
  EXPECT_LE(widest_line(table), 100U);
}

TEST(SummaryTable, SaysWhereAGainIsOnlyPredicted) {
  const std::string table = summary_table({answer("slow.onnx", OptimizeStatus::optimized, 0, 0)});
  EXPECT_THAT(table, HasSubstr("predicted"));
  EXPECT_THAT(table, HasSubstr("2.00x"));
}

TEST(SummaryTable, EndsWithTheGainOfAllModels) {
  OptimizeAnswer failed;
  failed.model = "broken.onnx";
  failed.status = "failed";
  const std::string table =
      summary_table({answer("a.onnx", OptimizeStatus::optimized, 0.004, 0.001),
                     answer("b.onnx", OptimizeStatus::unchanged, 0.001, 0.001), failed});
  EXPECT_THAT(table,
              HasSubstr("3 models: 1 optimized, 1 unchanged, 1 failed; 2.00 times as fast in "
                        "the geometric mean (2 of 2 measured)\n"));
  EXPECT_LE(widest_line(table), 110U);
}

TEST(SummaryTable, KeepsTimesWhereASecondRunFailed) {
  OptimizeAnswer kept = answer("kept.onnx", OptimizeStatus::unchanged, 0.003, 0.0029);
  kept.report.timing.state = TimingReport::State::not_runnable;
  EXPECT_THAT(summary_table({kept}), HasSubstr("measured"));
  kept.report.timing.before_seconds = kept.report.timing.after_seconds = 0;
  EXPECT_THAT(summary_table({kept}), HasSubstr("predicted"));
}

TEST(DetailedTable, HasTheOtherFigures) {
  const std::string table =
      detailed_table({answer("fast.onnx", OptimizeStatus::optimized, 0.003, 0.0015)});
  for (const char* heading : {"parameters", "max error", "check s", "second judge", "search"})
    EXPECT_THAT(table, HasSubstr(heading));
}

}  // namespace
}  // namespace lemma
