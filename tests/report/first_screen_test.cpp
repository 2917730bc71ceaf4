// What the first screen of the report says.

#include "report/first_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A model of the predicted cost 4 ms, which becomes 2 ms.
OptimizeAnswer answer(const std::string& name, OptimizeStatus status) {
  OptimizeAnswer result;
  result.model = "some/folder/" + name;
  result.status = std::string(lemma::name(status));
  result.report.status = status;
  result.report.before.operators = 120;
  result.report.after.operators = status == OptimizeStatus::unchanged ? 120 : 80;
  result.report.before.seconds = 0.004;
  result.report.after.seconds = status == OptimizeStatus::unchanged ? 0.004 : 0.002;
  return result;
}

OptimizeAnswer measured(OptimizeAnswer answer, double before, double after) {
  TimingReport& timing = answer.report.timing;
  timing.state = TimingReport::State::measured;
  timing.runtime = "ONNX Runtime 1.31.1";
  timing.before_seconds = before;
  timing.after_seconds = after;
  timing.rounds = 40;
  timing.ratio = {after / before, 1.1 * after / before};
  answer.report.sizes = "x:1,3,16,16";
  return answer;
}

std::string page(const std::vector<OptimizeAnswer>& answers,
                 const std::map<std::string, ReportedProof>& proofs = {}) {
  std::vector<ModelSection> sections;
  for (std::size_t i = 0; i < answers.size(); ++i)
    sections.push_back({"model-" + std::to_string(i + 1), "2 Mul, Conv -> Conv"});
  return first_screen({answers, sections, proofs, {"1.2.3", "some processor", 4, {"--jobs 2"}}});
}

TEST(GainSentence, HasTheFiguresOfOneModelAndItsSizes) {
  EXPECT_EQ(gain_sentence({measured(answer("a.onnx", OptimizeStatus::optimized), 0.004, 0.002)}),
            "a.onnx runs 2.00 times as fast: 2.00 ms instead of 4.00 ms in ONNX Runtime 1.31.1 at "
            "x:1,3,16,16; with 97.5% confidence at least 1.82 times as fast.");
}

TEST(GainSentence, SaysWhatIsOnlyPredicted) {
  EXPECT_EQ(
      gain_sentence({answer("a.onnx", OptimizeStatus::optimized)}),
      "a.onnx is predicted to run 2.00 times as fast: 2.00 ms instead of 4.00 ms; nothing was "
      "timed.");
  EXPECT_EQ(
      gain_sentence({answer("a.onnx", OptimizeStatus::optimized),
                     answer("b.onnx", OptimizeStatus::unchanged)}),
      "1 of 2 models is predicted to run faster: 1.41 times as fast in the geometric mean of "
      "the 2 that were written; a.onnx gains the most, 2.00 times as fast (2.00 ms instead of "
      "4.00 ms, predicted). Nothing was timed.");
}

TEST(GainSentence, IsOfMeasuredModelsWhereThereAreSome) {
  // A larger gain that is only predicted is none beside one that was measured.
  EXPECT_EQ(
      gain_sentence({answer("predicted.onnx", OptimizeStatus::optimized),
                     measured(answer("kept.onnx", OptimizeStatus::unchanged), 0.01, 0.009),
                     measured(answer("fast.onnx", OptimizeStatus::optimized), 0.0044, 0.004)}),
      "2 of 3 models run faster: 1.05 times as fast in the geometric mean of the 2 that were "
      "measured; fast.onnx gains the most, 1.10 times as fast (4.00 ms instead of 4.40 ms in ONNX "
      "Runtime 1.31.1 at x:1,3,16,16).");
}

TEST(GainSentence, SaysThatAModelWasKept) {
  EXPECT_EQ(gain_sentence({measured(answer("a.onnx", OptimizeStatus::unchanged), 0.004, 0.003)}),
            "a.onnx was kept as it was; it takes 4.00 ms in ONNX Runtime 1.31.1 at x:1,3,16,16.");
}

TEST(FirstScreen, SortsByGainTheMeasuredOnesFirst) {
  const std::string html =
      page({answer("predicted.onnx", OptimizeStatus::optimized),
            measured(answer("little.onnx", OptimizeStatus::optimized), 0.004, 0.0036),
            measured(answer("much.onnx", OptimizeStatus::optimized), 0.004, 0.001)});
  const std::string rows = html.substr(html.find("<table"));
  EXPECT_LT(rows.find("much.onnx"), rows.find("little.onnx"));
  EXPECT_LT(rows.find("little.onnx"), rows.find("predicted.onnx"));
  EXPECT_THAT(rows, HasSubstr("width:25.0%"));
  EXPECT_THAT(rows, HasSubstr("<a href=\"#model-3\">much.onnx</a>"));
}

TEST(FirstScreen, FoldsWhatWasKeptAndSaysWhyInItsRow) {
  OptimizeAnswer kept = measured(answer("kept.onnx", OptimizeStatus::unchanged), 0.004, 0.003);
  kept.report.sizes_are_guessed = true;
  kept.message = "none of 3 cheaper graphs was faster";
  const std::string html =
      page({kept, measured(answer("fast.onnx", OptimizeStatus::optimized), 0.004, 0.001)});
  const std::size_t fold = html.find("<details><summary>1 model kept as it was</summary>");
  ASSERT_NE(fold, std::string::npos);
  EXPECT_EQ(html.find("kept.onnx"), html.find("kept.onnx", fold));
  const std::string folded = html.substr(fold, html.find("</details>") - fold);
  EXPECT_THAT(folded, HasSubstr("unchanged; none of 3 cheaper graphs was faster; at x:1,3,16,16 "
                                "(chosen, because the model leaves them open)"));
  // It was timed.
  EXPECT_THAT(folded, HasSubstr("4.00 ms → 4.00 ms <span class=\"quiet\">measured</span>"));
  EXPECT_THAT(folded, Not(HasSubstr("predicted")));
}

TEST(FirstScreen, SaysHowItIsAtOtherSizesAndThatTheMachineWasBusy) {
  OptimizeAnswer changed = measured(answer("a.onnx", OptimizeStatus::optimized), 0.004, 0.002);
  EXPECT_THAT(page({changed}), Not(HasSubstr("busy")));
  changed.report.timing.other = {"x:4,3,32,32", {0.02, 0.01, {0.5, 0.6}, 16}};
  changed.report.timing.busy_share = 0.5;
  EXPECT_THAT(
      page({changed}),
      HasSubstr("at x:1,3,16,16; 10.0 ms instead of 20.0 ms at x:4,3,32,32; the machine was "
                "busy: models waited 50% of the time</div>"));
}

TEST(FirstScreen, OpensTheFoldWhereThereIsNothingElse) {
  EXPECT_THAT(page({answer("kept.onnx", OptimizeStatus::unchanged)}),
              HasSubstr("<details open=\"open\">"));
}

TEST(FirstScreen, SaysWhatChangedWhyItIsRightAndHowItWasMade) {
  OptimizeAnswer changed = measured(answer("a.onnx", OptimizeStatus::optimized), 0.004, 0.002);
  changed.report.search.rules_used = {{"merge_convs", 3}};
  changed.report.check.comparison.samples = 1;
  changed.report.check.comparison.adversarial = 5;
  changed.report.check.comparison.max_error = 1.5e-7;
  changed.report.check.second_judge = "agrees";
  const std::string html = page({changed}, {{"merge_convs", {}}});
  for (const char* said :
       {"80 operators instead of 120 (2 Mul, Conv -&gt; Conv)</dd><dd>By <a href=\"#rules\">1 "
        "rule</a>",
        "Each rule</a> that was used is proved, and its proof was replayed",
        "compared with the original on 6 sets of inputs; the largest difference is 1.5e-07",
        "ONNX Runtime agrees on 1 of 1 result.", "Lemma 1.2.3", "some processor; 4 threads",
        "ONNX Runtime 1.31.1</dd>", "--jobs 2"})
    EXPECT_THAT(html, HasSubstr(said));
  // Without the proof nothing is said of it but that.
  EXPECT_THAT(page({changed}), HasSubstr("The proofs of 0 of the 1 rule"));
}

TEST(FirstScreen, ShowsAModelThatFailed) {
  OptimizeAnswer failed;
  failed.model = "b<r>oken.onnx";
  failed.status = "failed";
  failed.message = "no ONNX model";
  const std::string html = page({failed});
  EXPECT_THAT(html, HasSubstr("b&lt;r&gt;oken.onnx was not optimized."));
  EXPECT_THAT(html, HasSubstr("<div class=\"bad\">failed; no ONNX model</div>"));
}

}  // namespace
}  // namespace lemma
