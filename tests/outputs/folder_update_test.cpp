// Folders whose files change together.

#include "outputs/folder_update.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "outputs/files.h"
#include "tests/outputs/places.h"

namespace lemma {
namespace {

using Names = std::set<std::string>;

class Update : public ::testing::Test {
 protected:
  Update() : folder_(scratch_.path() / "folder") {
    fs::create_directories(folder_ / "sub");
    put(folder_ / "a", "old a");
    put(folder_ / "b", "old b");
    put(folder_ / "sub/c", "old c");
    fs::create_symlink("nowhere", folder_ / "link");
  }
  FolderUpdate changed() {
    auto update = FolderUpdate::begin(folder_);
    EXPECT_TRUE(update);
    EXPECT_TRUE(write_file_atomically(update->copy() / "a", "new a"));
    EXPECT_TRUE(write_file_atomically(update->copy() / "sub/d", "new d"));
    fs::remove(update->copy() / "b");
    return std::move(*update);
  }
  void expect_new() {
    EXPECT_EQ(names_below(folder_), (Names{"a", "link", "sub", "sub/c", "sub/d"}));
    EXPECT_EQ(get(folder_ / "a"), "new a");
    EXPECT_EQ(get(folder_ / "sub/c"), "old c");
    EXPECT_EQ(get(folder_ / "sub/d"), "new d");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  }
  void expect_old() {
    EXPECT_EQ(names_below(folder_), (Names{"a", "b", "link", "sub", "sub/c"}));
    EXPECT_EQ(get(folder_ / "a"), "old a");
  }
  TemporaryDirectory scratch_;
  fs::path folder_;
};

TEST_F(Update, ChangesAllOrNothing) {
  { const FolderUpdate dropped = changed(); }
  expect_old();
  FolderUpdate update = changed();
  expect_old();  // until it is published
  ASSERT_TRUE(update.publish());
  expect_new();
}

TEST_F(Update, LeavesNothingBesideTheFolder) {
  {
    FolderUpdate update = changed();
    ASSERT_TRUE(update.publish());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path()), {}), 1);
  expect_new();
}

TEST_F(Update, MakesAFolderThatIsNotThere) {
  auto update = FolderUpdate::begin(scratch_.path() / "x/y");
  ASSERT_TRUE(update);
  ASSERT_TRUE(write_file_atomically(update->copy() / "a", "new"));
  EXPECT_FALSE(fs::exists(scratch_.path() / "x/y"));
  ASSERT_TRUE(update->publish());
  EXPECT_EQ(get(scratch_.path() / "x/y/a"), "new");
}

TEST_F(Update, DoesNotWaitForScratchThatItsProcessHolds) {
  const fs::path made = scratch_.path() / "made";
  auto update = FolderUpdate::begin(made);
  ASSERT_TRUE(update);
  ASSERT_TRUE(write_file_atomically(update->copy() / "a", "a"));
  ASSERT_TRUE(update->publish());
  EXPECT_EQ(get(made / "a"), "a");
}

TEST_F(Update, KeepsWhatOthersPutThereMeanwhile) {
  FolderUpdate update = changed();
  put(folder_ / "sub/late", "late");
  ASSERT_TRUE(write_file_atomically(folder_ / "sub/c", "edited"));
  ASSERT_TRUE(update.publish());
  EXPECT_EQ(get(folder_ / "sub/late"), "late");
  EXPECT_EQ(get(folder_ / "sub/c"), "edited");
  EXPECT_EQ(get(folder_ / "a"), "new a");
}

TEST_F(Update, FollowsALinkToTheFolder) {
  fs::create_directory_symlink("folder", scratch_.path() / "link");
  auto update = FolderUpdate::begin(scratch_.path() / "link/");
  ASSERT_TRUE(update);
  ASSERT_TRUE(write_file_atomically(update->copy() / "a", "new"));
  ASSERT_TRUE(update->publish());
  EXPECT_TRUE(fs::is_symlink(scratch_.path() / "link"));
  EXPECT_EQ(get(folder_ / "a"), "new");
}

TEST_F(Update, WorksInTheFolderInWhichTheProcessIs) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "sub");
  {
    FolderUpdate update = changed();
    ASSERT_TRUE(update.publish());
  }
  EXPECT_TRUE(fs::exists("c"));  // the folder is the same one
  fs::current_path(before);
  expect_new();
}

TEST_F(Update, RefusesAFile) {
  EXPECT_FALSE(FolderUpdate::begin(folder_ / "a"));
  EXPECT_EQ(get(folder_ / "a"), "old a");
}

}  // namespace
}  // namespace lemma
