#include "profiler/profile_database.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include "outputs/files.h"
#include "profiler/sqlite_statement.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int schema_version = 2;

constexpr const char* schema = R"(
  CREATE TABLE IF NOT EXISTS costs (
    runtime TEXT NOT NULL, processor TEXT NOT NULL, threads INTEGER NOT NULL,
    key TEXT NOT NULL, kind TEXT NOT NULL, elements REAL NOT NULL, work REAL NOT NULL,
    seconds REAL NOT NULL, spread REAL NOT NULL, repetitions INTEGER NOT NULL,
    provenance INTEGER NOT NULL, date TEXT NOT NULL,
    PRIMARY KEY (runtime, processor, threads, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS loop_schedules (
    runtime TEXT NOT NULL, processor TEXT NOT NULL, threads INTEGER NOT NULL, key TEXT NOT NULL,
    schedule TEXT NOT NULL, description TEXT NOT NULL, seconds_before REAL NOT NULL,
    seconds REAL NOT NULL, rounds INTEGER NOT NULL, date TEXT NOT NULL,
    PRIMARY KEY (runtime, processor, threads, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS loop_trials (
    runtime TEXT NOT NULL, processor TEXT NOT NULL, threads INTEGER NOT NULL,
    operator TEXT NOT NULL, schedules TEXT NOT NULL, ratio REAL NOT NULL, date TEXT NOT NULL,
    PRIMARY KEY (runtime, processor, threads, operator, schedules)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS resources (
    architecture TEXT NOT NULL, compiler TEXT NOT NULL, headers TEXT NOT NULL,
    block_threads INTEGER NOT NULL, digest TEXT NOT NULL, description TEXT NOT NULL,
    stack_bytes INTEGER NOT NULL, spilled_bytes INTEGER NOT NULL, registers INTEGER NOT NULL,
    shared_bytes INTEGER NOT NULL, blocks INTEGER NOT NULL,
    PRIMARY KEY (architecture, compiler, headers, block_threads, digest)) WITHOUT ROWID;
)";

constexpr const char* columns =
    "key, kind, elements, work, seconds, spread, repetitions, provenance, date";

ProfileEntry entry_in(const Statement& row) {
  return {row.text(0), row.text(1), row.real(2),    row.real(3),
          row.real(4), row.real(5), row.integer(6), static_cast<Provenance>(row.integer(7)),
          row.text(8)};
}

FunctionResources function_in(const Statement& row) {
  const auto number = [&row](int column) {
    return static_cast<std::uint64_t>(row.long_integer(column));
  };
  return {row.text(4), row.text(5), number(6), number(7), number(8), number(9), number(10)};
}

Json to_json(const ProfileEntry& entry) {
  return {{"key", entry.key},
          {"kind", entry.kind},
          {"elements", entry.elements},
          {"work", entry.work},
          {"seconds", entry.seconds},
          {"spread", entry.spread},
          {"repetitions", entry.repetitions},
          {"date", entry.date}};
}

}  // namespace

void ProfileDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

std::string ProfileDatabase::failure() const {
  const char* file = sqlite3_db_filename(database_.get(), "main");
  return fmt::format("{}: {}", file == nullptr ? "" : file, sqlite3_errmsg(database_.get()));
}

Result<void> ProfileDatabase::execute(const char* sql) const {
  const int code =
      patiently([&] { return sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr); });
  if (code == SQLITE_OK) return {};
  return bad_input(failure());
}

Result<ProfileDatabase> ProfileDatabase::connect(const fs::path& file, int flags) {
  sqlite3* opened = nullptr;
  const int code = patiently([&] {
    sqlite3_close(opened);
    return sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  });
  ProfileDatabase database{std::unique_ptr<sqlite3, Close>(opened)};
  if (code != SQLITE_OK)
    return bad_input(fmt::format("{}: cannot be opened: {}", file.string(), sqlite3_errstr(code)));
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, static_cast<int>(time_for_a_lock.count()));
  return database;
}

Result<ProfileDatabase> ProfileDatabase::open(const fs::path& file) {
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database,
                         connect(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  // The write-ahead log lets readers and a writer work at once.
  LEMMA_RETURN_IF_ERROR(database.execute("PRAGMA journal_mode = WAL"));
  LEMMA_RETURN_IF_ERROR(database.execute("PRAGMA synchronous = FULL"));
  LEMMA_ASSIGN_OR_RETURN(const int version, database.version());
  // A file of an earlier program has not all tables.
  LEMMA_RETURN_IF_ERROR(version == 0 ? database.begin_file() : database.execute(schema));
  return database;
}

/// All tables and the version at once: nobody sees some of them.
Result<void> ProfileDatabase::begin_file() {
  const std::string number = fmt::format("PRAGMA user_version = {}", schema_version);
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  return end_transaction(execute(schema) && execute(number.c_str()));
}

/// 0: that of a new file.
Result<int> ProfileDatabase::version() const {
  Statement row(database_.get(), "PRAGMA user_version");
  if (!row.good() || row.step() != SQLITE_ROW) return bad_input(failure());
  const int version = row.integer(0);
  if (version != 0 && version != schema_version)
    return bad_input(fmt::format("{}: is of version {}, this program reads version {}",
                                 sqlite3_db_filename(database_.get(), "main"), version,
                                 schema_version));
  return version;
}

Result<std::optional<ProfileDatabase>> ProfileDatabase::open_to_read(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database, connect(file, SQLITE_OPEN_READONLY));
  LEMMA_ASSIGN_OR_RETURN(const int version, database.version());
  if (version == 0) return std::nullopt;  // another process is about to make the tables
  return std::optional(std::move(database));
}

Result<std::vector<ProfileEntry>> ProfileDatabase::entries(const RuntimeIdentity& target) const {
  Statement rows(database_.get(),
                 fmt::format("SELECT {} FROM costs WHERE runtime = ? AND processor = ? AND "
                             "threads = ? ORDER BY key",
                             columns));
  if (!rows.good()) return bad_input(failure());
  rows.bind(target);
  std::vector<ProfileEntry> result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) result.push_back(entry_in(rows));
  if (code != SQLITE_DONE) return bad_input(failure());
  return result;
}

Result<std::optional<ProfileEntry>> ProfileDatabase::find(const RuntimeIdentity& target,
                                                          const std::string& key) const {
  Statement row(database_.get(), fmt::format("SELECT {} FROM costs WHERE runtime = ? AND "
                                             "processor = ? AND threads = ? AND key = ?",
                                             columns));
  if (!row.good()) return bad_input(failure());
  row.bind(target).bind(key);
  const int code = row.step();
  if (code == SQLITE_ROW) return entry_in(row);
  if (code == SQLITE_DONE) return std::nullopt;
  return bad_input(failure());
}

Result<std::vector<RuntimeIdentity>> ProfileDatabase::targets() const {
  Statement rows(database_.get(),
                 "SELECT DISTINCT runtime, processor, threads FROM costs ORDER BY 1, 2, 3");
  if (!rows.good()) return bad_input(failure());
  std::vector<RuntimeIdentity> result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step())
    result.push_back({rows.text(0), rows.text(1), rows.integer(2)});
  if (code != SQLITE_DONE) return bad_input(failure());
  return result;
}

Result<void> ProfileDatabase::put(const RuntimeIdentity& target,
                                  std::span<const ProfileEntry> entries) {
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  Statement insert(
      database_.get(),
      fmt::format(
          "INSERT INTO costs (runtime, processor, threads, {}) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT DO UPDATE SET elements = excluded.elements, work = excluded.work, seconds = "
          "excluded.seconds, spread = excluded.spread, repetitions = "
          "excluded.repetitions, provenance = excluded.provenance, date = "
          "excluded.date WHERE excluded.provenance <= costs.provenance",
          columns));
  bool good = insert.good();
  for (const ProfileEntry& entry : entries) {
    if (!good) break;
    insert.bind(target)
        .bind(entry.key)
        .bind(entry.kind)
        .bind(entry.elements)
        .bind(entry.work)
        .bind(entry.seconds);
    insert.bind(entry.spread).bind(entry.repetitions);
    insert.bind(static_cast<int>(entry.provenance)).bind(entry.date);
    good = insert.step() == SQLITE_DONE;
    insert.reset();
  }
  return end_transaction(good);
}

Result<void> ProfileDatabase::end_transaction(bool is_complete) {
  if (is_complete) return execute("COMMIT");
  const std::string why = failure();
  (void)execute("ROLLBACK");
  return bad_input(why);
}

/// A file of an earlier version of the program has not all tables.
Result<bool> ProfileDatabase::has_table(const std::string& name) const {
  Statement table(database_.get(), "SELECT 1 FROM sqlite_master WHERE name = ?");
  if (!table.good()) return bad_input(failure());
  return table.bind(name).step() == SQLITE_ROW;
}

Result<std::vector<ResourceFacts>> ProfileDatabase::resources(std::string_view architecture) const {
  LEMMA_ASSIGN_OR_RETURN(const bool is_there, has_table("resources"));
  if (!is_there) return std::vector<ResourceFacts>();
  Statement rows(database_.get(),
                 "SELECT architecture, compiler, headers, block_threads, digest, description, "
                 "stack_bytes, spilled_bytes, registers, shared_bytes, blocks FROM resources "
                 "WHERE ?1 = '' OR architecture = ?1 ORDER BY 1, 2, 3, 4, 5");
  if (!rows.good()) return bad_input(failure());
  rows.bind(std::string(architecture));
  std::vector<ResourceFacts> result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    CompiledSource source = {rows.text(0), rows.text(1), rows.text(2), rows.long_integer(3)};
    if (result.empty() || result.back().source != source) result.push_back({std::move(source), {}});
    result.back().functions.push_back(function_in(rows));
  }
  if (code != SQLITE_DONE) return bad_input(failure());
  return result;
}

Result<void> ProfileDatabase::put(const ResourceFacts& facts) {
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  Statement insert(database_.get(),
                   "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bool good = insert.good();
  for (const FunctionResources& function : facts.functions) {
    if (!good) break;
    insert.bind(facts.source.architecture).bind(facts.source.compiler).bind(facts.source.headers);
    insert.bind(facts.source.block_threads).bind(function.digest).bind(function.description);
    insert.bind(function.stack_bytes).bind(function.spilled_bytes).bind(function.registers);
    insert.bind(function.shared_bytes).bind(function.blocks);
    good = insert.step() == SQLITE_DONE;
    insert.reset();
  }
  return end_transaction(good);
}

namespace {

/// A line for each function.
std::string text_of(const ResourceFacts& facts) {
  Json json = resources_json(facts);
  const Json functions = json["functions"];
  json.erase("functions");
  std::string line = json.dump();
  line.pop_back();  // its closing brace
  std::string result = line + ", \"functions\": [";
  std::string_view comma = "\n";
  for (const Json& function : functions) {
    result += fmt::format("{}  {}", comma, function.dump());
    comma = ",\n";
  }
  return result + "]}";
}

}  // namespace

Result<std::string> ProfileDatabase::export_json() const {
  LEMMA_ASSIGN_OR_RETURN(const auto all, targets());
  std::string result = "{\"format\": \"lemma profile 2\", \"targets\": [";
  std::string_view separator = "\n";
  for (const RuntimeIdentity& target : all) {
    const Json head = {
        {"runtime", target.runtime}, {"processor", target.processor}, {"threads", target.threads}};
    std::string line = head.dump();
    line.pop_back();  // its closing brace
    result += fmt::format("{}{}, \"entries\": [", separator, line);
    separator = ",\n";
    LEMMA_ASSIGN_OR_RETURN(const auto known, entries(target));
    std::string_view comma = "\n";
    for (const ProfileEntry& entry : known) {
      result += fmt::format("{}  {}", comma, to_json(entry).dump());
      comma = ",\n";
    }
    result += "]}";
  }
  result += "]";
  LEMMA_ASSIGN_OR_RETURN(const auto functions, resources());
  for (std::size_t i = 0; i < functions.size(); ++i)
    result += fmt::format("{}\n{}", i == 0 ? ", \"resources\": [" : ",", text_of(functions[i]));
  if (!functions.empty()) result += "]";
  LEMMA_ASSIGN_OR_RETURN(const std::string schedules, schedules_text());
  return result + schedules + "}\n";
}

/// Imports the resources of functions, if there are any.
Result<std::size_t> ProfileDatabase::import_resources(std::string_view text) {
  const Json document = Json::parse(text);
  std::size_t count = 0;
  if (!document.contains("resources")) return count;
  for (const Json& entry : document["resources"]) {
    LEMMA_ASSIGN_OR_RETURN(const ResourceFacts facts, resources_of(entry));
    LEMMA_RETURN_IF_ERROR(put(facts));
    count += facts.functions.size();
  }
  return count;
}

Result<std::size_t> ProfileDatabase::import_json(std::string_view text, Provenance as) {
  LEMMA_ASSIGN_OR_RETURN(const auto profiles, parse_profile(text, as));
  LEMMA_ASSIGN_OR_RETURN(std::size_t count, import_resources(text));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t schedules, import_schedules(text));
  count += schedules;
  for (const TargetProfile& profile : profiles) {
    LEMMA_RETURN_IF_ERROR(put(profile.target, profile.entries));
    count += profile.entries.size();
  }
  return count;
}

Result<std::vector<TargetProfile>> parse_profile(std::string_view text, Provenance as) {
  std::vector<TargetProfile> result;
  try {
    const Json document = Json::parse(text);
    if (document.at("format") != "lemma profile 2")
      return bad_input("is no profile of format 'lemma profile 2'");
    for (const Json& target : document.at("targets")) {
      TargetProfile& profile = result.emplace_back();
      profile.target = {target.at("runtime"), target.at("processor"), target.at("threads")};
      for (const Json& entry : target.at("entries"))
        profile.entries.push_back({entry.at("key"), entry.at("kind"), entry.at("elements"),
                                   entry.at("work"), entry.at("seconds"), entry.at("spread"),
                                   entry.at("repetitions"), as, entry.at("date")});
    }
  } catch (const Json::exception& error) {
    return bad_input(std::string("is no profile: ") + error.what());
  }
  return result;
}

std::string processor_identity() {
  std::ifstream file("/proc/cpuinfo");
  std::string model, family, number, features;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string name = line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1);
    const std::string value = line.substr(colon + 2);
    if (name == "model name") model = value;
    if (name == "cpu family") family = value;
    if (name == "model") number = value;
    if (name != "flags") continue;
    std::istringstream words(value);
    for (std::string word; words >> word;)
      if (word == "avx2" || word == "fma" || word.starts_with("avx512") || word.starts_with("amx"))
        features += " " + word;
  }
  return fmt::format("{}, family {}, model {},{}", model, family, number, features);
}

fs::path default_profile_file() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string chosen = variable("LEMMA_PROFILE"); !chosen.empty()) return chosen;
  const std::string data = variable("XDG_DATA_HOME");
  if (!data.empty()) return fs::path(data) / "lemma" / "profile.sqlite";
  const fs::path home = home_folder();
  return home.empty() ? fs::path() : home / ".local/share" / "lemma" / "profile.sqlite";
}

}  // namespace lemma
