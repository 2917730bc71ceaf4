#include "backend/prove/check_tiles.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "backend/prove/region_runs.h"

namespace lemma::backend {

namespace {

/// Bytes [begin, end).
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};

bool overlap(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

/// What the bytes of a tile's memory mean.
class Contents {
 public:
  /// The bytes have neighbouring elements of a buffer from one on.
  void set(const ByteRange& range, BufferNumber buffer, std::int64_t element, std::uint64_t size) {
    clear(range);
    pieces_[range.begin] = {range.end, buffer, element, size};
  }

  bool has(const ByteRange& range, BufferNumber buffer, std::int64_t element,
           std::uint64_t size) const {
    std::uint64_t at = range.begin;
    while (at < range.end) {
      auto piece = pieces_.upper_bound(at);
      if (piece == pieces_.begin()) return false;
      --piece;
      const auto& [end, of_buffer, first, of_size] = piece->second;
      if (end <= at || of_buffer != buffer || of_size != size) return false;
      const std::int64_t wanted = element + static_cast<std::int64_t>((at - range.begin) / size);
      if (first + static_cast<std::int64_t>((at - piece->first) / size) != wanted ||
          (at - piece->first) % size != 0)
        return false;
      at = end;
    }
    return true;
  }

 private:
  struct Piece {
    std::uint64_t end = 0;
    BufferNumber buffer = 0;
    std::int64_t element = 0;
    std::uint64_t size = 0;  // of an element
  };

  /// Nothing is known of the bytes; what is cut off keeps its meaning where whole elements are left.
  void clear(const ByteRange& range) {
    auto piece = pieces_.upper_bound(range.begin);
    if (piece != pieces_.begin()) --piece;
    while (piece != pieces_.end() && piece->first < range.end) {
      const std::uint64_t begin = piece->first;
      const Piece old = piece->second;
      if (old.end <= range.begin) {
        ++piece;
        continue;
      }
      piece = pieces_.erase(piece);
      if (begin < range.begin) pieces_[begin] = {range.begin, old.buffer, old.element, old.size};
      if (range.end < old.end) {
        const std::uint64_t whole = (range.end - begin + old.size - 1) / old.size;
        if (begin + whole * old.size < old.end)
          pieces_[begin + whole * old.size] = {
              old.end, old.buffer, old.element + static_cast<std::int64_t>(whole), old.size};
        return;
      }
    }
  }

  std::map<std::uint64_t, Piece> pieces_;  // by their first byte
};

class TileChecker {
 public:
  explicit TileChecker(const TileProgram& program)
      : program_(program), tiles_(program.device.units) {}

  Result<void> run() {
    LEMMA_RETURN_IF_ERROR(check_blocks());
    LEMMA_RETURN_IF_ERROR(check_tasks());
    LEMMA_RETURN_IF_ERROR(load());
    for (std::size_t step = 0; step < program_.steps.size(); ++step) {
      auto done = run_step(program_.steps[step]);
      if (!done) return with_context(fmt::format("superstep {}", step), std::move(done.error()));
    }
    return check_end();
  }

 private:
  const Buffer& buffer_of(const TileBlock& block) const {
    return program_.graph.buffers[block.buffer];
  }
  std::uint64_t size_of(const TileBlock& block) const { return byte_size(buffer_of(block).type); }

  /// Blocks have runs of their buffers, ascending and apart, and lie in their tiles.
  Result<void> check_blocks() {
    for (const TileBlock& block : program_.blocks) {
      std::vector<std::int64_t>& places = places_.emplace_back();
      if (block.tile >= program_.device.units || block.buffer >= program_.graph.buffers.size())
        return internal_error("a block has no tile or no buffer");
      std::int64_t count = 0, end = 0;
      for (const ElementRun& run : block.runs) {
        if (run.first < end || run.end <= run.first || run.end > buffer_of(block).elements)
          return internal_error(
              fmt::format("a block of '{}' has no proper runs", buffer_of(block).name));
        places.push_back(count);
        count += run.end - run.first;
        end = run.end;
      }
      const std::uint64_t bytes = static_cast<std::uint64_t>(count) * size_of(block);
      const std::uint64_t limit = program_.device.shared_bytes_per_unit;
      if (block.offset % size_of(block) != 0 || block.offset > limit ||
          bytes > limit - block.offset)
        return internal_error(
            fmt::format("a block of '{}' lies outside of its tile", buffer_of(block).name));
    }
    return {};
  }

  Result<void> check_tasks() const {
    std::vector<std::vector<bool>> is_run;
    const auto& operators = program_.graph.operators;
    if (program_.chosen_kernels.size() != operators.size() ||
        program_.accesses.size() != operators.size())
      return internal_error("not every operator has a kernel");
    for (OperatorNumber op = 0; op < operators.size(); ++op) {
      if (program_.chosen_kernels[op] >= operators[op].kernels.size() ||
          static_cast<std::int64_t>(program_.accesses[op].size()) !=
              program_.kernel(op).task_count())
        return internal_error(
            fmt::format("'{}' has not one access for each task", operators[op].name));
      is_run.emplace_back(program_.accesses[op].size(), false);
    }
    for (const Superstep& step : program_.steps)
      for (const TileTask& task : step.tasks) {
        const auto& [op, number] = task.task;
        if (op >= is_run.size() || number >= is_run[op].size() || is_run[op][number])
          return internal_error("a task is none of an operator, or is run twice");
        is_run[op][number] = true;
      }
    for (OperatorNumber op = 0; op < is_run.size(); ++op)
      if (std::find(is_run[op].begin(), is_run[op].end(), false) != is_run[op].end())
        return internal_error(fmt::format("not all of '{}' is run", operators[op].name));
    return {};
  }

  Result<void> load() {
    for (const BlockNumber number : program_.loaded) {
      if (number >= program_.blocks.size()) return internal_error("what is loaded is no block");
      const TileBlock& block = program_.blocks[number];
      const Memory memory = buffer_of(block).memory;
      if (memory != Memory::input && memory != Memory::weights)
        return internal_error(
            fmt::format("'{}' is loaded, and is no input", buffer_of(block).name));
      for (const ElementRun& run : block.runs) set(number, run);
    }
    return {};
  }

  /// The bytes of a part of one of a block's runs; nothing where the block has it not.
  std::optional<ByteRange> bytes_of(BlockNumber number, const ElementRun& part) const {
    const TileBlock& block = program_.blocks[number];
    auto run = std::upper_bound(block.runs.begin(), block.runs.end(), part.first,
                                [](std::int64_t first, const ElementRun& element_run) {
                                  return first < element_run.first;
                                });
    if (run == block.runs.begin() || (--run)->end < part.end) return std::nullopt;
    const auto index = static_cast<std::size_t>(run - block.runs.begin());
    const auto place = static_cast<std::uint64_t>(places_[number][index] + part.first - run->first);
    const std::uint64_t begin = block.offset + place * size_of(block);
    return ByteRange{begin,
                     begin + static_cast<std::uint64_t>(part.end - part.first) * size_of(block)};
  }

  void set(BlockNumber number, const ElementRun& run) {
    const TileBlock& block = program_.blocks[number];
    tiles_[block.tile].set(*bytes_of(number, run), block.buffer, run.first, size_of(block));
  }

  bool holds(BlockNumber number, const ElementRun& run) const {
    const TileBlock& block = program_.blocks[number];
    const auto bytes = bytes_of(number, run);
    return bytes && tiles_[block.tile].has(*bytes, block.buffer, run.first, size_of(block));
  }

  Result<void> run_step(const Superstep& step) {
    LEMMA_RETURN_IF_ERROR(exchange(step.transfers));
    for (const TileTask& task : step.tasks) {
      auto done = run_task(task);
      if (!done)
        return with_context(fmt::format("part {} of '{}' on tile {}", task.task.number,
                                        program_.graph.operators[task.task.op].name, task.tile),
                            std::move(done.error()));
    }
    return {};
  }

  /// All copies are at the same time.
  Result<void> exchange(const std::vector<TileTransfer>& transfers) {
    struct Use {
      ByteRange bytes;
      bool is_written = false;
    };
    std::map<UnitNumber, std::vector<Use>> uses;
    for (const TileTransfer& transfer : transfers) {
      if (std::max(transfer.from, transfer.to) >= program_.blocks.size())
        return internal_error("a copy is from or to no block");
      const TileBlock &from = program_.blocks[transfer.from], &to = program_.blocks[transfer.to];
      const auto sent = bytes_of(transfer.from, transfer.run),
                 received = bytes_of(transfer.to, transfer.run);
      if (from.buffer != to.buffer || from.tile == to.tile || !sent || !received)
        return internal_error(
            fmt::format("what is copied of '{}' has no place", buffer_of(from).name));
      if (!holds(transfer.from, transfer.run))
        return internal_error(fmt::format("tile {} sends elements of '{}' that it has not",
                                          from.tile, buffer_of(from).name));
      uses[from.tile].push_back({*sent, false});
      uses[to.tile].push_back({*received, true});
    }
    for (auto& [tile, of_tile] : uses) {
      std::sort(of_tile.begin(), of_tile.end(),
                [](const Use& a, const Use& b) { return a.bytes.begin < b.bytes.begin; });
      Use before;  // with the greatest end, and the same of those that are written
      std::uint64_t written = 0;
      for (const Use& use : of_tile) {
        if (use.bytes.begin < written || (use.is_written && use.bytes.begin < before.bytes.end))
          return internal_error(
              fmt::format("an exchange overwrites what it copies on tile {}", tile));
        if (use.is_written) written = std::max(written, use.bytes.end);
        if (use.bytes.end > before.bytes.end) before = use;
      }
    }
    for (const TileTransfer& transfer : transfers) set(transfer.to, transfer.run);
    return {};
  }

  Result<void> run_task(const TileTask& task) {
    for (const std::vector<BlockNumber>* const list : {&task.reads, &task.writes})
      for (const BlockNumber block : *list)
        if (block >= program_.blocks.size() || program_.blocks[block].tile != task.tile)
          return internal_error("a block of the task is on another tile");
    const TaskAccess& access = program_.accesses[task.task.op][task.task.number];
    for (const Region& read : access.reads) LEMMA_RETURN_IF_ERROR(check_read(task, read));
    if (access.writes.size() != task.writes.size())
      return internal_error("there is not one block for each result");
    for (std::size_t i = 0; i < access.writes.size(); ++i)
      LEMMA_RETURN_IF_ERROR(write(task, access.writes[i], task.writes[i]));
    return {};
  }

  Result<void> check_read(const TileTask& task, const Region& read) const {
    return visit_runs(read, [&](std::int64_t first, std::int64_t end) -> Result<void> {
      while (first < end) {
        const std::int64_t known = known_until(task, read.buffer, first, end);
        if (known == first)
          return internal_error(fmt::format("element {} of '{}' is not there", first,
                                            program_.graph.buffers[read.buffer].name));
        first = known;
      }
      return {};
    });
  }

  /// The end of the elements from the first on that one of the task's blocks holds.
  std::int64_t known_until(const TileTask& task, BufferNumber buffer, std::int64_t first,
                           std::int64_t end) const {
    for (const BlockNumber number : task.reads) {
      const TileBlock& block = program_.blocks[number];
      if (block.buffer != buffer) continue;
      auto run = std::upper_bound(block.runs.begin(), block.runs.end(), first,
                                  [](std::int64_t element, const ElementRun& element_run) {
                                    return element < element_run.first;
                                  });
      if (run == block.runs.begin() || (--run)->end <= first) continue;
      const ElementRun part = {first, std::min(end, run->end)};
      if (holds(number, part)) return part.end;
    }
    return first;
  }

  Result<void> write(const TileTask& task, const Region& region, BlockNumber number) {
    const TileBlock& block = program_.blocks[number];
    if (block.buffer != region.buffer)
      return internal_error("a result has the block of another buffer");
    for (const BlockNumber read : task.reads)
      if (overlap(all_bytes(read), all_bytes(number)))
        return internal_error(fmt::format("'{}' is written to where the task reads '{}'",
                                          buffer_of(block).name,
                                          buffer_of(program_.blocks[read]).name));
    return visit_runs(region, [&](std::int64_t first, std::int64_t end) -> Result<void> {
      if (!bytes_of(number, {first, end}))
        return internal_error(fmt::format("the block of '{}' has no room for all that is written",
                                          buffer_of(block).name));
      set(number, {first, end});
      return {};
    });
  }

  ByteRange all_bytes(BlockNumber number) const {
    const TileBlock& block = program_.blocks[number];
    return {block.offset,
            block.offset + static_cast<std::uint64_t>(block.elements()) * size_of(block)};
  }

  Result<void> check_end() const {
    std::map<BufferNumber, std::vector<ElementRun>> there;
    for (BlockNumber number = 0; number < program_.blocks.size(); ++number)
      for (const ElementRun& run : program_.blocks[number].runs)
        if (buffer_of(program_.blocks[number]).memory == Memory::output && holds(number, run))
          there[program_.blocks[number].buffer].push_back(run);
    for (const BufferNumber output : program_.graph.outputs) {
      std::vector<ElementRun>& runs = there[output];
      std::sort(runs.begin(), runs.end(),
                [](const ElementRun& a, const ElementRun& b) { return a.first < b.first; });
      std::int64_t end = 0;
      for (const ElementRun& run : runs)
        if (run.first <= end) end = std::max(end, run.end);
      if (end < program_.graph.buffers[output].elements)
        return internal_error(fmt::format("not all of the output '{}' is there at the end",
                                          program_.graph.buffers[output].name));
    }
    for (const BlockNumber number : program_.loaded)
      for (const ElementRun& run : program_.blocks[number].runs)
        if (!holds(number, run))
          return internal_error(fmt::format("'{}' is overwritten, and is needed by the next run",
                                            buffer_of(program_.blocks[number]).name));
    return {};
  }

  const TileProgram& program_;
  std::vector<std::vector<std::int64_t>> places_;  // by block and run: elements before it
  std::vector<Contents> tiles_;
};

}  // namespace

Result<void> check_tiles(const TileProgram& program) { return TileChecker(program).run(); }

}  // namespace lemma::backend
