#include "rule_language/substitution.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ir/attribute_conversion.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

constexpr std::string_view rules = R"(
# Comments and several rules in one file.
rule merge_matmul_shared_left
  x : [B.., m, k]
  weight a : [k, n]
  weight b : [k, p]
  let both = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))
  MatMul(x, a) & MatMul(x, b) => both#0 & both#1

axiom matmul_associative
  x : [B.., m, k]
  y : [k, n]
  z : [n, p]
  group B : 0..2
  MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))

rule compose_transpose
  x : [S..]
  param p : permutation[len(S)]
  param q : permutation[len(S)]
  Transpose{perm=q}(Transpose{perm=p}(x))
    => Transpose{perm=compose(p, q)}(x)   # a comment

rule transpose_identity
  x : [S..]
  group S : 1..4
  param p : permutation[len(S)]
  where is_identity(p)
  Relu(Transpose{perm=p}(x)) => Relu(x)

rule concat_of_concat
  x : [A.., m, B..]
  y : [A.., n, B..]
  z : [A.., p, B..]
  Concat{axis=len(A)}(Concat{axis=len(A)}(x, y), z) => Concat{axis=len(A)}(x, y, z)

rule reshape_twice
  x : [S..]
  param t : dimensions[2]
  param u : dimensions[3]
  Reshape{shape=u}(Reshape{shape=t}(x)) => Reshape{shape=u}(x)

rule grouped
  x : [g*i, n + 1]
  y : [g]
  param t : dimension
  where 1 < g, 2*n <= g*(i + 3), t != 0
  Reshape{shape=[t, len([g, i, n]), 2*n - 1]}(Reshape{shape=[g, i*(n + 1)]}(Add(x, Neg(x)))) & Relu(y)
    => Reshape{shape=[t, 3, 2*n - 1]}(Add(x, Neg(x))) & Relu(y)
)";

std::vector<Substitution> parsed(std::string_view text) {
  auto result = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : std::vector<Substitution>{};
}

std::string error_of(std::string_view text) {
  const auto result = parse_substitutions(text, "bad.rules");
  return result ? "no error" : result.error().message;
}

TEST(Substitution, TextReadsBack) {
  const auto all = parsed(rules);
  ASSERT_EQ(all.size(), 7U);
  for (const Substitution& rule : all) {
    auto again = parsed(text(rule));
    ASSERT_EQ(again.size(), 1U) << text(rule);
    again[0].line = rule.line;
    EXPECT_EQ(again[0], rule) << text(rule);
    EXPECT_EQ(text(again[0]), text(rule));
  }
  EXPECT_EQ(all[0].line, 3);
}

TEST(Substitution, MultiOutputTextHasLet) {
  EXPECT_EQ(text(parsed(rules)[0]),
            "rule merge_matmul_shared_left\n"
            "  x : [B.., m, k]\n"
            "  weight a : [k, n]\n"
            "  weight b : [k, p]\n"
            "  let t1 = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))\n"
            "  MatMul(x, a) & MatMul(x, b) => t1#0 & t1#1\n");
}

TEST(Substitution, ReversedTwiceIsTheSame) {
  const Substitution rule = parsed(rules)[1];
  EXPECT_TRUE(rule.bidirectional);
  EXPECT_NE(reversed(rule), rule);
  EXPECT_EQ(reversed(reversed(rule)), rule);
}

TEST(Substitution, ErrorsNameFileLineAndCause) {
  const std::string head = "rule r\n  x : [n, m]\n";
  EXPECT_EQ(error_of("x : [n]\n"), "bad.rules:1: expected 'rule' or 'axiom'");
  EXPECT_EQ(error_of(head + "  Frobnicate(x) => x\n"),
            "bad.rules:3: r: there is no operator 'Frobnicate'; one of a library is known with "
            "--operators FILE");
  EXPECT_EQ(error_of(head + "  Relu{a=1}(x) => x\n"), "bad.rules:3: r: Relu has no attribute 'a'");
  EXPECT_EQ(error_of(head + "  Relu(x) => Add(x, y)\n"),
            "bad.rules:3: r: 'y' is neither an input nor a let name");
  EXPECT_EQ(error_of(head + "  y : [p]\n  Relu(x) => Add(x, y)\n"),
            "bad.rules:1: r: input 'y' does not occur on the side that is matched");
  EXPECT_EQ(error_of(head + "  Relu(x) & Relu(Relu(x)) => x\n"),
            "bad.rules:1: r: the left side has 2 outputs, the right side 1");
  EXPECT_EQ(error_of(head + "  Relu(x) => Reshape{shape=[q]}(x)\n"),
            "bad.rules:1: r: 'q' is not a variable");
  EXPECT_EQ(error_of(head + "  Relu(x) => Reshape{shape=frob(n)}(x)\n"),
            "bad.rules:3: r: there is no function 'frob'");
  EXPECT_EQ(error_of("rule r\n  x : [a*b]\n  Relu(x) => Neg(Neg(x))\n"),
            "bad.rules:1: r: variable 'a' (shape of 'x') is not bound by the side that is matched");
  EXPECT_EQ(error_of("rule r\n  x : [A.., B..]\n  Relu(x) => Neg(Neg(x))\n"),
            "bad.rules:1: r: group 'A..' is not bound by the side that is matched");
  EXPECT_EQ(error_of(head + "  let unused = Relu(x)\n  Relu(x) => x\n"),
            "bad.rules:1: r: let name 'unused' is not used");
  EXPECT_EQ(error_of(head + "  Relu(x)#3 => x\n"), "bad.rules:3: r: Relu has no output 3");
  EXPECT_EQ(error_of(head + "  Relu(x, x) => x\n"), "bad.rules:3: r: Relu cannot have 2 operands");
  EXPECT_EQ(error_of(head), "bad.rules:1: r: the rule has no equation");
  EXPECT_EQ(error_of(head + "  Relu(x) => x\n" + "rule r\n  x : [n]\n  Relu(x) => x\n"),
            "bad.rules:4: 'r' is already defined at line 1");
  EXPECT_EQ(error_of("rule r\n  x : [n]\n  Neg(Relu(x)) = Relu(x) $\n"),
            "bad.rules:3: unexpected character '$'");
}

TEST(Substitution, DeepNestingIsAnError) {
  std::string nested = "rule r\n  x : [n]\n  ";
  for (int i = 0; i < 100000; ++i) nested += "Relu(";
  EXPECT_EQ(error_of(nested), "bad.rules:3: r: terms are nested too deeply");
  for (const std::string_view opening : {"(", "[", "len(", "-"}) {
    std::string brackets = "rule r\n  x : [";
    for (int i = 0; i < 100000; ++i) brackets += opening;
    EXPECT_EQ(error_of(brackets), "bad.rules:2: r: expressions are nested too deeply") << opening;
  }
}

// ---- Matching ---------------------------------------------------------------------------------

TensorType f32(std::string_view shape) {
  return {DataType::f32, std::get<Shape>(*parse_attribute_value(AttributeKind::dimensions, shape))};
}

bool binds(const Substitution& rule, const std::vector<TensorType>& inputs,
           const std::vector<MatchedNode>& nodes, RuleBindings& bindings) {
  std::vector<const TensorType*> types;
  for (const TensorType& type : inputs) types.push_back(&type);
  return bind_variables(rule, types, nodes, bindings);
}

/// The operations of the left side in order.
std::vector<TermId> left_operations(const Substitution& rule) {
  std::vector<TermId> result;
  for (std::uint32_t i = 0; i <= rule.left.back().v; ++i)
    if (!rule.terms[i].is_input) result.push_back({i});
  return result;
}

TEST(SubstitutionMatch, DimensionsAndGroups) {
  const Substitution rule = parsed(rules)[0];
  RuleBindings bindings;
  ASSERT_TRUE(binds(rule, {f32("[N, 8, 16, 64]"), f32("[64, 3]"), f32("[64, M]")}, {}, bindings));
  EXPECT_EQ(text(bindings.groups.at("B")), "[N, 8]");
  EXPECT_TRUE(bindings.dimensions.at("k").is(64));
  EXPECT_EQ(bindings.dimensions.at("p").text(), "M");
  bindings = {};
  EXPECT_FALSE(binds(rule, {f32("[8, 64]"), f32("[64, 3]"), f32("[65, 3]")}, {}, bindings));
  bindings = {};
  EXPECT_FALSE(
      binds(rule, {f32("[1, 1, 1, 1, 8, 64]"), f32("[64, 3]"), f32("[64, 3]")}, {}, bindings))
      << "groups have at most three axes unless stated";
  bindings = {};
  const TensorType f64{DataType::f64, f32("[64, 3]").shape};
  EXPECT_FALSE(binds(rule, {f32("[8, 64]"), f64, f64}, {}, bindings)) << "one shared type";
}

TEST(SubstitutionMatch, PermutationsAreBoundAndChecked) {
  const Substitution rule = parsed(rules)[2];
  const auto operations = left_operations(rule);
  ASSERT_EQ(operations.size(), 2U);
  const Attributes first{{"perm", Integers{1, 2, 0}}}, second{{"perm", Integers{0, 2, 1}}};
  const std::array types = {f32("[2, 3, 4]")};
  RuleBindings bindings;
  ASSERT_TRUE(binds(rule, {types[0]},
                    {{operations[0], &first, types}, {operations[1], &second, types}}, bindings));
  Graph graph;
  const ValueId x = *graph.add_input("x", types[0]);
  const auto right = instantiate(rule, rule.right, std::array{x}, bindings, graph);
  ASSERT_TRUE(right) << right.error().message;
  const auto left = instantiate(rule, rule.left, std::array{x}, bindings, graph);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(graph.node(graph.producer((*right)[0])).attributes.integers("perm"),
            (Integers{1, 0, 2}));
  EXPECT_EQ(graph.type((*left)[0]), graph.type((*right)[0]));
}

TEST(SubstitutionMatch, ConditionsStopMatches) {
  const Substitution rule = parsed(rules)[3];
  const auto operations = left_operations(rule);
  const Attributes same{{"perm", Integers{0, 1}}}, swap{{"perm", Integers{1, 0}}}, none;
  const std::array types = {f32("[2, 2]")};
  RuleBindings bindings;
  EXPECT_TRUE(binds(rule, {types[0]},
                    {{operations[0], &same, types}, {operations[1], &none, types}}, bindings));
  bindings = {};
  EXPECT_FALSE(binds(rule, {types[0]},
                     {{operations[0], &swap, types}, {operations[1], &none, types}}, bindings));
}

TEST(SubstitutionMatch, AxisDividesTwoGroups) {
  const Substitution rule = parsed(rules)[4];
  const auto operations = left_operations(rule);
  const Attributes axis{{"axis", std::int64_t{1}}};
  const std::array inner = {f32("[2, 3, 4]"), f32("[2, 5, 4]")};
  const std::array outer = {f32("[2, 8, 4]"), f32("[2, N, 4]")};
  RuleBindings bindings;
  ASSERT_TRUE(binds(rule, {inner[0], inner[1], outer[1]},
                    {{operations[0], &axis, inner}, {operations[1], &axis, outer}}, bindings));
  EXPECT_EQ(text(bindings.groups.at("A")), "[2]");
  EXPECT_EQ(text(bindings.groups.at("B")), "[4]");
  EXPECT_EQ(bindings.dimensions.at("p").text(), "N");
  const Attributes other{{"axis", std::int64_t{0}}};
  bindings = {};
  EXPECT_FALSE(binds(rule, {inner[0], inner[1], outer[1]},
                     {{operations[0], &axis, inner}, {operations[1], &other, outer}}, bindings));
}

TEST(SubstitutionMatch, PolynomialSizesAreSolved) {
  const Substitution rule = parsed(R"(rule r
  x : [g*i, n + 1]
  y : [g]
  Relu(x) & Relu(y) => Neg(Neg(Relu(x))) & Relu(y)
)")[0];
  RuleBindings bindings;
  ASSERT_TRUE(binds(rule, {f32("[12, N + 1]"), f32("[4]")}, {}, bindings));
  EXPECT_TRUE(bindings.dimensions.at("i").is(3));
  EXPECT_EQ(bindings.dimensions.at("n").text(), "N");
  bindings = {};
  EXPECT_FALSE(binds(rule, {f32("[12, N + 1]"), f32("[5]")}, {}, bindings));
  bindings = {};
  EXPECT_FALSE(binds(rule, {f32("[12, 0]"), f32("[4]")}, {}, bindings)) << "n would be -1";
  bindings = {};
  EXPECT_TRUE(binds(rule, {f32("[2*A*B, 1]"), f32("[A]")}, {}, bindings));
  EXPECT_EQ(bindings.dimensions.at("i").text(), "2*B");
}

TEST(SubstitutionMatch, UnwrittenAttributesHaveTheirDefault) {
  const Substitution rule = parsed("rule r\n  x : [n, m]\n  Softmax(x) => Softmax{axis=1}(x)\n")[0];
  const std::array types = {f32("[2, 3]")};
  const Attributes last{{"axis", std::int64_t{1}}}, first{{"axis", std::int64_t{0}}};
  RuleBindings bindings;
  EXPECT_TRUE(binds(rule, {types[0]}, {{rule.left[0], &last, types}}, bindings));
  EXPECT_FALSE(binds(rule, {types[0]}, {{rule.left[0], &first, types}}, bindings));
}

// ---- Attribute functions ----------------------------------------------------------------------

AttributeValue value_of(std::string_view expression) {
  // By way of a rule, so that parsing and calling are both tested.
  const auto rule = parsed(
      "rule r\n  x : [n, m]\n  Relu(x) => Reshape{shape=" + std::string(expression) + "}(x)\n");
  if (rule.empty()) return std::string("not parsed");
  RuleBindings bindings;
  bindings.dimensions = {{"n", Dimension::symbol("N")}, {"m", Dimension(6)}};
  const auto value = evaluate_attributes(rule[0].terms[rule[0].right[0].v], bindings);
  return value ? *value->find("shape") : AttributeValue(value.error().message);
}

TEST(AttributeFunctions, Lists) {
  EXPECT_EQ(text(value_of("concat([n], [m, 1])")), "[N, 6, 1]");
  EXPECT_EQ(text(value_of("insert([n, m], 1, 7)")), "[N, 7, 6]");
  EXPECT_EQ(text(value_of("remove([n, m], -1)")), "[N]");
  EXPECT_EQ(text(value_of("replace([n, m], 0, 2*n)")), "[2*N, 6]");
  EXPECT_EQ(text(value_of("slice([1, 2, n, m], 1, 3)")), "[2, N]");
  EXPECT_EQ(text(value_of("take([n, m], 1)")), "[N]");
  EXPECT_EQ(text(value_of("drop([n, m], 1)")), "[6]");
  EXPECT_EQ(text(value_of("reverse([n, m])")), "[6, N]");
  EXPECT_EQ(text(value_of("[sum([n, m, n]), product([n, m])]")), "[2*N + 6, 6*N]");
  EXPECT_EQ(text(value_of("prefix_sums([n, m, 1])")), "[0, N, N + 6]");
  EXPECT_EQ(text(value_of("plus([n, m], [1, n])")), "[N + 1, N + 6]");
  EXPECT_EQ(text(value_of("[divide(m*n, 3), floordiv(m, 4), floormod(m, 4)]")), "[2*N, 1, 2]");
  EXPECT_EQ(text(value_of("insert_axes([n, m], [0, 2])")), "[1, N, 1, 6]");
  EXPECT_EQ(text(value_of("remove_axes([1, n, 1, m], [0, 2])")), "[N, 6]");
  EXPECT_EQ(text(value_of("repeat(n, 3)")), "[N, N, N]");
  EXPECT_EQ(text(value_of("range(1, 4)")), "[1, 2, 3]");
}

TEST(AttributeFunctions, Permutations) {
  EXPECT_EQ(text(value_of("compose([1, 2, 0], [0, 2, 1])")), "[1, 0, 2]");
  EXPECT_EQ(text(value_of("inverse([1, 2, 0])")), "[2, 0, 1]");
  EXPECT_EQ(text(value_of("compose([1, 2, 0], inverse([1, 2, 0]))")), "[0, 1, 2]");
  EXPECT_EQ(text(value_of("permute([n, m, 5], [2, 0, 1])")), "[5, N, 6]");
  EXPECT_EQ(text(value_of("swap_last_two(4)")), "[0, 1, 3, 2]");
}

TEST(AttributeFunctions, ErrorsAreExplained) {
  EXPECT_EQ(text(value_of("inverse([1, 1])")),
            "\"attribute 'shape': inverse: argument 0 is [1, 1], not a permutation\"");
  EXPECT_EQ(text(value_of("[divide(m, 4)]")),
            "\"attribute 'shape': divide: 6 is not divisible by 4\"");
  EXPECT_EQ(text(value_of("[at([n, m], 2)]")),
            "\"attribute 'shape': at: position 2 is outside a list of 2\"");
}

TEST(AttributeFunctions, EveryFunctionHasOneRole) {
  for (const AttributeFunction& function : attribute_functions()) {
    EXPECT_NE(function.apply == nullptr, function.holds == nullptr) << function.name;
    EXPECT_FALSE(function.summary.empty()) << function.name;
    EXPECT_EQ(find_attribute_function(function.name), &function);
  }
}

}  // namespace
}  // namespace lemma
