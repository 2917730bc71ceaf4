// What rules/axioms.rounding calls bitwise is proved from the order of operations; what changes a bit for infinities, NaN
// or zeros of either sign, or the sizes of a kernel's operands, is not.

#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rule_language/rounding.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {
namespace {

constexpr IndexOptions bits{.assume_defined = false, .keeps_bits = true, .proves_bits = true};

/// Why not; empty: proved.
std::string reason_against(const Substitution& rule, const IndexOptions& options) {
  const IndexProof proof = prove_by_index(rule, options);
  if (proof.proved) return "";
  return proof.reason.empty() ? "no reason" : proof.reason;
}

Substitution claim(const std::string& inputs, const std::string& sides) {
  const auto rules = parse_substitutions(fmt::format("rule claim\n{}\n  {}\n", inputs, sides), "t");
  EXPECT_TRUE(rules) << sides << ": " << rules.error().message;
  return rules->front();
}

struct Claim {
  const char* inputs;
  const char* sides;
};

TEST(SameBits, TheTableIsProved) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  const auto table = read_rounding_table("rules");
  ASSERT_TRUE(axioms && table);
  std::vector<const Substitution*> claimed;
  for (const Substitution& axiom : *axioms)
    if (table->at(axiom.name) == RoundingClass::bitwise) claimed.push_back(&axiom);
  EXPECT_GT(claimed.size(), 100U);
  const char* every = std::getenv("LEMMA_EVERY");
  const std::size_t step = every == nullptr ? 8 : std::strtoul(every, nullptr, 10);
  std::vector<std::string> reasons(claimed.size());
  parallel_for(claimed.size() / step, 2, [&](std::size_t i) {
    reasons[i * step] = reason_against(*claimed[i * step], bits);
  });
  for (std::size_t i = 0; i < claimed.size(); ++i) EXPECT_EQ(reasons[i], "") << claimed[i]->name;
}

TEST(SameBits, TheSameOperationsAreProved) {
  const Claim claims[] = {
      {"  x : [A..]\n  y : [A..]", "Add(x, y) = Add(y, x)"},
      {"  x : [A..]\n  y : [A..]", "Sub(x, y) = Add(x, Neg(y))"},
      {"  x : [A..]\n  y : [A..]", "Mul(Neg(x), Neg(y)) = Mul(x, y)"},
      {"  x : [n, m]\n  y : [p, m]", "Exp(Concat{axis=0}(x, y)) = Concat{axis=0}(Exp(x), Exp(y))"},
      {"  x : [n, m]", "Gelu(Transpose{perm=[1, 0]}(x)) = Transpose{perm=[1, 0]}(Gelu(x))"},
      {"  x : [A..]", "Relu(Relu(x)) = Relu(x)"},
      {"  x : [A..]", "Max(x, x) = x"},
      {"  x : [n, m]\n  w : [m, p]",
       "Relu(MatMul(Transpose{perm=[1, 0]}(Transpose{perm=[1, 0]}(x)), w)) = Relu(MatMul(x, w))"},
      {"  x : [n, m]\n  y : [n, m]", "Softmax{axis=1}(Add(x, y)) = Softmax{axis=1}(Add(y, x))"},
      {"  x : [n, m]",
       "ReduceMax{axes=[1], keepdims=1}(x) = Unsqueeze{axes=[1]}(ReduceMax{axes=[1], "
       "keepdims=0}(x))"},
  };
  for (const Claim& given : claims)
    EXPECT_EQ(reason_against(claim(given.inputs, given.sides), bits), "") << given.sides;
}

/// Each holds for real numbers, and is refused for its bits alone.
TEST(SameBits, WhatMayChangeABitIsRefused) {
  const Claim claims[] = {
      {"  x : [A..]\n  y : [A..]", "Neg(Add(x, y)) = Add(Neg(x), Neg(y))"},  // 1 + -1
      {"  x : [A..]\n  y : [A..]", "Max(x, y) = Max(y, x)"},                 // 0 and -0
      {"  x : [A..]\n  y : [A..]", "Neg(Sub(x, y)) = Sub(y, x)"},            // 1 - 1
      {"  x : [A..]\n  y : [A..]", "Mul(Sub(x, x), y) => Sub(y, y)"},        // infinities
      {"  x : [A..]", "Add(x, x) = Sub(x, Neg(Sub(x, Sub(x, x))))"},         // NaN
      {"  x : [A..]", "Sub(Relu(x), x) = Relu(Neg(x))"},                     // infinity
      {"  x : [A..]", "Abs(x) = Max(x, Neg(x))"},                            // -0
      {"  x : [A..]\n  y : [A..]", "Where(Equal(x, y), x, y) => y"},         // 0 == -0
      {"  x : [A..]\n  y : [A..]", "Not(Less(x, y)) = LessOrEqual(y, x)"},   // NaN
      {"  x : [A..]\n  y : [A..]\n  z : [A..]", "Add(Add(x, y), z) = Add(x, Add(y, z))"},
      {"  x : f32[A..]", "Cast{to=f32}(Cast{to=f16}(x)) => x"},  // a cast rounds
      // Sums over the same terms for operands of other sizes.
      {"  x : [n, m]\n  w : [m, p]\n  v : [m, q]",
       "MatMul(x, Concat{axis=1}(w, v)) = Concat{axis=1}(MatMul(x, w), MatMul(x, v))"},
      {"  x : [n, m]\n  y : [p, m]\n  w : [m, q]",
       "MatMul(Concat{axis=0}(x, y), w) = Concat{axis=0}(MatMul(x, w), MatMul(y, w))"},
      {"  x : [n, n]",
       "ReduceSum{axes=[0, 1], keepdims=0}(Transpose{perm=[1, 0]}(x)) = "
       "ReduceSum{axes=[0, 1], keepdims=0}(x)"},
      {"  x : [n, m]\n  w : [m, p]",
       "Transpose{perm=[1, 0]}(MatMul(x, w)) = "
       "MatMul(Transpose{perm=[1, 0]}(w), Transpose{perm=[1, 0]}(x))"},
      {"  x : [n, m]",
       "Softmax{axis=0}(Transpose{perm=[1, 0]}(x)) = Transpose{perm=[1, 0]}(Softmax{axis=1}(x))"},
  };
  for (const Claim& given : claims) {
    const Substitution rule = claim(given.inputs, given.sides);
    EXPECT_EQ(reason_against(rule, {.keeps_bits = true}), "") << given.sides;
    EXPECT_NE(reason_against(rule, bits).find("bits"), std::string::npos) << given.sides;
  }
}

}  // namespace
}  // namespace lemma::verifier
