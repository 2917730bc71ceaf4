// The writer: regular files, links, devices, FIFOs, descriptors, permissions.

#include "outputs/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/outputs/places.h"

namespace lemma {
namespace {

using Names = std::set<std::string>;

TEST(Files, AreReplacedAsAWhole) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "a.txt";
  ASSERT_TRUE(write_file_atomically(file, "old"));
  struct stat before {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  std::ifstream reader(file);
  ASSERT_TRUE(write_file_atomically(file, "new"));
  EXPECT_EQ(get(file), "new");
  const std::string read{std::istreambuf_iterator<char>(reader), {}};
  EXPECT_EQ(read, "old");  // who has opened the old file keeps it
  EXPECT_EQ(names_below(folder.path()), Names{"a.txt"});
}

TEST(Files, ThatAreNotPublishedLeaveNothing) {
  const TemporaryDirectory folder;
  put(folder.path() / "a.txt", "old");
  {
    auto file = OutputFile::create(folder.path() / "a.txt");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::as_bytes(std::span("new", 3))));
    EXPECT_EQ(get(folder.path() / "a.txt"), "old");
  }
  EXPECT_EQ(names_below(folder.path()), Names{"a.txt"});
  EXPECT_EQ(get(folder.path() / "a.txt"), "old");
}

TEST(Files, OfALinkAreReplacedWhereItLeads) {
  const TemporaryDirectory folder;
  fs::create_directories(folder.path() / "there");
  put(folder.path() / "there/file", "old");
  fs::create_symlink("there/file", folder.path() / "second");
  fs::create_symlink("second", folder.path() / "first");
  fs::create_symlink("there/none", folder.path() / "dangling");
  ASSERT_TRUE(write_file_atomically(folder.path() / "first", "new"));
  ASSERT_TRUE(write_file_atomically(folder.path() / "dangling", "new"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "first"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "second"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "dangling"));
  EXPECT_EQ(get(folder.path() / "there/file"), "new");
  EXPECT_EQ(get(folder.path() / "there/none"), "new");
  fs::create_symlink("loop", folder.path() / "loop");
  const auto looped = write_file_atomically(folder.path() / "loop", "new");
  ASSERT_FALSE(looped);
  EXPECT_NE(looped.error().message.find("loop: "), std::string::npos);
}

TEST(Files, DevicesAndPipesAreWrittenTo) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(write_file_atomically("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/null", folder.path() / "link");
  ASSERT_TRUE(write_file_atomically(folder.path() / "link", "gone"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = get(pipe); });
  EXPECT_TRUE(write_file_atomically(pipe, "through"));
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(Files, DescriptorsOfThisProcessGoOnWhereTheyAre) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "log";
  put(file, "before ");
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  for (const char* pattern : {"/dev/fd/", "/proc/self/fd/"})
    ASSERT_TRUE(write_file_atomically(pattern + std::to_string(descriptor), "more "));
  ::close(descriptor);
  EXPECT_EQ(get(file), "before more more ");
  EXPECT_FALSE(write_file_atomically("/dev/fd/" + std::to_string(descriptor), "closed"));
}

TEST(Files, FoldersAndSocketsAreRefused) {
  const TemporaryDirectory folder;
  fs::create_directories(folder.path() / "sub");
  for (const fs::path& target :
       {folder.path() / "sub", folder.path() / "sub/", folder.path() / "none/file", fs::path("")})
    EXPECT_FALSE(write_file_atomically(target, "new")) << target;
  EXPECT_EQ(names_below(folder.path()), Names{"sub"});
}

TEST(Files, KeepTheirPermissions) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "a.txt";
  const auto old = ::umask(022);
  ASSERT_TRUE(write_file_atomically(file, "new"));
  EXPECT_EQ(mode_of(file), 0644U);
  ::chmod(file.c_str(), 0600);
  ASSERT_TRUE(write_file_atomically(file, "newer"));
  EXPECT_EQ(mode_of(file), 0600U);
  ASSERT_TRUE(write_file_atomically(file, "newest", {fs::perms(0664)}));
  EXPECT_EQ(mode_of(file), 0664U);
  ::umask(old);
}

TEST(Files, ThatAreManyAppearAfterAllAreWritten) {
  const TemporaryDirectory folder;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 100; ++i) files.emplace_back(std::to_string(i), "contents");
  ASSERT_TRUE(write_files_atomically(folder.path(), files));
  EXPECT_EQ(names_below(folder.path()).size(), 100U);
  files.emplace_back("no/folder", "");
  for (auto& [name, contents] : files) contents = "others";
  EXPECT_FALSE(write_files_atomically(folder.path(), files));
  EXPECT_EQ(get(folder.path() / "0"), "contents");
  EXPECT_EQ(names_below(folder.path()).size(), 100U);
}

TEST(Files, ThatAreTooLargeLeaveTheOldOnes) {
  const TemporaryDirectory folder;
  put(folder.path() / "a.txt", "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto written = write_file_atomically(folder.path() / "a.txt", std::string(1000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("a.txt: cannot be written: "), std::string::npos);
  EXPECT_EQ(names_below(folder.path()), Names{"a.txt"});
  EXPECT_EQ(get(folder.path() / "a.txt"), "old");
}

TEST(Renaming, ToANewNameReplacesNothing) {
  const TemporaryDirectory folder;
  put(folder.path() / "a", "a");
  put(folder.path() / "b", "b");
  EXPECT_EQ(rename_new(folder.path() / "a", folder.path() / "b"), false);
  EXPECT_EQ(get(folder.path() / "b"), "b");
  EXPECT_EQ(rename_new(folder.path() / "a", folder.path() / "c"), true);
  EXPECT_EQ(names_below(folder.path()), (Names{"b", "c"}));
  EXPECT_FALSE(rename_new(folder.path() / "c", folder.path() / "none/c"));
}

}  // namespace
}  // namespace lemma
