// Records whose shape rule and meaning do not fit together, and files that are no libraries of operators.

#include "facts/outside_operators.h"

#include "ir/operator_registration.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

namespace lemma {
namespace {

Result<std::vector<TensorType>> same(const Instance& in) {
  return std::vector<TensorType>{in.inputs[0]};
}

Result<std::vector<TensorType>> never(const Instance&) { return bad_input("never"); }

/// The element of operand `input`, whatever there is.
template <std::uint32_t input>
Definition copy_of(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output(axes, d.read(input, in.type(0), axes));
  return std::move(d).finish();
}

Definition whole(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output({}, d.sum(axes, d.read(0, in.type(0), axes)));
  return std::move(d).finish();
}

Definition first(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output(axes, d.read(0, in.type(0), {}));
  return std::move(d).finish();
}

Definition both(const Instance& in) {
  DefinitionBuilder d;
  for (int i = 0; i < 2; ++i) {
    const std::vector<Expression> axes = d.variables(in.shape(0));
    d.output(axes, d.read(0, in.type(0), axes));
  }
  return std::move(d).finish();
}

constexpr std::array tested_examples = {OperatorExample{.operands = "f32[N, 2]"}};
constexpr OperatorRecord record_with(DefineFunction define) {
  return {.name = "Tested",
          .summary = "x",
          .infer = same,
          .define = define,
          .examples = tested_examples};
}

/// Without examples: one is looked for among those of the table, which has both.
constexpr std::array in_the_table = {
    OperatorRecord{.name = "Copied", .summary = "x", .infer = same, .define = copy_of<0>},
    OperatorRecord{.name = "Never", .summary = "x", .infer = never, .define = copy_of<0>}};
const bool are_registered = register_operators(in_the_table, "this test").has_value();

std::string refusal(const OperatorRecord& record) {
  const auto checked = check_meaning(record);
  return checked ? "" : checked.error().message;
}

TEST(CheckMeaning, DefinitionsThatDoNotFit) {
  EXPECT_EQ(refusal(record_with(copy_of<0>)), "");
  EXPECT_EQ(refusal(record_with(copy_of<1>)),
            "operator 'Tested': example 1: the definition reads operand 1, which there is not");
  EXPECT_EQ(
      refusal(record_with(first)),
      "operator 'Tested': example 1: the definition reads operand 0 with 0 indices, and it has 2 "
      "axes");
  EXPECT_EQ(refusal(record_with(both)),
            "operator 'Tested': example 1: the definition has 2 outputs, and the shape rule 1");
  const std::string other_axes = refusal(record_with(whole));
  EXPECT_TRUE(
      other_axes.starts_with("operator 'Tested': example 1: output 0 is f32[] by the definition"))
      << other_axes;
}

TEST(CheckMeaning, WithoutExamples) {
  ASSERT_TRUE(are_registered);
  EXPECT_EQ(refusal(in_the_table[0]), "");
  EXPECT_EQ(refusal(in_the_table[1]),
            "operator 'Never': its shape rule accepts none of the usual applications: it needs "
            "examples");
}

TEST(CheckMeaning, Examples) {
  static constexpr std::array refused = {OperatorExample{.operands = "f32[N, 2"}};
  OperatorRecord record = record_with(copy_of<0>);
  record.examples = refused;
  EXPECT_TRUE(refusal(record).starts_with("operator 'Tested': example 1: ")) << refusal(record);
}

std::string refusal_of(const std::filesystem::path& file) {
  const auto loaded = load_operator_libraries({file});
  return loaded ? "" : loaded.error().message;
}

TEST(OperatorLibraries, FilesThatAreNone) {
  EXPECT_EQ(refusal_of("no/such.so"), "no/such.so: there is no such file");
  const auto file = std::filesystem::canonical(testing::TempDir()) / "lemma_text.so";
  std::ofstream(file) << "text";
  EXPECT_EQ(refusal_of(file), file.string() + ": this is no shared library");
  std::ofstream(file) << "\177ELF and nothing else";
  EXPECT_EQ(refusal_of(file),
            file.string() + ": this is no library of operators: it has no LEMMA_OPERATOR_LIBRARY");
  static constexpr char other[] = "\177ELF Lemma operator library for 0.0.1 layout 0123\0 rest";
  std::ofstream(file) << std::string_view(other, sizeof other - 1);
  EXPECT_TRUE(refusal_of(file).starts_with(
      file.string() + ": it was built for Lemma 0.0.1 layout 0123, and this is "))
      << refusal_of(file);
  std::filesystem::remove(file);
}

TEST(OperatorLibraries, WordsOfACommandLine) {
  const auto files = operator_libraries_of(
      {"run", "--operators", "a.so", "m.onnx", "--operators=b.so", "--", "--operators", "c.so"});
  EXPECT_EQ(files, (std::vector<std::filesystem::path>{"a.so", "b.so"}));
}

}  // namespace
}  // namespace lemma
