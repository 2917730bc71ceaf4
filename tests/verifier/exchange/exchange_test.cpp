// TASO's rules: reading, writing, what they mean here, and conditions under which they hold.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "ir/operator.h"
#include "rule_language/rule_database.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/checker/certificate.h"
#include "verifier/checker/replay.h"
#include "verifier/conditions/equations.h"
#include "verifier/conditions/infer.h"
#include "verifier/conditions/side_shapes.h"
#include "verifier/exchange/formulas.h"
#include "verifier/exchange/taso_export.h"
#include "verifier/exchange/taso_import.h"
#include "verifier/prover/sampling.h"

namespace lemma::exchange {
namespace {

using verifier::ConditionedRule;
using verifier::shipped_axioms;

std::string small_file() {
  const auto bytes = read_text_file("tests/verifier/exchange/small.pb");
  EXPECT_TRUE(bytes);
  return bytes.value_or("");
}

/// TASO's own file, where it is at hand.
Result<std::string> taso_file() {
  const char* shared = std::getenv("LEMMA_SHARED");
  return read_text_file(std::filesystem::path(shared != nullptr ? shared : "../shared") /
                        "peers/taso/graph_subst.pb");
}

Substitution parse(std::string_view source) {
  auto parsed = parse_substitutions(source, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(parsed->at(0)) : Substitution{};
}

ConditionedRule decide(std::string_view source) {
  return verifier::prove_under_conditions(parse(source), shipped_axioms());
}

// ---- The format -------------------------------------------------------------------------------

TEST(TasoFormat, WhatIsWrittenIsReadAgain) {
  const auto rules = read_taso(small_file());
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->size(), 11U);
  EXPECT_EQ(write_taso(*rules), small_file());
  EXPECT_EQ(*read_taso(write_taso(*rules)), *rules);
}

/// A file that ends early is refused, but where it ends between two rules.
TEST(TasoFormat, RefusesEveryOtherBeginning) {
  const std::string bytes = small_file();
  std::size_t read = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto rules = read_taso(std::string_view(bytes).substr(0, size));
    if (!rules) continue;
    ++read;
    EXPECT_EQ(write_taso(*rules), bytes.substr(0, size));
  }
  EXPECT_EQ(read, 10U);
}

/// Whatever a byte is changed to, the answer is an error or rules that can be imported or not.
TEST(TasoFormat, SurvivesEveryChangedByte) {
  const std::string bytes = small_file();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {1, 2, 8, 128}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto rules = read_taso(changed);
      if (!rules) continue;
      const ImportedRules imported = import_rules(*rules);
      EXPECT_EQ(imported.rules.size() + imported.left_out.size(), rules->size());
    }
}

TEST(TasoFormat, RefusesOperatorsBeforeTheyAreThere) {
  TasoRule rule;
  rule.source = {{8, {{1, 0}}, {}}, {8, {{-1, 0}}, {}}};
  rule.target = {{8, {{-1, 0}}, {}}};
  rule.outputs = {{{0, 0}, {0, 0}}};
  const auto read = read_taso(write_taso({rule}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "rule 0: operator 1 is used before it is there");
}

// ---- Meaning ----------------------------------------------------------------------------------

TEST(TasoImport, SaysWhatIsLeftOpen) {
  const ImportedRules imported = import_rules(*read_taso(small_file()));
  ASSERT_EQ(imported.rules.size(), 8U);
  EXPECT_EQ(text(imported.rules[2]),
            "rule taso_002\n"
            "  x1 : [A1.., x1_0, x1_1]\n"
            "  x2 : []\n"
            "  x3 : [A1.., x1_1, x3_1]\n"
            "  MatMul(Mul(x1, x2), x3) => Mul(MatMul(x1, x3), x2)\n");
  EXPECT_EQ(text(imported.rules[5]),
            "rule taso_005\n"
            "  x1 : [x1_0, group_1*x3_1, x1_2, x1_3]\n"
            "  x3 : [x3_0, x3_1, 2, 3]\n"
            "  x2 : [x2_0, group_2*x3_1, x2_2, x2_3]\n"
            "  Concat{axis=0}(Conv{group=group_1, pads=[0, 0, 0, 0], strides=[2, 3]}(x1, x3), "
            "Conv{group=group_2, pads=[0, 0, 0, 0], strides=[2, 3]}(x2, x3)) => "
            "Conv{group=group_1, pads=[0, 0, 0, 0], strides=[2, 3]}(Concat{axis=0}(x1, x2), x3)\n");
}

TEST(TasoImport, NamesWhatItLeavesOut) {
  const ImportedRules imported = import_rules(*read_taso(small_file()));
  const std::vector<std::string> expected = {
      "rule 8: left side: operator 0: operator type 77 has no counterpart here",
      "rule 9: left side: operator 0: SAME padding of an even kernel, or for a stride, depends on "
      "sizes",
      "rule 10: right side: operator 0: there is no axis 0"};
  EXPECT_EQ(imported.left_out, expected);
}

// ---- Nothing that TASO admits is lost ---------------------------------------------------------

/// The left side of an imported rule over inputs of given shapes, typed as TASO does it, without
/// regard to the shapes that the import declares.
class LeftSide {
 public:
  LeftSide(const Substitution& rule, const std::vector<Shape>& inputs)
      : rule_(rule), shapes_(rule.terms.size()) {
    for (std::size_t i = 0; i < rule.terms.size(); ++i)
      if (rule.terms[i].is_input) shapes_[i] = inputs[rule.terms[i].input];
  }

  /// Whether it is well typed; `groups` are then the values of variables for numbers of groups.
  bool is_typed(RuleBindings& groups) {
    std::vector<char> needed(rule_.terms.size(), 0);
    for (const TermId root : rule_.left) needed[root.v] = 1;
    for (std::size_t i = rule_.terms.size(); i-- > 0;)
      for (const TermId operand : rule_.terms[i].operands) needed[operand.v] |= needed[i];
    for (std::size_t i = 0; i < rule_.terms.size(); ++i)
      if (needed[i] != 0 && !rule_.terms[i].is_input && !add(i, groups)) return false;
    return true;
  }

 private:
  bool add(std::size_t i, RuleBindings& groups) {
    const RuleTerm& term = rule_.terms[i];
    std::vector<TensorType> operands;
    for (const TermId operand : term.operands)
      operands.push_back({DataType::f32, shapes_[operand.v]});
    Attributes attributes;
    for (const auto& [name, expression] : term.attributes)
      if (name != "group") attributes.set(name, value(expression, name));
    if (record(term.op).name == "Conv") {
      const auto group = groups_of(*operands[0].shape, *operands[1].shape);
      if (!group) return false;
      attributes.set("group", *group);
      for (const auto& [name, expression] : term.attributes)
        if (name == "group" && expression.kind == RuleExpression::Kind::variable)
          groups.dimensions[expression.name] = *group;
    }
    const auto types = verifier::types_of_application(record(term.op), operands, attributes);
    if (!types || !types->zeros().empty()) return false;
    shapes_[i] = *types->outputs[0].shape;
    return true;
  }

  /// TASO divides the channels, and the kernels are 3x3 in its file.
  static std::optional<Dimension> groups_of(const Shape& data, const Shape& weight) {
    const std::int64_t channels = data[1].offset(), kernel = weight[1].offset();
    if (channels % kernel != 0 || weight[0].offset() % (channels / kernel) != 0) return {};
    if (!weight[2].is(3) || !weight[3].is(3)) return {};
    return Dimension(channels / kernel);
  }

  static AttributeValue value(const RuleExpression& expression, std::string_view name) {
    const auto kind = name == "axis" ? AttributeKind::integer : AttributeKind::dimensions;
    return *evaluate_attribute(expression, kind, {});
  }

  const Substitution& rule_;
  std::vector<Shape> shapes_;
};

/// Random shapes: where TASO's left side is well typed, the declared shapes must admit them.
TEST(TasosFile, DeclaresNoShapesThatExcludeWhatTasoAdmits) {
  const auto bytes = taso_file();
  if (!bytes) GTEST_SKIP() << "TASO's file is absent";
  std::uint64_t state = 1;
  const auto below = [&state](std::uint64_t count) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % count;
  };
  const std::int64_t sizes[] = {1, 2, 2, 3, 3, 4};
  for (const Substitution& rule : import_rules(*read_taso(*bytes)).rules) {
    if (!rule.conditions.empty()) continue;  // of rank: TASO's rule is about matrices then
    std::size_t typed = 0;
    for (int attempt = 0; attempt < 6000; ++attempt) {
      const std::size_t leading = below(2);
      std::vector<Shape> inputs;
      const std::int64_t common = sizes[below(6)];
      for (const RuleInput& input : rule.inputs) {
        const bool open =
            !input.shape.empty() && input.shape[0].kind == RuleExpression::Kind::splice;
        Shape& shape =
            inputs.emplace_back(input.shape.size() - (open ? 1 : 0) + (open ? leading : 0));
        for (Dimension& size : shape) size = below(3) != 0 ? common : sizes[below(6)];
        for (std::size_t i = 2; i < shape.size() && shape.size() == 4 && below(2) == 0; ++i)
          shape[i] = 3;
      }
      RuleBindings bindings;
      if (!LeftSide(rule, inputs).is_typed(bindings)) continue;
      ++typed;
      bool fits = true;
      for (std::uint32_t i = 0; i < inputs.size(); ++i)
        fits = fits && match_shape(rule, i, inputs[i], bindings);
      for (std::uint32_t i = 0; i < inputs.size(); ++i)  // what could not be decided before
        fits = fits && match_shape(rule, i, inputs[i], bindings);
      fits = fits && shapes_agree(rule, inputs, bindings);
      ASSERT_TRUE(fits) << text(rule) << ::testing::PrintToString(inputs.size());
    }
    EXPECT_GE(typed, 3U) << rule.name;
  }
}

TEST(TasoExport, ReadsBackAsTheSameRule) {
  for (const Substitution& rule : import_rules(*read_taso(small_file())).rules) {
    const auto exported = export_rule(rule);
    ASSERT_TRUE(exported) << rule.name << ": " << exported.error().message;
    ASSERT_EQ(exported->size(), 1U) << rule.name;
    const ExportedRule& one = exported->front();
    EXPECT_TRUE(one.is_same) << text(one.as_read);
    EXPECT_EQ(text(*import_rule(one.rule, one.as_read.name)), text(one.as_read));
  }
}

TEST(TasoExport, LeavesOutWhatTasoHasNoWordsFor) {
  const auto message = [](std::string_view source) {
    const auto exported = export_rule(parse(source));
    return exported ? "exported" : exported.error().message;
  };
  const auto narrower =
      export_rule(parse("rule a\n  x : [A..]\n  y : [B..]\n  Add(x, y) => Add(y, x)\n"));
  ASSERT_TRUE(narrower);
  ASSERT_EQ(narrower->size(), 1U) << "TASO reads all numbers of axes as the same rule";
  EXPECT_FALSE(narrower->front().is_same) << "TASO does not broadcast";
  EXPECT_EQ(text(narrower->front().as_read),
            "rule a\n  x1 : [A1..]\n  x2 : [A1..]\n  Add(x1, x2) => Add(x2, x1)\n");
  EXPECT_EQ(message("rule a\n  x : [n]\n  Neg(x) => Neg(x)\n"), "the operator Neg");
  EXPECT_EQ(message("rule a\n  x : [n]\n  Relu(x) => x\n"), "an output that is an input");
}

TEST(TasoExport, WritesOutInstancesOfParameters) {
  const auto exported =
      export_rule(parse("rule a\n  x : [A..]\n  param p : permutation[len(A)]\n"
                        "  Relu(Transpose{perm=p}(x)) = Transpose{perm=p}(Relu(x))\n"));
  ASSERT_FALSE(exported) << "of no axis or one there is no exchange";
  const auto matrices =
      export_rule(parse("rule a\n  x : [m, A..]\n  param p : permutation[len(A) + 1]\n"
                        "  Relu(Transpose{perm=p}(x)) = Transpose{perm=p}(Relu(x))\n"));
  ASSERT_TRUE(matrices) << matrices.error().message;
  ASSERT_EQ(matrices->size(), 1U);
  EXPECT_NE(text(matrices->front().as_read).find("perm=[1, 0]"), std::string::npos)
      << text(matrices->front().as_read);
  const auto pools = export_rule(
      parse("rule a\n  x : [a, b, c, d]\n  y : [a, e, c, d]\n  param s : dimensions[2]\n"
            "  Concat{axis=1}(MaxPool{kernel_shape=[2, 2], strides=s}(x), "
            "MaxPool{kernel_shape=[2, 2], strides=s}(y))\n"
            "    = MaxPool{kernel_shape=[2, 2], strides=s}(Concat{axis=1}(x, y))\n"));
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(pools->size(), 2U) << "strides of 1 and 3; there is none of 0";
}

// ---- Conditions -------------------------------------------------------------------------------

constexpr std::string_view two_convolutions =
    "rule two_convolutions\n"
    "  x : [n, g*c, y, z]\n"
    "  v : [o, c, 3, 3]\n"
    "  u : [n, h*d, y, z]\n"
    "  w : [o, d, 3, 3]\n"
    "  Add(Conv{group=g, pads=[1, 1, 1, 1]}(x, v), Conv{group=h, pads=[1, 1, 1, 1]}(u, w))\n"
    "    => Conv{group=divide(g*c + h*d, c + d), pads=[1, 1, 1, 1]}(\n"
    "         Concat{axis=1}(x, u), Concat{axis=1}(v, w))\n";

TEST(Conditions, ExcludeGroupsWhereTheyMust) {
  const ConditionedRule decided = decide(two_convolutions);
  ASSERT_TRUE(verifier::is_proved(decided.verdict)) << verifier::text(decided.verdict);
  EXPECT_EQ(std::set<std::string>(decided.added.begin(), decided.added.end()),
            (std::set<std::string>{"c >= 1", "d >= 1", "g == 1", "h == 1"}));
  EXPECT_TRUE(verifier::is_refuted(decided.unconditional));
  EXPECT_EQ(decided.rule.conditions.size(), 2U) << "the conditions are part of what is proved";
  EXPECT_FALSE(std::get<verifier::Proved>(decided.verdict).witness.empty());
}

TEST(Conditions, AreWhatTheRightSideNeeds) {
  const ConditionedRule decided = decide(
      "rule exchange\n  a : [m, p]\n  b : [m, q]\n  c : [n, r]\n  d : [n, p + q - r]\n"
      "  Concat{axis=0}(Concat{axis=1}(a, b), Concat{axis=1}(c, d))\n"
      "    => Concat{axis=1}(Concat{axis=0}(a, c), Concat{axis=0}(b, d))\n");
  ASSERT_TRUE(verifier::is_proved(decided.verdict)) << verifier::text(decided.verdict);
  EXPECT_EQ(decided.added, std::vector<std::string>{"r == p"});
}

TEST(Conditions, AreNotAddedToWhatIsTrue) {
  const ConditionedRule decided = decide(
      "rule transposed\n  a : [m, k]\n  b : [k, n]\n"
      "  Transpose{perm=[1, 0]}(MatMul(a, b))\n"
      "    => MatMul(Transpose{perm=[1, 0]}(b), Transpose{perm=[1, 0]}(a))\n");
  EXPECT_TRUE(verifier::is_proved(decided.verdict));
  EXPECT_TRUE(decided.added.empty());
}

/// Where l is 0 the left side reads neither a nor b.
TEST(Conditions, AskForDefinedInputsThatTheLeftSideMayNotRead) {
  const ConditionedRule decided = decide(
      "rule associates\n  a : [m, k]\n  b : [k, l]\n  c : [l, n]\n"
      "  MatMul(MatMul(a, b), c) => MatMul(a, MatMul(b, c))\n");
  EXPECT_TRUE(verifier::is_proved(decided.verdict));
  EXPECT_EQ(decided.added.front(), "defined a");
  EXPECT_LT(decided.added.size(), 3U)
      << "b is read by the left side wherever the right side reads it";
}

/// Without groups of their own both sizes are taken to be positive: one would do.
TEST(Conditions, AskForPositiveSizesWhereAnAttributeDivides) {
  const ConditionedRule decided = decide(
      "rule slice_of_half\n  x : [n, m]\n"
      "  Relu(x) => Slice{axes=[0], starts=[0], ends=[divide(n*m, m)]}(Relu(x))\n");
  EXPECT_TRUE(verifier::is_proved(decided.verdict)) << verifier::text(decided.verdict);
  EXPECT_EQ(decided.added, std::vector<std::string>{"m >= 1"});
  EXPECT_TRUE(verifier::is_refuted(decided.unconditional));
}

TEST(Conditions, DoNotSaveWhatIsFalse) {
  for (const std::string_view source :
       {"rule relu_is_nothing\n  x : [n, m]\n  Relu(x) => x\n",
        "rule sums_are_products\n  x : [n]\n  y : [n]\n  Add(x, y) => Mul(x, y)\n",
        "rule relu_of_sum\n  x : [n]\n  y : [n]\n  Add(Relu(x), y) => Relu(Add(x, y))\n"}) {
    const ConditionedRule decided = decide(source);
    EXPECT_TRUE(verifier::is_refuted(decided.verdict)) << source;
    EXPECT_TRUE(decided.added.empty());
  }
}

/// The instance with n_less_1 for each n that conditions take to be positive; nothing where one is 0.
std::optional<RuleBindings> with_positive_sizes(const ConditionedRule& decided,
                                                RuleBindings bindings) {
  for (const std::string& condition : decided.added) {
    if (!condition.ends_with(" >= 1")) continue;
    const std::string name = condition.substr(0, condition.size() - 5);
    const Dimension size = bindings.dimensions.at(name);
    if (size == Dimension(0)) return std::nullopt;
    bindings.dimensions[name + "_less_1"] = size - Dimension(1);
  }
  return bindings;
}

bool has_empty_size(const RuleBindings& bindings) {
  const auto is_empty = [](const auto& size) { return size.second == Dimension(0); };
  return std::any_of(bindings.dimensions.begin(), bindings.dimensions.end(), is_empty) ||
         std::any_of(bindings.groups.begin(), bindings.groups.end(), [](const auto& group) {
           return std::find(group.second.begin(), group.second.end(), Dimension(0)) !=
                  group.second.end();
         });
}

/// Conditions that exclude instances on which both sides agree are too strong. Inputs are defined where the
/// conditions ask for it, and sizes positive.
void expect_weak_conditions(const std::vector<Substitution>& rules, std::size_t expected) {
  std::size_t conditioned = 0;
  for (const Substitution& rule : rules) {
    const ConditionedRule decided = verifier::prove_under_conditions(rule, shipped_axioms());
    if (!verifier::is_proved(decided.verdict) || decided.added.empty()) continue;
    ++conditioned;
    std::size_t agreeing = 0, kept = 0;
    Substitution defined = rule, conditions = decided.rule;
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
      defined.inputs[i].defined = decided.rule.inputs[i].defined;
    conditions.inputs = defined.inputs;  // whose variables the instance has
    for (const verifier::LabelledInstance& instance :
         verifier::label_instances(defined, {600, 40'000, 99})) {
      if (has_empty_size(instance.bindings))
        continue;  // both sides may be empty whatever they compute
      const auto bindings = with_positive_sizes(decided, instance.bindings);
      if (!bindings) continue;
      const bool meets = conditions_hold(conditions, *bindings);
      EXPECT_TRUE(instance.holds || !meets) << rule.name;
      agreeing += instance.holds ? 1 : 0;
      kept += instance.holds && meets ? 1 : 0;
    }
    EXPECT_GT(agreeing, 0U) << rule.name;
    EXPECT_EQ(kept, agreeing) << rule.name << " under "
                              << fmt::format("{}", fmt::join(decided.added, ", "));
  }
  EXPECT_EQ(conditioned, expected);
}

TEST(Conditions, KeepAllInstancesOnWhichTheSidesAgree) {
  expect_weak_conditions(import_rules(*read_taso(small_file())).rules, 5);
}

TEST(TasosFile, HasConditionsThatKeepAllInstancesOnWhichTheSidesAgree) {
  const auto bytes = taso_file();
  if (!bytes) GTEST_SKIP() << "TASO's file is absent";
  const ImportedRules imported = import_rules(*read_taso(*bytes));
  EXPECT_EQ(imported.rules.size(), 133U);
  expect_weak_conditions(imported.rules, 50);
}

// ---- Certificates under conditions ------------------------------------------------------------

class ConditionedCertificate : public testing::Test {
 protected:
  void SetUp() override {
    const ConditionedRule decided = decide(two_convolutions);
    ASSERT_TRUE(verifier::is_proved(decided.verdict));
    certificate_ = std::get<verifier::Proved>(decided.verdict).certificate;
    for (const Substitution& axiom : shipped_axioms().axioms()) table_[axiom.name] = &axiom;
  }
  std::string certificate_;
  checker::AxiomTable table_;
  Digests digests_;
};

TEST_F(ConditionedCertificate, HoldsAndNotWithoutTheCondition) {
  auto certificate = checker::parse_certificate(certificate_, table_, digests_);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_TRUE(checker::check(*certificate));
  for (std::size_t i = 0; i < certificate->rule.conditions.size(); ++i) {
    checker::Certificate weaker = *certificate;
    weaker.rule.conditions.erase(weaker.rule.conditions.begin() + static_cast<std::ptrdiff_t>(i));
    weaker.terms.conditions = weaker.rule.conditions;
    EXPECT_FALSE(checker::check(weaker)) << "without condition " << i;
  }
}

TEST_F(ConditionedCertificate, BecomesAProblemWithGuards) {
  const auto certificate = checker::parse_certificate(certificate_, table_, digests_);
  ASSERT_TRUE(certificate);
  const auto problems = problems_of(*certificate);
  ASSERT_TRUE(problems) << problems.error().message;
  ASSERT_EQ(problems->size(), 1U);
  const std::string tptp_text = tptp(problems->at(0)), smtlib_text = smtlib(problems->at(0));
  EXPECT_NE(tptp_text.find("![V1, V2, V3, V4]: ((t"), std::string::npos);
  EXPECT_NE(tptp_text.find("fof(goal, conjecture, (f"), std::string::npos);
  EXPECT_NE(smtlib_text.find("(assert (not (and true (= (f"), std::string::npos);
}

/// A rule whose sides are the same term needs no step; another one does.
TEST(Certificates, WithoutStepsProveNothingButTheSame) {
  const std::string source = "rule same\n  x : [n]\n  Relu(x) => Relu(x)\n";
  const ConditionedRule decided = decide(source);
  ASSERT_TRUE(verifier::is_proved(decided.verdict));
  checker::AxiomTable table;
  Digests digests;
  auto certificate = checker::parse_certificate(
      std::get<verifier::Proved>(decided.verdict).certificate, table, digests);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_TRUE(checker::check(*certificate));
  certificate->rule = certificate->terms =
      parse("rule same\n  x : [n]\n  Relu(x) => Relu(Relu(x))\n");
  EXPECT_FALSE(checker::check(*certificate));
}

// ---- Equations --------------------------------------------------------------------------------

TEST(SizeEquations, SolveForTheLaterSymbol) {
  const Dimension a = Dimension::symbol("a"), b = Dimension::symbol("b"),
                  c = Dimension::symbol("c");
  verifier::SizeEquations equations({"a", "b", "c"});
  equations.add(a + b - c - Dimension(2));
  EXPECT_EQ(equations.reduced(c), a + b - Dimension(2));
  equations.add(a * b - a * a);
  ASSERT_EQ(equations.open().size(), 1U) << "a may be 0";
  equations.solve(true);
  EXPECT_TRUE(equations.open().empty());
  EXPECT_EQ(equations.reduced(c), a + a - Dimension(2));
  EXPECT_EQ(verifier::size_text(b - a - c * b), "b - b*c - a");
}

}  // namespace
}  // namespace lemma::exchange
