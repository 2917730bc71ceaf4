// The strip evaluator against element-by-element evaluation.

#include <gtest/gtest.h>

#include "interpreter/compare.h"
#include "interpreter/evaluate.h"
#include "tests/interpreter/random_definition.h"
#include "tests/interpreter/reference_evaluator.h"

namespace lemma::interpreter {
namespace {

bool all_moderate(const Tensor& tensor) {
  for (const double value : tensor.reals())
    if (!(std::abs(value) < 1e9)) return false;
  return true;
}

TEST(RandomDefinitions, AgreeWithElementByElementEvaluation) {
  int defined = 0, undefined = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomDefinition random(seed);
    const Definition definition = random.make();
    const auto expected = reference::evaluate(definition, random.inputs());
    EvaluationOptions options;
    options.threads = 1;
    options.plain = seed % 2 == 0;
    const auto actual = evaluate(definition, random.inputs(), options);
    ASSERT_EQ(actual.has_value(), expected.has_value())
        << "seed " << seed << ": " << (actual ? std::string() : actual.error().message);
    if (!actual) {
      EXPECT_EQ(actual.error().kind, ErrorKind::bad_input);
      ++undefined;
      continue;
    }
    ++defined;
    // Reductions along lanes take their terms in another order, which matters beyond all bounds.
    if (!all_moderate((*actual)[0]) || !all_moderate((*expected)[0])) continue;
    const Comparison result = compare((*actual)[0], (*expected)[0], {1e-4, 1e-4});
    ASSERT_TRUE(result.equal) << "seed " << seed << ": " << result.description;
  }
  EXPECT_GT(defined, 200);
  EXPECT_GT(undefined, 7);
}

}  // namespace
}  // namespace lemma::interpreter
