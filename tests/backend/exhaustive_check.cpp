#include "tests/backend/exhaustive_check.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

struct Place {
  std::size_t unit = 0, index = 0;
  auto operator<=>(const Place&) const = default;
};

/// All steps that can begin while the held one has not ended, in an order in which they can.
std::vector<Place> begun(const TaskProgram& program, std::optional<Place> held) {
  std::vector<std::size_t> next(program.units.size(), 0);
  std::vector<std::uint32_t> counters(program.counters, 0);
  std::vector<Place> order;
  bool advanced = true;
  while (advanced) {
    advanced = false;
    for (std::size_t unit = 0; unit < program.units.size(); ++unit) {
      if (next[unit] == program.units[unit].size()) continue;
      if (held && held->unit == unit && next[unit] > held->index) continue;
      const Step& step = program.units[unit][next[unit]];
      const bool can_begin = std::all_of(
          step.waits.begin(), step.waits.end(),
          [&counters](const Wait& wait) { return counters[wait.counter] >= wait.value; });
      if (!can_begin) continue;
      order.push_back({unit, next[unit]++});
      if (held != order.back())
        for (const CounterNumber counter : step.signals) ++counters[counter];
      advanced = true;
    }
  }
  return order;
}

using Byte =
    std::pair<int, std::uint64_t>;  // a memory and a place: the arena is -1, outputs from 0

std::set<Byte> bytes_of(const TaskProgram& program, const Region& region) {
  const Buffer& buffer = program.graph.buffers[region.buffer];
  std::set<Byte> bytes;
  if (buffer.memory == Memory::weights || buffer.memory == Memory::input) return bytes;
  const bool is_output = buffer.memory == Memory::output;
  std::vector<std::int64_t> elements = {region.base};
  for (const Region::Axis& axis : region.axes) {
    std::vector<std::int64_t> more;
    for (std::int64_t i = 0; i < axis.extent; ++i)
      for (const std::int64_t element : elements) more.push_back(element + i * axis.stride);
    elements = std::move(more);
  }
  const std::uint64_t size = byte_size(buffer.type);
  for (const std::int64_t element : elements)
    for (std::uint64_t i = 0; i < size; ++i)
      bytes.emplace(
          is_output ? static_cast<int>(buffer.position) : -1,
          (is_output ? 0 : buffer.offset) + static_cast<std::uint64_t>(element) * size + i);
  return bytes;
}

struct Touched {
  std::set<Byte> written, read;
};

bool has_common(const std::set<Byte>& a, const std::set<Byte>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Byte& byte) { return b.contains(byte); });
}

bool conflict(const Touched& a, const Touched& b) {
  return has_common(a.written, b.written) || has_common(a.written, b.read) ||
         has_common(a.read, b.written);
}

const TaskAccess& access_at(const TaskProgram& program, Place place) {
  const Task task = program.units[place.unit][place.index].task;
  return program.accesses[task.op][task.number];
}

std::optional<std::string> unordered_conflict(const TaskProgram& program,
                                              const std::vector<Place>& order) {
  std::map<Place, Touched> touched;
  for (const Place place : order) {
    Touched& one = touched[place];
    for (const Region& write : access_at(program, place).writes)
      one.written.merge(bytes_of(program, write));
    for (const Region& read : access_at(program, place).reads)
      one.read.merge(bytes_of(program, read));
  }
  std::map<Place, std::set<Place>> beside;  // begins while the key has not ended
  for (const Place place : order)
    for (const Place other : begun(program, place)) beside[place].insert(other);
  for (const auto& [place, one] : touched)
    if (has_common(one.written, one.read))
      return fmt::format("{}.{} writes over what it reads", place.unit, place.index);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (beside[order[i]].contains(order[j]) && beside[order[j]].contains(order[i]) &&
          conflict(touched[order[i]], touched[order[j]]))
        return fmt::format("{}.{} and {}.{} conflict", order[i].unit, order[i].index, order[j].unit,
                           order[j].index);
  return std::nullopt;
}

/// One execution: conflicts are ordered, so that each has the same contents.
std::optional<std::string> wrong_contents(const TaskProgram& program,
                                          const std::vector<Place>& order) {
  std::map<Byte, BufferNumber> contents;
  for (const Place place : order) {
    const TaskAccess& access = access_at(program, place);
    for (const Region& read : access.reads)
      for (const Byte& byte : bytes_of(program, read)) {
        const auto found = contents.find(byte);
        if (found == contents.end() || found->second != read.buffer)
          return fmt::format("{}.{} reads something else", place.unit, place.index);
      }
    for (const Region& write : access.writes)
      for (const Byte& byte : bytes_of(program, write)) contents[byte] = write.buffer;
  }
  for (const BufferNumber output : program.graph.outputs)
    for (std::uint64_t i = 0; i < program.graph.buffers[output].bytes(); ++i)
      if (!contents.contains({static_cast<int>(program.graph.buffers[output].position), i}))
        return "an output is not whole";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> exhaustive_violation(const TaskProgram& program) {
  for (const Buffer& buffer : program.graph.buffers)
    if (buffer.memory == Memory::arena && buffer.offset + buffer.bytes() > program.arena_bytes)
      return "a buffer lies outside the arena";
  const std::vector<Place> order = begun(program, std::nullopt);
  std::size_t steps = 0;
  for (const auto& unit : program.units) steps += unit.size();
  if (order.size() < steps) return "it blocks";
  if (auto found = unordered_conflict(program, order)) return found;
  return wrong_contents(program, order);
}

}  // namespace lemma::backend
