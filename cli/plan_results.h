#pragma once
// What a run of a program over many devices gives, and how its ranks are started.

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/rank_job.h"
#include "interpreter/run.h"
#include "interpreter/tensor.h"
#include "ir/graph.h"
#include "plans/on_ranks/communicator.h"
#include "plans/on_ranks/exchange_schedules.h"
#include "plans/on_ranks/mpi_ranks.h"
#include "plans/on_ranks/thread_ranks.h"
#include "ranks/launcher.h"

namespace lemma {

/// What computes on a rank: the interpreter, or task programs.
inline const std::vector<std::string> engine_names = {"interpreter", "task-programs"};

/// A schedule by which exchanges were carried out, and how many of them in a step.
struct UsedSchedule {
  const collectives::Schedule* schedule = nullptr;
  std::size_t exchanges = 0;
};

/// What the ranks have computed and sent, by rank.
struct RankResults {
  std::vector<std::vector<interpreter::Tensor>> outputs;
  std::vector<std::uint64_t> bytes, messages, planned_bytes, collectives;
  std::vector<std::string> interpreted;      // of the first rank
  std::vector<double> seconds;               // by step, of the first rank, from the beginning
  std::vector<std::vector<double>> numbers;  // by step, of the first rank: outputs of one element
  std::vector<UsedSchedule> schedules;

  explicit RankResults(std::size_t ranks)
      : outputs(ranks), bytes(ranks), messages(ranks), planned_bytes(ranks), collectives(ranks) {}
};

/// The largest magnitude among finite elements; 0 if there are none.
double largest_element(const interpreter::Tensor& tensor);

/// The largest difference from what one device computes, relative to the largest element, or to `least_scale` where that is
/// larger; infinite where sizes differ, or one of two elements is no number or infinite and the other is not the same.
double largest_difference(const interpreter::Tensor& expected, const interpreter::Tensor& actual,
                          double least_scale = 0);

/// The inputs of a graph, by name: from files input_0.pb, input_1.pb, ... of the folder, and drawn where there is none.
Result<std::vector<interpreter::NamedTensor>> given_inputs(const Graph& graph,
                                                           const std::string& folder,
                                                           std::uint64_t seed);
/// A tensor with memory of its own.
interpreter::Tensor copy_of(const interpreter::Tensor& tensor);

plans::Group all_ranks(const plans::Communicator& communicator);
/// Gives all the texts of all ranks, by rank.
Result<std::vector<std::string>> share_text(std::string own, plans::Communicator& communicator);
/// Gives all what each has sent.
Result<void> share_counts(RankResults& results, plans::Communicator& communicator);
/// An error where a rank has sent something else than is planned.
Result<void> check_sent(const RankResults& results, std::size_t rank,
                        std::uint64_t planned_messages);
/// Reads schedules from files. An error names the file.
Result<plans::ExchangeSchedules> given_schedules(const std::vector<std::string>& files);
/// The schedules, and how often a step uses them; an error where one does not fit (plans::uses_of).
Result<std::vector<UsedSchedule>> used_schedules(
    const plans::ExchangeSchedules& schedules,
    const std::vector<plans::GroupOfExchange>& exchanges);
/// A row for each rank, and a line for each schedule.
std::string exchanges_text(const RankResults& results);
/// What a process says of an error, and its exit code.
plans::Ending ending_of(const Error& error);

/// A thread for each rank; or this process is one of those that a launcher has started. Then each gives what it has to all.
/// `run` has compute() and share(), which take a Communicator.
template <typename Run>
Result<void> run_on_all(std::size_t ranks, Run& run) {
  const std::size_t started = ranks::launch_of_environment().size;
  if (started == 1)
    return plans::run_as_threads(
        ranks, [&](plans::Communicator& communicator) { return run.compute(communicator); });
  if (started != ranks)
    return bad_input(fmt::format("the plan is for {} ranks, but {} were started", ranks, started));
  return plans::run_as_process(
      rank_module("lemma_mpi_plans.so"), ranks,
      [&](plans::Communicator& communicator) -> Result<void> {
        LEMMA_RETURN_IF_ERROR(run.compute(communicator));
        return run.share(communicator);
      },
      ending_of);
}

}  // namespace lemma
