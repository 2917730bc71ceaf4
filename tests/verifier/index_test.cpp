// Index proofs: what is true of all sizes is proved from the definitions, and nothing else is.

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "rule_language/rounding.h"
#include "rule_language/rule_database.h"
#include "verifier/index/axiom_proofs.h"
#include "verifier/index/equality.h"
#include "verifier/index/solver.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> read(const std::string& file) {
  const auto contents = read_text_file(file);
  EXPECT_TRUE(contents) << contents.error().message;
  auto parsed = parse_substitutions(*contents, file);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : std::vector<Substitution>{};
}

Substitution parse_one(std::string_view source) {
  auto parsed = parse_substitutions(source, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return std::move(parsed->at(0));
}

// ---- Tables of axioms ---------------------------------------------------------------------------

TEST(WrongAxioms, HaveNoIndexProof) {
  std::vector<Substitution> axioms = read("tests/verifier/wrong.axioms");
  EXPECT_GE(axioms.size(), 120U);
  std::ranges::move(read("tests/verifier/wrong_signs.axioms"), std::back_inserter(axioms));
  EXPECT_GE(axioms.size(), 157U);
  for (const Substitution& axiom : axioms) {
    const IndexProof proof = prove_by_index(axiom);
    EXPECT_FALSE(proof.proved) << axiom.name;
    EXPECT_FALSE(proof.reason.empty()) << axiom.name;
  }
}

TEST(WrongRules, HaveNoIndexProof) {
  const std::vector<Substitution> rules = read("tests/verifier/wrong.rules");
  EXPECT_GE(rules.size(), 40U);
  for (const Substitution& rule : rules) EXPECT_FALSE(prove_by_index(rule).proved) << rule.name;
}

TEST(TrueAxioms, HaveAnIndexProof) {
  const std::vector<Substitution> axioms = read("tests/verifier/true.axioms");
  EXPECT_GE(axioms.size(), 19U);
  for (const Substitution& axiom : axioms) {
    const IndexProof proof = prove_by_index(axiom);
    EXPECT_TRUE(proof.proved) << axiom.name << ": " << proof.reason;
  }
}

TEST(Reason, ShowsBothSidesOfTheFirstCaseThatFails) {
  const Substitution axiom =
      parse_one("axiom a\n  x : [n]\n  y : [m]\n  Concat{axis=0}(x, y) => Concat{axis=0}(y, x)\n");
  const std::string reason = prove_by_index(axiom).reason;
  EXPECT_NE(reason.find("left:  x0[_i0]"), std::string::npos) << reason;
  EXPECT_NE(reason.find("right: x1[_i0]"), std::string::npos) << reason;
}

TEST(Reason, NamesWhatTheRightSideNeeds) {
  const auto reason = [](std::string_view source) {
    return prove_by_index(parse_one(source)).reason;
  };
  EXPECT_NE(reason("axiom a\n  x : [n, m]\n  Relu(x) =>"
                   " Reshape{shape=[n, m]}(Relu(Reshape{shape=[m, 2*n]}(x)))\n")
                .find("the right side is defined only where"),
            std::string::npos);
  EXPECT_NE(reason("axiom a\n  x : [n]\n  Exp(x) => Exp(Log(Exp(Log(Exp(x)))))\n"), "x");
  EXPECT_NE(reason("axiom a\n  x : [n]\n  Abs(x) => Exp(Log(Abs(x)))\n")
                .find("the right side needs log of abs(x0[_i0])"),
            std::string::npos);
}

// ---- Real parameters ----------------------------------------------------------------------------

TEST(RealParameters, StandForTheirOrderOnly) {
  EXPECT_TRUE(
      prove_by_index(parse_one("axiom a\n  x : [n]\n  param a : real\n  param b : real\n"
                               "  Clip{min=a}(Clip{min=b}(x)) => Clip{min=real_max(a, b)}(x)\n"))
          .proved);
  const IndexProof number = prove_by_index(
      parse_one("axiom a\n  x : [n]\n  param a : real\n"
                "  Clip{min=a}(Clip{min=1.0}(x)) => Clip{min=real_max(a, 1.0)}(x)\n"));
  EXPECT_EQ(number.reason, "attribute min computes with a real parameter");
  const IndexProof literal =
      prove_by_index(parse_one("axiom a\n  x : [n]\n  param a : real\n"
                               "  Clip{min=a}(Clip{min=1031.125}(x)) => Clip{min=a}(x)\n"));
  EXPECT_EQ(literal.reason, "attribute min is a number that stands for a parameter");
}

// ---- Arithmetic of sizes ------------------------------------------------------------------------

namespace ix = index;

Dimension polynomial_of(std::string_view text) {
  auto parsed = parse_dimension(text);
  EXPECT_TRUE(parsed) << text;
  return *parsed;
}

struct Entailment {
  std::vector<std::string> facts;  // each is at least 0
  std::string goal;
  bool expected;
};

TEST(Entails, DecidesArithmeticOfNaturalNumbers) {
  const Entailment table[] = {
      {{}, "n", true},
      {{}, "n - 1", false},
      {{"n - 1"}, "n - 1", true},
      {{"n - i - 1"}, "n - 1", true},
      {{"n - i - 1", "i - m"}, "n - m - 1", true},
      {{"n - i - 1"}, "n - i - 2", false},
      // Products of sizes.
      {{"n - i - 1", "m - 1"}, "n*m - 1", true},
      {{"n - 1"}, "n*m - 1", false},
      {{"n - i - 1", "m - j - 1"}, "n*m - i*m - j - 1", true},
      {{"n - i - 1", "m - j"}, "n*m - i*m - j - 1", false},
      // Quotients.
      {{"g*o - i - 1", "o - 1"}, "g - floordiv(i, o) - 1", true},
      {{"g*o - i", "o - 1"}, "g - floordiv(i, o) - 1", false},
      {{"g*o - i - 1", "o - 1", "c - k - 1"}, "c*g - c*floordiv(i, o) - k - 1", true},
      {{"c - k - 1"}, "c*g - c*floordiv(i, o) - k - 1", false},
      {{"h - 1"}, "floordiv(h + 1, 2) - 1", true},
      {{}, "floordiv(h + 1, 2) - 1", false},
      // A divisor may be 0.
      {{}, "i - floordiv(i, o)", false},
      {{"o - 1"}, "i - floordiv(i, o)", true},
      {{"o - 1"}, "o*floordiv(i, o) + o - i - 1", true},
  };
  for (const Entailment& line : table) {
    std::vector<ix::Formula> facts;
    for (const std::string& fact : line.facts)
      facts.push_back(ix::is_nonnegative(polynomial_of(fact)));
    EXPECT_EQ(ix::entails(facts, ix::is_nonnegative(polynomial_of(line.goal))), line.expected)
        << line.goal;
  }
}

TEST(Formula, NegationIsTheOpposite) {
  const ix::Formula a = ix::less(polynomial_of("i"), polynomial_of("n")),
                    b = ix::equal(polynomial_of("i"), polynomial_of("m"));
  for (const ix::Formula& formula : {a, b, ix::both(a, b), ix::disjunction({a, b})}) {
    EXPECT_TRUE(ix::contradicts({formula}, ix::negation(formula))) << formula->text;
    EXPECT_TRUE(ix::entails({}, ix::disjunction({formula, ix::negation(formula)})))
        << formula->text;
    EXPECT_FALSE(ix::entails({}, formula)) << formula->text;
  }
}

/// sum(k < extent if domain: x0[index])
ix::Polynomial sum_of(const std::string& extent, ix::Formula domain, const std::string& index,
                      const std::string& name) {
  ix::Term term;
  term.bound = {{name, polynomial_of(extent)}};
  term.domain = std::move(domain);
  term.factors = ix::read(0, {polynomial_of(index)}).terms[0].factors;
  return ix::polynomial({ix::finished(std::move(term))});
}

TEST(Equality, RenamedVariablesMustCoverTheSameRange) {
  const auto lower = [](const std::string& text) {
    return ix::is_nonnegative(polynomial_of(text));
  };
  const ix::Polynomial whole = sum_of("n", ix::always(), "k", "k");
  EXPECT_TRUE(ix::are_equal(whole, sum_of("n + p", lower("j - p"), "j - p", "j"), {}));
  // One element too many at the beginning, or at the end, or one too few.
  EXPECT_FALSE(ix::are_equal(whole, sum_of("n + p", lower("j - p + 1"), "j - p", "j"), {}));
  EXPECT_FALSE(ix::are_equal(whole, sum_of("n + p + 1", lower("j - p"), "j - p", "j"), {}));
  EXPECT_FALSE(ix::are_equal(whole, sum_of("n + p", lower("j - p - 1"), "j - p", "j"), {}));
  // Counted downwards.
  EXPECT_TRUE(ix::are_equal(whole, sum_of("n", ix::always(), "n - j - 1", "j"), {}));
  EXPECT_FALSE(ix::are_equal(whole, sum_of("n", ix::always(), "n - j", "j"), {}));
}

// ---- Records ------------------------------------------------------------------------------------

constexpr const char* two_axioms =
    "axiom transposed_twice\n  x : [n, m]\n"
    "  Transpose{perm=[1, 0]}(Transpose{perm=[1, 0]}(x)) => x\n\n"
    "axiom subtraction\n  x : [n]\n  y : [n]\n  Sub(x, y) => Add(x, Neg(y))\n";

TEST(Records, SpareTheProofWhileNothingChanged) {
  auto axioms = *parse_substitutions(two_axioms, "test");
  const auto first = verify_axioms(axioms, {});
  ASSERT_EQ(first.size(), 2U);
  std::vector<AxiomRecord> records;
  for (const VerifiedAxiom& axiom : first) {
    EXPECT_TRUE(axiom.proof.proved) << axiom.proof.reason;
    EXPECT_FALSE(axiom.recorded);
    records.push_back(axiom.record);
  }
  const auto read_back = parse_axiom_file(axiom_file_text(records), "test");
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, records);
  for (const VerifiedAxiom& axiom : verify_axioms(axioms, records)) EXPECT_TRUE(axiom.recorded);
  for (const VerifiedAxiom& axiom : verify_axioms(axioms, records, {0, true}))
    EXPECT_FALSE(axiom.recorded);

  auto older = records, other_definitions = records;
  older[0].version = index_proof_version - 1;
  other_definitions[0].digest = sha256("another");
  for (const auto& changed : {older, other_definitions}) {
    const auto again = verify_axioms(axioms, changed);
    EXPECT_FALSE(again[0].recorded);
    EXPECT_TRUE(again[0].proof.proved);
    EXPECT_TRUE(again[1].recorded);
  }
  axioms[1].name = "transposed_twice";  // another axiom under the name of a recorded one
  EXPECT_FALSE(verify_axioms(axioms, records)[1].recorded);
}

TEST(Records, AreTheSameForAnyNumberOfThreads) {
  const auto axioms = read("tests/verifier/true.axioms");
  const auto one = verify_axioms(axioms, {}, {1, true}),
             four = verify_axioms(axioms, {}, {4, true});
  for (std::size_t i = 0; i < axioms.size(); ++i) EXPECT_EQ(one[i].record, four[i].record);
}

TEST(Records, ThatCannotBeReadAreErrors) {
  const std::string good = text(axiom_record((*parse_substitutions(two_axioms, "test"))[0], 7));
  EXPECT_TRUE(parse_axiom_file(good, "test"));
  for (const std::string& line : {std::string("a text=1"), good + " more", good + " cases=7",
                                  good.substr(0, good.size() - 10), good + "\n" + good})
    EXPECT_FALSE(parse_axiom_file(line, "test")) << line;
}

// ---- The shipped axioms -------------------------------------------------------------------------

TEST(ShippedAxioms, AllHaveARecordThatFits) {
  const auto axioms = *read_substitutions("rules/axioms", ".axioms");
  EXPECT_GE(axioms.size(), 150U);
  const auto records = read_axiom_records("rules/axioms.proofs");
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(records->size(), axioms.size());
  for (const VerifiedAxiom& axiom : verify_axioms(axioms, *records))
    EXPECT_TRUE(axiom.recorded) << axiom.name << ": run lemma rules verify --write";
}

/// Every sixteenth is proved anew; `lemma rules verify --axioms` proves all.
TEST(ShippedAxioms, AreProvedAsRecorded) {
  const auto axioms = *read_substitutions("rules/axioms", ".axioms");
  const auto records = *read_axiom_records("rules/axioms.proofs");
  std::vector<Substitution> chosen;
  for (std::size_t i = 5; i < axioms.size(); i += 16) chosen.push_back(axioms[i]);
  const auto rounding = read_rounding_table("rules");
  ASSERT_TRUE(rounding) << rounding.error().message;
  for (const VerifiedAxiom& axiom : verify_axioms(chosen, records, {0, true, &*rounding})) {
    EXPECT_TRUE(axiom.proof.proved) << axiom.name << ": " << axiom.proof.reason;
    EXPECT_NE(std::find(records.begin(), records.end(), axiom.record), records.end()) << axiom.name;
  }
}

/// A second proof, which needs no axiom; records say that all have it. Every sixteenth is proved anew.
TEST(ShippedRules, FollowFromTheDefinitionsAlone) {
  const auto rules = *read_substitutions("rules/substitutions", ".rules");
  std::vector<Substitution> chosen;
  for (std::size_t i = 3; i < rules.size(); i += 16) chosen.push_back(rules[i]);
  for (const VerifiedAxiom& rule : verify_axioms(chosen, {}))
    EXPECT_TRUE(rule.proof.proved) << rule.name << ": " << rule.proof.reason;
}

}  // namespace
}  // namespace lemma::verifier
