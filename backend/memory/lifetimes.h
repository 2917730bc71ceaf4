#pragma once
// When buffers of the arena are in use, by the order of a schedule and by its planned times.

#include <optional>
#include <vector>

#include "backend/program.h"
#include "backend/schedule/schedule.h"

namespace lemma::backend {

class Lifetimes {
 public:
  explicit Lifetimes(const TaskProgram& program);

  /// Whether all users of a buffer have ended when the writers of another begin, for every speed of the units.
  bool is_before(BufferNumber first, BufferNumber second) const;
  /// How much a task may begin later than planned for a wait: seconds, and a part of its slack.
  struct Delay {
    double seconds = 0, part_of_slack = 0;
  };
  /// The same, or as planned, and so early that writers which waited for the users would be late by no more than this.
  bool is_planned_before(BufferNumber first, BufferNumber second, const Delay& delay) const;
  /// Adds the waits with which a buffer is before another for every speed of the units.
  void add_needs(BufferNumber first, BufferNumber second, StepNeeds& needs) const;

  /// The beginning of a buffer's life in seconds, as planned. A buffer that no task touches is in use
  /// at time 0 only.
  double begin(BufferNumber buffer) const { return lives_[buffer].begin; }
  double end(BufferNumber buffer) const { return lives_[buffer].end; }

  /// The most memory of the arena that is in use at one moment as planned.
  std::uint64_t largest_live_bytes(const TaskProgram& program) const;

 private:
  /// Tasks of one unit: the first that writes the buffer, and how many there are up to the last that uses it.
  struct OnUnit {
    UnitNumber unit = 0;
    std::optional<std::uint32_t> first_write;
    std::uint32_t end = 0;
  };
  struct Life {
    std::vector<OnUnit> units;
    double begin = 0, end = 0;
    Clock
        known_to_writers;  // what has ended for certain when any writer begins; empty if there is none
  };

  void add_use(BufferNumber buffer, UnitNumber unit, std::uint32_t index, bool writes);
  void find_known(Life& life) const;
  bool can_wait(const OnUnit& writer, const OnUnit& user, const Delay& delay) const;

  std::vector<std::vector<Clock>> clocks_;
  std::vector<std::vector<std::pair<double, double>>> times_;
  std::vector<std::vector<double>> slack_;
  double seconds_per_event_;
  std::vector<Life> lives_;  // by buffer
};

}  // namespace lemma::backend
