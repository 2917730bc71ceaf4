// Claims against each step of reasoning of the provers. No false one may be proved, by either
// prover; small true ones should be.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/attack/claims.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::attack {
namespace {

/// A claim that does not parse attacks nothing.
void expect_all_read(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) EXPECT_EQ(claim.error, "") << claim.name;
}

class FalseClaims : public testing::TestWithParam<std::string> {
 protected:
  std::vector<Claim> claims() const {
    return read_claims("tests/attack/false/" + GetParam() + ".axioms");
  }
};

TEST_P(FalseClaims, AreRead) {
  EXPECT_GE(claims().size(), GetParam() == "audit" ? 11U : 25U);
  expect_all_read(claims());
}

TEST_P(FalseClaims, HaveNoIndexProof) {
  for (const Claim& claim : claims()) {
    if (!claim.error.empty()) continue;
    EXPECT_FALSE(ask_index(claim.rule).proved) << claim.name;
  }
}

/// A ninety-sixth part of the claims of a family: the prover takes long to give up.
constexpr std::size_t shares = 96;
class SharesOfFalseClaims : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

/// The counterexamples of exact evaluation are not used: the claims must not be proved without it.
TEST_P(SharesOfFalseClaims, DoNotFollowFromTheAxioms) {
  const auto& [family, share] = GetParam();
  const std::vector<Claim> claims = read_claims("tests/attack/false/" + family + ".axioms");
  for (std::size_t i = share; i < claims.size(); i += shares) {
    if (!claims[i].error.empty()) continue;
    EXPECT_FALSE(ask_axioms(claims[i].rule).proved) << claims[i].name;
  }
}

/// Exact evaluation is a second opinion on axioms: what is true for small numbers only has a counterexample.
TEST(ClaimsAboutMagnitudes, AreRefutedByEvaluation) {
  const std::vector<Claim> claims = read_claims("tests/attack/false/magnitudes.axioms");
  expect_all_read(claims);
  std::string open;
  std::size_t refuted = 0;
  for (const Claim& claim : claims) {
    if (!claim.error.empty()) continue;
    if (ask_evaluation(claim.rule).proved)
      ++refuted;
    else
      open += " " + claim.name;
  }
  EXPECT_EQ(refuted, claims.size()) << "not refuted:" << open;
}

INSTANTIATE_TEST_SUITE_P(Families, FalseClaims, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });
// `scripts/test --all` asks about the others as well.
INSTANTIATE_TEST_SUITE_P(Few, SharesOfFalseClaims,
                         testing::Combine(testing::ValuesIn(families()),
                                          testing::Values<std::size_t>(0)));
INSTANTIATE_TEST_SUITE_P(DISABLED_Others, SharesOfFalseClaims,
                         testing::Combine(testing::ValuesIn(families()),
                                          testing::Range<std::size_t>(1, shares)));

class ClaimsAboutNan : public testing::TestWithParam<const char*> {};

/// They are true of numbers, so that nothing but this keeps them out.
TEST_P(ClaimsAboutNan, AreRefusedForWhatTheyCompare) {
  const std::vector<Claim> claims =
      read_claims(std::string("tests/attack/false/") + GetParam() + ".axioms");
  EXPECT_GE(claims.size(), 40U);
  for (const Claim& claim : claims) {
    const Answer answer = ask_index(claim.rule);
    EXPECT_NE(answer.reason.find("tells NaN from numbers"), std::string::npos)
        << claim.name << ": " << answer.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ClaimsAboutNan, testing::Values("comparisons", "observers"));

TEST(ClaimsAboutNan, DefinedOperandsAndBitwiseRulesMayBeCompared) {
  const auto reason = [](const std::string& inputs, verifier::IndexOptions options) {
    const auto rule = parse_substitutions(
        "axiom a\n" + inputs + "  Not(Less(x, y)) => GreaterOrEqual(x, y)\n", "test");
    EXPECT_TRUE(rule);
    return rule ? verifier::prove_by_index(rule->front(), options).reason : "";
  };
  const auto refuses = [&](const std::string& inputs, verifier::IndexOptions options = {}) {
    return reason(inputs, options).find("tells NaN from numbers") != std::string::npos;
  };
  EXPECT_TRUE(refuses("  x : [A..]\n  y : [A..]\n"));
  EXPECT_TRUE(refuses("  defined x : [A..]\n  y : [A..]\n"));
  EXPECT_TRUE(refuses("  x : [A..]\n  defined y : [A..]\n"));
  EXPECT_FALSE(refuses("  defined x : [A..]\n  defined y : [A..]\n"));
  EXPECT_FALSE(refuses("  x : [A..]\n  y : [A..]\n", {.keeps_bits = true}));
  EXPECT_FALSE(refuses("  x : i64[A..]\n  y : i64[A..]\n"));
}

TEST(FalseClaimsOfAllFamilies, AreManyAndNamedOnce) {
  std::vector<std::string> names;
  for (const std::string& family : families())
    for (const Claim& claim : read_claims("tests/attack/false/" + family + ".axioms"))
      names.push_back(claim.name);
  EXPECT_GE(names.size(), 700U);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

class TrueRules : public testing::TestWithParam<std::string> {};

TEST_P(TrueRules, AreProved) {
  const std::vector<Claim> claims = read_claims("tests/attack/" + GetParam() + ".rules");
  EXPECT_EQ(claims.size(), 100U);
  expect_all_read(claims);
  std::string open;
  std::size_t proved = 0;
  for (const Claim& claim : claims) {
    if (!claim.error.empty()) continue;
    if (ask_index(claim.rule).proved || ask_axioms(claim.rule).proved)
      ++proved;
    else
      open += " " + claim.name;
  }
  EXPECT_GE(proved, 95U) << "not proved:" << open;
}

INSTANTIATE_TEST_SUITE_P(Small, TrueRules, testing::Values("true", "true_small"),
                         [](const auto& file) { return file.param; });

/// Rules of another system, with their conditions.
TEST(RulesOfTensorRight, HaveIndexProofs) {
  const std::vector<Claim> claims = read_claims("tests/attack/tensorright.rules");
  EXPECT_EQ(claims.size(), 118U);
  expect_all_read(claims);
  std::string open;
  std::size_t proved = 0;
  for (const Claim& claim : claims) {
    if (!claim.error.empty()) continue;
    if (ask_index(claim.rule).proved)
      ++proved;
    else
      open += " " + claim.name;
  }
  EXPECT_GE(proved, 115U) << "not proved:" << open;
}

}  // namespace
}  // namespace lemma::attack
