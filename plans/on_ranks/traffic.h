#pragma once
// What a rank of a program sends in a step, from the collectives of the program alone: what is counted when it runs has to be
// the same.

#include <cstdint>
#include <span>

#include "plans/by_rank/ranked_program.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

struct Traffic {
  std::uint64_t collectives = 0, messages = 0, bytes = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Of one collective of a group; by its schedule, where there is one.
Traffic collective_traffic(const Exchange& exchange, const Group& group, std::size_t rank,
                           const ExchangeSchedules* schedules = nullptr);
Traffic planned_traffic(const RankProgram& program, std::size_t rank,
                        const ExchangeSchedules* schedules = nullptr);
/// The same where each rank has operators of its own. `passed_on`: messages of each step besides those of the program.
Traffic planned_traffic(const RankedProgram& program, std::size_t rank,
                        std::span<const MessageChannel> passed_on,
                        const ExchangeSchedules* schedules = nullptr);

}  // namespace lemma::plans
