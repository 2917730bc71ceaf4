#include "profiler/onnxruntime_worker.h"
#include "outputs/scratch.h"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

namespace lemma {
namespace {

/// A shell script in place of the Python program.
class WorkerTest : public testing::Test {
 protected:
  OnnxRuntimeProgram script(const std::string& text) {
    const auto file = folder_.path() / "worker.sh";
    std::ofstream(file) << text;
    return {"/bin/sh", file};
  }
  TemporaryDirectory folder_;
};

TEST_F(WorkerTest, AnswersAreRead) {
  OnnxRuntimeWorker worker(
      script("echo '{\"available\": true, \"version\": \"1\"}'\n"
             "read line\necho '{\"verdict\": 1}'\n"));
  EXPECT_EQ(worker.version(30).value(), "1");
  EXPECT_EQ(worker.ask({{"action", "x"}}, 30).value().value("verdict", 0), 1);
}

TEST_F(WorkerTest, AfterALateAnswerItIsNotAskedAgain) {
  OnnxRuntimeWorker worker(
      script("echo '{\"available\": true, \"version\": \"1\"}'\nread line\nsleep 100\n"));
  ASSERT_TRUE(worker.version(30));
  EXPECT_FALSE(worker.ask({{"action", "x"}}, 0.1));
  EXPECT_TRUE(worker.was_available());
  EXPECT_FALSE(worker.ask({{"action", "x"}}, 30));
  EXPECT_FALSE(worker.version(30));
}

TEST_F(WorkerTest, WhatIsMissingOrMalformedIsAnError) {
  OnnxRuntimeWorker missing({"/bin/sh", folder_.path() / "nothing"});
  EXPECT_FALSE(missing.version(1));
  OnnxRuntimeWorker without(script("echo '{\"available\": false, \"message\": \"not here\"}'\n"));
  EXPECT_EQ(without.version(30).error().message, "not here");
  EXPECT_FALSE(without.was_available());
  OnnxRuntimeWorker garbage(script("echo garbage\n"));
  EXPECT_FALSE(garbage.ask({}, 30));
  EXPECT_FALSE(garbage.ask({}, 30));
}

}  // namespace
}  // namespace lemma
