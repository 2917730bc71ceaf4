#include "backend_cuda/memory/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "backend_cuda/schedule/schedule.h"

namespace lemma::backend {

namespace {

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

/// When a buffer is in use: by unit, its first writer and how many tasks there are up to its last user.
struct Lifetime {
  struct OnUnit {
    UnitNumber unit = 0;
    std::optional<std::uint32_t> first_write;
    std::uint32_t end = 0;
  };
  std::vector<OnUnit> units;

  OnUnit& on(UnitNumber unit) {
    for (OnUnit& one : units)
      if (one.unit == unit) return one;
    return units.emplace_back(OnUnit{unit, std::nullopt, 0});
  }
};

std::vector<Lifetime> lifetimes_of(const TaskProgram& program) {
  std::vector<Lifetime> lifetimes(program.graph.buffers.size());
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
    for (std::uint32_t index = 0; index < program.units[unit].size(); ++index) {
      const Task task = program.units[unit][index].task;
      const TaskAccess& access = program.accesses[task.op][task.number];
      for (const Region& write : access.writes) {
        Lifetime::OnUnit& written = lifetimes[write.buffer].on(unit);
        if (!written.first_write) written.first_write = index;
        written.end = index + 1;
      }
      for (const Region& read : access.reads) lifetimes[read.buffer].on(unit).end = index + 1;
    }
  return lifetimes;
}

/// What has ended for certain when any writer begins, by unit; empty if there is no writer.
Clock known_to_writers(const Lifetime& lifetime, const std::vector<std::vector<Clock>>& clocks) {
  Clock known;
  for (const Lifetime::OnUnit& writer : lifetime.units) {
    if (!writer.first_write) continue;
    const Clock& clock = clocks[writer.unit][*writer.first_write];
    if (known.empty()) known = clock;
    for (std::size_t unit = 0; unit < known.size(); ++unit)
      known[unit] = std::min(known[unit], clock[unit]);
  }
  return known;
}

/// Whether all users of a buffer have ended when the writers of another begin.
bool ends_before(const Lifetime& users, const Clock& known_to_writers) {
  return known_to_writers.empty() ||
         std::all_of(users.units.begin(), users.units.end(), [&](const Lifetime::OnUnit& user) {
           return known_to_writers[user.unit] >= user.end;
         });
}

/// Which buffers may share memory.
class Conflicts {
 public:
  explicit Conflicts(const TaskProgram& program)
      : lifetimes_(lifetimes_of(program)), known_(lifetimes_.size()) {
    const std::vector<std::vector<Clock>> clocks = clocks_of(program);
    for (std::size_t i = 0; i < known_.size(); ++i)
      known_[i] = known_to_writers(lifetimes_[i], clocks);
  }

  bool can_share(BufferNumber a, BufferNumber b) const {
    return ends_before(lifetimes_[a], known_[b]) || ends_before(lifetimes_[b], known_[a]);
  }
  /// How many tasks have ended for certain before the buffer is written.
  std::uint64_t begin(BufferNumber buffer) const {
    return std::accumulate(known_[buffer].begin(), known_[buffer].end(), std::uint64_t{0});
  }

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<Clock> known_;  // by buffer
};

class Arena {
 public:
  explicit Arena(const Conflicts& conflicts) : conflicts_(conflicts) {}

  void place(std::vector<Buffer>& buffers, BufferNumber number) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (const BufferNumber other : placed_)
      if (!conflicts_.can_share(number, other))
        taken.emplace_back(buffers[other].offset,
                           buffers[other].offset + aligned(buffers[other].bytes()));
    std::sort(taken.begin(), taken.end());
    const std::uint64_t size = aligned(buffers[number].bytes());
    std::uint64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + size) break;
      offset = std::max(offset, end);
    }
    buffers[number].offset = offset;
    bytes_ = std::max(bytes_, offset + size);
    placed_.push_back(number);
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  const Conflicts& conflicts_;
  std::vector<BufferNumber> placed_;
  std::uint64_t bytes_ = 0;
};

std::vector<BufferNumber> buffers_in(const TaskProgram& program, Memory memory) {
  std::vector<BufferNumber> result;
  for (BufferNumber i = 0; i < program.graph.buffers.size(); ++i)
    if (program.graph.buffers[i].memory == memory) result.push_back(i);
  return result;
}

}  // namespace

void plan_memory(TaskProgram& program) {
  std::vector<Buffer>& buffers = program.graph.buffers;
  program.weight_bytes = 0;
  for (const BufferNumber i : buffers_in(program, Memory::weights)) {
    buffers[i].offset = program.weight_bytes;
    program.weight_bytes += aligned(buffers[i].bytes());
  }
  const Conflicts conflicts(program);
  const auto larger = [&buffers](BufferNumber a, BufferNumber b) {
    return buffers[a].bytes() > buffers[b].bytes();
  };
  const auto earlier = [&conflicts](BufferNumber a, BufferNumber b) {
    return conflicts.begin(a) < conflicts.begin(b);
  };
  std::vector<BufferNumber> by_size = buffers_in(program, Memory::arena), by_time = by_size;
  std::stable_sort(by_size.begin(), by_size.end(), larger);
  std::stable_sort(by_time.begin(), by_time.end(), earlier);
  const auto place = [&](const std::vector<BufferNumber>& order) {
    Arena arena(conflicts);
    for (const BufferNumber i : order) arena.place(buffers, i);
    program.arena_bytes = arena.bytes();
  };
  place(by_time);
  const std::uint64_t bytes = program.arena_bytes;
  place(by_size);
  if (bytes < program.arena_bytes) place(by_time);
}

std::uint64_t unshared_bytes(const TaskProgram& program) {
  std::uint64_t sum = 0;
  for (const BufferNumber i : buffers_in(program, Memory::arena))
    sum += aligned(program.graph.buffers[i].bytes());
  return sum;
}

}  // namespace lemma::backend
