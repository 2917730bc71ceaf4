// What one side of a rule reads and the other does not: relations that hold, and for which defined
// inputs. And rules that treat every axis by itself.

#include <gtest/gtest.h>

#include "rule_language/axis_wise.h"
#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "verifier/index/obligations.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {
namespace {

Substitution parse_one(const std::string& body) {
  auto parsed = parse_substitutions("axiom a\n" + body + "\n", "test");
  EXPECT_TRUE(parsed) << body << ": " << parsed.error().message;
  return std::move(parsed->at(0));
}

struct Expected {
  const char* body;
  const char* relations;
};

TEST(Obligations, AreWhatOneSideReadsAndTheOtherDoesNot) {
  const Expected table[] = {
      {"  x : [n]\n  y : [n]\n  Add(x, y) => Add(y, x)", "L = R"},
      {"  x : [n]\n  param t : type\n  Sub(x, x) =>"
       " ConstantOfShape{data_type=t, shape=[n], value=0.0}()",
       "L = R for defined x; L => R"},
      // Over nothing only one side reads s.
      {"  x : [n]\n  s : []\n  ReduceSum{axes=[0], keepdims=0}(Mul(x, s)) =>"
       " Mul(ReduceSum{axes=[0], keepdims=0}(x), s)",
       "L = R for defined s; L <= R"},
      {"  x : [n + 1]\n  s : []\n  ReduceSum{axes=[0], keepdims=0}(Mul(x, s)) =>"
       " Mul(ReduceSum{axes=[0], keepdims=0}(x), s)",
       "L = R"},
      {"  x : [m, k]\n  y : [k, l]\n  z : [l, n]\n  MatMul(MatMul(x, y), z) => MatMul(x, MatMul(y, "
       "z))",
       "L = R for defined x, z; L => R for defined x; L <= R for defined z"},
      {"  x : [m, k + 1]\n  y : [k + 1, l + 1]\n  z : [l + 1, n]\n"
       "  MatMul(MatMul(x, y), z) => MatMul(x, MatMul(y, z))",
       "L = R"},
      // What is padded or cut away is not read.
      {"  x : [n]\n  s : []\n  Pad{pads=[1, 0], mode=\"constant\", value=0.0}(Mul(x, s)) =>"
       " Mul(Pad{pads=[1, 0], mode=\"constant\", value=0.0}(x), s)",
       "L = R for defined s; L <= R"},
      {"  x : [n + m]\n  Slice{starts=[0], ends=[n], axes=[0]}(Neg(x)) =>"
       " Neg(Slice{starts=[0], ends=[n], axes=[0]}(x))",
       "L = R"},
      {"  x : [n]\n  y : [m]\n  Split{axis=0, split=[n, m]}(Concat{axis=0}(x, y))#0 => x", "L = R"},
      // The greatest of nothing is undefined.
      {"  x : [n]\n  y : [m]\n  ReduceMax{axes=[0], keepdims=0}(Concat{axis=0}(x, y)) =>"
       " Max(ReduceMax{axes=[0], keepdims=0}(x), ReduceMax{axes=[0], keepdims=0}(y))",
       "L <= R"},
      {"  x : [n + 1]\n  y : [m + 1]\n  ReduceMax{axes=[0], keepdims=0}(Concat{axis=0}(x, y)) =>"
       " Max(ReduceMax{axes=[0], keepdims=0}(x), ReduceMax{axes=[0], keepdims=0}(y))",
       "L = R"},
      {"  x : [n]\n  ReduceMax{axes=[0], keepdims=0}(Neg(x)) =>"
       " Neg(ReduceMin{axes=[0], keepdims=0}(x))",
       "L = R"},
      // Quotients are defined for less than what they cancel to.
      {"  x : [n]\n  y : [n]\n  Mul(Div(x, y), y) => x", "L => R"},
      {"  x : [n]\n  Mul(Sqrt(x), Sqrt(x)) => x", "L => R"},
      {"  x : [n]\n  Log(Exp(x)) => x", "L = R"},
      {"  x : [n]\n  y : [n]\n  Max(x, Min(x, y)) => x", "L = R for defined y; L => R"},
  };
  for (const Expected& line : table)
    EXPECT_EQ(relations_text(obligations_of(parse_one(line.body))), line.relations) << line.body;
}

TEST(Obligations, DecideWhetherTheClaimHolds) {
  const auto holds = [](const std::string& body) {
    return obligations_of(parse_one(body)).claim_holds;
  };
  const std::string sum =
      "  x : [n]\n  {}s : []\n  ReduceSum{axes=[0], keepdims=0}(Mul(x, s)) {}"
      " Mul(ReduceSum{axes=[0], keepdims=0}(x), s)";
  const auto with = [&sum](const std::string& mark, const std::string& relation) {
    std::string body = sum;
    body.replace(body.find("{}"), 2, mark);
    body.replace(body.rfind(" {}"), 3, " " + relation);
    return body;
  };
  EXPECT_FALSE(holds(with("", "=")));
  EXPECT_FALSE(holds(with("", "=>")));
  EXPECT_TRUE(holds(with("defined ", "=")));
  EXPECT_TRUE(holds(with("defined ", "=>")));
}

TEST(IndexProofs, RefuseDivisorsThatMayBeZero) {
  for (const char* shape : {"floordiv(n*m, m)", "divide(n*m, m)"}) {
    const std::string body = std::string("  x : [n, m]\n  ReduceSum{axes=[1], keepdims=0}(x) =>") +
                             " Reshape{shape=[" + shape + "]}(ReduceSum{axes=[1], keepdims=0}(x))";
    EXPECT_NE(prove_by_index(parse_one(body)).reason.find("divides"), std::string::npos) << body;
  }
}

TEST(IndexProofs, RefuseRanksThatCannotBeEnumerated) {
  const IndexProof proof =
      prove_by_index(parse_one("  x : [A..]\n  group A : 9..9\n  param p : permutation[len(A)]\n"
                               "  Neg(Transpose{perm=p}(x)) => Transpose{perm=p}(Neg(x))"));
  EXPECT_FALSE(proof.proved);
  EXPECT_NE(proof.reason.find("9 axes of A"), std::string::npos) << proof.reason;
}

// ---- Axes that are alike -------------------------------------------------------------------------

TEST(AxesAlike, OfElementwiseRulesOverWholeGroups) {
  const auto alike = [](const std::string& body) { return treats_axes_alike(parse_one(body)); };
  const std::string abc =
      "  a : [A..]\n  b : [B..]\n  c : [C..]\n"
      "  group A : 0..8\n  group B : 0..8\n  group C : 0..8\n";
  EXPECT_TRUE(alike(abc + "  Add(Add(a, b), c) = Add(a, Add(b, c))"));
  EXPECT_TRUE(alike(abc + "  Where(Less(a, b), c, a) = Where(Less(a, b), c, a)"));
  EXPECT_TRUE(
      alike("  a : [A..]\n  param r : real\n  Clip{min=r}(Clip{min=r}(a)) = Clip{min=r}(a)"));
  // Another broadcast shape on the right.
  EXPECT_FALSE(alike(abc + "  Add(Add(a, b), c) => Add(a, b)"));
  // Movement, a slope that broadcasts one way only, other shapes, sizes in attributes, conditions.
  EXPECT_FALSE(
      alike("  a : [A..]\n  group A : 1..3\n"
            "  Concat{axis=0}(a, a) = Concat{axis=0}(a, a)"));
  EXPECT_FALSE(alike("  a : [A..]\n  b : [B..]\n  PRelu(a, b) = PRelu(a, b)"));
  EXPECT_FALSE(alike("  a : [A.., n]\n  Neg(Neg(a)) = a"));
  EXPECT_FALSE(alike("  a : [A..]\n  Add(a, ConstantOfShape{shape=[A..], value=0.0}()) = a"));
  EXPECT_FALSE(
      alike("  a : [A..]\n  b : [B..]\n  where len(A) == len(B)\n  Add(a, b) = Add(b, a)"));
}

TEST(AxesAlike, AreProvedForScalarsWhereAllRanksAreTooMany) {
  const auto cases = [](const std::string& most, const std::string& claim) {
    const auto found = required_cases(parse_one("  a : [A..]\n  b : [B..]\n  group A : 0.." + most +
                                                "\n  group B : 0.." + most + "\n  " + claim));
    return found ? found->size() : 0;
  };
  EXPECT_EQ(cases("8", "Add(a, b) = Add(b, a)"), 1);
  EXPECT_EQ(cases("8",
                  "Sub(ConstantOfShape{shape=[], value=1.0}(), Add(a, b)) = "
                  "Sub(ConstantOfShape{shape=[], value=1.0}(), Add(b, a))"),
            1);
  EXPECT_EQ(cases("4", "Add(a, b) = Add(b, a)"), 237);
  // The right side lacks the shape of b: no rank is left out, and in some the sides have different types.
  EXPECT_GT(cases("8", "Add(Sub(a, b), b) => a"), 1000);
}

}  // namespace
}  // namespace lemma::verifier
