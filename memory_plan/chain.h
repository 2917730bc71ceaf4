#pragma once
// Chains by dynamic programming: when every step of a chain is needed again in reverse order.
//
// Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 2000: a chain of l steps is reversed with s slots for states,
// of which the first one has the state that the chain begins with. Steps take different times and states different
// memory here (Beaumont et al., "Optimal checkpointing for heterogeneous chains", 2019).

#include <optional>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

struct Chain {
  /// Of step i, from state i to state i + 1.
  std::vector<double> seconds;
  /// Of the state that step i begins with, in slots; 1 for each where it is empty.
  std::vector<std::uint32_t> slots = {};
};

/// What is done with a chain. A state is held besides the slots while it advances.
struct ChainAction {
  enum class Kind : std::uint8_t {
    advance,  // runs a step: the state in hand becomes the next one
    store,    // the state in hand is also in slots
    restore,  // the state is in hand again
    release,  // its slots are free
    reverse,  // step `state` is reversed, from the state in hand that it begins with
  };
  Kind kind = Kind::advance;
  std::uint32_t state = 0;
};

struct ChainPlan {
  double seconds = 0;  // of steps that run
  std::vector<ChainAction> actions;
};

/// The plan that runs steps for the least time, where the first state's slots count among `slots`. Nothing: not even that
/// fits.
std::optional<ChainPlan> chain_plan(const Chain& chain, std::uint32_t slots);

struct ChainReplay {
  double seconds = 0;
  std::uint32_t most_slots = 0;
};
/// The judge: an error is an action that is not possible, a step that is not reversed in its turn, or too many slots.
Result<ChainReplay> replay(const Chain& chain, const ChainPlan& plan, std::uint32_t slots);

/// For a problem whose first nodes in the order are a chain, each with the one before as its only operand, and whose other
/// nodes read the chain backwards: the cheapest of the sequences by dynamic programming that fit, with states in units of
/// memory. Nothing: it is no such problem, or none of them fits.
std::optional<Sequence> chain_sequence(const Problem& problem, const Sequence& order, Bytes limit);

}  // namespace lemma::memory_plan
