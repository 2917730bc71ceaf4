#include "backend/prove/memory_history.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

/// Whether the region has an element among [first, end).
bool meets(const Region& region, std::int64_t first, std::int64_t end) {
  const std::size_t rank = region.axes.size();
  const bool ends_in_run = rank > 0 && region.axes.back().stride == 1;
  const std::int64_t length = ends_in_run ? region.axes.back().extent : 1;
  const std::size_t outer = rank - (ends_in_run ? 1 : 0);
  std::vector<std::int64_t> indices(outer, 0);
  for (std::int64_t at = region.base;;) {
    if (at < end && at + length > first) return true;
    std::size_t axis = outer;
    while (axis > 0 && indices[axis - 1] + 1 == region.axes[axis - 1].extent) {
      --axis;
      at -= indices[axis] * region.axes[axis].stride;
      indices[axis] = 0;
    }
    if (axis == 0) return false;
    ++indices[axis - 1];
    at += region.axes[axis - 1].stride;
  }
}

bool have_ended(const std::vector<std::uint32_t>& by_unit, const OrderedStep& step) {
  for (std::size_t unit = 0; unit < by_unit.size(); ++unit)
    if (by_unit[unit] > step.ended[unit]) return false;
  return true;
}

void note(std::vector<std::uint32_t>& by_unit, const OrderedStep& step) {
  by_unit.resize(step.ended.size(), 0);
  by_unit[step.unit] = std::max(by_unit[step.unit], step.index + 1);
}

}  // namespace

MemoryHistory::MemoryHistory(std::uint64_t bytes) {
  if (bytes > 0) cells_[0] = {bytes, std::nullopt, {}};
}

void MemoryHistory::split(std::uint64_t at) {
  const auto after = cells_.upper_bound(at);
  if (after == cells_.begin()) return;
  const auto cell = std::prev(after);
  if (cell->first == at || cell->second.end <= at) return;
  const Cell rest = cell->second;
  cell->second.end = at;
  cells_.emplace(at, rest);
}

/// Most often all readers of the buffer have ended. Else those that have not are looked at one by one.
Result<void> MemoryHistory::check_readers(const OrderedStep& step, const Use& use,
                                          std::uint64_t begin, std::uint64_t end) const {
  if (have_ended(use.readers, step)) return {};
  for (const Reading& reading : use.readings) {
    if (step.ended[reading.reader.unit] > reading.reader.index || end <= reading.start) continue;
    const std::uint64_t from = std::max(begin, reading.start) - reading.start;
    const std::uint64_t to = end - reading.start;
    if (meets(*reading.region, static_cast<std::int64_t>(from / reading.element_bytes),
              static_cast<std::int64_t>((to + reading.element_bytes - 1) / reading.element_bytes)))
      return internal_error(fmt::format("task {} of unit {} may be reading there",
                                        reading.reader.index, reading.reader.unit));
  }
  return {};
}

Result<void> MemoryHistory::write(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                                  std::uint64_t end) {
  split(begin);
  split(end);
  for (auto cell = cells_.lower_bound(begin); cell != cells_.end() && cell->first < end; ++cell) {
    Cell& at = cell->second;
    if (at.buffer == buffer) return internal_error("it has been written before");
    if (at.buffer) {
      if (step.ended[at.writer.unit] <= at.writer.index)
        return internal_error(fmt::format("task {} of unit {} may be writing there",
                                          at.writer.index, at.writer.unit));
      Use& old = uses_[*at.buffer];
      LEMMA_RETURN_IF_ERROR(check_readers(step, old, cell->first, at.end));
      old.is_overwritten = true;
    }
  }
  // What was written together is one cell again.
  const auto after = cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(end));
  if (begin < end) cells_.emplace_hint(after, begin, Cell{end, buffer, {step.unit, step.index}});
  Use& use = uses_[buffer];
  note(use.writers, step);
  use.written += end - begin;
  return {};
}

bool MemoryHistory::holds_all(const OrderedStep& step, BufferNumber buffer,
                              std::uint64_t bytes) const {
  const auto use = uses_.find(buffer);
  return use != uses_.end() && use->second.written == bytes && !use->second.is_overwritten &&
         have_ended(use->second.writers, step);
}

Result<void> MemoryHistory::check_read(const OrderedStep& step, BufferNumber buffer,
                                       std::uint64_t begin, std::uint64_t end) const {
  auto cell = cells_.upper_bound(begin);
  if (cell != cells_.begin()) --cell;
  for (; cell != cells_.end() && cell->first < end; ++cell) {
    const Cell& at = cell->second;
    if (at.end <= begin) continue;
    if (at.buffer != buffer) return internal_error("it is not there when it is read");
    if (step.ended[at.writer.unit] <= at.writer.index)
      return internal_error(fmt::format("task {} of unit {} may not have written it yet",
                                        at.writer.index, at.writer.unit));
  }
  return {};
}

void MemoryHistory::add_reader(const OrderedStep& step, const Region& region, std::uint64_t start,
                               std::uint64_t element_bytes) {
  Use& use = uses_[region.buffer];
  note(use.readers, step);
  use.readings.push_back({{step.unit, step.index}, &region, start, element_bytes});
}

bool MemoryHistory::holds(BufferNumber buffer, std::uint64_t begin, std::uint64_t end) const {
  for (const auto& [first, cell] : cells_)
    if (first < end && cell.end > begin && cell.buffer != buffer) return false;
  return true;
}

}  // namespace lemma::backend
