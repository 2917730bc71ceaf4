#pragma once
// Schedules that are found by Z3, or proved not to exist (SCCL; Cai et al., PPoPP 2021, sections 3 and 4).

#include <cstdint>
#include <string>
#include <vector>

#include "plans/collectives/bounds.h"
#include "plans/collectives/schedule.h"
#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// A schedule with so many steps, and so many rounds in all of them together. `chunks` is the number of chunks of each node in an
/// all-gather and a reduce-scatter, and of the tensor in a broadcast.
struct SynthesisRequest {
  Collective collective = Collective::all_gather;
  Node root = 0;
  std::uint32_t steps = 1, rounds = 1, chunks = 1;
  /// What Z3 may spend on one question, in its own unit, which depends on nothing but the question.
  std::uint32_t effort = 30'000'000;
};

enum class Answer : std::uint8_t { found, impossible, unknown };
std::string_view name(Answer answer);

struct Synthesis {
  Answer answer = Answer::unknown;
  Schedule schedule;   // if found
  std::string reason;  // which bound excludes it, or who has answered
};

/// Asks first for a schedule that is the same seen from all nodes that symmetries of the topology take to each other; that none
/// of these is there says nothing, and it is asked again without. What is found is checked by `fault_of`. An all-reduce has no
/// question of its own: `there_and_back` makes it of an all-gather.
/// An error where a collective is none of the three, or nodes have no path.
Result<Synthesis> synthesise(const Topology& topology, const SynthesisRequest& request);

/// A point of a frontier: no schedule with fewer steps has as few rounds for each chunk, and none with as many steps has fewer, of
/// all with at most `most_chunks` chunks.
struct FrontierPoint {
  SynthesisRequest request;
  Synthesis synthesis;
};
struct Frontier {
  Bounds bounds;
  std::vector<FrontierPoint> asked;  // in order; those that were found are the frontier
  bool is_complete = true;           // no answer was `unknown`
};

/// For each number of steps from the bound on, the least rounds for each chunk, until it is the bound, or there are `most_steps`.
Result<Frontier> frontier(const Topology& topology, SynthesisRequest request,
                          std::uint32_t most_chunks, std::uint32_t most_steps);

}  // namespace lemma::collectives
