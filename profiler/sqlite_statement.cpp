#include "profiler/sqlite_statement.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <sqlite3.h>

namespace lemma {

namespace {

/// Whether another process uses the file just now so that this one cannot.
bool is_in_use(int code) {
  const int kind = code & 0xff;
  return kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_PROTOCOL ||
         code == SQLITE_READONLY_RECOVERY || code == SQLITE_READONLY_CANTLOCK;
}

}  // namespace

int patiently(const std::function<int()>& attempt) {
  const auto end = std::chrono::steady_clock::now() + time_for_a_lock;
  auto pause = std::chrono::milliseconds(1);
  int code = attempt();
  while (is_in_use(code) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(50));
    code = attempt();
  }
  return code;
}

Statement::Statement(sqlite3* database, const std::string& sql) {
  patiently([&] {  // the tables are read for that
    return sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr);
  });
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(const std::string& text) {
  sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);  // NOLINT: a cast of SQLite's
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(int value) {
  sqlite3_bind_int(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

int Statement::step() {
  if (std::exchange(has_begun_, true)) return sqlite3_step(statement_);
  return patiently([this] {
    sqlite3_reset(statement_);
    return sqlite3_step(statement_);
  });
}

void Statement::reset() {
  sqlite3_reset(statement_);
  bound_ = 0;
  has_begun_ = false;
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);  // NOLINT: UTF-8 as it is
}

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

int Statement::integer(int column) const { return sqlite3_column_int(statement_, column); }

std::int64_t Statement::long_integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

}  // namespace lemma
