#pragma once
// Loop schedules in the profile database: of this processor, this compiler, and this version of what emits code.

#include <filesystem>
#include <memory>

#include "backend/execute/built_program.h"
#include "backend/loop_schedule.h"
#include "profiler/profile_database.h"

namespace lemma::backend {

/// What the schedules of programs with at most so many threads (0: all processors) are kept under.
RuntimeIdentity schedule_identity(const ProgramBuilder& builder, int threads);

/// The schedules in an open database. An error: a record that cannot be read.
Result<LoopSchedules> schedules_in(const ProfileDatabase& database, const RuntimeIdentity& target);

/// The schedules of a file for programs that are compiled here; null where it is not there or has none, or there is no
/// compiler. Errors name the file.
Result<std::shared_ptr<const LoopSchedules>> load_schedules(const std::filesystem::path& file,
                                                            int threads);

}  // namespace lemma::backend
