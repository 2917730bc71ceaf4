// The properties of operators that TASO assumes are theorems here.

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> parsed(std::string_view source) {
  auto rules = parse_substitutions(source, "properties");
  EXPECT_TRUE(rules) << rules.error().message;
  return rules ? std::move(*rules) : std::vector<Substitution>{};
}

TEST(TasoProperties, HaveBothProofs) {
  const auto contents = read_text_file("tests/verifier/taso_properties.rules");
  ASSERT_TRUE(contents) << contents.error().message;
  const std::vector<Substitution> properties = parsed(*contents);
  EXPECT_EQ(properties.size(), 34U);
  for (const Substitution& property : properties) {
    const Verdict verdict = prove_from_axioms(property, shipped_axioms());
    EXPECT_TRUE(is_proved(verdict)) << property.name << ": " << text(verdict);
    const IndexProof proof = prove_by_index(property);
    EXPECT_TRUE(proof.proved) << property.name << ": " << proof.reason;
  }
}

/// An undefined element makes its whole row of the product undefined: TASO's property is a refinement, and no equation.
TEST(TasoProperties, IdentityIsNoEquationForUndefinedElements) {
  const std::string left =
      "rule r\n  x : [m, k]\n  param t : type\n"
      "  let i = ConstantOfShape{data_type=t, shape=[k, k], value=1.0}()\n"
      "  MatMul(x, EyeLike{k=0}(i)) ";
  EXPECT_TRUE(prove_by_index(parsed(left + "=> x\n").at(0)).proved);
  EXPECT_FALSE(prove_by_index(parsed(left + "= x\n").at(0)).proved);
}

}  // namespace
}  // namespace lemma::verifier
