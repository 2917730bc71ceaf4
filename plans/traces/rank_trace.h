#pragma once
// What each rank of a program did, or is to do: operations that wait for each other, messages, and collectives of groups of ranks.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lemma::traces {

enum class OperationKind : std::uint8_t {
  wait,  // takes no time
  compute,
  send,
  receive,
  collective,
};

/// An operation of one rank.
struct Operation {
  std::uint64_t number = 0;  // no two of a rank have the same
  std::string name;
  OperationKind kind = OperationKind::wait;
  std::vector<std::uint64_t> waits_for;  // numbers of operations of the same rank
  std::int64_t picoseconds = 0;          // compute: how long it takes
  std::uint64_t bytes =
      0;  // of a message; of the whole tensor of a collective (plans/clusters/collectives.h)
  std::size_t peer = 0;    // the other rank of a message
  std::uint64_t tag = 0;   // of a message: the n-th one sent with a tag is the n-th one received
  std::string collective;  // as operators name it: AllReduce, ...
  std::string group;       // of a collective: a name of `groups`; empty: all ranks
};

/// The n-th collective of a group is the same one for all ranks of the group.
struct Traces {
  std::vector<std::vector<Operation>> ranks;
  std::map<std::string, std::vector<std::size_t>> groups;  // ranks, by name
};

}  // namespace lemma::traces
