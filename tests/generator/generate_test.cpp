#include "generator/generate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "generator/spill.h"
#include "generator/terms.h"
#include "interpreter/compare.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "rule_language/substitution_use.h"
#include "system/process_memory.h"
#include "tests/generator/helpers.h"
#include "tests/ranks/local_ranks.h"

namespace lemma::generator {
namespace {

const std::string matrices = R"(
set matrices
input x y : [2, 3]
input a b : [3, 3]
limit elements 36

operator matmul
  u : [m, k]
  v : [k, n]
  MatMul(u, v)

operator add
  u : [S..]
  v : [S..]
  Add(u, v)

operator relu
  u : [S..]
  Relu(u)

operator join
  u : [m, n]
  v : [m, p]
  Concat{axis=1}(u, v)

operator divide
  u : [m, n + p]
  where n == p
  let both = Split{axis=1, split=[n, p]}(u)
  both#0 & both#1
)";

bool has_claim(const Generated& generated, const std::string& claim) {
  return testing::texts_of(generated).find(claim) != std::string::npos;
}

TEST(Generate, FindsTheLawsOfMatrices) {
  const Generated generated = testing::generated_from(testing::set_of(matrices), 3);
  EXPECT_TRUE(has_claim(generated, "MatMul(MatMul(x, a), b) = MatMul(x, MatMul(a, b))"));
  EXPECT_TRUE(has_claim(generated, "Add(MatMul(x, a), MatMul(x, b)) = MatMul(x, Add(a, b))"));
  EXPECT_TRUE(has_claim(generated, "Add(MatMul(x, a), MatMul(y, a)) = MatMul(Add(x, y), a)"));
  EXPECT_TRUE(has_claim(generated,
                        "  x : [n0, n1]\n  a : [n1, n2]\n  b : [n1, n3]\n"
                        "  let t1 = Split{axis=1, split=[n2, n3]}"
                        "(MatMul(x, Concat{axis=1}(a, b)))\n"
                        "  MatMul(x, a) & MatMul(x, b) = t1#0 & t1#1"))
      << "two products that share an input are one";
  EXPECT_TRUE(has_claim(generated, "Relu(Concat"));
  EXPECT_FALSE(has_claim(generated, "Relu(MatMul(x, a)) = MatMul(Relu(x), a)"));
  EXPECT_GT(generated.report.derived, 10 * generated.rules.size());
}

TEST(Generate, SaysWhatIsNeverAppliedAndWhatNoOperatorTakes) {
  const std::string text =
      "set s\ninput x : [2, 3]\ninput z : [2, 2, 2]\nlimit elements 36\n\noperator add\n  u : [m, "
      "n]\n"
      "  v : [m, n]\n  Add(u, v)\n\noperator conv\n  x : [n, c, h, w]\n  k : [o, c, 3, 3]\n"
      "  Conv(x, k)\n\noperator other\n  u : [m, n]\n  Transpose{perm=[0, 1, 2]}(u)\n";
  const GenerateReport report = testing::generated_from(testing::set_of(text), 2).report;
  ASSERT_EQ(report.operators.size(), 3U);
  EXPECT_GT(report.operators[0].applications, 0U);
  EXPECT_GT(report.operators[0].classes, 0U);
  EXPECT_EQ(report.operators[1].applications, 0U);
  const std::string never =
      " is never applied: it fits no inputs and no values of up to 1 operators";
  EXPECT_EQ(report.warnings, (std::vector<std::string>{"test.set:11: operator 'conv'" + never,
                                                       "test.set:16: operator 'other'" + never,
                                                       "test.set:3: no operator takes input 'z'"}));
  // What commutes is written without an equality of terms.
  EXPECT_LE(report.derived, report.equal_terms);
}

TEST(Generate, EveryOperatorOfAShippedSetIsApplied) {
  for (const char* name : {"taso", "cnn", "transformer", "recurrent", "movement", "elementary",
                           "order", "inverses", "normalization", "selection", "parallel"})
    EXPECT_TRUE(testing::generated_from(testing::shipped_set(name), 2).report.warnings.empty())
        << name;
}

TEST(Generate, IsTheSameForAnyNumberOfThreads) {
  const OperatorSet set = testing::set_of(matrices);
  const std::string one = testing::texts_of(testing::generated_from(set, 3, 1));
  EXPECT_EQ(one, testing::texts_of(testing::generated_from(set, 3, 2)));
  EXPECT_EQ(one, testing::texts_of(testing::generated_from(set, 3, 5)));
}

/// What was enumerated: other contents of the inputs must give the same rules.
TEST(Generate, DoesNotDependOnTheContentsOfInputs) {
  const OperatorSet set = testing::set_of(matrices);
  GenerateOptions options;
  options.most_operators = 3;
  options.seed = 77;
  const auto other = generate(set, options);
  ASSERT_TRUE(other);
  EXPECT_EQ(testing::texts_of(*other), testing::texts_of(testing::generated_from(set, 3)));
}

/// By the interpreter, in exact integers, at sizes that the generator did not choose.
TEST(Generate, NoCandidateIsFalse) {
  std::size_t evaluated = 0;
  for (const auto& [name, operators] :
       std::vector<std::pair<std::string, std::size_t>>{{"small", 4}, {"taso", 2}}) {
    const Generated generated = testing::generated_from(testing::shipped_set(name), operators);
    EXPECT_GT(generated.rules.size(), 3U);
    for (const Substitution& rule : generated.rules) {
      for (std::int64_t round = 0; round < 6; ++round) {
        RuleBindings bindings;
        std::int64_t size = round;
        for (const std::string& variable : variable_names(rule)) {
          const Dimension value = 1 + (size = size * 5 + 3) % 4;
          bindings.dimensions[variable] = value;
          bindings.parameters[variable] = value;
          bindings.groups[variable] = {value, value};
        }
        Graph graph;
        std::vector<ValueId> inputs;
        std::vector<interpreter::NamedTensor> tensors;
        for (const RuleInput& input : rule.inputs) {
          RuleExpression list;
          list.kind = RuleExpression::Kind::list;
          list.arguments = input.shape;
          const auto evaluated_shape =
              evaluate_attribute(list, AttributeKind::dimensions, bindings);
          ASSERT_TRUE(evaluated_shape) << text(rule);
          const Shape& shape = std::get<Shape>(*evaluated_shape);
          inputs.push_back(*graph.add_input(input.name, {DataType::f32, shape}));
          tensors.push_back({input.name, interpreter::random_tensor(
                                             DataType::f32, *constant_sizes(shape),
                                             static_cast<std::uint64_t>(round) + 9, inputs.size(),
                                             {-1, 1, -3, 3}, interpreter::Domain::exact_integer)});
        }
        const auto left = instantiate(rule, rule.left, inputs, bindings, graph);
        if (!left) continue;
        const auto right = instantiate(rule, rule.right, inputs, bindings, graph);
        ASSERT_TRUE(right) << text(rule);
        for (std::size_t i = 0; i < left->size(); ++i) {
          ASSERT_TRUE(graph.add_output("l" + std::to_string(i), (*left)[i]));
          ASSERT_TRUE(graph.add_output("r" + std::to_string(i), (*right)[i]));
        }
        interpreter::RunOptions options;
        options.domain = interpreter::Domain::exact_integer;
        const auto outputs = interpreter::run(graph, tensors, options);
        if (!outputs) continue;  // an average is no integer
        for (std::size_t i = 0; i + 1 < outputs->size(); i += 2)
          EXPECT_TRUE((*outputs)[i] == (*outputs)[i + 1]) << text(rule);
        ++evaluated;
      }
    }
  }
  EXPECT_GT(evaluated, 500U);
}

TEST(Generate, WhatHoldsForEqualSizesOnlyIsWrittenForThese) {
  // Reshaping a square to its own shape does nothing; reshaping a rectangle does.
  const OperatorSet set = testing::set_of(R"(
set squares
input a b : [2, 2]
limit elements 8

operator reverse
  u : [m, n]
  Reshape{shape=[n, m]}(u)

operator transpose
  u : [m, n]
  Transpose{perm=[1, 0]}(u)

operator add
  u : [m, n]
  v : [m, n]
  Add(u, v)
)");
  const Generated generated = testing::generated_from(set, 2);
  EXPECT_TRUE(has_claim(generated, "  a : [n0, n0]\n  Reshape{shape=[n0, n0]}(a) => a"));
  EXPECT_FALSE(has_claim(generated, "Reshape{shape=[n1, n0]}(a) => a"));
  EXPECT_TRUE(has_claim(generated, "Transpose{perm=[1, 0]}(Transpose{perm=[1, 0]}(a)) => a"));
}

TEST(Generate, FunctionsObeyTheirLawsAndNoOthers) {
  const OperatorSet set = testing::set_of(R"(
set functions
input x y : [6]
limit elements 8

operator exp
  u : [n]
  Exp(u)

operator log
  u : [n]
  Log(u)

operator sqrt
  u : [n]
  Sqrt(u)

operator tanh
  u : [n]
  Tanh(u)

operator erf
  u : [n]
  Erf(u)

operator neg
  u : [n]
  Neg(u)

operator mul
  u : [n]
  v : [n]
  Mul(u, v)

operator div
  u : [n]
  v : [n]
  Div(u, v)

operator add
  u : [n]
  v : [n]
  Add(u, v)

operator max
  u : [n]
  v : [n]
  Max(u, v)
)");
  const Generated generated = testing::generated_from(set, 3);
  EXPECT_TRUE(has_claim(generated, "Mul(Exp(x), Exp(y)) = Exp(Add(x, y))"));
  EXPECT_TRUE(has_claim(generated, "Log(Exp(x)) => x"));
  EXPECT_TRUE(has_claim(generated, "Neg(Tanh(x)) = Tanh(Neg(x))"));
  EXPECT_TRUE(has_claim(generated, "Neg(Erf(x)) = Erf(Neg(x))"));
  EXPECT_FALSE(has_claim(generated, "Exp(Log(x)) => x")) << "undefined below zero";
  EXPECT_FALSE(has_claim(generated, "Sqrt(Mul(x, x)) => x")) << "it is the absolute value";
  EXPECT_FALSE(has_claim(generated, "Mul(x, Div(y, x)) => y")) << "undefined at zero";
  EXPECT_TRUE(has_claim(generated, "Div(Div(x, y), y) = Div(x, Mul(y, y))"));
  EXPECT_FALSE(has_claim(generated, "Log(Mul(x, y)) = Add(Log(x), Log(y))"))
      << "undefined where both are negative";
}

TEST(Generate, IsTheSameWhateverMemoryThereIs) {
  const OperatorSet set = testing::set_of(matrices);
  const std::string all = testing::texts_of(testing::generated_from(set, 3));
  for (const std::size_t memory : {200'000, 20'000, 3'000}) {
    GenerateOptions options;
    options.most_operators = 3;
    options.range_bytes = memory;
    const auto generated = generate(set, options);
    ASSERT_TRUE(generated) << generated.error().message;
    EXPECT_EQ(testing::texts_of(*generated), all) << memory;
  }
}

/// Elements of most classes are evaluated again.
TEST(Generate, IsTheSameIfElementsOfClassesDoNotFit) {
  const OperatorSet set = testing::set_of(matrices);
  const std::string all = testing::texts_of(testing::generated_from(set, 3));
  for (const int threads : {1, 2}) {
    GenerateOptions options;
    options.most_operators = 3;
    options.threads = threads;
    give_back_memory();
    options.memory =
        resident_bytes() / 4 * 5;  // elements may have memory up to three quarters of it
    const auto generated = generate(set, options);
    ASSERT_TRUE(generated) << generated.error().message;
    EXPECT_EQ(testing::texts_of(*generated), all);
  }
}

TEST(Generate, SaysThatTermsDoNotFitIntoMemory) {
  GenerateOptions options;
  options.most_operators = 3;
  options.memory = 1'000'000;
  const auto generated = generate(testing::set_of(matrices), options);
  ASSERT_FALSE(generated);
  EXPECT_NE(generated.error().message.find("do not fit into the 1 MB of the memory limit"),
            std::string::npos)
      << generated.error().message;
}

TEST(Generate, EnumeratesFiveOperators) {
  const OperatorSet set = testing::shipped_set("small");
  const Generated four = testing::generated_from(set, 4), five = testing::generated_from(set, 5);
  const std::vector<std::uint64_t>& terms = five.report.terms.evaluated_by_cost;
  ASSERT_EQ(terms.size(), 6U);
  EXPECT_GT(terms[5], terms[4]);
  EXPECT_GT(five.report.candidates, four.report.candidates);
}

TEST(Generate, GoesOnFromAnyPlaceWhereItWasInterrupted) {
  const OperatorSet set = testing::set_of(matrices);
  const Generated whole = testing::generated_from(set, 3);
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / "generator_journal";
  std::filesystem::remove_all(directory);
  GenerateOptions options;
  options.most_operators = 3;
  options.work_directory = directory.string();
  const auto with_journal = generate(set, options);
  ASSERT_TRUE(with_journal);
  EXPECT_EQ(testing::texts_of(*with_journal), testing::texts_of(whole));
  const std::filesystem::path journal = directory / "candidates.journal";
  const auto size = std::filesystem::file_size(journal);
  ASSERT_GT(size, 1000U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    // Cut off as if the process had been killed while it wrote.
    std::filesystem::resize_file(journal, interpreter::random_word(4, 0, i) % size);
    options.threads = 1 + static_cast<int>(i % 2);
    const auto resumed = generate(set, options);
    ASSERT_TRUE(resumed);
    EXPECT_EQ(testing::texts_of(*resumed), testing::texts_of(whole)) << i;
    EXPECT_EQ(resumed->report.refuted, whole.report.refuted);
    EXPECT_EQ(resumed->report.by_generality, whole.report.by_generality);
  }
  // So are the journal of joined groups and the file of a range, torn or with a wrong bit.
  for (const char* name : {"joined.journal", "range_1_of_16.groups"}) {
    const std::filesystem::path file = directory / name;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const auto length = std::filesystem::file_size(file);
      ASSERT_GT(length, 100U) << name;
      const std::uint64_t at = interpreter::random_word(5, 0, i) % length;
      if (i % 2 == 0) {
        std::filesystem::resize_file(file, at);
      } else {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const int byte = stream.get();
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(static_cast<char>(byte ^ 4));
      }
      options.threads = 1 + static_cast<int>(i % 3);
      const auto resumed = generate(set, options);
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(testing::texts_of(*resumed), testing::texts_of(whole)) << name << " " << i;
      EXPECT_EQ(resumed->report.groups, whole.report.groups);
      EXPECT_EQ(resumed->report.terms.evaluated, whole.report.terms.evaluated);
      EXPECT_EQ(resumed->report.refuted, whole.report.refuted);
    }
  }
  // A journal of another set is not used.
  const OperatorSet other = testing::shipped_set("small");
  const auto fresh = generate(other, options);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(testing::texts_of(*fresh), testing::texts_of(testing::generated_from(other, 3)));
}

TEST(Generate, CountsTheGraphsThatItCovers) {
  // Counted by hand for one type: sets of applications, each of which depends on others in the set.
  const OperatorSet set = testing::set_of(R"(
set one_type
input x y : [2]
limit elements 4

operator add
  u : [n]
  v : [n]
  Add(u, v)

operator relu
  u : [n]
  Relu(u)
)");
  std::set<std::set<std::string>> level = {{}};
  std::size_t all = 0;
  for (std::size_t size = 1; size <= 3; ++size) {
    std::set<std::set<std::string>> next;
    for (const std::set<std::string>& graph : level) {
      std::vector<std::string> values = {"x", "y"};
      values.insert(values.end(), graph.begin(), graph.end());
      std::set<std::string> applications;
      for (const std::string& u : values) {
        applications.insert("r(" + u + ")");
        for (const std::string& v : values)
          applications.insert("a(" + std::min(u, v) + "," + std::max(u, v) + ")");
      }
      for (const std::string& application : applications) {
        std::set<std::string> larger = graph;
        if (larger.insert(application).second) next.insert(larger);
      }
    }
    level = std::move(next);
    all += level.size();
    EXPECT_EQ(testing::generated_from(set, size).report.graphs, static_cast<double>(all)) << size;
  }
  EXPECT_GT(all, 200U);
}

TEST(Generate, IsTheSameOnAnyNumberOfRanks) {
  const OperatorSet set = testing::set_of(matrices);
  const Generated alone = testing::generated_from(set, 3);
  for (const std::size_t size : {1U, 2U, 3U})
    for (const std::size_t range_bytes : {0U, 3'000U}) {
      testing::run_ranks(size, [&](ranks::Ranks& ranks) {
        GenerateOptions options;
        options.most_operators = 3;
        options.range_bytes = range_bytes;
        options.ranks = &ranks;
        const auto generated = generate(set, options);
        ASSERT_TRUE(generated) << generated.error().message;
        EXPECT_TRUE(ranks.finish());
        if (!ranks.is_first()) {
          EXPECT_TRUE(generated->rules.empty());
          return;
        }
        EXPECT_EQ(testing::texts_of(*generated), testing::texts_of(alone));
        const GenerateReport &report = generated->report, &expected = alone.report;
        EXPECT_EQ(report.terms.evaluated_by_cost, expected.terms.evaluated_by_cost);
        EXPECT_EQ(report.terms.applications, expected.terms.applications);
        EXPECT_EQ(report.terms.collisions, expected.terms.collisions);
        EXPECT_EQ(report.groups, expected.groups);
        EXPECT_EQ(report.equal_terms, expected.equal_terms);
        EXPECT_EQ(report.terms.sent_bytes > 0, size > 1);
      });
    }
}

/// Ranks that were started with different sets, as if from different files.
TEST(Generate, RefusesRanksWithOtherTerms) {
  const OperatorSet sets[] = {testing::set_of(matrices), testing::shipped_set("small")};
  testing::run_ranks(2, [&](ranks::Ranks& ranks) {
    GenerateOptions options;
    options.most_operators = 2;
    options.ranks = &ranks;
    const auto generated = generate(sets[ranks.rank()], options);
    (void)ranks.finish();
    ASSERT_FALSE(generated);
    EXPECT_NE(generated.error().message.find("has other smaller terms"), std::string::npos)
        << generated.error().message;
  });
}

TEST(Generate, CanBeCancelled) {
  GenerateOptions options;
  options.most_operators = 3;
  options.cancelled = [] { return true; };
  const auto generated = generate(testing::set_of(matrices), options);
  ASSERT_FALSE(generated);
  EXPECT_EQ(generated.error().message, "the generation was cancelled");
}

TEST(Spill, HasTheRecordsOfEachRangeInOrderWhateverFitsIntoMemory) {
  for (const std::size_t memory : {std::size_t{0}, std::size_t{200}, std::size_t{1'000'000}}) {
    Spill<std::uint64_t> spill(3, memory);
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(spill.add(i * i % 3, i));
    std::size_t count = 0;
    for (std::size_t range = 0; range < 3; ++range) {
      const auto records = spill.take(range);
      ASSERT_TRUE(records) << records.error().message;
      EXPECT_TRUE(std::is_sorted(records->begin(), records->end()));
      for (const std::uint64_t i : *records) EXPECT_EQ(i * i % 3, range);
      count += records->size();
    }
    EXPECT_EQ(count, 1000U);
    EXPECT_TRUE(spill.take(0)->empty());
  }
}

TEST(Terms, PairsThatShareOperatorsAreFound) {
  const OperatorSet set = testing::set_of(matrices);
  TermTable table(set, 1);
  TermTable::Options options;
  ASSERT_TRUE(table.add_level(1, options));
  ASSERT_TRUE(table.add_level(2, options));
  // relu(x + y) + (x + y): two operators below, three counted apart.
  const auto sum = table.find(1, 0, {0, 1, nothing});
  ASSERT_TRUE(sum);
  const ClassId sum_class = table.nodes()[*sum].id;
  const auto relu = table.find(2, 0, {sum_class, nothing, nothing});
  ASSERT_TRUE(relu);
  ASSERT_TRUE(table.add_level(3, options));
  EXPECT_TRUE(table.find(1, 0, {sum_class, table.nodes()[*relu].id, nothing}));
}

// ---- Free factors, and weights that are told apart

const std::string sequences = R"(
set sequences
input u : [2, 2, 6]
weight s : [2, 2, 3]
limit elements 64
free factors

operator conv
  x : [n, c, z]
  weight k : [o, c, 2*p + 1]
  where p == 1
  Conv{strides=[1], pads=[p, p], dilations=[1], group=1}(x, k)

operator conv_dilated
  x : [n, c, z]
  weight k : [o, c, 3]
  param d : dimension
  where d == 2
  Conv{strides=[1], pads=[d, d], dilations=[d], group=1}(x, k)

operator to_length
  x : [n, c, z]
  param gap : dimension
  where gap == 1
  Reshape{shape=[1, c, n*(z + gap)]}(Transpose{perm=[1, 0, 2]}(Pad{pads=[0, 0, 0, 0, 0, gap], mode="constant", value=0.0}(x)))

operator from_length
  x : [1, c, n*(z + gap)]
  where n == 2, gap == 1
  Slice{starts=[0], ends=[z], axes=[2]}(Transpose{perm=[1, 0, 2]}(Reshape{shape=[c, n, z + gap]}(x)))

operator to_batch
  x : [n, c, d*z]
  where d == 2
  Reshape{shape=[d*n, c, z]}(Transpose{perm=[3, 0, 1, 2]}(Reshape{shape=[n, c, z, d]}(x)))
)";

TEST(FreeFactors, BecomeVariables) {
  const Generated generated = testing::generated_from(testing::set_of(sequences), 3);
  // The gap is as wide as the pads, and the number of sequences is any.
  EXPECT_TRUE(has_claim(generated,
                        "pads=[0, 0, 0, 0, 0, n4], value=0.0}(u))), s)))) = "
                        "Conv{dilations=[1], group=1, pads=[n4, n4], strides=[1]}(u, s)"))
      << testing::texts_of(generated);
  // The dilation is the number of parts.
  EXPECT_TRUE(has_claim(generated, "  u : [n0, n1, n2*n3]\n"));
  EXPECT_TRUE(
      has_claim(generated, "Conv{dilations=[n3], group=1, pads=[n3, n3], strides=[1]}(u, s)"));
}

/// A factor that only the right side has is free: no number is bound by a product.
TEST(FreeFactors, AreDeclaredWhereTheyAreNotBound) {
  const Generated generated = testing::generated_from(testing::set_of(sequences), 3);
  for (const Substitution& rule : generated.rules) {
    const auto read = parse_substitutions(text(rule), "again.rules");
    ASSERT_TRUE(read) << read.error().message << "\n" << text(rule);
    EXPECT_EQ(text(read->front()), text(rule));
  }
}

TEST(Weights, AreNotTakenForImages) {
  std::string unmarked = sequences;
  for (std::size_t at = unmarked.find("weight k"); at != std::string::npos;
       at = unmarked.find("weight k"))
    unmarked.erase(at, 7);
  const OperatorSet set = testing::set_of(sequences), other = testing::set_of(unmarked);
  EXPECT_TRUE(set.tells_weights_apart);
  EXPECT_FALSE(other.tells_weights_apart);
  const auto terms = [](const OperatorSet& of) {
    TermTable table(of, 1);
    EXPECT_TRUE(table.add_level(1, {}));
    std::size_t of_weights = 0;
    for (const TermNode& node : table.nodes())
      of_weights += node.op != nothing && node.operands[0] == 1 ? 1 : 0;
    return of_weights;
  };
  EXPECT_EQ(terms(set), 0U) << "the second input is a weight";
  EXPECT_GT(terms(other), 0U);
}

}  // namespace
}  // namespace lemma::generator
