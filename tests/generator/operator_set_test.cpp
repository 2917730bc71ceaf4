#include "generator/operator_set.h"

#include <filesystem>

#include "tests/generator/helpers.h"

namespace lemma::generator {
namespace {

std::string error_of(const std::string& text) {
  const auto set = parse_operator_set(text, "bad.set");
  return set ? "" : set.error().message;
}

const std::string good = R"(# A set.
set good
input x y : [2, 3]
weight a : [3, 3]
limit elements 40

operator half   # in two
  v : [m, n + p]
  where n == p
  let both = Split{axis=1, split=[n, p]}(v)
  both#0 & both#1

operator add
  u : [S..]
  v : [S..]
  Add(u, v)
)";

TEST(OperatorSet, HoldsWhatTheFileSays) {
  const OperatorSet set = testing::set_of(good);
  EXPECT_EQ(set.name, "good");
  ASSERT_EQ(set.inputs.size(), 3U);
  EXPECT_EQ(set.inputs[1].name, "y");
  EXPECT_EQ(set.inputs[1].sizes, (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(set.inputs[1].weight);
  EXPECT_TRUE(set.inputs[2].weight);
  EXPECT_EQ(set.largest_value, 40);
  ASSERT_EQ(set.operators.size(), 2U);
  EXPECT_EQ(set.operators[0].pattern.left.size(), 2U);
  EXPECT_EQ(text(set.operators[0].pattern.inputs[0].shape[1]), "n + p");
  EXPECT_EQ(text(set.operators[0].enumerated.inputs[0].shape[1]), "2*p");
  EXPECT_FALSE(set.operators[0].commutative);
  EXPECT_TRUE(set.operators[1].commutative);
}

TEST(OperatorSet, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of("set s\nbanana\n"),
            "bad.set:2: 'banana' is none of: set, input, weight, limit, free, operator");
  EXPECT_EQ(error_of("set s\ninput x : 2, 3\n"), "bad.set:2: '2,3' is not a shape");
  EXPECT_EQ(error_of("set s\ninput x : [2, 0]\n"), "bad.set:2: '0' is not a positive number");
  EXPECT_EQ(error_of("set s\ninput x : [2]\ninput x : [2]\n"),
            "bad.set:3: 'x' is already an input");
  EXPECT_EQ(error_of("set s\n  x : [2]\n"),
            "bad.set:2: a line that is indented, but not below an operator");
  EXPECT_EQ(error_of("input x : [2]\n\noperator o\n  a : [n]\n  Relu(a)\n"),
            "bad.set:5: there is no line 'set NAME'");
  const std::string unknown =
      error_of("set s\ninput x : [2]\n\noperator o\n  a : [n]\n  Banana(a)\n");
  EXPECT_TRUE(unknown.starts_with("bad.set:6: o: ")) << unknown;
  EXPECT_NE(unknown.find("Banana"), std::string::npos) << unknown;
  EXPECT_EQ(error_of("set s\ninput x : [2]\n\noperator o\n  a : [n]\n  where n < 3\n  Relu(a)\n"),
            "bad.set:4: 'o': conditions of operators are NAME == SIZE");
}

TEST(OperatorSet, LimitsAreGivenOnceAndHoldForInputs) {
  const std::string relu = "\noperator o\n  a : [S..]\n  Relu(a)\n";
  EXPECT_EQ(error_of("set s\ninput x : [2]\nlimit elements 8\nlimit elements 9\n" + relu),
            "bad.set:4: the limit of elements is given already");
  EXPECT_EQ(
      error_of("set s\ninput x : [99999999999, 99999999999]\nlimit elements 36\n" + relu),
      "bad.set:2: input 'x' has more elements than the limit of 36 ('limit elements NUMBER')");
  EXPECT_EQ(error_of("set s\ninput x : [2, 3]\nlimit elements 5\n" + relu),
            "bad.set:2: input 'x' has more elements than the limit of 5 ('limit elements NUMBER')");
  EXPECT_EQ(error_of("set s\ninput x : [2, 3]\nlimit elements 6\n" + relu), "");
}

TEST(OperatorSet, EveryErrorIsOneLine) {
  // Each line left out, or cut in half: either the set is still one, or there is one line.
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < good.size();) {
    const std::size_t end = good.find('\n', begin);
    lines.push_back(good.substr(begin, end - begin));
    begin = end + 1;
  }
  std::size_t errors = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::size_t kept : {std::size_t{0}, lines[i].size() / 2}) {
      std::string changed;
      for (std::size_t k = 0; k < lines.size(); ++k)
        changed += (k == i ? lines[k].substr(0, kept) : lines[k]) + "\n";
      const std::string message = error_of(changed);
      if (message.empty()) continue;
      ++errors;
      EXPECT_TRUE(message.starts_with("bad.set:")) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
  EXPECT_GT(errors, 10U);
}

TEST(OperatorSet, SizesWithNamesAreChosen) {
  const OperatorSet set = testing::set_of(
      "set named\n"
      "input x : [m, n]\n"
      "input a : [n, n]\n"
      "input t : [m, 1]\n"
      "input w : [3, k]\n"
      "operator halves\n"
      "  u : [r, p + q]\n"
      "  where p == q\n"
      "  let parts = Split{axis=1, split=[p, q]}(u)\n"
      "  parts#0 & parts#1\n"
      "operator column\n"
      "  u : [r, 1]\n"
      "  Relu(u)\n");
  ASSERT_EQ(set.inputs.size(), 4U);
  // m is not taken apart, n and k are halved, and all of them differ.
  EXPECT_EQ(set.inputs[0].sizes, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(set.inputs[1].sizes, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(set.inputs[2].sizes, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(set.inputs[3].sizes, (std::vector<std::int64_t>{3, 6}));
}

TEST(OperatorSet, ShippedSetsCanBeRead) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("rules/operator_sets")) {
    const std::string name = entry.path().stem().string();
    EXPECT_EQ(testing::shipped_set(name).name, name);
    ++count;
  }
  EXPECT_GT(count, 1U);
}

}  // namespace
}  // namespace lemma::generator
