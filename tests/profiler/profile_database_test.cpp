#include "profiler/profile_database.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma {
namespace {

const RuntimeIdentity target{"runtime 1", "processor", 2};

ProfileEntry entry(std::string key, double seconds = 1e-6,
                   Provenance provenance = Provenance::measured) {
  return {std::move(key), "Relu", 1, 2, seconds, 1e-8, 10, provenance, "2026-11-22"};
}

class ProfileDatabaseTest : public testing::Test {
 protected:
  ProfileDatabase open(const std::string& name = "profile.sqlite") {
    auto opened = ProfileDatabase::open(folder_.path() / "new" / name);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static double seconds_of(const ProfileDatabase& database, const std::string& key) {
    const auto found = database.find(target, key);
    return found && *found ? (*found)->seconds : -1;
  }
  TemporaryDirectory folder_;
};

TEST_F(ProfileDatabaseTest, WhatWasPutIsFoundByAnotherReader) {
  ProfileDatabase writer = open(), reader = open();
  const std::array entries = {entry("b", 2e-6), entry("a", 1e-6)};
  ASSERT_TRUE(writer.put(target, entries));
  const auto all = reader.entries(target);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->front().key, "a");
  EXPECT_EQ(all->front().elements, 1);
  EXPECT_EQ(all->front().work, 2);
  EXPECT_EQ(all->front().repetitions, 10);
  EXPECT_EQ(all->front().date, "2026-11-22");
  EXPECT_EQ(seconds_of(reader, "b"), 2e-6);
  EXPECT_EQ(seconds_of(reader, "c"), -1);
}

TEST_F(ProfileDatabaseTest, TargetsAreNotMixed) {
  ProfileDatabase database = open();
  const std::array entries = {entry("a")};
  ASSERT_TRUE(database.put(target, entries));
  for (RuntimeIdentity other :
       {RuntimeIdentity{"runtime 2", "processor", 2}, RuntimeIdentity{"runtime 1", "another", 2},
        RuntimeIdentity{"runtime 1", "processor", 1}})
    EXPECT_FALSE(database.find(other, "a").value());
  EXPECT_EQ(database.targets().value(), std::vector{target});
}

TEST_F(ProfileDatabaseTest, WhatWasMeasuredElsewhereReplacesNothingMeasured) {
  ProfileDatabase database = open();
  const std::array far = {entry("a", 5e-6, Provenance::measured_elsewhere)};
  const std::array here = {entry("a", 1e-6)};
  ASSERT_TRUE(database.put(target, far));
  ASSERT_TRUE(database.put(target, here));
  EXPECT_EQ(seconds_of(database, "a"), 1e-6);
  ASSERT_TRUE(database.put(target, far));
  EXPECT_EQ(seconds_of(database, "a"), 1e-6);
}

TEST_F(ProfileDatabaseTest, ExportAndImportGiveTheSame) {
  ProfileDatabase database = open();
  const std::array entries = {entry("a \"quoted\"", 1e-6), entry("b", 1.25e-7)};
  ASSERT_TRUE(database.put(target, entries));
  const std::string text = database.export_json().value();
  ProfileDatabase other = open("other.sqlite");
  EXPECT_EQ(other.import_json(text, Provenance::measured).value(), 2U);
  EXPECT_EQ(other.export_json().value(), text);
  ProfileDatabase third = open("third.sqlite");
  ASSERT_TRUE(third.import_json(text, Provenance::measured_elsewhere));
  EXPECT_EQ(third.find(target, "b").value()->provenance, Provenance::measured_elsewhere);
}

ResourceFacts facts_of(const std::string& architecture, std::uint64_t spilled) {
  return {{architecture, "nvcc", "headers", 256}, {{"a", "MatMul", 16, spilled, 200, 1024, 1}}};
}

TEST_F(ProfileDatabaseTest, FactsOfFunctionsAreKept) {
  ProfileDatabase database = open();
  ASSERT_TRUE(database.put(facts_of("sm_90", 8)));
  ASSERT_TRUE(database.put(facts_of("sm_80", 4)));
  ASSERT_TRUE(database.put(facts_of("sm_90", 12)));  // in place of the first ones
  const auto all = database.resources("sm_90");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().source, facts_of("sm_90", 0).source);
  EXPECT_EQ(all->front().functions, facts_of("sm_90", 12).functions);
  EXPECT_EQ(database.resources().value().size(), 2U);
  EXPECT_TRUE(database.resources("sm_75").value().empty());
  const std::array entries = {entry("a", 1e-6)};
  ASSERT_TRUE(database.put(target, entries));
  const std::string text = database.export_json().value();
  ProfileDatabase other = open("other.sqlite");
  EXPECT_EQ(other.import_json(text, Provenance::measured).value(), 3U);
  EXPECT_EQ(other.export_json().value(), text);
}

TEST_F(ProfileDatabaseTest, ReadersMakeNoFile) {
  const auto file = folder_.path() / "read.sqlite";
  const auto none = ProfileDatabase::open_to_read(file);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_FALSE(std::filesystem::exists(file));
  std::ofstream(file) << std::string(10000, 'x');
  EXPECT_FALSE(ProfileDatabase::open_to_read(file));
  ProfileDatabase writer = open();
  ASSERT_TRUE(writer.put(facts_of("sm_90", 8)));
  auto reader = ProfileDatabase::open_to_read(folder_.path() / "new" / "profile.sqlite");
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ((*reader)->resources("sm_90").value().size(), 1U);
  EXPECT_FALSE((*reader)->put(facts_of("sm_90", 8)));
}

TEST_F(ProfileDatabaseTest, GarbageIsRefused) {
  ProfileDatabase database = open();
  for (const char* text : {"", "[]", "{}", R"({"format": "lemma profile 1", "targets": []})",
                           R"({"format": "lemma profile 2", "targets": [{}]})",
                           R"({"format": "lemma profile 2", "targets": [], "resources": 3})"})
    EXPECT_FALSE(database.import_json(text, Provenance::measured)) << text;
  const auto file = folder_.path() / "garbage";
  std::ofstream(file) << std::string(10000, 'x');
  EXPECT_FALSE(ProfileDatabase::open(file));
  EXPECT_FALSE(ProfileDatabase::open(folder_.path() / "garbage" / "below"));
}

/// Commits entries until it is killed, and tells each one that is committed.
[[noreturn]] void write_until_killed(const std::filesystem::path& file, int writer, int pipe) {
  auto database = ProfileDatabase::open(file);
  for (int i = 0; database; ++i) {
    const std::array entries = {entry(fmt::format("{} {}", writer, i)),
                                entry(fmt::format("{} {} too", writer, i))};
    if (!database->put(target, entries)) break;
    if (write(pipe, &i, sizeof i) != sizeof i) break;
  }
  _exit(1);
}

TEST_F(ProfileDatabaseTest, KillingTwoWritersLosesNothingThatWasCommitted) {
  const auto file = folder_.path() / "killed.sqlite";
  ASSERT_TRUE(ProfileDatabase::open(file));
  std::mt19937 random(7);
  for (int kill_number = 0; kill_number < 50; kill_number += 2) {
    std::array<pid_t, 2> writers{};
    std::array<std::array<int, 2>, 2> pipes{};
    for (int w = 0; w < 2; ++w) {
      ASSERT_EQ(pipe(pipes[w].data()), 0);
      writers[w] = fork();
      if (writers[w] == 0) write_until_killed(file, kill_number + w, pipes[w][1]);
      close(pipes[w][1]);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 60));
    for (int w = 0; w < 2; ++w) {
      kill(writers[w], SIGKILL);
      waitpid(writers[w], nullptr, 0);
      int told = -1, last = -1;
      while (read(pipes[w][0], &told, sizeof told) == sizeof told) last = told;
      close(pipes[w][0]);
      const auto database = ProfileDatabase::open(file);
      ASSERT_TRUE(database) << database.error().message;
      for (int i = 0; i <= last; ++i) {
        const std::string key = fmt::format("{} {}", kill_number + w, i);
        EXPECT_EQ(seconds_of(*database, key), 1e-6) << key;
        EXPECT_EQ(seconds_of(*database, key + " too"), 1e-6) << key;
      }
    }
  }
  const auto all = ProfileDatabase::open(file)->entries(target);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size() % 2, 0U);  // no half of what was put together
  EXPECT_GT(all->size(), 50U);
}

/// Opens, uses and closes a file in turn with others. Why it could not, if so.
std::string use_with_others(const std::filesystem::path& file, int user, int times) {
  for (int i = 0; i < times; ++i) {
    if ((user + i) % 2 == 0) {
      auto database = ProfileDatabase::open(file);
      if (!database) return "open: " + database.error().message;
      const auto put = database->put(target, std::array{entry(fmt::format("{} {}", user, i))});
      if (!put) return "put: " + put.error().message;
    }
    auto database = ProfileDatabase::open_to_read(file);
    if (!database) return "open to read: " + database.error().message;
    if (!*database) continue;
    const auto all = (*database)->entries(target);
    if (!all) return "read: " + all.error().message;
    const auto exported = (*database)->export_json();
    if (!exported) return "export: " + exported.error().message;
  }
  return "";
}

TEST_F(ProfileDatabaseTest, EightProcessesCreateUseAndCloseOneFile) {
  constexpr int users = 8, rounds = 20, times = 10;
  for (int round = 0; round < rounds; ++round) {
    const auto file = folder_.path() / fmt::format("shared {}.sqlite", round);
    std::array<pid_t, users> processes{};
    std::array<int, 2> start{}, told{};
    ASSERT_EQ(pipe(start.data()), 0);
    ASSERT_EQ(pipe(told.data()), 0);
    for (int user = 0; user < users; ++user) {
      processes[user] = fork();
      if (processes[user] != 0) continue;
      close(start[1]);
      char nothing = 0;
      (void)!read(start[0], &nothing, 1);  // until all are there
      const std::string failure = use_with_others(file, user, times);
      (void)!write(told[1], failure.data(), failure.size());
      _exit(0);
    }
    for (const int end : {start[0], start[1], told[1]}) close(end);
    std::string failures;
    std::array<char, 256> text{};
    for (ssize_t size = 0; (size = read(told[0], text.data(), text.size())) > 0;)
      failures.append(text.data(), static_cast<std::size_t>(size));
    close(told[0]);
    for (const pid_t process : processes) waitpid(process, nullptr, 0);
    ASSERT_EQ(failures, "");
    const auto all = ProfileDatabase::open(file)->entries(target);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->size(), static_cast<std::size_t>(users * times / 2));
  }
}

}  // namespace
}  // namespace lemma
