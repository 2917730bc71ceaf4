#pragma once
// The schedule of a collective as data: which chunks go over which links, step by step.
//
// The tensor is cut into `chunks` equal chunks. Where each node has or gets a part of it (all-gather, reduce-scatter), the number
// of chunks is a multiple of the number of nodes, and node n has, or gets, the chunks from n * chunks / nodes on. In a broadcast
// node `root` has all chunks; in an all-reduce and a reduce-scatter each node has an operand for each chunk.
//
// All sends of a step read what is there before it. A step takes a latency, and as long as its rounds: a link carries
// `capacity` chunks in a round (SCCL; Cai et al., PPoPP 2021, section 3).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plans/clusters/collectives.h"
#include "plans/collectives/topology.h"

namespace lemma::collectives {

using clusters::Collective;

enum class Action : std::uint8_t {
  copy,         // the receiver has the chunk then
  add,          // the receiver adds it to what it has of the chunk
  add_operand,  // the same, but what is sent is the sender's operand, without what was added to it
};

struct Send {
  Node from = 0, to = 0;
  std::uint32_t chunk = 0;
  Action action = Action::copy;

  bool operator==(const Send&) const = default;
};

struct Step {
  std::uint32_t rounds = 1;
  std::vector<Send> sends;
};

struct Schedule {
  Collective collective = Collective::all_gather;
  std::string method;  // what has made it
  std::size_t nodes = 0;
  std::uint32_t chunks = 1;
  Node root = 0;  // of a broadcast
  std::vector<Step> steps;
};

/// What a schedule has, counted send by send, in chunks.
struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t rounds = 0;
  std::uint64_t path = 0;   // the sum over the steps of what the busiest node sends or receives
  std::uint64_t total = 0;  // sent by all nodes
  std::uint64_t most = 0;   // sent by one node

  bool operator==(const Counts&) const = default;
};
Counts counts_of(const Schedule& schedule);

/// The seconds of a schedule whose steps follow one another: in each, its slowest link takes a latency, and the bytes of its
/// chunks over its bandwidth.
double seconds_of(const Topology& topology, const Schedule& schedule, double tensor_bytes);

/// The collectives that there are schedules for.
bool has_schedules(Collective collective);
/// `all-reduce`, `all-gather`, `reduce-scatter` or `broadcast`; otherwise an error that lists these.
Result<Collective> collective_named(std::string_view text);

/// The file of a schedule: one JSON object, a line for each step.
std::string schedule_text(const Schedule& schedule, std::string_view topology);
/// Reads it again. An error names the field, what it is, and what is needed.
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace lemma::collectives
