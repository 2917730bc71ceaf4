// Emitted source is compiled, run, and compared with the interpreter, over applications of every operator
// that has a definition.

#include "backend/emit/emit_cpp.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "interpreter/evaluate.h"
#include "outputs/scratch.h"
#include "system/program.h"
#include "tests/backend/operator_samples.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

struct Case {
  std::string what;    // of the application
  std::string symbol;  // of the function
  bool sums_in_lanes =
      false;  // real terms side by side are added up in another order than that of the interpreter
  std::vector<Tensor> inputs, expected;
};

/// Elements of inputs: any, whole numbers, these with infinities of both signs and NaN, or integers up to the limits of the
/// type, without 0.
enum class Values : std::uint8_t { random, whole, with_limits, divisors };

class Sample {
 public:
  /// So many applications of an operator, as unlike each other as the family has them.
  void add(const OperatorRecord& record, std::size_t wanted) {
    std::size_t taken = 0;
    for (const OperatorInstance& instance : small_instances(record))
      if (taken < wanted && add(record, instance)) ++taken;
  }

  /// One application of f32 inputs, or of another type, that the family is too small for.
  void add(std::string_view name, const std::vector<Shape>& shapes, const Attributes& given,
           DataType type = DataType::f32, Values values = Values::random) {
    std::vector<TensorType> types;
    for (const Shape& shape : shapes) types.push_back({type, shape});
    add(name, types, given, values);
  }

  void add(std::string_view name, const std::vector<TensorType>& types, const Attributes& given,
           Values values = Values::random) {
    const OperatorRecord& record = lemma::record(operator_named(name));
    OperatorInstance instance;
    instance.inputs = types;
    const auto attributes = complete_attributes(record, instance.inputs, given, 1);
    ASSERT_TRUE(attributes) << attributes.error().message;
    instance.attributes = *attributes;
    EXPECT_TRUE(add(record, instance, values)) << name;
  }

  /// A definition of inputs of these types, which no operator has in this form.
  void add(const std::string& what, const Definition& definition,
           const std::vector<TensorType>& types, Values values) {
    EXPECT_TRUE(add_definition(what, definition, types, values)) << what;
  }

  const std::vector<Case>& cases() const { return cases_; }
  const std::string& source() const { return source_; }
  int in_blocks() const { return in_blocks_; }
  const std::map<std::string, int>& not_emitted() const { return not_emitted_; }

 private:
  static constexpr std::int64_t most_elements = 1 << 20;

  /// False for an application that is undefined, empty, or has a type that is not emitted.
  bool add(const OperatorRecord& record, const OperatorInstance& instance,
           Values values = Values::random) {
    return add_definition(
        text_of(record, instance.inputs),
        record.define({instance.inputs, instance.attributes, instance.output_count}),
        instance.inputs, values);
  }

  bool add_definition(const std::string& what, const Definition& definition,
                      const std::vector<TensorType>& types, Values values) {
    Case one;
    one.inputs = *random_inputs(types, 7, most_elements);
    if (values != Values::random)
      for (Tensor& input : one.inputs) input = with_values(input, values);
    interpreter::EvaluationOptions options;
    options.threads = 1;
    auto expected = interpreter::evaluate(definition, one.inputs, options);
    if (!expected || expected->at(0).element_count() == 0) return false;
    one.symbol = fmt::format("case_{}", cases_.size());
    const auto emitted = emit_cpp(definition, views_of(one.inputs), one.symbol);
    if (!emitted) {
      EXPECT_EQ(emitted.error().kind, ErrorKind::unsupported) << emitted.error().message;
      ++not_emitted_[emitted.error().message];
      return false;
    }
    // The same terms in the same order: the same bytes.
    const auto in_blocks = emit_cpp(definition, views_of(one.inputs), one.symbol + "_blocks", true);
    EXPECT_TRUE(in_blocks) << in_blocks.error().message;
    if (in_blocks && in_blocks->find("lane") != std::string::npos) ++in_blocks_;
    // Sums of few whole numbers are exact in every order.
    one.sums_in_lanes = values == Values::random &&
                        (sums_in_lanes(*emitted) || sums_in_lanes(in_blocks.value_or("")));
    one.what = what;
    one.expected = std::move(*expected);
    source_ += "// " + one.what + "\n" + *emitted + "\n" + in_blocks.value_or("") + "\n";
    cases_.push_back(std::move(one));
    return true;
  }

  static bool sums_in_lanes(const std::string& source) {
    static const std::regex in_lanes(
        R"(combined_in_pairs<\d+>\(l\d+, \[\]\((float|double) a, \w+ b\) \{ return (Add|Multiply)::)");
    return std::regex_search(source, in_lanes) || source.find("fourier_sums") != std::string::npos;
  }

  static Tensor with_values(const Tensor& tensor, Values values) {
    if (values == Values::divisors) {
      std::vector<std::int64_t> elements = tensor.integers();
      const std::int64_t limit = std::int64_t{1} << (8 * byte_size(tensor.data_type()) - 1);
      for (std::size_t i = 0; i < elements.size(); ++i)
        elements[i] = i % 7 == 0 ? limit - 1 : i % 5 == 0 ? -limit + 1 : elements[i] * 29 + 1;
      return Tensor::from_integers(tensor.data_type(), tensor.sizes(), elements);
    }
    std::vector<double> elements = tensor.reals();
    for (double& element : elements) element = std::round(element * 2);
    if (values == Values::with_limits && elements.size() > 4) {
      elements[1] = std::numeric_limits<double>::infinity();
      elements[elements.size() / 2] = std::numeric_limits<double>::quiet_NaN();
      elements.back() = -std::numeric_limits<double>::infinity();
    }
    return Tensor::from_reals(tensor.data_type(), tensor.sizes(), elements);
  }

  std::vector<Case> cases_;
  std::string source_ = std::string(cpp_prelude()) + "\n";
  std::map<std::string, int> not_emitted_;
  int in_blocks_ = 0;
};

class Library {
 public:
  explicit Library(const std::filesystem::path& file) : handle_(dlopen(file.c_str(), RTLD_NOW)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  bool is_loaded() const { return handle_ != nullptr; }

  std::vector<Tensor> run(const Case& one, const std::string& variant) const {
    using Function = void(const void* const*, void* const*);
    auto* function =
        reinterpret_cast<Function*>(dlsym(handle_, (one.symbol + variant).c_str()));  // NOLINT
    std::vector<const void*> inputs;
    for (const Tensor& input : one.inputs) inputs.push_back(input.bytes().data());
    std::vector<Tensor> results;
    std::vector<void*> outputs;
    for (const Tensor& expected : one.expected) {
      results.push_back(Tensor::uninitialized(expected.data_type(), expected.sizes()));
      outputs.push_back(results.back().writable_bytes().data());
    }
    function(inputs.data(), outputs.data());
    return results;
  }

 private:
  void* handle_;
};

/// As near as another order of the terms allows.
bool is_near(const Tensor& a, const Tensor& b) {
  const std::vector<double> left = a.reals(), right = b.reals();
  double largest = 0;
  for (const double element : right)
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  const double unit = byte_size(a.data_type()) < 4    ? 0x1p-7
                      : byte_size(a.data_type()) == 4 ? 0x1p-20
                                                      : 0x1p-48;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!(std::abs(left[i] - right[i]) <= unit * (largest + std::abs(right[i]))) &&
        !(std::isnan(left[i]) && std::isnan(right[i])) && left[i] != right[i])
      return false;
  return left.size() == right.size();
}

/// The same bytes, where neither is NaN.
bool is_same(const Tensor& a, const Tensor& b) {
  if (a == b) return true;
  if (!is_real(a.data_type()) || a.sizes() != b.sizes()) return false;
  const std::vector<double> left = a.reals(), right = b.reals();
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] != right[i] && !(std::isnan(left[i]) && std::isnan(right[i]))) return false;
  return true;
}

bool compile_in(const std::filesystem::path& folder, const std::string& compiler,
                const std::string& machine) {
  // Vectors are made from level 3 on, and of loops with guards where the machine has masked loads.
  const std::string level = machine.empty() ? "-O1" : "-O3";
  Program program{{compiler, "-std=c++20", level, "-ffp-contract=off", "-Wall",
                   "-Wno-unused-variable", "-Werror", "-fPIC", "-shared", "-I",
                   LEMMA_SOURCE_DIRECTORY, "emitted.cpp", "-o", "emitted.so"},
                  folder};
  if (!machine.empty()) program.words.push_back(machine);
  program.shows_errors = true;
  const auto compiled = run_program(program, [] { return false; });
  return compiled && compiled->succeeded();
}

void expect_the_same(const Sample& sample, const Library& library, const std::string& machine) {
  for (const Case& one : sample.cases()) {
    for (const char* variant : {"", "_blocks"}) {
      const std::vector<Tensor> results = library.run(one, variant);
      for (std::size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(one.sums_in_lanes && is_real(results[i].data_type())
                        ? is_near(results[i], one.expected[i])
                        : is_same(results[i], one.expected[i]))
            << one.what << variant << ", output " << i << " " << machine;
    }
  }
}

/// A convolution of rows whose padding is stored, and whose windows leave it out all the same.
Definition guarded_windows(std::int64_t filters, std::int64_t channels, std::int64_t length,
                           DataType type) {
  DefinitionBuilder d;
  const Expression filter = d.variable(filters), at = d.variable(length);
  const Expression channel = d.variable(channels), tap = d.variable(3);
  const Expression place = at + tap;
  const Expression is_there = (d.integer(1) <= place) && (place < d.integer(length + 1));
  const Expression product =
      d.read(0, type, {channel, place}) * d.read(1, type, {filter, channel, tap});
  d.output({filter, at}, d.sum({channel, tap}, d.select(is_there, product, d.constant(0, type))));
  return std::move(d).finish();
}

/// The gradient of Relu: an element where another is positive, or a constant.
Definition gradient_of_relu(std::int64_t size, DataType type) {
  DefinitionBuilder d;
  const Expression at = d.variable(size);
  const Expression is_positive = d.constant(0, type) < d.read(0, type, {at});
  d.output({at}, d.select(is_positive, d.read(1, type, {at}), d.constant(0, type)));
  return std::move(d).finish();
}

/// Squares that are transposed in registers, and their rests.
void add_transposed(Sample& sample) {
  for (const DataType type : {DataType::u8, DataType::i8, DataType::boolean, DataType::u16,
                              DataType::f16, DataType::f32}) {
    sample.add("Transpose", {Shape{17, 30}}, {}, type);
    sample.add("Transpose", {Shape{16, 16}}, {}, type);
    sample.add("Transpose", {Shape{9, 50}}, {}, type);
    sample.add("Transpose", {Shape{3, 33, 20}}, {{"perm", Integers{0, 2, 1}}}, type);
  }
}

/// Updates that replace elements, some of them twice.
void add_scattered(Sample& sample) {
  const DataType index = DataType::i64;
  for (const DataType type : {DataType::f32, DataType::f16, DataType::u8, DataType::i32,
                              DataType::u64, DataType::boolean}) {
    for (const std::int64_t axis : {0, -1})
      sample.add("ScatterElements",
                 std::vector<TensorType>{
                     {type, Shape{5, 4, 6}}, {index, Shape{5, 3, 2}}, {type, Shape{5, 3, 2}}},
                 {{"axis", axis}});
    sample.add("ScatterElements",
               std::vector<TensorType>{{type, Shape{4}}, {index, Shape{1}}, {type, Shape{1}}},
               {{"axis", INT64_C(0)}});
    sample.add("ScatterND",
               std::vector<TensorType>{
                   {type, Shape{5, 4, 20}}, {index, Shape{3, 2, 1}}, {type, Shape{3, 2, 4, 20}}},
               {});
    sample.add("ScatterND",
               std::vector<TensorType>{
                   {type, Shape{5, 4, 20}}, {index, Shape{7, 2}}, {type, Shape{7, 20}}},
               {});
    EXPECT_NE(sample.source().find("is_inside"), std::string::npos);
  }
}

/// Transforms of lengths with small factors, with larger ones, and of primes.
void add_transforms(Sample& sample) {
  const Attributes onesided = {{"onesided", INT64_C(1)}},
                   back = {{"onesided", INT64_C(1)}, {"inverse", INT64_C(1)}};
  for (const DataType type : {DataType::f32, DataType::f64}) {
    for (const std::int64_t length : {16, 21, 40, 74})
      for (const std::int64_t parts : {1, 2})
        sample.add("DFT", {Shape{2, Dimension(length), Dimension(parts)}}, {}, type);
    sample.add("DFT", {Shape{3, 24, 1}}, onesided, type);
    sample.add("DFT", {Shape{2, 9, 3, 2}}, {{"axis", INT64_C(1)}, {"dft_length", Dimension(30)}},
               type);
    sample.add("DFT", {Shape{2, 40, 2}}, {{"dft_length", Dimension(18)}}, type);
    sample.add("DFT", {Shape{2, 11, 2}}, back, type);
  }
  EXPECT_NE(sample.source().find("fourier_sums.run(9, 30, true"), std::string::npos);
}

/// Elements at computed places, which the rows of a block share.
void add_gathered(Sample& sample) {
  for (const DataType type : {DataType::f32, DataType::f64})
    for (const char* padding : {"zeros", "border", "reflection"})
      sample.add("GridSample", {Shape{2, 16, 9, 10}, Shape{2, 9, 9, 2}},
                 {{"mode", std::string("linear")}, {"padding_mode", std::string(padding)}}, type);
  EXPECT_NE(sample.source().find("static_cast<std::int32_t>("), std::string::npos);
}

/// Rows of the result are asked for before long sums, and not before short ones or where the result is small; terms of long
/// sums are asked for in the sums.
TEST(EmitCpp, asks_for_rows_and_terms_of_long_sums) {
  const OperatorRecord& product = record(operator_named("MatMul"));
  const auto emitted = [&product](std::int64_t rows, std::int64_t terms) {
    const OperatorInstance instance = {
        {{DataType::f32, Shape{rows, terms}}, {DataType::f32, Shape{terms, 256}}}, {}, 1};
    const Definition definition =
        product.define({instance.inputs, instance.attributes, instance.output_count});
    const std::vector<Tensor> inputs = *random_inputs(instance.inputs, 7, 1 << 20);
    return *emit_cpp(definition, views_of(inputs), "product", true);
  };
  const auto asks = [](const std::string& source, const std::string& how) {
    return source.find(", " + how + ">(&") != std::string::npos;
  };
  const std::string rows = "true", terms = "false";
  const std::string large = emitted(256, 96), short_sums = emitted(256, 8), small = emitted(12, 96);
  EXPECT_TRUE(asks(large, rows));
  EXPECT_TRUE(asks(large, terms));
  EXPECT_FALSE(asks(short_sums, rows));
  EXPECT_FALSE(asks(short_sums, terms));
  EXPECT_FALSE(asks(small, rows));
  EXPECT_TRUE(asks(small, terms));
}

/// Applications of each operator, on the machines for which sources are compiled.
void expect_what_the_interpreter_computes(std::size_t applications,
                                          const std::vector<const char*>& machines) {
  const std::string compiler = std::filesystem::exists(LEMMA_CXX_COMPILER)
                                   ? std::string(LEMMA_CXX_COMPILER)
                                   : find_program("c++");
  if (compiler.empty()) GTEST_SKIP() << "there is no C++ compiler";
  Sample sample;
  for (const OperatorRecord& record : all_operators())
    if (record.define != nullptr) sample.add(record, applications);
  // Long sums for few elements are dealt out to partial results; others are taken in order.
  sample.add("ReduceSum", {Shape{2, 1300}}, {{"axes", Integers{1}}});
  sample.add("ReduceMax", {Shape{3, 7, 40}}, {{"axes", Integers{1, 2}}});
  sample.add("ReduceSum", {Shape{90, 33}}, {{"axes", Integers{1}}});
  sample.add("MatMul", {Shape{1, 700}, Shape{700, 2}}, {});
  sample.add("MatMul", {Shape{20, 70}, Shape{70, 30}}, {});
  sample.add("Conv", {Shape{1, 4, 12, 11}, Shape{6, 2, 3, 3}},
             {{"group", Dimension(2)}, {"pads", Shape{1, 0, 1, 2}}});
  sample.add("MatMul", {Shape{3, 9, 7}, Shape{7, 37}}, {});
  sample.add("MatMul", {Shape{1, 20}, Shape{20, 100}}, {});
  sample.add("Conv", {Shape{1, 3, 9, 35}, Shape{5, 3, 3, 3}}, {{"pads", Shape{1, 1, 1, 1}}});
  sample.add("Conv", {Shape{2, 3, 17, 23}, Shape{5, 3, 3, 5}},
             {{"pads", Shape{1, 2, 1, 2}}, {"strides", Shape{2, 2}}});
  sample.add("MaxPool", {Shape{1, 2, 9, 30}},
             {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}});
  sample.add("GlobalAveragePool", {Shape{1, 2, 30, 30}}, {});
  sample.add("Concat", {Shape{2, 6, 2}, Shape{2, 6, 2}}, {{"axis", INT64_C(1)}});
  for (const DataType half : {DataType::f16, DataType::bf16}) {
    sample.add("MatMul", {Shape{20, 70}, Shape{70, 30}}, {}, half);
    sample.add("Conv", {Shape{2, 3, 17, 23}, Shape{5, 3, 3, 5}},
               {{"pads", Shape{1, 2, 1, 2}}, {"strides", Shape{2, 2}}}, half);
    sample.add("MaxPool", {Shape{1, 2, 9, 30}},
               {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}}, half);
    sample.add("ReduceSum", {Shape{2, 1300}}, {{"axes", Integers{1}}}, half);
    sample.add("Exp", {Shape{300}}, {}, half);
  }
  // Terms that lie side by side are taken in lanes: rests of lanes, outer loops, all reductions.
  for (const std::int64_t length : {16, 17, 31, 32, 40, 64, 95})
    for (const char* name : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"})
      for (const DataType type : {DataType::f32, DataType::f64, DataType::i32, DataType::u8})
        sample.add(name, {Shape{70, length}}, {{"axes", Integers{1}}}, type,
                   is_real(type) ? Values::whole : Values::random);
  sample.add("ReduceProd", {Shape{70, 40}}, {{"axes", Integers{1}}});
  sample.add("ReduceMean", {Shape{9, 70, 3, 37}}, {{"axes", Integers{0, 3}}});
  for (const Values values : {Values::whole, Values::with_limits}) {
    sample.add("ReduceSum", {Shape{9, 70, 3, 37}}, {{"axes", Integers{0, 3}}}, DataType::f32,
               values);
    sample.add("ReduceMax", {Shape{70, 50}}, {{"axes", Integers{1}}}, DataType::f32, values);
    sample.add("ReduceMin", {Shape{5, 900}}, {{"axes", Integers{1}}}, DataType::f32, values);
    for (const char* name :
         {"LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "Shrink", "HardSwish"})
      sample.add(name, {Shape{75}}, {}, DataType::f32, values);
  }
  // What is left out may be infinite or NaN where it is multiplied.
  for (const Values values : {Values::whole, Values::with_limits})
    for (const DataType type : {DataType::f32, DataType::f64})
      for (const std::int64_t length : {7, 14, 33}) {
        sample.add("guarded windows", guarded_windows(9, 3, length, type),
                   {{type, Shape{3, Dimension(length + 2)}}, {type, Shape{9, 3, 3}}}, values);
        EXPECT_NE(sample.source().find("add_products_where"), std::string::npos);
      }
  for (const DataType type : {DataType::f16, DataType::bf16}) {
    sample.add("Concat", {Shape{3, 20}, Shape{3, 7}}, {{"axis", INT64_C(1)}}, type);
    sample.add("Transpose", {Shape{17, 30}}, {}, type);
    sample.add("LeakyRelu", {Shape{75}}, {}, type);
    sample.add("gradient of Relu", gradient_of_relu(75, type),
               {{type, Shape{75}}, {type, Shape{75}}}, Values::with_limits);
  }
  for (const DataType type : {DataType::i32, DataType::i8, DataType::u8, DataType::u32}) {
    sample.add("Div", {Shape{300}, Shape{300}}, {}, type, Values::divisors);
    sample.add("Mod", {Shape{300}, Shape{300}}, {}, type, Values::divisors);
  }
  add_transposed(sample);
  add_scattered(sample);
  add_transforms(sample);
  add_gathered(sample);
  // So large that the order of the loops over blocks matters.
  sample.add("Conv", {Shape{1, 16, 130, 260}, Shape{16, 16, 3, 3}}, {});
  EXPECT_NE(sample.source().find("chunk_"), std::string::npos);
  sample.add("MatMul", {Shape{40, 400}, Shape{400, 800}}, {});
  for (const auto& [reason, count] : sample.not_emitted())
    std::cout << "not emitted: " << reason << ": " << count << "\n";

  const TemporaryDirectory folder;
  ASSERT_TRUE(folder.good());
  std::ofstream(folder.path() / "emitted.cpp") << sample.source();
  for (const char* machine : machines) {
    ASSERT_TRUE(compile_in(folder.path(), compiler, machine));
    const Library library(folder.path() / "emitted.so");
    ASSERT_TRUE(library.is_loaded());
    expect_the_same(sample, library, machine);
  }

  std::set<std::string> operators;
  for (const Case& one : sample.cases()) operators.insert(one.what.substr(0, one.what.find('(')));
  for (const char* name :
       {"Add", "Cast", "Concat", "Conv", "CumSum", "Einsum", "Exp", "Gather", "MatMul", "MaxPool",
        "Mod", "Pad", "ReduceMax", "ReduceSum", "Transpose", "Where"})
    EXPECT_TRUE(operators.contains(name)) << name;
  std::cout << sample.cases().size() << " applications of " << operators.size() << " operators\n";
  EXPECT_GT(operators.size(), 100U);
  std::cout << sample.in_blocks() << " in blocks\n";
  EXPECT_GT(sample.in_blocks(), 10);
}

TEST(EmittedSource, computes_what_the_interpreter_does) {
  expect_what_the_interpreter_computes(1, {"-march=native"});
}

// scripts/test --all. Blocks have other sizes where vectors are wider.
TEST(DISABLED_EmittedSource, computes_what_the_interpreter_does_in_all_applications) {
  expect_what_the_interpreter_computes(4, {"", "-march=native"});
}

constexpr std::string_view product =
    R"(extern "C" GUARDED_LOADS void product(const void* const* inputs, void* const* outputs) {
  [[maybe_unused]] std::uint8_t ok = 1;
  [[maybe_unused]] const auto* const x0 = static_cast<const float*>(inputs[0]);
  [[maybe_unused]] const auto* const x1 = static_cast<const float*>(inputs[1]);
  {
    auto* const y = static_cast<float*>(outputs[0]);
    for (std::int64_t i0 = 0; i0 < 2; ++i0) {
      for (std::int64_t i1 = 0; i1 < 4; ++i1) {
        float t6 = 0x0p+0F;
        for (std::int64_t i2 = 0; i2 < 3; ++i2) {
          const float t3 = static_cast<float>(x0[i0 * 3LL + i2]);
          const float t4 = static_cast<float>(x1[i1 + i2 * 4LL]);
          [[maybe_unused]] const float t5 = Multiply::apply(t3, t4);
          t6 = fast::multiply_add(t3, t4, t6);
        }
        y[i0 * 4LL + i1] = static_cast<float>(t6);
      }
    }
  }
}
)";

TEST(EmittedSource, reads_as_a_person_would_write_it) {
  const OperatorRecord& matmul = record(operator_named("MatMul"));
  const std::vector<TensorType> types = {{DataType::f32, Shape{2, 3}},
                                         {DataType::f32, Shape{3, 4}}};
  const Attributes attributes;
  const auto emitted =
      emit_cpp(matmul.define({types, attributes}),
               {{DataType::f32, {2, 3}, false}, {DataType::f32, {3, 4}, false}}, "product");
  ASSERT_TRUE(emitted) << emitted.error().message;
  EXPECT_EQ(*emitted, product);
}

/// What is not stored has no rounding of its own, and each value is rounded as the interpreter does it.
TEST(EmittedSource, halves_are_rounded_when_they_are_stored) {
  const OperatorRecord& negation = record(operator_named("Neg"));
  const std::vector<TensorType> types = {{DataType::bf16, Shape{2}}};
  const Attributes attributes;
  const auto emitted =
      emit_cpp(negation.define({types, attributes}), {{DataType::bf16, {2}, false}}, "negation");
  ASSERT_TRUE(emitted) << emitted.error().message;
  EXPECT_NE(emitted->find("const float t"), std::string::npos) << *emitted;
  EXPECT_NE(emitted->find("y[i0] = static_cast<BF16>("), std::string::npos) << *emitted;
}

TEST(EmittedSource, types_without_source_are_refused) {
  const OperatorRecord& cast = record(operator_named("Cast"));
  const std::vector<TensorType> types = {{DataType::f8e5m2, Shape{2}}};
  const auto attributes = complete_attributes(cast, types, {{"to", DataType::f32}}, 1);
  ASSERT_TRUE(attributes) << attributes.error().message;
  const auto emitted =
      emit_cpp(cast.define({types, *attributes}), {{DataType::f8e5m2, {2}, false}}, "widened");
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace lemma::backend
