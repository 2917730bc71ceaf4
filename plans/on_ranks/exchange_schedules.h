#pragma once
// Collectives of programs of ranks by schedules (plans/collectives/schedule.h) instead of the built-in way: chunk by chunk, with a
// message for each send.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "interpreter/tensor.h"
#include "plans/collectives/schedule.h"
#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

struct Exchange;

/// Schedules for groups of ranks, at most one for a collective of so many ranks. The ranks of a group are the nodes, in order.
class ExchangeSchedules {
 public:
  /// Takes a schedule. An error of kind `bad_input`: it is wrong on links between all of its nodes (collectives::fault_of), or there
  /// is one for the collective and so many ranks.
  Result<void> add(collectives::Schedule schedule);

  bool empty() const { return schedules_.empty(); }
  const std::vector<collectives::Schedule>& all() const { return schedules_; }
  /// The one for an exchange (AllReduce, ...) of so many ranks; null: the built-in way.
  const collectives::Schedule* find(std::string_view op, std::size_t ranks) const;

  /// Messages of schedules have this channel, which no others between ranks have.
  std::uint32_t channel = 0;

 private:
  std::vector<collectives::Schedule> schedules_;
};

/// An exchange of a group, as far as schedules are concerned.
struct GroupOfExchange {
  const Exchange* exchange = nullptr;
  std::size_t ranks = 0;
};
/// How many of the exchanges each schedule is for, in the order of all(). An error of kind `bad_input`: a schedule does not fit an
/// exchange (its chunks do not divide the elements, it begins at another root, or the reduction is no sum, maximum or minimum), or is
/// for none.
Result<std::vector<std::size_t>> uses_of(const ExchangeSchedules& schedules,
                                         const std::vector<GroupOfExchange>& exchanges);

/// Sends of a rank, by its place in the group.
std::uint64_t sends_of(const collectives::Schedule& schedule, std::size_t place);

/// Carries out a schedule on one rank of a group. `chunks`: the chunks along axis 0, with what the rank has of them in the beginning;
/// what it does not have may be anything. Returned are the chunks with what it has in the end. `reduction`: as of the operator
/// Reduce.
Result<interpreter::Tensor> carried_out(const collectives::Schedule& schedule, const Group& group,
                                        const std::string& reduction, interpreter::Tensor chunks,
                                        std::uint32_t channel, Communicator& communicator);

}  // namespace lemma::plans
