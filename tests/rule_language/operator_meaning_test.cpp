// Digests of what operators and attribute functions mean: the same as long as the meaning is, another one
// wherever a definition or a constraint differs at some rank, size, type or attribute.

#include "rule_language/operator_meaning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/sha256.h"
#include "facts/operator_instances.h"
#include "ir/graph.h"
#include "rule_language/digests.h"
#include "rule_language/operator_digests.h"
#include "rule_language/rule_database.h"
#include "verifier/checker/certificate.h"

namespace lemma {
namespace {

// ---- A record that differs from itself at one place ---------------------------------------------

/// Where the definition below reads -x instead of x. It stands for a change of the source.
bool (*differs)(const Instance&) = nullptr;
/// Where it is refused.
bool (*refuses)(const Instance&) = nullptr;

Result<std::vector<TensorType>> infer_copy(const Instance& in) {
  if (refuses != nullptr && refuses(in)) return bad_input("refused");
  for (const TensorType& input : in.inputs)
    if (input.data_type != in.type(0) || input.shape != in.inputs[0].shape)
      return bad_input("the inputs differ");
  return std::vector<TensorType>{in.inputs[0]};
}

Definition define_copy(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  Expression value = d.read(0, in.type(0), axes);
  if (differs != nullptr && differs(in)) value = d.apply(ScalarFunction::negate, value);
  d.output(axes, value);
  return std::move(d).finish();
}

constexpr std::array copy_attributes = {
    AttributeSpecification{.name = "axis", .default_text = "0", .role = AttributeRole::axis},
    AttributeSpecification{
        .name = "mode", .kind = AttributeKind::string, .default_text = "\"none\""},
    AttributeSpecification{.name = "scale", .kind = AttributeKind::real, .default_text = "1.0"},
    AttributeSpecification{
        .name = "pads", .kind = AttributeKind::dimensions, .default_text = "optional"}};

OperatorRecord copy_record(std::uint32_t flags = no_flags, Arity inputs = {}) {
  return {.name = "Copy",
          .summary = "a copy",
          .inputs = inputs,
          .attributes = copy_attributes,
          .flags = flags,
          .infer = infer_copy,
          .define = define_copy};
}

class SyntheticRecord : public testing::Test {
 protected:
  void TearDown() override { differs = refuses = nullptr; }

  /// Whether a definition that differs there has another digest, and one that is refused there.
  static void expect_seen(bool (*where)(const Instance&), OperatorRecord record = copy_record()) {
    differs = refuses = nullptr;
    const std::string before = meaning_digest(record);
    EXPECT_EQ(before, meaning_digest(record));
    differs = where;
    EXPECT_NE(before, meaning_digest(record)) << "the definition";
    differs = nullptr;
    refuses = where;
    EXPECT_NE(before, meaning_digest(record)) << "the constraint";
  }
};

TEST_F(SyntheticRecord, IsSeenToDifferAtEachRank) {
  expect_seen([](const Instance& in) { return in.rank(0) == 1; });
  expect_seen([](const Instance& in) { return in.rank(0) == 5; });
  expect_seen([](const Instance& in) { return in.rank(0) == 6; });
  expect_seen([](const Instance& in) { return in.rank(0) == 8; }, copy_record(elementwise));
}

TEST_F(SyntheticRecord, IsSeenToDifferForEachType) {
  expect_seen([](const Instance& in) { return in.type(0) == DataType::u8; });
  expect_seen([](const Instance& in) { return in.type(0) == DataType::boolean; });
  expect_seen([](const Instance& in) { return in.type(0) == DataType::f16 && in.rank(0) == 5; });
  expect_seen([](const Instance& in) { return in.type(0) == DataType::u64; });
}

TEST_F(SyntheticRecord, IsSeenToDifferForSpecialSizes) {
  expect_seen([](const Instance& in) { return in.rank(0) == 3 && in.shape(0)[0].is(1); });
  expect_seen([](const Instance& in) { return in.rank(0) == 4 && in.shape(0)[3].is(0); });
}

TEST_F(SyntheticRecord, IsSeenToDifferForAttributes) {
  expect_seen([](const Instance& in) { return in.attributes.integer("axis") == 4; });
  expect_seen([](const Instance& in) { return in.attributes.string("mode") == "reflect"; });
  expect_seen([](const Instance& in) { return in.attributes.number("scale") < 0; });
  expect_seen([](const Instance& in) {
    return in.attributes.has("pads") && in.attributes.dimensions("pads").size() == 10;
  });
  expect_seen([](const Instance& in) {
    return in.attributes.integer("axis") == 3 && in.attributes.number("scale") == 2 &&
           in.rank(0) == 4;
  });
}

TEST_F(SyntheticRecord, IsSeenToDifferForNumbersOfInputs) {
  expect_seen([](const Instance& in) { return in.inputs.size() == 3; },
              copy_record(no_flags, {1, -1}));
  expect_seen([](const Instance& in) { return in.inputs.size() == 2 && in.rank(0) == 5; },
              copy_record(no_flags, {1, 3}));
}

TEST_F(SyntheticRecord, KeepsItsDigestWhenItsDocumentationChanges) {
  OperatorRecord other = copy_record();
  other.summary = "the same elements";
  EXPECT_EQ(meaning_digest(copy_record()), meaning_digest(other));
  other.name = "Copy2";
  EXPECT_NE(meaning_digest(copy_record()), meaning_digest(other));
}

/// The same, with nodes and variables that are made in another order.
Definition define_copy_otherwise(const Instance& in) {
  DefinitionBuilder d;
  (void)d.integer(7);
  (void)d.variable(3);
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output(axes, d.read(0, in.type(0), axes));
  return std::move(d).finish();
}

TEST_F(SyntheticRecord, KeepsItsDigestWhenItIsBuiltInAnotherOrder) {
  OperatorRecord other = copy_record();
  other.define = define_copy_otherwise;
  EXPECT_EQ(meaning_digest(copy_record()), meaning_digest(other));
}

// ---- Shipped operators ------------------------------------------------------------------------

std::set<OperatorId> operators_of_axioms() {
  std::set<OperatorId> result;
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  EXPECT_TRUE(axioms) << axioms.error().message;
  for (const Substitution& axiom : *axioms)
    for (const RuleTerm& term : axiom.terms)
      if (!term.is_input) result.insert(term.op);
  return result;
}

/// Each is accepted somewhere, at more than one rank and for more than one type, unless its
/// constraints say otherwise: a family that misses an operator would see no change of it.
TEST(ShippedOperators, AreAcceptedByTheirFamily) {
  const std::map<std::string_view, std::size_t> fewer_ranks = {
      {"BlockChannels", 1},
      {"BlockedAveragePool", 1},
      {"BlockedConv", 1},
      {"BlockedGlobalAveragePool", 1},
      {"BlockedMaxPool", 1},
      {"ConstantOfShape", 1},
      {"DepthToSpace", 1},
      {"EyeLike", 1},
      {"FusedGemm", 1},
      {"GRU", 1},
      {"Gemm", 1},
      {"LSTM", 1},
      {"MultiHeadAttention", 1},
      {"RNN", 1},
      {"Range", 1},
      {"Resize", 2},
      {"SkipLayerNormalization", 2},
      {"SkipSimplifiedLayerNormalization", 2},
      {"SpaceToDepth", 1},
      {"UnblockChannels", 1}};
  // Operands are truth values, or there are none.
  const std::map<std::string_view, std::size_t> fewer_types = {
      {"And", 1}, {"ConstantOfShape", 0}, {"Not", 1}, {"Or", 1}, {"Range", 0}, {"Xor", 1}};
  for (const OperatorId op : operators_of_axioms()) {
    std::set<std::size_t> ranks;
    std::map<std::size_t, std::set<DataType>> types;  // by operand
    std::size_t accepted = 0;
    visit_instances(record(op), [&](const OperatorInstance& given) {
      const auto attributes =
          complete_attributes(record(op), given.inputs, given.attributes, given.output_count);
      if (!attributes || !infer_types(record(op), {given.inputs, *attributes, given.output_count}))
        return false;
      ++accepted;
      ranks.insert(given.inputs.empty() ? 0 : given.inputs[0].shape->size());
      for (std::size_t i = 0; i < given.inputs.size(); ++i)
        types[i].insert(given.inputs[i].data_type);
      return true;
    });
    // One operand of one rank, and no attributes.
    const bool is_narrow = record(op).name == "BlockedGlobalAveragePool";
    EXPECT_GE(accepted, is_narrow ? 7U : 10U) << record(op).name;
    const auto least = [op](const auto& fewer) {
      const auto place = fewer.find(record(op).name);
      return place != fewer.end() ? place->second : 3U;
    };
    std::size_t most_types = 0;
    for (const auto& [operand, some] : types) most_types = std::max(most_types, some.size());
    EXPECT_GE(most_types, least(fewer_types)) << record(op).name;
    EXPECT_GE(ranks.size(), least(fewer_ranks)) << record(op).name;
  }
}

TEST(ShippedOperators, HaveDigestsOfTheirOwn) {
  const std::set<OperatorId> used = operators_of_axioms();
  EXPECT_GE(used.size(), 50U);
  std::map<std::string, std::string_view> known;
  for (const OperatorId op : used) {
    const auto [other, is_new] = known.emplace(meaning_digest(record(op)), record(op).name);
    EXPECT_TRUE(is_new) << record(op).name << " and " << other->second;
  }
  for (const OperatorId op : used) EXPECT_EQ(known.at(meaning_digest(op)), record(op).name);
}

// ---- Every operator -----------------------------------------------------------------------------

/// The record whose meaning is changed, and the application at which it is.
const OperatorRecord* changed = nullptr;
std::string changed_at;

std::string text_of(const Instance& in) {
  std::string result = text(in.attributes);
  for (const TensorType& type : in.inputs)
    result += type.data_type == DataType::undefined ? " -" : " " + text(type);
  return result;
}

/// Another number for each element, at that application.
Definition define_changed(const Instance& in) {
  if (text_of(in) != changed_at) return changed->define(in);
  DefinitionBuilder d;
  const auto types = infer_types(*changed, in);
  for (const TensorType& type : *types)
    d.output(d.variables(*type.shape), d.integer(7, type.data_type));
  return std::move(d).finish();
}

/// The first result once more through an operator, at that application.
Result<std::vector<ValueId>> compose_changed(Graph& graph, const Instance& in,
                                             std::span<const ValueId> inputs) {
  auto outputs = changed->compose(graph, in, inputs);
  if (outputs && text_of(in) == changed_at) (*outputs)[0] = *graph.add("Identity", {(*outputs)[0]});
  return outputs;
}

/// Whether the application is composed of others without an error, where it is composed at all.
bool has_meaning(const OperatorRecord& record, const Instance& in) {
  if (record.define != nullptr) return true;
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    inputs.push_back(in.has(i) ? *graph.add_input(fmt::format("x{}", i), in.inputs[i])
                               : ValueId::none());
  return record.compose(graph, in, inputs).has_value();
}

/// Some application that the shape rule accepts: the last one of the family.
std::string an_application(const OperatorRecord& record) {
  std::string result;
  visit_instances(record, [&](const OperatorInstance& given) {
    const auto attributes =
        complete_attributes(record, given.inputs, given.attributes, given.output_count);
    if (!attributes) return false;
    const Instance in{given.inputs, *attributes, given.output_count};
    if (!infer_types(record, in)) return false;
    if (has_meaning(record, in)) result = text_of(in);
    return true;
  });
  return result;
}

std::string digest_of_changed(const OperatorRecord& record) {
  changed = &record;
  changed_at = an_application(record);
  OperatorRecord other = record;
  if (other.define != nullptr) other.define = define_changed;
  if (other.compose != nullptr) other.compose = compose_changed;
  return meaning_digest(other);
}

/// Some value of the kind, as rules write it.
std::string some_value(const AttributeSpecification& specification) {
  switch (specification.kind) {
    case AttributeKind::integer:
    case AttributeKind::dimension: return "1";
    case AttributeKind::real: return "1.0";
    case AttributeKind::string:
      return fmt::format("\"{}\"",
                         specification.choices.empty() ? "none" : specification.choices[0]);
    case AttributeKind::integers:
    case AttributeKind::dimensions: return "[1]";
    case AttributeKind::reals: return "[1.0]";
    case AttributeKind::data_type: return "f32";
  }
  return "";
}

/// The operator is itself: a rule that nothing but records are made for.
Substitution rule_about(OperatorId op) {
  const OperatorRecord& about = record(op);
  std::string operands, attributes;
  for (int i = 0; i < std::max(about.inputs.minimum, about.inputs.maximum == 0 ? 0 : 1); ++i)
    operands += i == 0 ? "x" : ", x";
  for (const AttributeSpecification& one : about.attributes)
    if (one.default_text == "required")
      attributes +=
          fmt::format("{}{}={}", attributes.empty() ? "" : ", ", one.name, some_value(one));
  const std::string call =
      fmt::format("{}{}({}){}", about.name, attributes.empty() ? "" : "{" + attributes + "}",
                  operands, about.outputs.minimum == 1 && about.outputs.maximum == 1 ? "" : "#0");
  const auto parsed = parse_substitutions(
      fmt::format("rule about_it\n  x : [n]\n  {0} & x => {0} & x\n", call), "test");
  EXPECT_TRUE(parsed) << call << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? parsed->front() : Substitution();
}

std::string certificate_about(const Substitution& rule, OperatorId op) {
  Digests digests;
  return fmt::format(
      "lemma certificate 3\nverifier {}\nid {}\n{}operator {} {}\nclass bitwise\nwitness n=1\n"
      "cases 1 {}\nchain 1\nend\n",
      proof_version, sha256(text(rule)), text(rule), record(op).name, digests.of_operator(op),
      std::string(64, '0'));
}

/// Empty if the checker reads the certificate: it compares all digests then.
std::string complaint_about(const std::string& certificate) {
  Digests digests;
  const auto read = checker::parse_certificate(certificate, {}, digests, 1);
  return read ? "" : read.error().message;
}

class EveryOperator : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryOperator, HasExamplesThatAreAccepted) {
  const OperatorRecord& record = all_operators()[GetParam()];
  for (const OperatorExample& example : record.examples) {
    const auto given = read_example(record, example);
    ASSERT_TRUE(given) << given.error().message;
    const auto attributes =
        complete_attributes(record, given->inputs, given->attributes, given->output_count);
    ASSERT_TRUE(attributes) << example.operands << ": " << attributes.error().message;
    const auto types = infer_types(record, {given->inputs, *attributes, given->output_count});
    EXPECT_TRUE(types) << example.operands << ": " << types.error().message;
  }
}

TEST_P(EveryOperator, HasRecordsThatAreRefusedOnceItsMeaningChanges) {
  const OperatorId op{static_cast<std::uint16_t>(GetParam())};
  const std::vector<std::string_view> known(operator_digests().begin(), operator_digests().end());
  ASSERT_EQ(known[op.v].size(), 64U) << "nothing of its meaning is covered";
  const std::string other = digest_of_changed(record(op));
  ASSERT_EQ(other.size(), 64U);
  EXPECT_NE(other, known[op.v]);

  ASSERT_TRUE(take_meaning_digests(known));
  const Substitution rule = rule_about(op);
  const AxiomRecord axiom = axiom_record(rule, 1);
  ProofRecord proof;
  proof.rule = rule.name;
  proof.text = sha256(text(rule));
  proof.index = index_proof_digest(rule);
  proof.cases = 1;
  proof.digest = sealed_digest(proof, rule, {});
  const std::string certificate = certificate_about(rule, op);
  EXPECT_EQ(misfit(axiom, rule), "");
  EXPECT_EQ(misfit(proof, rule, {}, {}), "");
  EXPECT_EQ(complaint_about(certificate), "");

  std::vector<std::string_view> after = known;
  for (const std::string& digest : {other, std::string()}) {
    after[op.v] = digest;
    ASSERT_TRUE(take_meaning_digests(after));
    EXPECT_NE(misfit(axiom, rule), "");
    EXPECT_NE(misfit(proof, rule, {}, {}), "");
    EXPECT_NE(complaint_about(certificate).find(record(op).name), std::string::npos)
        << complaint_about(certificate);
  }
  // A new record does not help where nothing is covered.
  EXPECT_NE(misfit(axiom_record(rule, 1), rule), "");
  EXPECT_NE(complaint_about(certificate_about(rule, op)), "");
  ASSERT_TRUE(take_meaning_digests(known));
}

INSTANTIATE_TEST_SUITE_P(Records, EveryOperator,
                         testing::Range<std::size_t>(0, all_operators().size()),
                         [](const auto& position) {
                           return std::string(all_operators()[position.param].name);
                         });

TEST(ShippedOperators, HaveTheSameDigestsOnAllThreads) {
  const OperatorId op = operator_named("Softmax");
  std::array<std::string, 4> digests;
  {
    std::vector<std::jthread> threads;
    for (std::string& digest : digests) threads.emplace_back([&] { digest = meaning_digest(op); });
  }
  for (const std::string& digest : digests) EXPECT_EQ(digest, digests[0]);
}

TEST(DigestsOfTheBuild, AreThoseOfTheOperators) {
  ASSERT_EQ(operator_digests().size(), all_operators().size());
  // Of a few: the build computes all, from the library that this test is linked with, whenever that changes.
  for (std::size_t i = 0; i < all_operators().size(); i += 5)
    EXPECT_EQ(operator_digests()[i], meaning_digest(all_operators()[i])) << all_operators()[i].name;
}

TEST(DigestsOfTheBuild, AreNotTakenForAnotherNumberOfOperators) {
  EXPECT_FALSE(take_meaning_digests({}));
  EXPECT_FALSE(take_meaning_digests(operator_digests().subspan(1)));
}

// The last one, since it fills the memory of this process.
TEST(DigestsOfTheBuild, AreWhatIsAnsweredOnceTheyAreTaken) {
  std::vector<std::string_view> digests(operator_digests().begin(), operator_digests().end());
  const OperatorId op = operator_named("Einsum");
  digests[op.v] = "taken";
  ASSERT_TRUE(take_meaning_digests(digests));
  EXPECT_EQ(meaning_digest(op), "taken");
  EXPECT_NE(meaning_digest(record(op)), "taken");
}

// ---- Functions of the rule language -----------------------------------------------------------

TEST(AttributeFunctions, HaveDigestsOfTheirOwn) {
  std::map<std::string, std::string_view> known;
  for (const AttributeFunction& function : attribute_functions()) {
    const auto [other, is_new] = known.emplace(meaning_digest(function), function.name);
    EXPECT_TRUE(is_new) << function.name << " and " << other->second;
  }
}

}  // namespace
}  // namespace lemma
