#include "backend/memory/plan_memory.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "backend/memory/lifetimes.h"
#include "backend/memory/pack.h"

namespace lemma::backend {

namespace {

constexpr double most_delay_of_program = 1e-3;  // for waits, as a part of its time

std::vector<BufferNumber> buffers_in(const TaskProgram& program, Memory memory) {
  std::vector<BufferNumber> result;
  for (BufferNumber i = 0; i < program.graph.buffers.size(); ++i)
    if (program.graph.buffers[i].memory == memory) result.push_back(i);
  return result;
}

/// Buffers of weights, by a hash of their contents.
using KnownWeights = std::multimap<std::size_t, const Buffer*>;

/// The place of weights with the same contents.
std::optional<std::uint64_t> known_place(const KnownWeights& known, const Buffer& buffer) {
  const auto [begin, end] = known.equal_range(buffer.contents->hash());
  for (auto same_hash = begin; same_hash != end; ++same_hash)
    if (*same_hash->second->contents == *buffer.contents) return same_hash->second->offset;
  return std::nullopt;
}

/// The arena's buffers, each after those that may be before it.
class ArenaPlanner {
 public:
  explicit ArenaPlanner(TaskProgram& program)
      : program_(program),
        units_(program.units),
        end_(planned_end(program)),
        lifetimes_(program),
        live_(lifetimes_.largest_live_bytes(program)),
        buffers_(buffers_in(program, Memory::arena)) {
    std::stable_sort(buffers_.begin(), buffers_.end(), [this](BufferNumber a, BufferNumber b) {
      return std::pair(lifetimes_.begin(a), lifetimes_.end(a)) <
             std::pair(lifetimes_.begin(b), lifetimes_.end(b));
    });
  }

  void run() {
    Packing packing =
        packed([this](BufferNumber a, BufferNumber b) { return lifetimes_.is_before(a, b); });
    // Without any delay; with any; and, as several steps may have the same slack, with a part of it.
    constexpr std::size_t most_tasks = 20'000;  // of programs that are planned again and again
    for (const Lifetimes::Delay& delay : {Lifetimes::Delay{0, 0}, {end_, 0}, {0, 1}, {0, 0.5}}) {
      if (is_small(packing.bytes, live_)) break;
      try_waits(packing, delay);
      if (program_.task_count() > most_tasks) break;
    }
    most_delay_ = std::numeric_limits<double>::infinity();
    if (program_.memory && packing.bytes > program_.memory->limit) try_waits(packing, {end_, 0});
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      program_.graph.buffers[buffers_[i]].offset = packing.offsets[i];
    program_.arena_bytes = packing.bytes;
  }

 private:
  /// Smaller arenas are not worth waits.
  static bool is_small(std::uint64_t bytes, std::uint64_t beside) {
    constexpr double margin = 1.05;
    return static_cast<double>(bytes) <= margin * static_cast<double>(beside);
  }

  std::uint64_t size_of(std::size_t i) const {
    return aligned_bytes(program_.graph.buffers[buffers_[i]]);
  }

  template <typename IsBefore>
  Packing packed(const IsBefore& is_before) const {
    PackingProblem problem;
    problem.least_bytes = live_;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      problem.blocks.push_back(
          {size_of(i), lifetimes_.begin(buffers_[i]), lifetimes_.end(buffers_[i]), {}});
    for (std::uint32_t i = 0; i < buffers_.size(); ++i)
      for (std::uint32_t j = i + 1; j < buffers_.size(); ++j) {
        if (is_before(buffers_[i], buffers_[j]) || is_before(buffers_[j], buffers_[i])) continue;
        problem.blocks[i].conflicts.push_back(j);
        problem.blocks[j].conflicts.push_back(i);
      }
    return pack(problem);
  }

  /// A smaller packing by waits, if the program ends hardly later with them as planned.
  void try_waits(Packing& packing, const Lifetimes::Delay& delay) {
    const auto is_before = [&](BufferNumber a, BufferNumber b) {
      return lifetimes_.is_planned_before(a, b, delay);
    };
    Packing smaller = packed(is_before);
    if (smaller.bytes >= packing.bytes) return;
    StepNeeds needs;
    for (const std::vector<Step>& steps : units_) needs.emplace_back(steps.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      for (std::size_t j = i + 1; j < buffers_.size(); ++j) {
        if (smaller.offsets[i] + size_of(i) <= smaller.offsets[j] ||
            smaller.offsets[j] + size_of(j) <= smaller.offsets[i])
          continue;
        const bool is_first = is_before(buffers_[i], buffers_[j]);
        lifetimes_.add_needs(buffers_[is_first ? i : j], buffers_[is_first ? j : i], needs);
      }
    auto last_units = std::exchange(program_.units, units_);
    add_needs(program_, needs);
    if (planned_end(program_) <= end_ * (1 + most_delay_))
      packing = std::move(smaller);
    else
      program_.units = std::move(last_units);
  }

  TaskProgram& program_;
  const std::vector<std::vector<Step>> units_;  // without waits for memory
  const double end_;
  const Lifetimes lifetimes_;
  const std::uint64_t live_;
  double most_delay_ = most_delay_of_program;
  std::vector<BufferNumber> buffers_;
};

}  // namespace

std::uint64_t aligned_bytes(const Buffer& buffer) {
  return (buffer.bytes() + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

void share_weights(std::span<TaskProgram> programs) {
  std::uint64_t bytes = 0;
  KnownWeights known;
  for (TaskProgram& program : programs)
    for (const BufferNumber i : buffers_in(program, Memory::weights)) {
      Buffer& buffer = program.graph.buffers[i];
      const auto place = known_place(known, buffer);
      buffer.offset = place.value_or(bytes);
      if (place) continue;
      bytes += aligned_bytes(buffer);
      known.emplace(buffer.contents->hash(), &buffer);
    }
  for (TaskProgram& program : programs) program.weight_bytes = bytes;
}

void plan_memory(TaskProgram& program) {
  program.weight_bytes = 0;
  for (const BufferNumber i : buffers_in(program, Memory::weights)) {
    program.graph.buffers[i].offset = program.weight_bytes;
    program.weight_bytes += aligned_bytes(program.graph.buffers[i]);
  }
  ArenaPlanner(program).run();
}

std::uint64_t unshared_bytes(const TaskProgram& program) {
  std::uint64_t sum = 0;
  for (const BufferNumber i : buffers_in(program, Memory::arena))
    sum += aligned_bytes(program.graph.buffers[i]);
  return sum;
}

std::uint64_t largest_live_bytes(const TaskProgram& program) {
  return Lifetimes(program).largest_live_bytes(program);
}

}  // namespace lemma::backend
