#pragma once
// A program in which each rank has operators of its own.
//
// The values of all ranks are nodes of one graph without axes of devices: what a rank receives is the value that was sent,
// and what ranks of a group exchange is what they get, written with operators of one device. So where a value is does not
// change what it is, and the graph is compared with a single-device one like any other. Each rank has a list of steps:
// what it computes, sends, receives and exchanges, one after the other.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/placement/window.h"
#include "plans/program.h"

namespace lemma::plans {

/// What a rank has before it begins: a part of an input or constant of the single-device graph.
struct RankSource {
  ValueId value;   // of the program's graph
  ValueId single;  // of the single-device graph
  Window window;
};

/// A value that goes from one rank to another. Channels have different names.
struct Transfer {
  std::string channel;
  std::size_t from = 0, to = 0;
  ValueId value;
};

/// A collective of some of the ranks, in order.
struct GroupExchange {
  std::string op;  // AllReduce, ...
  Attributes
      attributes;  // as of an Exchange of one axis of devices (plans/on_ranks/rank_program.h)
  std::vector<std::size_t> ranks;
  std::vector<ValueId> operands, results;  // by place in the group
};

enum class StepKind : std::uint8_t { compute, send, receive, exchange };

struct Step {
  StepKind kind = StepKind::compute;
  NodeId node;             // compute: of the program's graph
  std::size_t number = 0;  // otherwise: of the transfer or the exchange
};

/// What a rank gives of an output of the single-device graph.
struct RankOutput {
  std::string name;
  std::size_t rank = 0;
  ValueId value;
  Window window;
};

struct RankedProgram {
  Program program;                               // its mesh has no axes
  std::vector<std::vector<RankSource>> sources;  // by rank
  std::vector<std::vector<Step>> steps;          // by rank
  std::vector<Transfer> transfers;
  std::vector<GroupExchange> exchanges;
  std::vector<RankOutput> outputs;

  std::size_t rank_count() const { return steps.size(); }
};

/// One step of one rank.
struct RankStep {
  std::size_t rank = 0;
  Step step;
};

/// The steps of all ranks in an order in which they can be done: a rank waits for what it receives, and for its group; what it
/// sends waits for nobody. An error: some ranks wait for each other, and on which channels.
Result<std::vector<RankStep>> step_order(const RankedProgram& program);

/// The parts that ranks give of an output, in the program's graph; an error where they do not make up the whole.
Result<void> add_outputs(RankedProgram& program, const Graph& single);

}  // namespace lemma::plans
