#pragma once
// Schedules in which each send starts at a time of its own, for topologies on which no step has an end.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plans/collectives/schedule.h"
#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// Picoseconds, so that sums are exact.
using Time = std::int64_t;

struct TimedSend {
  Node from = 0, to = 0;
  std::uint32_t chunk = 0;
  Time begin = 0, end = 0;
  Action action = Action::copy;  // or add: what the sender has of the sum at the begin
};

/// Chunks are those of Schedule.
struct TimedSchedule {
  Collective collective = Collective::all_gather;
  std::size_t nodes = 0;
  std::uint32_t chunks = 1;
  Node root = 0;
  double chunk_bytes = 0;
  std::vector<TimedSend> sends;  // by their begin, and then by their ends

  Time end() const;
};

/// What a chunk takes on a link: its latency and its bytes over the bandwidth, rounded to a picosecond.
Time time_on(const Link& link, double chunk_bytes);

/// The file of a schedule: one JSON object; of each send the sender, the receiver, the chunk, the picoseconds from and
/// to, and "add" where it is added.
std::string schedule_text(const TimedSchedule& schedule, std::string_view topology);
/// Whether a text says that it is such a file.
bool is_timed_schedule(std::string_view text);
/// Reads it again. An error names the field, what it is, and what is needed.
Result<TimedSchedule> parse_timed_schedule(std::string_view text);

/// The same sends without times: those that begin together are a step. What has arrived when a send begins has begun in a step
/// before.
Schedule by_steps(const TimedSchedule& schedule);

/// What is wrong with a schedule: a send over no link, of a chunk that is not there yet, to a node that has it or gets it, of
/// another length than the link takes, or while the link, or another one of its port, carries something else; or a node
/// that does not have all chunks in the end. In a reduce-scatter and an all-reduce: an operand that is added twice, a copy of a sum that
/// is not finished, or one that is not finished in the end. Nothing where it is right.
std::optional<std::string> fault_of(const Topology& topology, const TimedSchedule& schedule);

/// Whether what is added up so is checked: a reduce-scatter or an all-reduce whose sets of operands fit into a gigabyte.
bool has_checked_sums(Collective collective, std::size_t nodes, std::size_t chunks);

struct GreedyRequest {
  Collective collective = Collective::all_gather;
  Node root = 0;
  std::uint32_t chunks = 1;  // of each node; of the tensor in a broadcast
  double chunk_bytes = 1;
  std::uint64_t seed = 0;
  std::uint32_t tries =
      20;  // with other random choices; the first that meets the bound is the last
};

struct Greedy {
  TimedSchedule schedule;
  /// No schedule ends before: the least time in which the links into each node can carry what it does not have, one chunk after
  /// the other, and in which a chunk comes from the farthest node.
  Time bound = 0;
  std::uint32_t tries = 0;
};

/// Whenever links are free, each gets a chunk that the receiver lacks and nobody else sends to it: of these one that the fewest
/// nodes have, and of equal ones a random one (in the manner of TACOS; Won et al., MICRO 2024, which takes any). A slow
/// link gets none that the faster links into the node bring before. A reduce-scatter is an all-gather over the links the other way, backwards
/// in time, and an all-reduce one of these and then an all-gather; its bound is that of either, so that it may be far below. The result is checked by `fault_of`. Equal requests have
/// equal results.
Result<Greedy> greedy(const Topology& topology, const GreedyRequest& request);

}  // namespace lemma::collectives
