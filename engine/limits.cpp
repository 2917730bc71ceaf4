#include "engine/limits.h"

#include <algorithm>
#include <limits>

namespace lemma::engine {

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::saturated: return "saturated";
    case StopReason::nodes: return "nodes";
    case StopReason::iterations: return "iterations";
    case StopReason::time: return "time";
    case StopReason::memory: return "memory";
    case StopReason::cancelled: return "cancelled";
    case StopReason::failed: return "failed";
  }
  return "?";
}

bool Watch::stop(StopReason reason) {
  reason_ = reason;
  stopped_ = true;
  return true;
}

bool Watch::interrupted() {
  if (stopped_) return true;
  if (time_is_over()) return stop(StopReason::time);
  if (is_cancelled()) return stop(StopReason::cancelled);
  if (limits_.is_reached && limits_.is_reached()) return stop(StopReason::cancelled);
  return false;
}

double Watch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

namespace {
constexpr std::size_t most_doublings = 20;
}

std::size_t Scheduler::match_limit(std::size_t rule) const {
  if (limits_.match_limit == 0) return std::numeric_limits<std::size_t>::max();
  return limits_.match_limit << std::min(states_[rule].rests, most_doublings);
}

void Scheduler::rest(std::size_t rule, std::size_t iteration) {
  State& state = states_[rule];
  state.rests_until =
      iteration + 1 + (limits_.rest_iterations << std::min(state.rests, most_doublings));
  ++state.rests;
}

void Scheduler::wake_all() {
  for (State& state : states_) state.rests_until = 0;
}

}  // namespace lemma::engine
