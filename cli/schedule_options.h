#pragma once
// Options that say whether loop schedules of `lemma tune` are taken, and from where (docs/tune.md).

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "backend/execute/schedule_file.h"

namespace lemma {

struct ScheduleChoice {
  std::string database = default_profile_file().string();
  bool is_ignored = false;
};

/// --no-schedules.
void add_schedule_flag(CLI::App& command, ScheduleChoice& choice);

/// What the database has for programs of so many threads; null: nothing.
Result<std::shared_ptr<const backend::LoopSchedules>> schedules_for(const ScheduleChoice& choice,
                                                                    int threads);

}  // namespace lemma
