// Two files count as equal only where all of what they compute was compared.

#include "check/compare_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view sets =
    R"(<ir_version: 8, opset_import: ["" : 13, "d" : 1, "e" : 1, "local" : 1]>)";

std::string model(const std::string& graph, std::string_view imports = sets) {
  return std::string(imports) + "\n g " + graph;
}

/// "equal", "differ", or what could not be compared.
class CompareFiles : public ::testing::Test {
 protected:
  std::string verdict(const std::string& original, const std::string& other) {
    return verdict(frontend::parse_text(original), frontend::parse_text(other));
  }

  std::string verdict(const ::onnx::ModelProto& original, const ::onnx::ModelProto& other) {
    FileComparisonRequest request = {file("original.onnx", original),
                                     file("other.onnx", other),
                                     {},
                                     {},
                                     Deadline::after(60),
                                     nullptr};
    const auto found = compare_files(request);
    if (!found) {
      EXPECT_EQ(found.error().kind, ErrorKind::unsupported) << found.error().message;
      return found.error().message;
    }
    way_ = found->way;
    return found->check.passed ? "equal" : "differ";
  }

  ComparedBy way_ = ComparedBy::interface;
  frontend::TemporaryFolder folder_;

 private:
  std::filesystem::path file(const std::string& name, const ::onnx::ModelProto& message) {
    frontend::write_file(folder_ / name, message.SerializeAsString());
    return folder_ / name;
  }
};

std::string loop(const std::string& step, const std::string& count = "n") {
  return model(
      "(int64 n, bool c, float[2] x) => (float[2] y) {\n y = Loop (" + count +
      ", c, x) <body = b (int64 i, bool goes_on, float[2] s) => (bool next, float[2] t) {\n"
      " next = Identity(goes_on)\n t = " +
      step + "\n }>\n }");
}

std::string branches(const std::string& then_step, const std::string& else_step,
                     const std::string& condition = "c") {
  return model(
      "(bool c, float[4] x) => (float[4] y) {\n back = Neg (x)\n" +
      std::string(
          " least = ReduceMin <keepdims = 0> (x)\n far = Constant <value = float {-77.0}> ()\n"
          " rare = Less (least, far)\n y = If (") +
      condition + ") <then_branch = t () => (float[4] o) { o = " + then_step +
      " }, else_branch = f () => (float[4] p) { p = " + else_step + " }>\n }");
}

TEST_F(CompareFiles, BodiesOfLoops) {
  EXPECT_EQ(verdict(loop("Add(s, x)"), loop("Add(s, x)")), "equal");
  EXPECT_EQ(way_, ComparedBy::structure);
  EXPECT_EQ(verdict(loop("Add(s, x)"), loop("Add(x, s)")), "equal");
  EXPECT_EQ(way_, ComparedBy::running);
  EXPECT_EQ(verdict(loop("Add(s, x)"), loop("Sub(s, x)")), "differ");
  EXPECT_EQ(verdict(loop("Mul(s, x)"), loop("Add(s, x)")), "differ");
}

TEST_F(CompareFiles, ALoopWithoutStepsIsNotCompared) {
  const auto never = [](const std::string& step) {
    std::string text = loop(step, "none");
    return text.replace(text.find("y = Loop"), 0, "none = Constant <value_int = 0> ()\n ");
  };
  EXPECT_EQ(verdict(never("Add(s, x)"), never("Add(s, x)")), "equal");
  EXPECT_THAT(verdict(never("Add(s, x)"), never("Sub(s, x)")), HasSubstr("Loop 'y', body"));
}

TEST_F(CompareFiles, LongLoops) {
  const auto many = [](const std::string& step) {
    std::string text = loop(step, "many");
    return text.replace(text.find("y = Loop"), 0, "many = Constant <value_int = 20000> ()\n ");
  };
  EXPECT_EQ(verdict(many("Add(s, x)"), many("Sub(s, x)")), "differ");
}

TEST_F(CompareFiles, BranchesOfIf) {
  const std::string original = branches("Relu(x)", "Neg(x)");
  EXPECT_EQ(verdict(original, original), "equal");
  EXPECT_EQ(verdict(original, branches("Neg(x)", "Relu(x)")), "differ");
  EXPECT_EQ(verdict(original, branches("Relu(x)", "Abs(x)")), "differ");
  EXPECT_EQ(verdict(original, branches("Abs(x)", "Neg(x)")), "differ");
  EXPECT_EQ(verdict(branches("Add(x, x)", "Neg(x)"), branches("Sub(x, back)", "Neg(x)")), "equal");
}

TEST_F(CompareFiles, ABranchThatIsNeverTakenIsNotCompared) {
  const std::string original = branches("Relu(x)", "Neg(x)", "rare");
  EXPECT_EQ(verdict(original, original), "equal");
  EXPECT_THAT(verdict(original, branches("Exp(x)", "Neg(x)", "rare")),
              HasSubstr("If 'y', then_branch"));
  EXPECT_EQ(verdict(original, branches("Relu(x)", "Abs(x)", "rare")), "differ");
}

TEST_F(CompareFiles, BodiesInBodies) {
  const auto nested = [](const std::string& step) {
    return loop(
        "If(goes_on) <then_branch = t () => (float[2] o) { o = Relu(s) }, else_branch = f () => "
        "(float[2] p) { p "
        "= " +
        step + " }>");
  };
  EXPECT_EQ(verdict(nested("Neg(s)"), nested("Neg(s)")), "equal");
  // The loop ends when its condition no longer holds.
  EXPECT_THAT(verdict(nested("Neg(s)"), nested("Exp(s)")), HasSubstr("else_branch"));
}

TEST_F(CompareFiles, BodiesOfScans) {
  const auto scan = [](const std::string& step) {
    return model(
        "(float[2] s, float[N,2] x) => (float[2] y, float[N,2] z) {\n y, z = Scan <num_scan_inputs "
        "= 1, body = b "
        "(float[2] a, float[2] e) => (float[2] n, float[2] o) {\n n = " +
        step + "\n o = Identity(n)\n }> (s, x)\n }");
  };
  EXPECT_EQ(verdict(scan("Add(a, e)"), scan("Add(a, e)")), "equal");
  EXPECT_EQ(verdict(scan("Add(a, e)"), scan("Add(e, a)")), "equal");
  EXPECT_EQ(verdict(scan("Add(a, e)"), scan("Mul(a, e)")), "differ");
}

std::string custom(const std::string& call, const std::string& imports = std::string(sets)) {
  return model("(float[4] x) => (float[4] y) {\n n = Neg(x)\n p = Identity(x)\n a = " + call +
                   "\n y = Relu(a)\n }",
               imports);
}

TEST_F(CompareFiles, CustomOperators) {
  const std::string original = custom("d.MyOp <k = 1> (x)");
  EXPECT_EQ(verdict(original, original), "equal");
  for (const char* other :
       {"d.MyOp <k = 2> (x)", "d.OtherOp <k = 1> (x)", "e.MyOp <k = 1> (x)",
        "d.MyOp <k = 1, j = 1> (x)", "d.MyOp <k = 1.0> (x)", "d.MyOp <k = 1> (x, n)", "Relu(x)"}) {
    SCOPED_TRACE(other);
    const std::string found = verdict(original, custom(other));
    EXPECT_THAT(found, HasSubstr("MyOp"));
    EXPECT_NE(found, "equal");
  }
  EXPECT_EQ(verdict(original, custom("d.MyOp <k = 1> (n)")), "differ");
  EXPECT_THAT(verdict(original, custom("d.MyOp <k = 1> (x)",
                                       R"(<ir_version: 8, opset_import: ["" : 13, "d" : 2]>)")),
              HasSubstr("MyOp"));
}

TEST_F(CompareFiles, WhatStandsBesideCustomOperatorsIsCompared) {
  const auto around = [](const std::string& end) {
    return model("(float[4] x) => (float[4] y) {\n a = d.MyOp(x)\n b = Neg(a)\n y = " + end +
                 "\n }");
  };
  EXPECT_EQ(verdict(around("Neg(b)"), around("Neg(b)")), "equal");
  EXPECT_THAT(verdict(around("Sub(b, x)"), around("Neg(x)")), HasSubstr("d.MyOp 'a'"));
}

TEST_F(CompareFiles, ValuesOfUnknownTypeComeFromTheSameNode) {
  const auto chain = [](const std::string& last) {
    return model("(float[4] x) => (float[4] y) {\n a = d.First(x)\n b = d.Second(x)\n y = " + last +
                 "\n }");
  };
  EXPECT_EQ(verdict(chain("d.Last(a, b)"), chain("d.Last(a, b)")), "equal");
  EXPECT_NE(verdict(chain("d.Last(a, b)"), chain("d.Last(b, a)")), "equal");
  const auto outputs = [](const std::string& name) {
    return model("(float[4] x) => (y) {\n a, b = d.Two(x)\n y = Identity(" + name + ")\n }");
  };
  EXPECT_EQ(verdict(outputs("a"), outputs("a")), "equal");
  EXPECT_NE(verdict(outputs("a"), outputs("b")), "equal");
}

TEST_F(CompareFiles, SequencesAndStrings) {
  const auto sequence = [](const std::string& first, const std::string& second) {
    return model("(float[4] x) => (float[M] y) {\n n = Neg(x)\n s = SequenceConstruct(" + first +
                 ", " + second + ")\n y = ConcatFromSequence <axis = 0> (s)\n }");
  };
  EXPECT_EQ(verdict(sequence("x", "n"), sequence("x", "n")), "equal");
  EXPECT_EQ(verdict(sequence("x", "n"), sequence("n", "x")), "differ");
  const auto strings = [](const std::string& word) {
    return model("(float[4] x) => (string[1] y, float[4] z) {\n y = Constant <value_strings = [\"" +
                 word + "\"]> ()\n z = Relu(x)\n }");
  };
  EXPECT_EQ(verdict(strings("a"), strings("a")), "equal");
  EXPECT_NE(verdict(strings("a"), strings("b")), "equal");
}

// Most texts do not show that other words are taken out: those that the models hold are drawn.
TEST_F(CompareFiles, InputsThatAreTexts) {
  constexpr std::string_view newer = R"(<ir_version: 10, opset_import: ["" : 21]>)";
  const auto joined = [newer](const std::string& first, const std::string& second) {
    return model("(string[N] x, string[N] y) => (string[N] z) {\n z = StringConcat (" + first +
                     ", " + second + ")\n }",
                 newer);
  };
  EXPECT_EQ(verdict(joined("x", "y"), joined("x", "y")), "equal");
  EXPECT_EQ(verdict(joined("x", "y"), joined("y", "x")), "differ");
  EXPECT_EQ(way_, ComparedBy::running);
  const auto without = [](const std::string& words) {
    return model("(string[N] x) => (string[M] y) {\n y = StringNormalizer <stopwords = [" + words +
                 "], is_case_sensitive = 1> (x)\n }");
  };
  EXPECT_EQ(verdict(without("\"zebra\", \"lion\""), without("\"lion\", \"zebra\"")), "equal");
  EXPECT_EQ(way_, ComparedBy::running);
  EXPECT_EQ(verdict(without("\"zebra\""), without("\"zebra\", \"lion\"")), "differ");
}

/// Its only input holds tensors of the type that the text says. The textual form has no such types.
::onnx::ModelProto with_sequence(const std::string& text) {
  ::onnx::ModelProto message = frontend::parse_text(text);
  ::onnx::ValueInfoProto& input = *message.mutable_graph()->mutable_input(0);
  const ::onnx::TypeProto element = input.type();
  *input.mutable_type()->mutable_sequence_type()->mutable_elem_type() = element;
  return message;
}

::onnx::ModelProto with_optional(const std::string& text) {
  ::onnx::ModelProto message = frontend::parse_text(text);
  ::onnx::ValueInfoProto& input = *message.mutable_graph()->mutable_input(0);
  const ::onnx::TypeProto element = input.type();
  *input.mutable_type()->mutable_optional_type()->mutable_elem_type() = element;
  return message;
}

TEST_F(CompareFiles, InputsThatAreSequences) {
  const auto at = [](const std::string& position, const std::string& step) {
    return with_sequence(model("(float[2] s) => (float[2] y) {\n p = Constant <value = int64 {" +
                               position + "}> ()\n a = SequenceAt (s, p)\n y = " + step + "\n }"));
  };
  EXPECT_EQ(verdict(at("0", "Relu (a)"), at("0", "Max (a, a)")), "differ");
  EXPECT_EQ(verdict(at("0", "Neg (a)"), at("-1", "Neg (a)")), "differ");
  EXPECT_EQ(verdict(at("0", "Add (a, a)"), at("0", "Sum (a, a)")), "equal");
  const auto joined = [](const std::string& axis) {
    return with_sequence(
        model("(float[2, 2] s) => (float[M, K] y) {\n y = ConcatFromSequence <axis = " + axis +
              "> (s)\n }"));
  };
  EXPECT_EQ(verdict(joined("0"), joined("-2")), "equal");
  EXPECT_EQ(verdict(joined("0"), joined("1")), "differ");
}

TEST_F(CompareFiles, InputsThatAreOptional) {
  constexpr std::string_view newer = R"(<ir_version: 10, opset_import: ["" : 18]>)";
  const auto present = [newer](const std::string& step) {
    return with_optional(model(
        "(float[2] o) => (bool y) {\n h = OptionalHasElement (o)\n y = " + step + "\n }", newer));
  };
  EXPECT_EQ(verdict(present("Not (h)"), present("Xor (h, h)")), "differ");
  EXPECT_EQ(verdict(present("And (h, h)"), present("Or (h, h)")), "equal");
  const auto taken = [newer](const std::string& step) {
    return with_optional(
        model("(float[2] o) => (float[2] y) {\n e = OptionalGetElement (o)\n y = " + step + "\n }",
              newer));
  };
  EXPECT_EQ(verdict(taken("Neg (e)"), taken("Abs (e)")), "differ");
  EXPECT_EQ(verdict(taken("Add (e, e)"), taken("Sum (e, e)")), "equal");
}

TEST_F(CompareFiles, TypesOfInputs) {
  const auto typed = [](const std::string& type) {
    return model("(" + type + "[4] x) => (bool[4] y) {\n a = Cast <to = 9> (x)\n y = Not(a)\n }");
  };
  EXPECT_EQ(verdict(typed("float"), typed("float")), "equal");
  EXPECT_EQ(verdict(typed("float"), typed("double")), "differ");
}

TEST_F(CompareFiles, DefaultsOfInputs) {
  const auto with_default = [](float value) {
    ::onnx::ModelProto message = frontend::parse_text(
        model("(float[1] x, float[1] w) => (float[1] y) {\n y = Add(x, w)\n }"));
    ::onnx::TensorProto& tensor = *message.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.add_dims(1);
    tensor.add_float_data(value);
    return message;
  };
  EXPECT_EQ(verdict(with_default(1), with_default(1)), "equal");
  EXPECT_EQ(verdict(with_default(1), with_default(2)), "differ");
}

TEST_F(CompareFiles, LocalFunctionsThatBodiesCall) {
  const auto calling = [](const std::string& step) {
    ::onnx::ModelProto message = frontend::parse_text(loop("local.Step(s)"));
    ::onnx::FunctionProto& function = *message.add_functions();
    function.set_name("Step");
    function.set_domain("local");
    function.add_input("a");
    function.add_output("b");
    auto& imported = *function.add_opset_import();
    imported.set_domain("");
    imported.set_version(13);
    ::onnx::NodeProto& node = *function.add_node();
    node.set_op_type(step);
    node.add_input("a");
    node.add_output("b");
    return message;
  };
  EXPECT_EQ(verdict(calling("Relu"), calling("Relu")), "equal");
  EXPECT_NE(verdict(calling("Relu"), calling("Exp")), "equal");
}

TEST_F(CompareFiles, OperatorSetsOfBodies) {
  // Softmax of operator set 12 flattens, that of 13 does not.
  const auto of_set = [](int set) {
    std::string text = loop("Softmax <axis = 0> (s)");
    return text.replace(text.find("\"\" : 13"), 7, "\"\" : " + std::to_string(set));
  };
  EXPECT_EQ(verdict(of_set(13), of_set(13)), "equal");
  EXPECT_EQ(verdict(of_set(12), of_set(13)), "equal");
  EXPECT_EQ(way_, ComparedBy::running);
}

TEST_F(CompareFiles, RandomOperators) {
  const auto noisy = [](const std::string& scale) {
    return model("(float[4] x) => (float[4] y) {\n r = RandomNormalLike <scale = " + scale +
                 "> (x)\n y = Add(x, r)\n }");
  };
  EXPECT_EQ(verdict(noisy("1.0"), noisy("1.0")), "equal");
  EXPECT_NE(verdict(noisy("1.0"), noisy("2.0")), "equal");
}

TEST_F(CompareFiles, RenamedNodes) {
  const auto called = [](const std::string& name) {
    return model("(float[4] x) => (float[4] y) {\n " + name + " = d.MyOp(x)\n y = Relu(" + name +
                 ")\n }");
  };
  EXPECT_EQ(verdict(called("a"), called("b")), "equal");
}

}  // namespace
}  // namespace lemma
