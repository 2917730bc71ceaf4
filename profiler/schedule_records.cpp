#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include "profiler/profile_database.h"
#include "profiler/sqlite_statement.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

ScheduleRecord record_in(const Statement& row) {
  return {row.text(0), row.text(1),    row.text(2), row.real(3),
          row.real(4), row.integer(5), row.text(6)};
}

}  // namespace

Result<bool> ProfileDatabase::has_schedules() const {
  LEMMA_ASSIGN_OR_RETURN(const bool is_there, has_table("loop_schedules"));
  if (!is_there) return false;
  Statement row(database_.get(), "SELECT 1 FROM loop_schedules LIMIT 1");
  if (!row.good()) return bad_input(failure());
  return row.step() == SQLITE_ROW;
}

Result<std::vector<ScheduleRecord>> ProfileDatabase::schedules(
    const RuntimeIdentity& target) const {
  LEMMA_ASSIGN_OR_RETURN(const bool is_there, has_table("loop_schedules"));
  if (!is_there) return std::vector<ScheduleRecord>();
  Statement rows(database_.get(),
                 "SELECT key, schedule, description, seconds_before, seconds, rounds, date FROM "
                 "loop_schedules WHERE runtime = ? AND processor = ? AND threads = ? ORDER BY key");
  if (!rows.good()) return bad_input(failure());
  rows.bind(target);
  std::vector<ScheduleRecord> result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) result.push_back(record_in(rows));
  if (code != SQLITE_DONE) return bad_input(failure());
  return result;
}

Result<void> ProfileDatabase::put(const RuntimeIdentity& target,
                                  std::span<const ScheduleRecord> records) {
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  Statement insert(database_.get(),
                   "INSERT OR REPLACE INTO loop_schedules VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bool good = insert.good();
  for (const ScheduleRecord& record : records) {
    if (!good) break;
    insert.bind(target).bind(record.key).bind(record.schedule).bind(record.description);
    insert.bind(record.seconds_before).bind(record.seconds).bind(record.rounds).bind(record.date);
    good = insert.step() == SQLITE_DONE;
    insert.reset();
  }
  return end_transaction(good);
}

Result<void> ProfileDatabase::remove_schedules(const RuntimeIdentity& target,
                                               std::span<const std::string> keys) {
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  Statement remove(database_.get(),
                   "DELETE FROM loop_schedules WHERE runtime = ? AND processor = ? AND threads = ? "
                   "AND key = ?");
  bool good = remove.good();
  for (const std::string& key : keys) {
    if (!good) break;
    good = remove.bind(target).bind(key).step() == SQLITE_DONE;
    remove.reset();
  }
  return end_transaction(good);
}

Result<std::vector<ScheduleTrial>> ProfileDatabase::trials(const RuntimeIdentity& target,
                                                           const std::string& op) const {
  LEMMA_ASSIGN_OR_RETURN(const bool is_there, has_table("loop_trials"));
  if (!is_there) return std::vector<ScheduleTrial>();
  Statement rows(database_.get(),
                 "SELECT schedules, ratio FROM loop_trials WHERE runtime = ? AND processor = ? AND "
                 "threads = ? AND operator = ? ORDER BY schedules");
  if (!rows.good()) return bad_input(failure());
  rows.bind(target).bind(op);
  std::vector<ScheduleTrial> result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) result.push_back({rows.text(0), rows.real(1)});
  if (code != SQLITE_DONE) return bad_input(failure());
  return result;
}

Result<void> ProfileDatabase::put(const RuntimeIdentity& target, const std::string& op,
                                  const ScheduleTrial& trial, const std::string& date) {
  LEMMA_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  Statement insert(database_.get(),
                   "INSERT OR REPLACE INTO loop_trials VALUES (?, ?, ?, ?, ?, ?, ?)");
  bool good = insert.good();
  if (good) {
    insert.bind(target).bind(op).bind(trial.schedules).bind(trial.ratio).bind(date);
    good = insert.step() == SQLITE_DONE;
  }
  return end_transaction(good);
}

/// The records of all targets, a line for each; empty where there are none. Trials stay where they were made.
Result<std::string> ProfileDatabase::schedules_text() const {
  LEMMA_ASSIGN_OR_RETURN(const bool is_there, has_table("loop_schedules"));
  if (!is_there) return std::string();
  Statement rows(database_.get(),
                 "SELECT key, schedule, description, seconds_before, seconds, rounds, date, "
                 "runtime, processor, threads FROM loop_schedules ORDER BY 8, 9, 10, 1");
  if (!rows.good()) return bad_input(failure());
  std::string result;
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    const ScheduleRecord record = record_in(rows);
    const Json line = {{"runtime", rows.text(7)},
                       {"processor", rows.text(8)},
                       {"threads", rows.integer(9)},
                       {"key", record.key},
                       {"schedule", record.schedule},
                       {"description", record.description},
                       {"seconds_before", record.seconds_before},
                       {"seconds", record.seconds},
                       {"rounds", record.rounds},
                       {"date", record.date}};
    result += (result.empty() ? ", \"loop_schedules\": [\n  " : ",\n  ") + line.dump();
  }
  if (code != SQLITE_DONE) return bad_input(failure());
  return result.empty() ? result : result + "]";
}

Result<std::size_t> ProfileDatabase::import_schedules(std::string_view text) {
  std::size_t count = 0;
  try {
    const Json document = Json::parse(text);
    if (!document.contains("loop_schedules")) return count;
    for (const Json& line : document["loop_schedules"]) {
      const ScheduleRecord record = {line.at("key"),         line.at("schedule"),
                                     line.at("description"), line.at("seconds_before"),
                                     line.at("seconds"),     line.at("rounds"),
                                     line.at("date")};
      const RuntimeIdentity target = {line.at("runtime"), line.at("processor"), line.at("threads")};
      LEMMA_RETURN_IF_ERROR(put(target, std::span(&record, 1)));
      ++count;
    }
  } catch (const Json::exception& error) {
    return bad_input(std::string("is no profile: ") + error.what());
  }
  return count;
}

}  // namespace lemma
