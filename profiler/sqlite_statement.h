#pragma once
// Statements of the profile database, which several processes use at once.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "profiler/profile_database.h"

struct sqlite3_stmt;

namespace lemma {

inline constexpr std::chrono::milliseconds time_for_a_lock{60'000};

/// Attempts something again as long as the file is in use. SQLite itself waits for most locks, but not for those of
/// another process that creates the file, changes its journal, or closes it as the last one. The code of the last attempt.
int patiently(const std::function<int()>& attempt);

/// A prepared statement; its parameters are bound in order.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  bool good() const { return statement_ != nullptr; }
  Statement& bind(const std::string& text);
  Statement& bind(double value);
  Statement& bind(int value);
  Statement& bind(std::int64_t value);
  Statement& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(const RuntimeIdentity& target) {
    return bind(target.runtime).bind(target.processor).bind(target.threads);
  }
  /// SQLITE_ROW, SQLITE_DONE, or what went wrong.
  int step();
  void reset();
  std::string text(int column) const;
  double real(int column) const;
  int integer(int column) const;
  std::int64_t long_integer(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  bool has_begun_ = false;
};

}  // namespace lemma
