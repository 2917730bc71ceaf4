#include "system/program.h"
#include "outputs/scratch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
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

bool ends(pid_t process) {
  for (int i = 0; i < 3000 && is_alive(process); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !is_alive(process);
}

std::vector<pid_t> numbers_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<pid_t> numbers;
  for (pid_t number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

/// A program, a child of it in a session of its own, and one whose parent has ended. It writes their numbers.
const std::string family =
    "setsid sleep 1000 & first=$!; second=$(setsid sleep 1000 > /dev/null & echo $!); "
    "echo $$ $first $second > numbers.new; mv numbers.new numbers; echo ready; ";

TEST(Program, a_process_that_left_its_group_ends_with_the_program) {
  for (const std::string end : {"exit 0", "sleep 1000"}) {
    const TemporaryDirectory directory;
    Program program = shell(family + end);
    program.directory = directory.path();
    {
      auto running = RunningProgram::start(program);
      ASSERT_TRUE(running);
      EXPECT_EQ(running->read_line(60), "ready");
      if (end == "exit 0") {
        EXPECT_TRUE(running->wait(60));
      }
    }
    const auto numbers = numbers_in(directory.path() / "numbers");
    ASSERT_EQ(numbers.size(), 3U);
    for (const pid_t number : numbers) EXPECT_FALSE(is_alive(number)) << end;
  }
}

/// No destructor runs, and no handler.
TEST(Program, everything_ends_with_a_parent_that_is_killed) {
  const TemporaryDirectory directory;
  Program program = shell(family + "sleep 1000");
  program.directory = directory.path();
  const pid_t parent = fork();
  if (parent == 0) {
    auto running = RunningProgram::start(program);
    if (running && running->read_line(60) == "ready") kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto numbers = numbers_in(directory.path() / "numbers");
  ASSERT_EQ(numbers.size(), 3U);
  for (const pid_t number : numbers) EXPECT_TRUE(ends(number));
}

/// What started it may be gone: a program does not depend on the thread that started it.
TEST(Program, a_thread_that_ends_takes_no_program_along) {
  std::optional<RunningProgram> running;
  std::thread([&running] {
    auto started = RunningProgram::start(shell("read line; echo $line"));
    if (started) running.emplace(std::move(*started));
  }).join();
  ASSERT_TRUE(running);
  EXPECT_TRUE(running->send("still there\n"));
  EXPECT_EQ(running->read_line(60), "still there");
}

TEST(Program, signals_reach_it_and_its_end_comes_back) {
  auto running = RunningProgram::start(
      shell("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(running);
  EXPECT_EQ(running->read_line(60), "ready");
  running->signal(SIGTERM);
  EXPECT_EQ(running->read_line(60), "asked");
  const auto end = running->wait(60);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_status, 5);
  const auto killed = run_program(shell("kill -SEGV $$"), never);
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->signal, SIGSEGV);
}

/// The supervisor of a program may be killed too.
TEST(Program, it_ends_with_its_supervisor) {
  auto running = RunningProgram::start(shell("echo $$ $PPID; sleep 1000"));
  ASSERT_TRUE(running);
  const auto line = running->read_line(60);
  ASSERT_TRUE(line);
  std::istringstream numbers(*line);
  pid_t program = 0, supervisor = 0;
  numbers >> program >> supervisor;
  ASSERT_GT(supervisor, 0);
  kill(supervisor, SIGKILL);
  EXPECT_TRUE(ends(program));
  const auto end = running->wait(60);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGKILL);
}

TEST(Programs, their_ends_come_in_their_order) {
  const std::vector<Program> programs = {shell("sleep 0.2; echo slow"), shell("echo quick"),
                                         shell("echo last")};
  const auto runs = run_programs(programs, 2, never);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 3U);
  EXPECT_EQ((*runs)[0].output, "slow\n");
  EXPECT_EQ((*runs)[1].output, "quick\n");
  EXPECT_EQ((*runs)[2].output, "last\n");
  for (const ProgramRun& run : *runs) EXPECT_TRUE(run.succeeded());
  EXPECT_TRUE(run_programs({}, 2, never)->empty());
}

TEST(Programs, no_more_run_than_may) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(folder.good());
  // A folder cannot be made twice.
  const Program program = shell("mkdir " + (folder.path() / "busy").string() +
                                " && sleep 0.05 && rmdir " + (folder.path() / "busy").string());
  const auto runs = run_programs({program, program, program}, 1, never);
  ASSERT_TRUE(runs);
  for (const ProgramRun& run : *runs) EXPECT_TRUE(run.succeeded());
}

TEST(Programs, a_failure_ends_the_others) {
  const auto runs =
      run_programs({shell("sleep 600"), shell("exit 3"), shell("echo never")}, 2, never);
  ASSERT_TRUE(runs);
  EXPECT_TRUE((*runs)[0].was_stopped);
  EXPECT_EQ((*runs)[1].exit_status, 3);
  EXPECT_FALSE((*runs)[1].was_stopped);
  EXPECT_TRUE((*runs)[2].was_stopped);
  EXPECT_EQ((*runs)[2].output, "");
}

TEST(Programs, they_end_when_it_is_over) {
  const auto runs = run_programs({shell("sleep 600"), shell("sleep 600"), shell("sleep 600")}, 2,
                                 has_passed(0.1));
  ASSERT_TRUE(runs);
  for (const ProgramRun& run : *runs) EXPECT_TRUE(run.was_stopped);
}

}  // namespace
}  // namespace lemma
