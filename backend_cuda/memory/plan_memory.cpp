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

/// Whether all users of `a` have ended when the writers of `b` begin.
bool ends_before(const Lifetime& a, const Lifetime& b,
                 const std::vector<std::vector<Clock>>& clocks) {
  for (const Lifetime::OnUnit& writer : b.units) {
    if (!writer.first_write) continue;
    const Clock& known = clocks[writer.unit][*writer.first_write];
    for (const Lifetime::OnUnit& user : a.units)
      if (known[user.unit] < user.end) return false;
  }
  return true;
}

class Arena {
 public:
  explicit Arena(const TaskProgram& program)
      : lifetimes_(lifetimes_of(program)), clocks_(clocks_of(program)) {}

  void place(std::vector<Buffer>& buffers, BufferNumber number) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (const BufferNumber other : placed_) {
      const bool can_share = ends_before(lifetimes_[number], lifetimes_[other], clocks_) ||
                             ends_before(lifetimes_[other], lifetimes_[number], clocks_);
      if (!can_share)
        taken.emplace_back(buffers[other].offset,
                           buffers[other].offset + aligned(buffers[other].bytes()));
    }
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
  std::vector<Lifetime> lifetimes_;
  std::vector<std::vector<Clock>> clocks_;
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
  std::vector<BufferNumber> order = buffers_in(program, Memory::arena);
  std::stable_sort(order.begin(), order.end(), [&buffers](BufferNumber a, BufferNumber b) {
    return buffers[a].bytes() > buffers[b].bytes();
  });
  Arena arena(program);
  for (const BufferNumber i : order) arena.place(buffers, i);
  program.arena_bytes = arena.bytes();
}

std::uint64_t unshared_bytes(const TaskProgram& program) {
  std::uint64_t sum = 0;
  for (const BufferNumber i : buffers_in(program, Memory::arena))
    sum += aligned(program.graph.buffers[i].bytes());
  return sum;
}

}  // namespace lemma::backend
