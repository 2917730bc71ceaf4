// Models with undefined elements and infinities: where the original is defined and finite, the result
// of the search is the same.

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "interpreter/run.h"
#include "ir/graph_text.h"
#include "search/optimize.h"
#include "tests/search/random_network.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

Graph graph_of(const std::string& lines) {
  const auto graph = parse_graph("graph \"g\"\n" + lines);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message) << "\n" << lines;
  return graph ? *graph : Graph();
}

/// Three inputs x, y, w of four elements, a few lines, and the values of output.
std::string model(const std::string& lines, const std::string& outputs) {
  std::string text =
      "  input %0 \"x\" : f32[4]\n  input %1 \"y\" : f32[4]\n  input %2 \"w\" : f32[4]\n" + lines;
  for (std::size_t at = 0; at < outputs.size();) {
    const std::size_t end = std::min(outputs.find(' ', at), outputs.size());
    text += fmt::format("  output \"o{}\" = {}\n", at, outputs.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Elements at which partial functions have no value, and some at which they have one.
const std::vector<std::vector<double>> points = {
    {0, 0, 1, -1}, {200, -3, 0, 0.5}, {1, 2, 3, 4}, {-1, 0, -0.0, 1e-3}, {150, 1, 0, 101}};

std::vector<std::vector<double>> outputs_of(const Graph& graph, std::size_t first) {
  std::vector<interpreter::NamedTensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    const auto sizes = *constant_sizes(*graph.type(node.output()).shape);
    std::vector<double> elements;
    const std::vector<double>& some = points[(first + 2 * i) % points.size()];
    for (std::int64_t k = 0; k < element_count(*graph.type(node.output()).shape).constant(); ++k)
      elements.push_back(some[static_cast<std::size_t>(k) % some.size()]);
    inputs.push_back({graph.input_name(node),
                      interpreter::Tensor::from_reals(graph.type(node.output()).data_type,
                                                      {sizes.begin(), sizes.end()}, elements)});
  }
  const auto run = interpreter::run(graph, inputs);
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  std::vector<std::vector<double>> result;
  if (run)
    for (const interpreter::Tensor& output : *run) result.push_back(output.reals());
  return result;
}

void expect_refined(const Graph& before, const Graph& after, const std::string& where) {
  for (std::size_t first = 0; first < points.size(); ++first) {
    const auto wanted = outputs_of(before, first), got = outputs_of(after, first);
    ASSERT_EQ(wanted.size(), got.size());
    for (std::size_t o = 0; o < wanted.size(); ++o)
      for (std::size_t i = 0; i < wanted[o].size(); ++i) {
        if (!std::isfinite(wanted[o][i])) continue;
        EXPECT_NEAR(wanted[o][i], got[o][i], 1e-4 * (1 + std::abs(wanted[o][i])))
            << where << ", output " << o << ", points " << first << "\n"
            << print_graph(before) << print_graph(after);
      }
  }
}

SearchOptions small(Strategy strategy) {
  SearchOptions options;
  options.strategy = strategy;
  options.node_limit = 1500;
  options.part_node_limit = 700;
  options.part_size = 4;
  options.budget = 20;
  options.iterations = 5;
  options.rounds = 2;
  options.explain = true;
  options.time_limit_seconds = 300;
  return options;
}

/// Every strategy, with the given rules; what is explained holds.
std::size_t check(const std::string& lines, const RuleDatabase& rules, const std::string& where) {
  const Graph graph = graph_of(lines);
  checker::RuleTable proved;
  for (const Substitution& rule : rules.substitutions()) proved[rule.name] = &rule;
  std::size_t improved = 0;
  for (const Strategy strategy :
       {Strategy::saturation, Strategy::backtracking, Strategy::combined}) {
    const auto found = optimize(graph, rules, testing::cpu_costs(), small(strategy));
    EXPECT_TRUE(found) << where << ": " << (found ? "" : found.error().message);
    if (!found) continue;
    const std::string name_here = where + " by " + std::string(name(strategy));
    expect_refined(graph, found->graph, name_here);
    const auto holds = checker::check_explanation(found->explanation, proved);
    EXPECT_TRUE(holds) << name_here << ": " << (holds ? "" : holds.error().message) << "\n"
                       << found->explanation;
    improved += found->improved ? 1 : 0;
  }
  return improved;
}

RuleDatabase rules_of(const char* text, RoundingClass rounding = RoundingClass::rounding) {
  return RuleDatabase::without_proof(*parse_substitutions(text, "test"), rounding);
}

// True rules that were fatal where both sides of `=>` were united.
constexpr const char* refining_rules = R"(
rule div_mul
  x : [A..]
  y : [A..]
  Mul(Div(x, y), y) => x

rule sub_self
  x : [A..]
  Sub(x, x) => Mul(x, ConstantOfShape{data_type=f32, shape=[], value=0.0}())

rule div_self
  x : [A..]
  Div(x, x) => Exp(Sub(x, x))

rule quotients
  x : [A..]
  y : [A..]
  z : [A..]
  Mul(Div(x, y), Div(z, x)) => Div(z, y)

rule exp_log
  x : [A..]
  Exp(Log(x)) => x

rule root_square
  x : [A..]
  Mul(Sqrt(x), Sqrt(x)) => x

rule add_negs
  x : [A..]
  y : [A..]
  Add(Neg(x), Neg(y)) = Neg(Add(x, y))

rule add_commutes
  x : [A..]
  y : [A..]
  Add(x, y) = Add(y, x)

rule two_times
  x : [A..]
  y : [A..]
  s : [A..]
  Add(Mul(x, s), Mul(y, s)) = Mul(Add(x, y), s)

rule reciprocal_twice
  x : [A..]
  Reciprocal(Reciprocal(x)) => x
)";

// The rest of each model is so that something is gained, and the written result is another one.
const std::string gain = "  %90 = Neg(%2)\n  %91 = Neg(%1)\n  %92 = Add(%90, %91)\n";

std::string number(std::string lines) {
  // Values are numbered in order: names above 9 are renamed as they come.
  std::map<std::string, std::string> names = {{"%0", "%0"}, {"%1", "%1"}, {"%2", "%2"}};
  std::string result;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i] != '%') {
      result += lines[i++];
      continue;
    }
    std::size_t end = i + 1;
    while (end < lines.size() && std::isdigit(static_cast<unsigned char>(lines[end])) != 0) ++end;
    const std::string name = lines.substr(i, end - i);
    result += names.try_emplace(name, "%" + std::to_string(names.size())).first->second;
    i = end;
  }
  return result;
}

const std::string zero = "  %10 = ConstantOfShape{data_type=f32, shape=[], value=0.0}()\n";
const std::string hundred = "  %11 = ConstantOfShape{data_type=f32, shape=[], value=100.0}()\n";
const std::string minus_infinity =
    "  %12 = ConstantOfShape{data_type=f32, shape=[], value=-inf}()\n";

struct Family {
  const char* name;
  std::string lines, outputs;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"x / 0*w * 0*w behind Where",
       zero + hundred +
           "  %20 = Mul(%10, %2)\n  %21 = Div(%0, %20)\n  %22 = Mul(%21, %20)\n"
           "  %23 = Greater(%0, %11)\n  %24 = Where(%23, %22, %0)\n  %25 = Add(%0, %0)\n"
           "  %26 = Where(%23, %25, %0)\n",
       "%24 %26"},
      {"quotients of quotients",
       zero + "  %20 = Div(%0, %1)\n  %21 = Div(%2, %0)\n  %22 = Mul(%20, %21)\n"
              "  %23 = Equal(%0, %10)\n  %24 = Where(%23, %10, %22)\n  %25 = Div(%2, %1)\n",
       "%20 %21 %24 %25"},
      {"0 / 0", "  %20 = Sub(%0, %0)\n  %21 = Div(%20, %20)\n  %22 = Add(%21, %1)\n", "%22 %20"},
      {"x - x of a quotient", "  %20 = Div(%0, %1)\n  %21 = Sub(%20, %20)\n  %22 = Add(%21, %2)\n",
       "%22"},
      {"logarithm of what is negative", "  %20 = Log(%0)\n  %21 = Exp(%20)\n  %22 = Add(%21, %0)\n",
       "%22 %21"},
      {"logarithm behind Where",
       zero + "  %20 = Log(%0)\n  %21 = Exp(%20)\n  %22 = Greater(%0, %10)\n"
              "  %23 = Where(%22, %21, %1)\n",
       "%23"},
      {"root of what is negative",
       "  %20 = Sqrt(%0)\n  %21 = Mul(%20, %20)\n  %22 = Add(%21, %1)\n", "%22 %20"},
      {"root guarded by Where",
       zero + "  %20 = Sqrt(%0)\n  %21 = Mul(%20, %20)\n  %22 = Less(%0, %10)\n"
              "  %23 = Where(%22, %10, %21)\n",
       "%23"},
      {"reciprocal of a reciprocal",
       "  %20 = Reciprocal(%0)\n  %21 = Reciprocal(%20)\n  %22 = Mul(%21, %1)\n", "%22 %20"},
      {"a quotient by itself", "  %20 = Div(%0, %0)\n  %21 = Mul(%20, %1)\n", "%21 %20"},
      {"a quotient by x - x", "  %20 = Sub(%0, %0)\n  %21 = Div(%1, %20)\n  %22 = Mul(%21, %20)\n",
       "%22"},
      {"mask of -inf through Where",
       zero + minus_infinity +
           "  %20 = Greater(%0, %10)\n  %21 = Where(%20, %1, %12)\n"
           "  %22 = Softmax{axis=0}(%21)\n  %23 = Mul(%22, %2)\n",
       "%23"},
      {"mask of -inf through Add",
       zero + minus_infinity +
           "  %20 = Greater(%0, %10)\n  %21 = Where(%20, %10, %12)\n  %22 = Add(%1, %21)\n"
           "  %23 = Softmax{axis=0}(%22)\n  %24 = Mul(%23, %2)\n  %25 = Mul(%23, %1)\n"
           "  %26 = Add(%24, %25)\n",
       "%26"},
      {"mask of -inf taken away again",
       zero + minus_infinity +
           "  %20 = Greater(%0, %10)\n  %21 = Where(%20, %10, %12)\n  %22 = Add(%1, %21)\n"
           "  %23 = Sub(%22, %21)\n  %24 = Where(%20, %23, %1)\n",
       "%24"},
      {"softmax guarded by IsNaN",
       zero + minus_infinity +
           "  %20 = Greater(%0, %10)\n  %21 = Where(%20, %1, %12)\n  %22 = Softmax{axis=0}(%21)\n"
           "  %23 = IsNaN(%22)\n  %24 = Where(%23, %10, %22)\n  %25 = Mul(%24, %2)\n",
       "%25 %24"},
      {"IsNaN of a quotient",
       zero + "  %20 = Div(%0, %1)\n  %21 = Mul(%20, %1)\n  %22 = IsNaN(%21)\n"
              "  %23 = Where(%22, %10, %21)\n",
       "%23"},
      {"IsInf of a reciprocal",
       zero + "  %20 = Reciprocal(%0)\n  %21 = Reciprocal(%20)\n  %22 = IsInf{detect_negative=1, "
              "detect_positive=1}(%20)\n  %23 = Where(%22, %1, %21)\n",
       "%23"},
      {"IsNaN of x - x",
       zero + "  %20 = Log(%0)\n  %21 = Sub(%20, %20)\n  %22 = IsNaN(%21)\n"
              "  %23 = Where(%22, %1, %2)\n",
       "%23"},
      {"Clip of an infinity",
       minus_infinity + "  %20 = Add(%0, %12)\n  %21 = Clip{max=3.0, min=-3.0}(%20)\n"
                        "  %22 = Mul(%21, %2)\n  %23 = Mul(%21, %1)\n  %24 = Add(%22, %23)\n",
       "%24"},
      {"sigmoid of an infinity",
       minus_infinity + "  %20 = Add(%0, %12)\n  %21 = Sigmoid(%20)\n  %22 = Mul(%21, %2)\n",
       "%22"},
      {"power of what is negative",
       "  %20 = Pow(%0, %1)\n  %21 = Sub(%20, %20)\n  %22 = Add(%21, %2)\n", "%22"},
      {"maximum with an infinity",
       minus_infinity + "  %20 = Max(%0, %12)\n  %21 = Sub(%20, %20)\n  %22 = Add(%21, %2)\n",
       "%22"},
      {"log of a root",
       "  %20 = Sqrt(%0)\n  %21 = Log(%20)\n  %22 = Exp(%21)\n  %23 = Mul(%22, %22)\n", "%23"},
      {"a quotient that a product takes back",
       "  %20 = Div(%0, %1)\n  %21 = Mul(%20, %1)\n  %22 = Add(%21, %2)\n", "%22 %21"},
  };
  return all;
}

TEST(UndefinedElements, KeepWhatIsDefinedWithRulesThatRefine) {
  const RuleDatabase rules = rules_of(refining_rules);
  std::size_t improved = 0;
  for (const Family& family : families())
    improved +=
        check(number(model(family.lines + gain, family.outputs + " %92")), rules, family.name);
  EXPECT_GT(improved, 2 * families().size());
}

TEST(UndefinedElements, KeepWhatIsDefinedWithShippedRules) {
  for (const Family& family : families())
    check(number(model(family.lines + gain, family.outputs + " %92")), testing::shipped_rules(),
          family.name);
}

// The audit's models, by what they must not become.
TEST(UndefinedElements, TwoTimesXStaysWhatItIs) {
  const Graph graph =
      graph_of(number(model(families()[0].lines + gain, families()[0].outputs + " %92")));
  const auto found =
      optimize(graph, testing::shipped_rules(), testing::cpu_costs(), small(Strategy::automatic));
  ASSERT_TRUE(found) << found.error().message;
  const auto outputs = outputs_of(found->graph, 1);  // x = 200
  EXPECT_EQ(outputs[1][0], 400);
}

TEST(UndefinedElements, AQuotientThatIsDefinedIsNotMadeOfTwoThatAreNot) {
  const Graph graph =
      graph_of(number(model(families()[1].lines + gain, families()[1].outputs + " %92")));
  const auto found =
      optimize(graph, testing::shipped_rules(), testing::cpu_costs(), small(Strategy::automatic));
  ASSERT_TRUE(found) << found.error().message;
  const auto outputs = outputs_of(found->graph, 0);  // x = 0
  EXPECT_TRUE(std::isfinite(outputs[3][0]));
}

// What is not an equation is still worth having: one graph after the other.
TEST(UndefinedElements, AreReplacedWhereTheRuleRefines) {
  const RuleDatabase rules = rules_of(refining_rules);
  for (const Strategy strategy :
       {Strategy::saturation, Strategy::combined, Strategy::backtracking}) {
    const auto found =
        optimize(graph_of("  input %0 \"x\" : f32[4]\n  input %1 \"y\" : f32[4]\n"
                          "  %2 = Div(%0, %1)\n  %3 = Mul(%2, %1)\n  output \"z\" = %3\n"),
                 rules, testing::cpu_costs(), small(strategy));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->improved) << name(strategy);
    EXPECT_NE(found->explanation.find("refine div_mul"), std::string::npos) << found->explanation;
    EXPECT_NE(found->explanation.find("\"stage 1 z\""), std::string::npos);
  }
}

TEST(UndefinedElements, ADefinedLeftSideIsAnEquation) {
  const RuleDatabase rules = rules_of(refining_rules);
  const auto found =
      optimize(graph_of("  input %0 \"x\" : f32[4]\n  input %1 \"y\" : f32[4]\n  %2 = Exp(%1)\n"
                        "  %3 = Div(%0, %2)\n  %4 = Mul(%3, %2)\n  output \"z\" = %4\n"),
               rules, testing::cpu_costs(), small(Strategy::saturation));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->improved);
  EXPECT_NE(found->explanation.find("step div_mul"), std::string::npos) << found->explanation;
}

TEST(UndefinedElements, BitsOfWhatIsObservedAreChangedByBitwiseRulesOnly) {
  const RuleDatabase rules = rules_of(refining_rules);
  const Graph graph = graph_of(
      "  input %0 \"x\" : f32[4]\n  input %1 \"y\" : f32[4]\n  %2 = Log(%0)\n"
      "  %3 = Neg(%2)\n  %4 = Neg(%1)\n  %5 = Add(%3, %4)\n  %6 = IsNaN(%5)\n"
      "  output \"z\" = %6\n");
  const SearchOptions options = small(Strategy::saturation);
  const auto kept = optimize(graph, rules, testing::cpu_costs(), options);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->improved);
  const RuleDatabase bitwise = rules_of(refining_rules, RoundingClass::bitwise);
  const auto changed = optimize(graph, bitwise, testing::cpu_costs(), options);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->improved);
}

TEST(UndefinedElements, WhatMayBeAnInfinityIsChangedByBitwiseRulesOnly) {
  const RuleDatabase rules = rules_of(refining_rules);
  const auto improved = [&](const char* value) {
    const Graph graph = graph_of(
        fmt::format("  input %0 \"x\" : f32[4]\n  input %1 \"c\" : bool[4]\n"
                    "  %2 = ConstantOfShape{{data_type=f32, shape=[], value={}}}()\n"
                    "  %3 = Where(%1, %0, %2)\n  %4 = Neg(%3)\n  %5 = Neg(%0)\n  %6 = Add(%4, %5)\n"
                    "  output \"z\" = %6\n",
                    value));
    const auto found = optimize(graph, rules, testing::cpu_costs(), small(Strategy::saturation));
    EXPECT_TRUE(found);
    return found && found->improved;
  };
  EXPECT_FALSE(improved("-inf"));
  EXPECT_TRUE(improved("-1e9"));
}

}  // namespace
}  // namespace lemma
