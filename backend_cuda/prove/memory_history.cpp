#include "backend_cuda/prove/memory_history.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::backend {

MemoryHistory::MemoryHistory(std::uint64_t bytes) {
  if (bytes > 0) cells_[0] = {bytes, std::nullopt, {}, {}};
}

void MemoryHistory::split(std::uint64_t at) {
  const auto after = cells_.upper_bound(at);
  if (after == cells_.begin()) return;
  const auto cell = std::prev(after);
  if (cell->first == at || cell->second.end <= at) return;
  Cell rest = cell->second;
  cell->second.end = at;
  cells_.emplace(at, std::move(rest));
}

Result<void> MemoryHistory::write(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                                  std::uint64_t end) {
  split(begin);
  split(end);
  const auto has_ended = [&step](Access access) { return step.ended[access.unit] > access.index; };
  for (auto cell = cells_.lower_bound(begin); cell != cells_.end() && cell->first < end; ++cell) {
    Cell& at = cell->second;
    if (at.buffer == buffer) return internal_error("it has been written before");
    if (at.buffer && !has_ended(at.writer))
      return internal_error(
          fmt::format("task {} of unit {} may be writing there", at.writer.index, at.writer.unit));
    for (const Access reader : at.readers)
      if (!has_ended(reader))
        return internal_error(
            fmt::format("task {} of unit {} may be reading there", reader.index, reader.unit));
    at.buffer = buffer;
    at.writer = {step.unit, step.index};
    at.readers.clear();
  }
  return {};
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

Result<void> MemoryHistory::read(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                                 std::uint64_t end) {
  LEMMA_RETURN_IF_ERROR(check_read(step, buffer, begin, end));
  split(begin);
  split(end);
  for (auto cell = cells_.lower_bound(begin); cell != cells_.end() && cell->first < end; ++cell) {
    std::vector<Access>& readers = cell->second.readers;
    const auto own = std::find_if(readers.begin(), readers.end(),
                                  [&step](Access reader) { return reader.unit == step.unit; });
    if (own == readers.end())
      readers.push_back({step.unit, step.index});
    else
      own->index = step.index;
  }
  return {};
}

bool MemoryHistory::holds(BufferNumber buffer, std::uint64_t begin, std::uint64_t end) const {
  for (const auto& [first, cell] : cells_)
    if (first < end && cell.end > begin && cell.buffer != buffer) return false;
  return true;
}

}  // namespace lemma::backend
