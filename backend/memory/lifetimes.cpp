#include "backend/memory/lifetimes.h"

#include <algorithm>

#include "backend/memory/plan_memory.h"

namespace lemma::backend {

Lifetimes::Lifetimes(const TaskProgram& program)
    : clocks_(clocks_of(program)),
      times_(planned_times(program)),
      slack_(planned_slack(program)),
      seconds_per_event_(program.device.seconds_per_event),
      lives_(program.graph.buffers.size()) {
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
    for (std::uint32_t index = 0; index < program.units[unit].size(); ++index) {
      const Task task = program.units[unit][index].task;
      const TaskAccess& access = program.accesses[task.op][task.number];
      for (const Region& write : access.writes) add_use(write.buffer, unit, index, true);
      for (const Region& read : access.reads) add_use(read.buffer, unit, index, false);
    }
  for (Life& life : lives_) find_known(life);
}

void Lifetimes::add_use(BufferNumber buffer, UnitNumber unit, std::uint32_t index, bool writes) {
  Life& life = lives_[buffer];
  const auto [from, to] = times_[unit][index];
  life.begin = life.units.empty() ? from : std::min(life.begin, from);
  life.end = std::max(life.end, to);
  // Steps come unit by unit.
  if (life.units.empty() || life.units.back().unit != unit)
    life.units.push_back({unit, std::nullopt, 0});
  OnUnit& here = life.units.back();
  if (writes && !here.first_write) here.first_write = index;
  here.end = index + 1;
}

void Lifetimes::find_known(Life& life) const {
  Clock& known = life.known_to_writers;
  for (const OnUnit& writer : life.units) {
    if (!writer.first_write) continue;
    const Clock& clock = clocks_[writer.unit][*writer.first_write];
    if (known.empty()) known = clock;
    for (std::size_t unit = 0; unit < known.size(); ++unit)
      known[unit] = std::min(known[unit], clock[unit]);
  }
}

bool Lifetimes::is_before(BufferNumber first, BufferNumber second) const {
  const Clock& known = lives_[second].known_to_writers;
  const std::vector<OnUnit>& users = lives_[first].units;
  return known.empty() || std::all_of(users.begin(), users.end(), [&known](const OnUnit& user) {
           return known[user.unit] >= user.end;
         });
}

/// Added waits lead forward in planned time, so that there is no circle of waits.
bool Lifetimes::can_wait(const OnUnit& writer, const OnUnit& user, const Delay& delay) const {
  const double begin = times_[writer.unit][*writer.first_write].first;
  const auto [users_begin, users_end] = times_[user.unit][user.end - 1];
  return users_begin < begin && users_end <= begin &&
         users_end + seconds_per_event_ <=
             begin + delay.seconds + delay.part_of_slack * slack_[writer.unit][*writer.first_write];
}

bool Lifetimes::is_planned_before(BufferNumber first, BufferNumber second,
                                  const Delay& delay) const {
  const Life &users = lives_[first], &writers = lives_[second];
  if (users.end > writers.begin) return false;
  if (users.end < writers.begin && users.end + seconds_per_event_ <= writers.begin) return true;
  for (const OnUnit& writer : writers.units) {
    if (!writer.first_write) continue;
    const Clock& known = clocks_[writer.unit][*writer.first_write];
    for (const OnUnit& user : users.units)
      if (known[user.unit] < user.end && !can_wait(writer, user, delay)) return false;
  }
  return true;
}

void Lifetimes::add_needs(BufferNumber first, BufferNumber second, StepNeeds& needs) const {
  for (const OnUnit& writer : lives_[second].units) {
    if (!writer.first_write) continue;
    const Clock& known = clocks_[writer.unit][*writer.first_write];
    for (const OnUnit& user : lives_[first].units) {
      if (known[user.unit] >= user.end) continue;
      Clock& needed = needs[writer.unit][*writer.first_write];
      needed.resize(known.size(), 0);
      needed[user.unit] = std::max(needed[user.unit], user.end);
    }
  }
}

std::uint64_t Lifetimes::largest_live_bytes(const TaskProgram& program) const {
  std::vector<std::pair<double, std::int64_t>> changes;  // ends come before beginnings
  for (BufferNumber i = 0; i < lives_.size(); ++i) {
    const Buffer& buffer = program.graph.buffers[i];
    if (buffer.memory != Memory::arena || lives_[i].units.empty()) continue;
    const auto bytes = static_cast<std::int64_t>(aligned_bytes(buffer));
    changes.emplace_back(begin(i), bytes);
    changes.emplace_back(end(i), -bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, most = 0;
  for (const auto& [moment, bytes] : changes) most = std::max(most, live += bytes);
  return static_cast<std::uint64_t>(most);
}

}  // namespace lemma::backend
