// Explanations that lean on facts which nothing shows: of inputs that nobody promises, of constants with
// other bytes, and on words that widen what an explanation leaves out. Each is refused for its reason.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rule_language/digests.h"
#include "rule_language/explanation_scope.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

constexpr std::string_view rule_text = R"(
rule div_mul
  x : [A..]
  y : [A..]
  Mul(Div(x, y), y) => x
)";

std::string hexadecimal(const std::vector<float>& values) {
  std::string result;
  for (const float value : values) {
    std::array<unsigned char, sizeof(float)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(float));
    for (const unsigned char byte : bytes) result += fmt::format("{:02x}", byte);
  }
  return result;
}

std::string name_of(const std::vector<float>& values) {
  const Constant constant = Constant::of(DataType::f32, {4}, values);
  return fmt::format("constant 0 digest {:016x}", constant.digest());
}

const std::vector<float> ones = {1, 1, 1, 1}, with_zero = {1, 0, 1, 1}, twos = {2, 2, 2, 2};

class ForgedFacts : public ::testing::Test {
 protected:
  ForgedFacts() : rules_(*parse_substitutions(rule_text, "test.rules")) {
    table_["div_mul"] = &rules_.front();
  }

  /// That y * (x / y) is x, for an input y of this name. True where y is known not to be 0.
  std::string explanation(const std::string& y, const std::vector<std::string>& lines) const {
    std::string text = fmt::format(
        "lemma explanation 2\ngraph \"forged\"\n  input %0 \"input x\" : f32[4]\n"
        "  input %1 \"{}\" : f32[4]\n  %2 = Div(%0, %1) : f32[4]\n  %3 = Mul(%2, %1) : f32[4]\n"
        "  output \"before z\" = %0\n  output \"after z\" = %3\n",
        y);
    Digests digests;
    text += fmt::format("rule div_mul {}\n", digests.of_substitution(rules_.front()));
    for (const std::string& line : lines) text += line + "\n";
    return text + "step div_mul forward: x=%0, y=%1, A=[4]\nend\n";
  }

  Result<checker::ExplanationSize> check(const std::string& y,
                                         const std::vector<std::string>& lines,
                                         const checker::ExplanationPremises& premises = {}) const {
    return checker::check_explanation(explanation(y, lines), table_, {}, premises);
  }

  void refused(const std::string& y, const std::vector<std::string>& lines,
               const std::string& because, const checker::ExplanationPremises& premises = {}) {
    ++count_;
    const auto checked = check(y, lines, premises);
    ASSERT_FALSE(checked) << explanation(y, lines);
    EXPECT_NE(checked.error().message.find(because), std::string::npos)
        << checked.error().message << "\n"
        << explanation(y, lines);
  }

  static checker::ExplanationPremises promise(const std::string& name, const std::string& facts) {
    checker::ExplanationPremises premises;
    premises.promised.emplace(name, *parse_facts(facts));
    return premises;
  }

  std::vector<Substitution> rules_;
  checker::RuleTable table_;
  int count_ = 0;
};

constexpr const char* not_shown = "nothing shows that its left side is defined";

TEST_F(ForgedFacts, OfInputsThatNobodyPromises) {
  for (const char* facts :
       {"defined finite nonzero [-inf, inf]", "defined finite [1, 2]", "defined finite [-2, -1]",
        "defined finite nonzero [0, inf]", "defined finite [0, 0]", "defined finite nonzero [1, 1]",
        "nonzero inf -inf [-inf, inf]", "defined finite nonzero [-1, 1]",
        "defined finite [1e-30, 1e+30]"})
    for (const char* y : {"input y", "input opaque W 0123456789abcdef#0",
                          "input opaque If 0123456789abcdef#1", "y", "constants 0 digest 0"})
      refused(y, {fmt::format("given %1: {}", facts)}, "nobody promises");
  EXPECT_GE(count_, 40);
}

TEST_F(ForgedFacts, BeyondWhatIsPromised) {
  const std::string given = "given %1: defined finite nonzero [1, 2]";
  EXPECT_TRUE(check("input y", {given}, promise("y", "defined finite nonzero [1, 2]")));
  EXPECT_TRUE(check("input y", {given}, promise("y", "defined finite [1, 1.5]")) ||
              check("input y", {given}, promise("y", "defined finite nonzero [1, 1.5]")));
  for (const char* promised : {"defined finite nonzero [1, 3]", "defined finite nonzero [0.5, 2]",
                               "defined finite [0, 2]", "defined finite nonzero [-2, 2]",
                               "defined finite nonzero [-inf, inf]", "defined finite [-1, 2]"})
    refused("input y", {given}, "does not follow from the promise", promise("y", promised));
  for (const char* name : {"x", "Y", "input y", "y ", "", "opaque y"})
    refused("input y", {given}, "nobody promises", promise(name, "defined finite nonzero [1, 2]"));
  refused("input y", {}, not_shown, promise("y", "defined finite nonzero [1, 2]"));
  refused("input y", {given, given}, "given twice", promise("y", "defined finite nonzero [1, 2]"));
}

TEST_F(ForgedFacts, OfConstantsWithOtherBytes) {
  const auto bytes = [](const std::string& digits) { return "constant %1: " + digits; };
  EXPECT_TRUE(check(name_of(ones), {bytes(hexadecimal(ones))}));
  refused(name_of(with_zero), {bytes(hexadecimal(with_zero))}, not_shown);
  refused(name_of(with_zero), {bytes(hexadecimal(ones))}, "not those of the digest");
  refused(name_of(twos), {bytes(hexadecimal(ones))}, "not those of the digest");
  refused(name_of(ones), {bytes(hexadecimal({1, 1, 1}))}, "");
  refused(name_of(ones), {bytes(hexadecimal({1, 1, 1, 1, 1}))}, "");
  refused(name_of(ones), {bytes("")}, "");
  refused(name_of(ones), {bytes(hexadecimal(ones) + "0")}, "hexadecimal");
  refused(name_of(ones), {bytes("zz" + hexadecimal(ones).substr(2))}, "hexadecimal");
  refused(name_of(ones), {bytes("-1" + hexadecimal(ones).substr(2))}, "hexadecimal");
  refused(name_of(ones), {bytes(" " + hexadecimal(ones))}, "hexadecimal");
  refused(name_of(ones), {bytes(hexadecimal(ones)), bytes(hexadecimal(ones))}, "given twice");
  refused(name_of(ones), {bytes(hexadecimal(ones)), "given %1: defined finite nonzero [1, 2]"},
          "given twice");
  refused(name_of(with_zero), {}, not_shown);
  refused(name_of(ones), {"constant %0: " + hexadecimal(ones)}, "does not stand for a constant");
  refused(name_of(ones), {"constant %2: " + hexadecimal(ones)}, "it is no input");
  refused(name_of(ones), {"constant %9: " + hexadecimal(ones)}, "is no value of the graph");
  refused(name_of(ones), {"constant %1 " + hexadecimal(ones)}, "expected");
  for (const char* y :
       {"input y", "constant", "constant 0 digest", "constant 0 Digest 0123456789abcdef",
        "input constant 0 digest 0123456789abcdef"})
    refused(y, {bytes(hexadecimal(ones))}, "does not stand for a constant");
}

TEST_F(ForgedFacts, OfConstantsWithoutBytesAreNamed) {
  const std::string given = "given %1: defined finite nonzero [1, 2]";
  const auto believed = check(name_of(ones), {given});
  ASSERT_TRUE(believed) << believed.error().message;
  ASSERT_EQ(believed->unchecked.size(), 1U);
  EXPECT_NE(believed->unchecked[0].find("its bytes are not there"), std::string::npos);
  const auto known = check(name_of(ones), {given}, {{}, true});
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->unchecked.empty());
  const auto shown = check(name_of(ones), {"constant %1: " + hexadecimal(ones)});
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->unchecked.empty());
  EXPECT_EQ(shown->constants, 1U);
}

TEST_F(ForgedFacts, WordsThatWidenWhatIsLeftOut) {
  const std::string bytes = "constant %1: " + hexadecimal(ones);
  const auto usual = check(name_of(ones), {bytes, fmt::format("outside {}", outside_reading)});
  ASSERT_TRUE(usual);
  EXPECT_TRUE(usual->unchecked.empty());
  for (const char* line :
       {"outside reading: x", "outside everything", "outside ", "outside folding",
        "outside given: that 'y' is not 0",
        "outside writing: that the written file says what \"after\" does.", "outside opaque",
        "outside bodies: all of them", "outside reading:", "outside checking: the steps below"}) {
    const auto checked = check(name_of(ones), {bytes, line});
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->unchecked.size(), 1U) << line;
  }
}

}  // namespace
}  // namespace lemma
