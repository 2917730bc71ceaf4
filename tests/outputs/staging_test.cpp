// Entries that are not finished: what a killed process leaves is removed, and nothing else.

#include "outputs/staging.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "outputs/files.h"
#include "tests/outputs/places.h"

namespace lemma {
namespace {

/// Runs the function in a process of its own and returns how it ended.
template <typename Function>
int in_child(const Function& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    function();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class Staging : public ::testing::Test {
 protected:
  std::size_t entries() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      count += is_staged_name(entry.path().filename().string()) ? 1 : 0;
    return count;
  }
  void leave_some(int signal) {
    const int status = in_child([&] {
      const auto file = StagedEntry::file(folder_.path(), 0644);
      const auto directory = StagedEntry::directory(folder_.path());
      if (!file || !directory) ::_exit(1);
      put(directory->path() / "part", "of a model");
      ::raise(signal);
      for (;;) ::pause();
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_EQ(WTERMSIG(status), signal);
  }
  TemporaryDirectory folder_;
};

TEST_F(Staging, WhatAKilledProcessLeftIsRemovedByTheNext) {
  leave_some(SIGKILL);
  EXPECT_EQ(entries(), 2U);
  ASSERT_EQ(in_child([&] {
              if (!write_file_atomically(folder_.path() / "result", "new")) ::_exit(1);
            }),
            0);
  EXPECT_EQ(names_below(folder_.path()), std::set<std::string>{"result"});
}

TEST_F(Staging, SignalsThatEndAProcessLeaveNothing) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    leave_some(signal);
    EXPECT_EQ(entries(), 0U) << signal;
  }
}

TEST_F(Staging, SignalsThatTheCallerIgnoresStayIgnored) {
  const int status = in_child([&] {
    std::signal(SIGINT, SIG_IGN);
    const auto file = StagedEntry::file(folder_.path(), 0644);
    ::raise(SIGINT);
    ::usleep(10'000);
    ::_exit(file && fs::exists(file->path()) ? 7 : 1);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(Staging, WhatIsInUseStays) {
  const auto file = StagedEntry::file(folder_.path(), 0644);
  const auto directory = StagedEntry::directory(folder_.path());
  ASSERT_TRUE(file && directory);
  ASSERT_EQ(in_child([&] { remove_abandoned(folder_.path()); }), 0);
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Staging, OtherNamesStay) {
  const std::set<std::string> others = {".lemma-",
                                        ".lemma-0123456789abcdeg",
                                        ".lemma-0123456789abcdef0",
                                        "lemma-0123456789abcdef",
                                        ".lemma-files",
                                        ".lemma-optimize"};
  for (const std::string& name : others) put(folder_.path() / name, "of the user");
  remove_abandoned(folder_.path());
  EXPECT_EQ(names_below(folder_.path()), others);
}

TEST_F(Staging, LinksAreNotFollowed) {
  const TemporaryDirectory elsewhere;
  put(elsewhere.path() / "kept", "kept");
  leave_some(SIGKILL);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    if (entry.is_directory()) fs::create_symlink(elsewhere.path(), entry.path() / "link");
  remove_abandoned(folder_.path());
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(get(elsewhere.path() / "kept"), "kept");
}

}  // namespace
}  // namespace lemma
