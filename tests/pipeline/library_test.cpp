// What a program that calls optimize_model() may rely on: it is told of the progress, can end a call, gets what its callbacks
// throw, and may have several calls at once. Nothing is written where there is no result.

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "costmodel/device.h"
#include "pipeline/optimize_model.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* header = R"(<ir_version: 8, opset_import: ["" : 17]> g )";

/// Two products of one operand, which rules merge.
std::string products(int width) {
  const std::string n = std::to_string(width);
  return std::string(header) + "(float[4," + n + "] x, float[" + n + ",8] a, float[" + n +
         ",8] b) => (float[4,8] y) { p = MatMul(x, a) q = MatMul(x, b) s = Add(p, q) r = Relu(s) "
         "y = Relu(r) }";
}

/// On which backtracking spends minutes.
std::string long_chain() {
  std::string nodes, last = "x";
  for (int i = 0; i < 200; ++i) {
    const std::string next = "v" + std::to_string(i);
    nodes += next + (i % 2 == 0 ? " = MatMul(" : " = Add(") + last + ", z) ";
    last = next;
  }
  return std::string(header) + "(float[8,8] x, float[8,8] z) => (float[8,8] y) { " + nodes +
         "y = Relu(" + last + ") }";
}

const RuleDatabase& rules() {
  static const RuleDatabase database = *load_rules("rules");
  return database;
}

/// The device's costs behind those of a provider.
OperatorCosts costs_with(std::vector<std::shared_ptr<const CostProvider>> providers = {}) {
  return OperatorCosts(priced_by_roofline(*load_device("targets/devices/cpu.json")),
                       std::move(providers));
}

/// Answers with what a function gives.
class GivenCosts : public CostProvider {
 public:
  explicit GivenCosts(std::function<double()> seconds) : seconds_(std::move(seconds)) {}
  std::optional<Cost> find(const CostKey& /*key*/) const override { return Cost{seconds_()}; }

 private:
  std::function<double()> seconds_;
};

class CallsOfTheLibrary : public ::testing::Test {
 protected:
  CallsOfTheLibrary() { write(products(16)); }
  void write(const std::string& text) const {
    frontend::write_file(folder_ / "model.onnx", frontend::parse_text(text).SerializeAsString());
  }
  Result<OptimizeReport> optimized(const OptimizeOptions& options,
                                   const OperatorCosts& costs = costs_with()) const {
    return optimize_model(folder_ / "model.onnx", folder_ / "result.onnx", rules(), costs, options);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// What a call is doing, in order.
  std::vector<std::string> stages() const {
    std::vector<std::string> result;
    OptimizeOptions options;
    options.on_stage = [&result](const std::string& stage) { result.push_back(stage); };
    const auto report = optimized(options);
    EXPECT_TRUE(report && report->status == OptimizeStatus::optimized);
    std::filesystem::remove(folder_ / "result.onnx");
    return result;
  }

  frontend::TemporaryFolder folder_;
};

TEST_F(CallsOfTheLibrary, TellTheirProgress) {
  const std::vector<std::string> told = stages();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front(), "reading");
  EXPECT_THAT(told, Contains("computing the original"));
}

TEST_F(CallsOfTheLibrary, AreCancelledAtEachStep) {
  frontend::write_file(folder_ / "result.onnx", "from before");
  const std::size_t count = [this] {
    const frontend::TemporaryFolder other;
    std::size_t steps = 0;
    OptimizeOptions options;
    options.on_stage = [&steps](const std::string&) { ++steps; };
    EXPECT_TRUE(optimize_model(folder_ / "model.onnx", other / "result.onnx", rules(), costs_with(),
                               options));
    return steps;
  }();
  ASSERT_GT(count, 5U);
  for (std::size_t last = 0; last <= count; ++last) {
    std::atomic<bool> cancelled = last == 0;  // before the call
    std::size_t step = 0;
    OptimizeOptions options;
    options.cancelled = &cancelled;
    options.explanation = folder_ / "explanation";
    options.on_stage = [&](const std::string&) { cancelled = ++step >= last; };
    const auto report = optimized(options);
    ASSERT_FALSE(report) << last;
    EXPECT_TRUE(is_cancelled(report.error())) << report.error().message;
    EXPECT_THAT(files(), ElementsAre("model.onnx", "result.onnx"));
    EXPECT_EQ(frontend::read_file(folder_ / "result.onnx"), "from before");
  }
}

TEST_F(CallsOfTheLibrary, AreCancelledInTheMiddleOfASearch) {
  write(long_chain());
  std::atomic<bool> cancelled = false, searches = false;
  OptimizeOptions options;
  options.time_limit_seconds = 250;
  options.search.strategy = Strategy::backtracking;
  options.search.budget = 1'000'000;
  options.cancelled = &cancelled;
  options.on_stage = [&searches](const std::string& stage) {
    if (stage == "backtracking") searches = true;
    searches.notify_all();
  };
  std::thread other([&] {
    searches.wait(false);
    cancelled = true;
  });
  const auto report = optimized(options);
  searches = true;
  searches.notify_all();
  other.join();
  ASSERT_FALSE(report);
  EXPECT_TRUE(is_cancelled(report.error())) << report.error().message;
  EXPECT_THAT(files(), ElementsAre("model.onnx"));
}

TEST_F(CallsOfTheLibrary, OtherErrorsAreNoCancellation) {
  frontend::write_file(folder_ / "model.onnx", "no model");
  std::atomic<bool> cancelled = false;
  OptimizeOptions options;
  options.cancelled = &cancelled;
  const auto report = optimized(options);
  ASSERT_FALSE(report);
  EXPECT_FALSE(is_cancelled(report.error()));
}

TEST_F(CallsOfTheLibrary, LetExceptionsOfProgressOut) {
  const std::size_t count = stages().size();
  for (std::size_t last = 1; last <= count; ++last) {
    std::size_t step = 0;
    OptimizeOptions options;
    options.on_stage = [&](const std::string& stage) {
      if (++step == last) throw std::runtime_error(stage);
    };
    EXPECT_THROW((void)optimized(options), std::runtime_error) << last;
    EXPECT_THAT(files(), ElementsAre("model.onnx"));
  }
}

TEST_F(CallsOfTheLibrary, LetExceptionsOfCostsOut) {
  for (const int asked_before : {0, 1, 20}) {
    std::atomic<int> asked = 0;
    const auto broken = std::make_shared<GivenCosts>([&asked, asked_before]() -> double {
      if (asked++ >= asked_before) throw std::runtime_error("the table is broken");
      return 1e-6;
    });
    EXPECT_THROW((void)optimized({}, costs_with({broken})), std::runtime_error) << asked_before;
    EXPECT_THAT(files(), ElementsAre("model.onnx"));
  }
}

TEST_F(CallsOfTheLibrary, RefuseCostsThatAreNone) {
  using Limits = std::numeric_limits<double>;
  for (const double seconds :
       {Limits::quiet_NaN(), -1.0, Limits::infinity(), -Limits::infinity()}) {
    const auto wrong = std::make_shared<GivenCosts>([seconds] { return seconds; });
    const auto report = optimized({}, costs_with({wrong}));
    ASSERT_FALSE(report) << seconds;
    EXPECT_EQ(report.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(report.error().message, HasSubstr("cost"));
    EXPECT_THAT(files(), ElementsAre("model.onnx"));
  }
}

/// Four calls at once write what they write one after the other.
TEST(CallsAtOnce, GiveTheSameBytes) {
  const frontend::TemporaryFolder folder;
  const OperatorCosts costs = costs_with();
  constexpr int count = 4;
  for (int i = 0; i < count; ++i)
    frontend::write_file(folder / ("model_" + std::to_string(i)),
                         frontend::parse_text(products(8 + 8 * i)).SerializeAsString());
  const auto call = [&](int i, const std::string& result) {
    const auto report = optimize_model(folder / ("model_" + std::to_string(i)),
                                       folder / (result + std::to_string(i)), rules(), costs, {});
    EXPECT_TRUE(report && report->status == OptimizeStatus::optimized)
        << frontend::error_of(report);
  };
  for (int i = 0; i < count; ++i) call(i, "alone_");
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(call, i, "at_once_");
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < count; ++i) {
    const std::string alone = frontend::read_file(folder / ("alone_" + std::to_string(i)));
    EXPECT_FALSE(alone.empty());
    EXPECT_EQ(frontend::read_file(folder / ("at_once_" + std::to_string(i))), alone) << i;
  }
}

}  // namespace
}  // namespace lemma
