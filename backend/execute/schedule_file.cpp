#include "backend/execute/schedule_file.h"

#include <fmt/format.h>

#include "backend/execute/code_digest.h"

namespace lemma::backend {

RuntimeIdentity schedule_identity(const ProgramBuilder& builder, int threads) {
  return {fmt::format("loop schedules {}, {}", code_digest, builder.identity()),
          processor_identity(), static_cast<int>(thread_count(threads))};
}

Result<LoopSchedules> schedules_in(const ProfileDatabase& database, const RuntimeIdentity& target) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ScheduleRecord> records, database.schedules(target));
  LoopSchedules schedules;
  for (const ScheduleRecord& record : records) {
    LEMMA_ASSIGN_OR_RETURN(schedules[record.key], parse_loop_schedule(record.schedule));
  }
  return schedules;
}

Result<std::shared_ptr<const LoopSchedules>> load_schedules(const std::filesystem::path& file,
                                                            int threads) {
  std::shared_ptr<const LoopSchedules> none;
  if (file.empty()) return none;
  LEMMA_ASSIGN_OR_RETURN(const auto database, ProfileDatabase::open_to_read(file));
  if (!database) return none;
  LEMMA_ASSIGN_OR_RETURN(const bool has_any, database->has_schedules());
  if (!has_any) return none;
  // The folder is that of programs, none of which is made here.
  const auto builder = ProgramBuilder::create({});
  if (!builder) return none;
  auto schedules = schedules_in(*database, schedule_identity(*builder, threads));
  if (!schedules) return with_context(file.string(), std::move(schedules.error()));
  if (schedules->empty()) return none;
  return std::make_shared<const LoopSchedules>(std::move(*schedules));
}

}  // namespace lemma::backend
