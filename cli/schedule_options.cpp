#include "cli/schedule_options.h"

namespace lemma {

void add_schedule_flag(CLI::App& command, ScheduleChoice& choice) {
  command.add_flag("--no-schedules", choice.is_ignored,
                   "take no loop schedules of `lemma tune` from the database");
}

Result<std::shared_ptr<const backend::LoopSchedules>> schedules_for(const ScheduleChoice& choice,
                                                                    int threads) {
  if (choice.is_ignored) return std::shared_ptr<const backend::LoopSchedules>();
  return backend::load_schedules(choice.database, threads);
}

}  // namespace lemma
