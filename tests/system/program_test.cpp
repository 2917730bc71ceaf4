#include "system/program.h"
#include "outputs/scratch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace lemma {
namespace {

Program shell(const std::string& commands) { return {{"sh", "-c", commands}}; }
bool never() { return false; }

TEST(Program, output_and_exit_status_come_back) {
  const auto run = run_program(shell("echo one; echo two; exit 3"), never);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "one\ntwo\n");
  EXPECT_EQ(run->exit_status, 3);
  EXPECT_EQ(run->signal, 0);
  EXPECT_FALSE(run->was_stopped);
  EXPECT_FALSE(run->succeeded());
}

TEST(Program, arguments_are_not_read_by_a_shell) {
  const auto run = run_program({{"printf", "%s|", "a b", "$HOME", "*", ""}}, never);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "a b|$HOME|*||");
}

TEST(Program, what_is_not_installed_is_an_error) {
  const auto run = run_program({{"no-such-program-of-lemma"}}, never);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(find_program("no-such-program-of-lemma"), "");
  EXPECT_NE(find_program("sh"), "");
}

TEST(Program, it_works_in_its_directory_and_reads_nothing) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(directory.good());
  Program program = shell("cat; pwd -P");
  program.directory = directory.path();
  const auto run = run_program(program, never);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, std::filesystem::canonical(directory.path()).string() + "\n");
}

TEST(Program, much_output_is_read) {
  const auto run = run_program(shell("head -c 3000000 /dev/zero"), never);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output.size(), 3'000'000U);
}

bool is_alive(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  status >> number >> name >> state;
  return !state.empty() && state != "Z";
}

TEST(Program, the_whole_group_ends_at_a_limit) {
  const TemporaryDirectory directory;
  Program program = shell("sleep 1000 & echo $! > started; echo begun; sleep 1000");
  program.directory = directory.path();
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&begin] {
    return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
  };
  const auto run = run_program(program, is_over);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->was_stopped);
  EXPECT_EQ(run->signal, SIGKILL);
  EXPECT_EQ(run->output, "begun\n");
  EXPECT_LT(run->seconds, 60);
  pid_t started = 0;
  std::ifstream(directory.path() / "started") >> started;
  ASSERT_GT(started, 0);
  for (int i = 0; i < 500 && is_alive(started); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_alive(started));
}

/// A child of its own that outlives the program holds its output open: nobody waits for that.
TEST(Program, what_is_left_behind_ends_too) {
  const auto run = run_program(shell("sleep 1000 & echo done"), never);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "done\n");
  EXPECT_EQ(run->exit_status, 0);
}

TEST(Program, memory_is_limited) {
  Program program = shell("x=x; while :; do x=$x$x$x$x; done");
  program.memory_limit_bytes = std::size_t{64} << 20U;
  const auto run = run_program(program, never);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->succeeded());
  EXPECT_LT(run->peak_memory_bytes, 512L << 20U);
}

TEST(Program, lines_go_both_ways) {
  auto program =
      RunningProgram::start(shell("while read line; do echo \"<$line>\"; done; echo end"));
  ASSERT_TRUE(program);
  ASSERT_TRUE(program->send("first\n"));
  EXPECT_EQ(program->read_line(60), "<first>");
  EXPECT_EQ(program->read_line(0), std::nullopt);
  ASSERT_TRUE(program->send("second\nthird\n"));
  EXPECT_EQ(program->read_line(60), "<second>");
  EXPECT_EQ(program->read_line(60), "<third>");
  program->close_input();
  EXPECT_EQ(program->read_line(60), "end");
  EXPECT_EQ(program->read_line(60), std::nullopt);
  EXPECT_TRUE(program->is_output_closed());
  const auto end = program->wait(60);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->succeeded());
}

TEST(Program, one_that_has_gone_reads_nothing) {
  auto program = RunningProgram::start(shell("exit 0"));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->read_line(60), std::nullopt);
  const std::string much(1 << 20U, 'x');
  EXPECT_FALSE(program->send(much));
}

}  // namespace
}  // namespace lemma
