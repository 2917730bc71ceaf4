// Kernels of one's own in task programs: Lemma's own are right, wrong ones are refused, and what is beside them stays.

#include "backend/execute/override_check.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/execute/program_times.h"
#include "costmodel/roofline.h"
#include "interpreter/random.h"
#include "outputs/scratch.h"

namespace lemma::backend {
namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

// ---- Kernels, most of them wrong ----------------------------------------------------------------

std::int64_t elements_of(const Instance& in) { return element_count(in.shape(0)).offset(); }

bool is_f32(const Instance& in) { return in.type(0) == DataType::f32; }
double one_for_each(const Instance& in) { return static_cast<double>(elements_of(in)); }
std::int64_t row_for_each(const Instance& in) { return elements_of(in); }

/// y[i] = VALUE for the rows of a call, each of one element.
template <const char* value>
std::string each_is(const Instance&) {
  return fmt::format("for (std::int64_t i = first_row; i < end_row; ++i) y[i] = {};\n", value);
}

/// y[i] = VALUE for all elements, without rows.
template <const char* value>
std::string all_are(const Instance& in) {
  return fmt::format("for (std::int64_t i = 0; i < {}; ++i) y[i] = {};\n", elements_of(in), value);
}

/// A scan along the axis: each element takes what is before it. `heeds`: the attribute `reverse`.
template <char operation, bool heeds>
std::string scan_source(const Instance& in) {
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < in.rank(0); ++i) inner *= in.shape(0)[i].offset();
  const std::int64_t length = in.shape(0)[axis].offset(), count = elements_of(in);
  const bool is_reverse = heeds && in.attributes.integer("reverse") != 0;
  return fmt::format(
      "for (std::int64_t start = 0; start < {0}; start += {1} * {2})\n"
      "  for (std::int64_t i = 0; i < {2}; ++i) {{\n"
      "    float total = {5};\n"
      "    for (std::int64_t step = 0; step < {1}; ++step) {{\n"
      "      const std::int64_t at = start + ({3} ? {1} - 1 - step : step) * {2} + i;\n"
      "      if ({4}) y[at] = total;\n"
      "      total {6}= x0[at];\n"
      "      if (!{4}) y[at] = total;\n"
      "    }}\n  }}\n",
      count, length, inner, is_reverse, in.attributes.integer("exclusive") != 0,
      operation == '*' ? 1 : 0, operation);
}

std::string last_is_that_before(const Instance& in) {
  return fmt::format(
      "for (std::int64_t i = 0; i < {0}; ++i) y[i] = std::abs(x0[i < {0} - 1 ? i : {0} - 2 < 0 ? 0 "
      ": "
      "{0} - 2]);\n",
      elements_of(in));
}

std::string forgets_single(const Instance& in) {
  if (elements_of(in) == 1) return "y[0] = 0;\n";
  return fmt::format("for (std::int64_t i = 0; i < {}; ++i) y[i] = -x0[i];\n", elements_of(in));
}

std::string forgets_first_row(const Instance&) {
  return "for (std::int64_t i = 0; i < end_row - first_row; ++i) y[i] = std::sqrt(x0[i]);\n";
}

std::string reads_flat(const Instance& in) {
  const std::int64_t other = element_count(in.shape(1)).offset();
  return fmt::format(
      "for (std::int64_t i = 0; i < end_row; ++i) if (i >= first_row) y[i] = x0[i] - x1[i % {}];\n",
      std::max<std::int64_t>(other, 1));
}
bool is_pair(const Instance& in) {
  return is_f32(in) && in.inputs.size() == 2 && in.shape(0).size() >= in.shape(1).size() &&
         elements_of(in) >= element_count(in.shape(1)).offset();
}
std::int64_t uneven_rows(const Instance& in) { return elements_of(in) + 1; }

constexpr char without_nan[] = "x0[i] > 0 ? x0[i] : 0";
constexpr char nearly[] = "std::floor(x0[i]) * 1.0001f";
constexpr char rounded[] = "std::ceil(x0[i]) * 1.0001f";
constexpr char unknown_word[] = "x0[i] + nowhere";

KernelOverride kernel_of(std::string_view op, std::string (*source)(const Instance&),
                         std::int64_t (*rows)(const Instance&) = nullptr, double tolerance = 0) {
  return {.op = op,
          .target = "rtask-cpu",
          .applies = is_f32,
          .source = source,
          .operations = one_for_each,
          .rows = rows,
          .tolerance = tolerance};
}

/// Those of this test, registered once. Operators by what is wrong.
std::span<const KernelOverride> kernels() {
  static const std::vector<KernelOverride> all = [] {
    std::vector<KernelOverride> kernels = {
        kernel_of("CumProd", scan_source<'*', true>),
        kernel_of("Abs", last_is_that_before),
        kernel_of("Neg", forgets_single),
        kernel_of("Sqrt", forgets_first_row, row_for_each),
        kernel_of("Relu", each_is<without_nan>, row_for_each),
        kernel_of("Floor", all_are<nearly>),
        kernel_of("Ceil", all_are<rounded>, nullptr, 1e-3),
        kernel_of("Round", all_are<unknown_word>),
        kernel_of("Sub", reads_flat, row_for_each),
        kernel_of("Sign", all_are<nearly>, uneven_rows),
        kernel_of("CumSum", scan_source<'+', false>),
    };
    kernels[8].applies = is_pair;
    return kernels;
  }();
  static const bool are_registered = register_overrides(all, "test.so").has_value();
  EXPECT_TRUE(are_registered);
  return all;
}

class OverrideCheckTest : public testing::Test {
 protected:
  /// All kernels whose source compiles are checked in one program.
  static void SetUpTestSuite() {
    kernels();
    folder_ = std::make_unique<TemporaryDirectory>();
    auto builder = ProgramBuilder::create(folder_->path());
    if (!builder) return;
    builder_ = std::make_unique<ProgramBuilder>(std::move(*builder));
    std::vector<FoundOverride> found;
    for (const FoundOverride& one : all_overrides())
      if (one.kernel->op != "Round") found.push_back(one);
    std::vector<Result<OverrideCheck>> checked = check_overrides(found, *builder_);
    for (std::size_t i = 0; i < found.size(); ++i)
      checked_.emplace(found[i].kernel, std::move(checked[i]));
  }
  static void TearDownTestSuite() {
    checked_.clear();
    builder_.reset();
    folder_.reset();
  }
  void SetUp() override {
    if (!builder_) GTEST_SKIP() << "there is no C++ compiler";
  }

  static FoundOverride found(std::string_view op) {
    for (const FoundOverride& one : all_overrides())
      if (one.kernel->op == op) return one;
    ADD_FAILURE() << op;
    return {};
  }
  static const Result<OverrideCheck>& checked(std::string_view op) {
    return checked_.at(found(op).kernel);
  }

  /// The error of a kernel, without its beginning.
  static std::string error_of(std::string_view op, const Result<OverrideCheck>& checked) {
    EXPECT_FALSE(checked) << op;
    if (checked) return "";
    const std::string& message = checked.error().message;
    const std::string begin = fmt::format("test.so: kernel of {} for rtask-cpu", op);
    EXPECT_TRUE(message.starts_with(begin)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(std::min(begin.size(), message.size()));
  }
  static std::string refused(std::string_view op) { return error_of(op, checked(op)); }

  static std::unique_ptr<TemporaryDirectory> folder_;
  static std::unique_ptr<ProgramBuilder> builder_;
  static std::map<const KernelOverride*, Result<OverrideCheck>> checked_;
};

std::unique_ptr<TemporaryDirectory> OverrideCheckTest::folder_;
std::unique_ptr<ProgramBuilder> OverrideCheckTest::builder_;
std::map<const KernelOverride*, Result<OverrideCheck>> OverrideCheckTest::checked_;

TEST_F(OverrideCheckTest, LemmasOwnAreRight) {
  std::size_t count = 0;
  for (const FoundOverride& kernel : all_overrides()) {
    if (!kernel.origin.empty()) continue;
    const auto& one = checked_.at(kernel.kernel);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_GE(one->applications, 10U);
    EXPECT_GE(one->comparisons, 40U);
    ++count;
  }
  EXPECT_EQ(count, own_overrides().size());
}

TEST_F(OverrideCheckTest, ARightOneFromOutsideIsTaken) {
  ASSERT_TRUE(checked("CumProd")) << checked("CumProd").error().message;
  EXPECT_GE(checked("CumProd")->applications, 10U);
}

TEST_F(OverrideCheckTest, AWrongElementIsNamed) {
  const std::string said = refused("Abs");
  EXPECT_NE(said.find(" is wrong: of Abs(f32["), std::string::npos) << said;
  EXPECT_NE(said.find(" by the interpreter"), std::string::npos) << said;
}

TEST_F(OverrideCheckTest, WhatIsWrongAtSizeOneIsRefused) {
  const std::string said = refused("Neg");
  EXPECT_TRUE(said.find("f32[1") != std::string::npos || said.find("f32[]") != std::string::npos)
      << said;
}

TEST_F(OverrideCheckTest, AnAttributeThatIsIgnoredIsRefused) {
  const std::string said = refused("CumSum");
  EXPECT_NE(said.find("reverse="), std::string::npos) << said;
  EXPECT_EQ(said.find("reverse=0"), std::string::npos) << said;
}

TEST_F(OverrideCheckTest, RowsOfOtherTasksAreSeen) { EXPECT_NE(refused("Sqrt"), ""); }

TEST_F(OverrideCheckTest, NaNIsCompared) {
  const std::string said = refused("Relu");
  EXPECT_NE(said.find("nan by the interpreter"), std::string::npos) << said;
}

TEST_F(OverrideCheckTest, TheToleranceDecides) {
  EXPECT_NE(refused("Floor"), "");
  EXPECT_TRUE(checked("Ceil")) << checked("Ceil").error().message;
}

TEST_F(OverrideCheckTest, ASourceThatDoesNotCompileIsRefused) {
  const auto checked = check_override(found("Round"), {}, *builder_);
  EXPECT_NE(error_of("Round", checked).find("does not compile"), std::string::npos);
}

TEST_F(OverrideCheckTest, BroadcastingIsTested) { EXPECT_NE(refused("Sub"), ""); }

TEST_F(OverrideCheckTest, RowsHaveToDivideTheResult) {
  EXPECT_NE(refused("Sign").find(" rows of a result of "), std::string::npos);
}

TEST(Overrides, WhatIsNoKernelIsNotRegistered) {
  const auto message = [](const KernelOverride& kernel) {
    const auto registered = register_overrides(std::span(&kernel, 1), "it.so");
    return registered ? "" : registered.error().message;
  };
  KernelOverride kernel = kernel_of("Nowhere", all_are<nearly>);
  EXPECT_EQ(message(kernel),
            "it.so: kernel of Nowhere for rtask-cpu: there is no operator of this name");
  kernel.op = "Exp";
  kernel.target = "rtask-cuda";
  EXPECT_NE(message(kernel).find("no kernels for the target 'rtask-cuda'"), std::string::npos);
  kernel.target = "rtask-cpu";
  kernel.tolerance = 0.1;
  EXPECT_NE(message(kernel).find("the tolerance 0.1"), std::string::npos);
  kernel.tolerance = 0;
  kernel.operations = nullptr;
  EXPECT_NE(message(kernel).find("it lacks one of the functions"), std::string::npos);
  kernels();
  EXPECT_NE(
      message(kernel_of("Abs", all_are<nearly>)).find("there is a kernel for it from test.so"),
      std::string::npos);
}

// ---- Within a program ---------------------------------------------------------------------------

/// Right kernels alone: MaxPool of Lemma and CumProd of this test.
Result<Graph> between() {
  Graph graph;
  LEMMA_ASSIGN_OR_RETURN(const ValueId x,
                         graph.add_input("x", {DataType::f32, Shape{2, 3, 9, 16}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId w, graph.add_input("w", {DataType::f32, Shape{16, 16}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId r, graph.add("Tanh", {x}));
  LEMMA_ASSIGN_OR_RETURN(
      const ValueId p,
      graph.add("MaxPool", {r}, {{"kernel_shape", Shape{5, 5}}, {"pads", Shape{2, 2, 2, 2}}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId c, graph.add("CumProd", {w}, {{"axis", std::int64_t{0}}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId m, graph.add("MatMul", {p, w}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId n, graph.add("MatMul", {m, c}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId s, graph.add("Add", {n, r}));
  LEMMA_ASSIGN_OR_RETURN(
      const ValueId q,
      graph.add("CumProd", {s}, {{"axis", std::int64_t{3}}, {"reverse", std::int64_t{1}}}));
  LEMMA_RETURN_IF_ERROR(graph.add_output("q", q));
  LEMMA_RETURN_IF_ERROR(graph.add_output("p", p));
  LEMMA_RETURN_IF_ERROR(graph.add_output("s", s));
  return graph;
}

std::size_t own_count(const TaskProgram& program) {
  return own_kernel_lines(std::span(&program, 1)).size();
}

TEST_F(OverrideCheckTest, WhatIsBesideAKernelStaysRight) {
  const auto graph = between();
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<NamedTensor> inputs = {
      {"x", interpreter::random_tensor(DataType::f32, {2, 3, 9, 16}, 1, 1)},
      {"w", interpreter::random_tensor(DataType::f32, {16, 16}, 1, 2)}};
  const auto expected = interpreter::run(*graph, inputs);
  ASSERT_TRUE(expected) << expected.error().message;
  for (const std::uint32_t units : {3U}) {
    CompileOptions options;
    options.device = cpu_device(units);
    options.tiles_windows = true;
    options.device.least_task_seconds = 1e-7;
    auto program = compile(*graph, options);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(own_count(*program), 3U);
    const auto folder = builder_->write(*program);
    ASSERT_TRUE(folder) << folder.error().message;
    ASSERT_TRUE(builder_->build(*folder, [] { return false; }));
    auto built = BuiltProgram::open(*folder);
    ASSERT_TRUE(built) << built.error().message;
    ProgramCall call(*program, inputs_by_position(*program, inputs));
    ASSERT_TRUE(built->run(call));
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const auto a = call.outputs()[i].reals(), b = (*expected)[i].reals();
      for (std::size_t k = 0; k < b.size(); ++k)
        ASSERT_NEAR(a[k], b[k], 1e-4 * (1 + std::abs(b[k])));
    }
  }
}

TEST(Overrides, TheyAreLeftOutWhereTheyCannotBe) {
  kernels();
  const auto graph = between();
  CompileOptions options;
  options.takes_own_kernels = false;
  EXPECT_EQ(own_count(*compile(*graph, options)), 0U);
  options.takes_own_kernels = true;
  options.domain = lowering::Domain::prime_field;
  EXPECT_EQ(own_count(*compile(*graph, options)), 0U);
}

TEST(Overrides, CostsCountTheirOperations) {
  Device device;
  device.name = "d";
  device.elementwise_peak = device.contraction_peak = {{DataType::f32, 1.0}};
  device.memory_bandwidth = 1e30;
  CostKey key;
  key.op = &record(operator_named("MaxPool"));
  key.inputs = {{DataType::f32, Shape{1, 1, 20, 20}}};
  key.outputs = {{DataType::f32, Shape{1, 1, 12, 12}}};
  key.attributes = *complete_attributes(*key.op, key.inputs, {{"kernel_shape", Shape{9, 9}}}, 1);
  const double derived = Roofline(device).find(key)->seconds;
  device.own_kernels = "rtask-cpu";
  const double own = Roofline(device).find(key)->seconds;
  EXPECT_NEAR(own, 12 * 20 * (9 + 4), 1e-6);
  EXPECT_GT(derived, 3 * own);
}

}  // namespace
}  // namespace lemma::backend
