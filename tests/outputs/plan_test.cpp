// The plan of files: what meets is refused.

#include "outputs/plan.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/outputs/places.h"

namespace lemma {
namespace {

class Plan : public ::testing::Test {
 protected:
  Plan() {
    put(here("model.onnx"), "model");
    fs::create_directories(here("sub"));
  }
  fs::path here(const std::string& name) const { return folder_.path() / name; }
  /// The message for an output beside the model; empty if it is accepted.
  std::string with_output(const fs::path& output) const {
    FilePlan plan;
    plan.reads(here("model.onnx"), "the input");
    plan.writes(output, "--report");
    const auto checked = plan.check();
    return checked ? "" : checked.error().message;
  }
  std::string with_outputs(const fs::path& a, const fs::path& b) const {
    FilePlan plan;
    plan.writes(a, "-o");
    plan.writes(b, "--report");
    const auto checked = plan.check();
    return checked ? "" : checked.error().message;
  }
  TemporaryDirectory folder_;
};

TEST_F(Plan, AnOutputThatIsAnInputIsRefused) {
  EXPECT_EQ(with_output(here("model.onnx")),
            here("model.onnx").string() + ": --report would replace the input");
  EXPECT_NE(with_output(here("sub/../model.onnx")), "");
  fs::create_symlink("model.onnx", here("soft"));
  fs::create_hard_link(here("model.onnx"), here("hard"));
  fs::create_directory_symlink(".", here("self"));
  EXPECT_NE(with_output(here("soft")), "");
  EXPECT_NE(with_output(here("hard")), "");
  EXPECT_NE(with_output(here("self/model.onnx")), "");
  EXPECT_NE(with_output(here("Model.ONNX")), "");
  EXPECT_EQ(with_output(here("other.onnx")), "");
  EXPECT_EQ(with_output(here("sub/model.onnx")), "");
}

TEST_F(Plan, TwoOutputsThatAreOneFileAreRefused) {
  EXPECT_EQ(with_outputs(here("a"), here("a")),
            here("a").string() + ": -o and --report would be one file");
  EXPECT_NE(with_outputs(here("a"), here("sub/../a")), "");
  EXPECT_NE(with_outputs(here("a"), here("A")), "");
  EXPECT_NE(with_outputs(here("\xc3\xa4"), here("\xc3\x84")), "");  // umlauts
  EXPECT_NE(with_outputs(here("\xd0\xb0"), here("\xd0\x90")), "");  // Cyrillic
  EXPECT_EQ(with_outputs(here("\xc3\xa4"), here("\xc3\xa5")), "");
  fs::create_symlink("a", here("dangling"));
  EXPECT_NE(with_outputs(here("a"), here("dangling")), "");
  EXPECT_EQ(with_outputs(here("a"), here("b")), "");
  EXPECT_EQ(with_outputs(here("none/a"), here("none/b")), "");
  EXPECT_NE(with_outputs(here("none/a"), here("none/../none/a")), "");
}

TEST_F(Plan, FilesThatAreThereAreToldApartByTheirNumbers) {
  put(here("x"), "");
  put(here("X"), "");
  std::error_code error;
  if (fs::equivalent(here("x"), here("X"), error)) GTEST_SKIP() << "names have no case here";
  EXPECT_EQ(with_outputs(here("x"), here("X")), "");
}

TEST_F(Plan, DevicesMayBeNamedTwice) { EXPECT_EQ(with_outputs("/dev/null", "/dev/null"), ""); }

TEST_F(Plan, FoldersAreNoFilesAndMayBeFilled) {
  EXPECT_NE(with_output(here("sub")), "");
  FilePlan plan;
  plan.fills(here("sub/"), "-o");
  EXPECT_TRUE(plan.check());
  plan.fills(here("sub"), "--work");
  EXPECT_FALSE(plan.check());
}

TEST_F(Plan, FilesBelowAFolderAreInputs) {
  put(here("sub/input_0.pb"), "");
  put(here("sub/output_0.pb"), "");
  FilePlan plan;
  plan.reads_below(here("sub"), "--inputs", "input_");
  plan.writes(here("sub/output_0.pb"), "--outputs");
  EXPECT_TRUE(plan.check());
  plan.writes(here("sub/input_0.pb"), "--outputs");
  EXPECT_FALSE(plan.check());
}

TEST_F(Plan, AFreeNameIsTakenBesideFilesOfOthers) {
  EXPECT_EQ(free_path(here("a.svg"), "marker"), here("a.svg"));
  put(here("a.svg"), "notes");
  EXPECT_EQ(free_path(here("a.svg"), "marker"), here("a-1.svg"));
  put(here("a-1.svg"), "<!-- marker -->");
  EXPECT_EQ(free_path(here("a.svg"), "marker"), here("a-1.svg"));
  put(here("a.svg"), "<!-- marker -->");
  EXPECT_EQ(free_path(here("a.svg"), "marker"), here("a.svg"));
  fs::remove(here("a.svg"));
  fs::create_symlink("nowhere", here("a.svg"));
  EXPECT_EQ(free_path(here("a.svg"), "marker"), here("a-1.svg"));
}

TEST_F(Plan, AFreeNameIsTheFirstThatMayBeTaken) {
  EXPECT_EQ(free_path("a/b.work", [](const fs::path&) { return true; }), "a/b.work");
  const auto is_third = [](const fs::path& path) { return path == "a/b-2.work"; };
  EXPECT_EQ(free_path("a/b.work", is_third), "a/b-2.work");
}

TEST_F(Plan, WhatIsMadeOfAPrivateFileIsPrivate) {
  const auto old = ::umask(022);
  ::chmod(here("model.onnx").c_str(), 0644);
  limit_permissions_to(here("model.onnx"));
  put(here("open"), "");
  ::chmod(here("model.onnx").c_str(), 0640);
  limit_permissions_to(here("model.onnx"));
  put(here("group"), "");
  ::chmod(here("model.onnx").c_str(), 0600);
  limit_permissions_to(here("model.onnx"));
  put(here("private"), "");
  ::umask(old);
  EXPECT_EQ(mode_of(here("open")), 0644U);
  EXPECT_EQ(mode_of(here("group")), 0640U);
  EXPECT_EQ(mode_of(here("private")), 0600U);
}

}  // namespace
}  // namespace lemma
