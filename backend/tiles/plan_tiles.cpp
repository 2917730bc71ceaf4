#include "backend/tiles/plan_tiles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backend/lower/tile.h"
#include "backend/tiles/place_blocks.h"
#include "backend/tiles/place_tasks.h"

namespace lemma::backend {

namespace {

/// A region that is read in more runs is taken for all elements from its first to its last one.
constexpr std::int64_t most_runs = 4096;

/// The elements of a region as runs.
std::vector<ElementRun> runs_of(const Region& region,
                                std::int64_t many = std::numeric_limits<std::int64_t>::max()) {
  std::int64_t count = 1, length = 1;
  std::vector<Region::Axis> outer = region.axes;
  if (!outer.empty() && outer.back().stride == 1) {
    length = outer.back().extent;
    outer.pop_back();
  }
  for (const Region::Axis& axis : outer) count *= axis.extent;
  if (count > many) return {{region.base, region.last() + 1}};
  std::vector<ElementRun> runs;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t first = region.base, rest = number;
    for (std::size_t axis = outer.size(); axis-- > 0; rest /= outer[axis].extent)
      first += rest % outer[axis].extent * outer[axis].stride;
    runs.push_back({first, first + length});
  }
  return runs;
}

/// Runs in order, put together where they meet.
void unite(std::vector<ElementRun>& runs) {
  std::sort(runs.begin(), runs.end(), [](const ElementRun& a, const ElementRun& b) {
    return std::pair(a.first, a.end) < std::pair(b.first, b.end);
  });
  std::vector<ElementRun> united;
  for (const ElementRun& run : runs) {
    if (!united.empty() && run.first <= united.back().end)
      united.back().end = std::max(united.back().end, run.end);
    else
      united.push_back(run);
  }
  runs = std::move(united);
}

/// Who has an element: the block that it was written or loaded to, and the superstep after whose exchange it may be read
/// there.
struct Owned {
  std::int64_t end = 0;
  BlockNumber block = 0;
  std::uint32_t step = 0;
};

using RunsOfBuffers = std::map<BufferNumber, std::vector<ElementRun>>;

/// What a tile receives of a buffer before the tasks of a superstep. No two of its runs meet.
struct Arrival {
  BlockNumber block = 0;
  std::map<std::int64_t, std::int64_t> runs;  // ends by first elements

  /// How many elements of a run are not received yet.
  std::int64_t lacks(const ElementRun& run) const {
    std::int64_t lacking = run.end - run.first;
    auto at = runs.upper_bound(run.first);
    if (at != runs.begin()) --at;
    for (; at != runs.end() && at->first < run.end; ++at)
      lacking -=
          std::max<std::int64_t>(0, std::min(run.end, at->second) - std::max(run.first, at->first));
    return lacking;
  }

  void add(ElementRun run) {
    auto at = runs.upper_bound(run.first);
    if (at != runs.begin() && std::prev(at)->second >= run.first) --at;
    while (at != runs.end() && at->first <= run.end) {
      run = {std::min(run.first, at->first), std::max(run.end, at->second)};
      at = runs.erase(at);
    }
    runs.emplace(run.first, run.end);
  }
};

/// Tasks of one superstep receive together at most this part of a tile's memory: the rest is for weights and results.
constexpr std::uint64_t received_part = 4;

class TilePlanner {
 public:
  TilePlanner(OperatorGraph graph, const VirtualDevice& device, const TileOptions& options)
      : shares_steps_(options.shares_steps) {
    program_.graph = std::move(graph);
    program_.device = device;
    owners_.resize(program_.graph.buffers.size());
    loaded_bytes_.resize(device.units, 0);
    for (UnitNumber tile = 0; tile < device.units; ++tile) by_load_.insert({0, tile});
    TilePlacement placement = place_tasks(program_.graph, device, options);
    program_.chosen_kernels = std::move(placement.kernels);
    tiles_ = std::move(placement.tiles);
  }

  Result<TileProgram> run() {
    for (OperatorNumber op = 0; op < program_.graph.operators.size(); ++op) plan(op);
    make_transfers();
    // Outputs stay where they are written, and what is loaded is there for the next run, too.
    const auto last = static_cast<std::uint32_t>(2 * program_.steps.size());
    for (BlockNumber block = 0; block < program_.blocks.size(); ++block) {
      const Memory memory = program_.graph.buffers[program_.blocks[block].buffer].memory;
      if (memory == Memory::output) lives_[block].end = last;
    }
    for (const BlockNumber block : program_.loaded) lives_[block] = {0, last};
    LEMMA_RETURN_IF_ERROR(place_blocks(program_, lives_));
    return std::move(program_);
  }

 private:
  const Buffer& buffer(BufferNumber number) const { return program_.graph.buffers[number]; }

  void plan(OperatorNumber number) {
    const TaskOperator& op = program_.graph.operators[number];
    const Kernel& kernel = program_.kernel(number);
    std::vector<TaskAccess>& accesses = program_.accesses.emplace_back();
    // Where supersteps are not shared, all operators before have ended.
    const auto begun = static_cast<std::uint32_t>(program_.steps.size());
    for (std::int64_t task = 0; task < kernel.task_count(); ++task) {
      accesses.push_back(access_of(op, kernel, task));
      const auto index = static_cast<std::uint32_t>(task);
      plan_task({number, index}, tiles_[number][index], accesses.back(), shares_steps_ ? 0 : begun);
    }
  }

  void plan_task(const Task& task, UnitNumber tile, const TaskAccess& access, std::uint32_t step) {
    RunsOfBuffers missing;
    std::set<BlockNumber> blocks;
    for (auto& [number, runs] : reads_of(access)) {
      for (const ElementRun& run : runs) load(number, run, tile);
      visit_owners(number, runs, [&](const ElementRun& run, const Owned& owned) {
        const bool is_here = program_.blocks[owned.block].tile == tile;
        step = std::max(step, is_here ? owned.step : owned.step + (is_loaded(number) ? 0 : 1));
        if (is_here)
          blocks.insert(owned.block);
        else
          missing[number].push_back(run);
      });
    }
    step = step_with_room(step, tile, missing);
    if (step >= program_.steps.size()) program_.steps.resize(step + 1);
    for (const BlockNumber block : blocks)
      lives_[block].end = std::max(lives_[block].end, 2 * step + 1);
    for (const auto& [number, runs] : missing) blocks.insert(arrival(step, tile, number, runs));
    TileTask planned = {task, tile, {blocks.begin(), blocks.end()}, {}};
    for (const Region& write : access.writes)
      planned.writes.push_back(write_block(write, tile, step));
    program_.steps[step].tasks.push_back(std::move(planned));
  }

  static RunsOfBuffers reads_of(const TaskAccess& access) {
    RunsOfBuffers reads;
    for (const Region& read : access.reads)
      for (const ElementRun& run : runs_of(read, most_runs)) reads[read.buffer].push_back(run);
    for (auto& [number, runs] : reads) unite(runs);
    return reads;
  }

  /// The first superstep from `step` on before which the tile has room to receive these elements beside what it receives
  /// for other tasks. One task's share is always received, however large.
  std::uint32_t step_with_room(std::uint32_t step, UnitNumber tile, const RunsOfBuffers& missing) {
    if (missing.empty()) return step;
    const std::uint64_t room = program_.device.shared_bytes_per_unit / received_part;
    for (;; ++step) {
      std::uint64_t& received = received_bytes_[{step, tile}];
      std::uint64_t added = 0;
      for (const auto& [number, runs] : missing) {
        const auto arrived = arrivals_.find({step, tile, number});
        std::int64_t elements = 0;
        for (const ElementRun& run : runs)
          elements += arrived == arrivals_.end() ? run.end - run.first : arrived->second.lacks(run);
        added += static_cast<std::uint64_t>(elements) * byte_size(buffer(number).type);
      }
      if (added > 0 && received > 0 && received + added > room) continue;
      received += added;
      return step;
    }
  }

  bool is_loaded(BufferNumber number) const {
    const Memory memory = buffer(number).memory;
    return memory == Memory::weights || memory == Memory::input;
  }

  /// Calls visit(run, owned) for each part of the runs that one block has.
  template <typename Visit>
  void visit_owners(BufferNumber number, const std::vector<ElementRun>& runs,
                    const Visit& visit) const {
    const std::map<std::int64_t, Owned>& owners = owners_[number];
    for (const ElementRun& run : runs) {
      auto at = owners.upper_bound(run.first);
      if (at != owners.begin()) --at;
      for (; at != owners.end() && at->first < run.end; ++at) {
        const ElementRun part = {std::max(run.first, at->first), std::min(run.end, at->second.end)};
        if (part.first < part.end) visit(part, at->second);
      }
    }
  }

  BlockNumber add_block(UnitNumber tile, BufferNumber number, std::vector<ElementRun> runs,
                        BlockLife life) {
    program_.blocks.push_back({tile, number, 0, std::move(runs)});
    lives_.push_back(life);
    return static_cast<BlockNumber>(program_.blocks.size() - 1);
  }

  /// The block of what a task writes.
  BlockNumber write_block(const Region& write, UnitNumber tile, std::uint32_t step) {
    std::vector<ElementRun> runs = runs_of(write);
    unite(runs);
    const BlockNumber block = add_block(tile, write.buffer, runs, {2 * step + 1, 2 * step + 1});
    for (const ElementRun& run : runs) owners_[write.buffer][run.first] = {run.end, block, step};
    return block;
  }

  /// Gives elements of an input or of weights that are read for the first time a tile: the one that reads them as long as
  /// that has not half of its memory full of such, else, piece by piece, the one that has least.
  void load(BufferNumber number, const ElementRun& run, UnitNumber tile) {
    if (!is_loaded(number)) return;
    std::vector<ElementRun> missing;
    std::int64_t first = run.first;
    visit_owners(number, {run}, [&](const ElementRun& part, const Owned&) {
      if (first < part.first) missing.push_back({first, part.first});
      first = part.end;
    });
    if (first < run.end) missing.push_back({first, run.end});
    for (const ElementRun& part : missing) load_missing(number, part, tile);
  }

  void load_missing(BufferNumber number, const ElementRun& run, UnitNumber tile) {
    constexpr std::uint64_t piece_bytes = 4096;
    const std::uint64_t element = byte_size(buffer(number).type);
    const std::uint64_t bytes = static_cast<std::uint64_t>(run.end - run.first) * element;
    if (2 * (loaded_bytes_[tile] + bytes) <= program_.device.shared_bytes_per_unit) {
      add_loaded(number, run, tile, bytes);
      return;
    }
    const auto piece = static_cast<std::int64_t>(piece_bytes / element);
    for (std::int64_t first = run.first; first < run.end; first += piece) {
      const ElementRun part = {first, std::min(first + piece, run.end)};
      add_loaded(number, part, by_load_.begin()->second,
                 static_cast<std::uint64_t>(part.end - part.first) * element);
    }
  }

  void add_loaded(BufferNumber number, const ElementRun& run, UnitNumber tile,
                  std::uint64_t bytes) {
    by_load_.erase({loaded_bytes_[tile], tile});
    loaded_bytes_[tile] += bytes;
    by_load_.insert({loaded_bytes_[tile], tile});
    const BlockNumber block = add_block(tile, number, {run}, {});
    owners_[number][run.first] = {run.end, block, 0};
    program_.loaded.push_back(block);
  }

  /// The block of what a tile receives of a buffer before the tasks of a superstep.
  BlockNumber arrival(std::uint32_t step, UnitNumber tile, BufferNumber number,
                      const std::vector<ElementRun>& runs) {
    const auto [at, is_new] = arrivals_.try_emplace({step, tile, number});
    Arrival& arrival = at->second;
    if (is_new) arrival.block = add_block(tile, number, {}, {2 * step, 2 * step + 1});
    for (const ElementRun& run : runs) arrival.add(run);
    return arrival.block;
  }

  void make_transfers() {
    for (const auto& [place, arrival] : arrivals_) {
      const auto& [step, tile, number] = place;
      std::vector<ElementRun>& runs = program_.blocks[arrival.block].runs;
      for (const auto& [first, end] : arrival.runs) runs.push_back({first, end});
      visit_owners(number, runs,
                   [&, to = arrival.block, in = step](const ElementRun& run, const Owned& owned) {
                     program_.steps[in].transfers.push_back({owned.block, to, run});
                     lives_[owned.block].end = std::max(lives_[owned.block].end, 2 * in);
                   });
    }
  }

  bool shares_steps_;
  TileProgram program_;
  std::vector<std::vector<UnitNumber>> tiles_;              // by operator and task
  std::vector<std::map<std::int64_t, Owned>> owners_;       // by buffer and first element
  std::vector<BlockLife> lives_;                            // by block
  std::vector<std::uint64_t> loaded_bytes_;                 // by tile
  std::set<std::pair<std::uint64_t, UnitNumber>> by_load_;  // tiles by such bytes
  std::map<std::tuple<std::uint32_t, UnitNumber, BufferNumber>, Arrival> arrivals_;
  std::map<std::pair<std::uint32_t, UnitNumber>, std::uint64_t> received_bytes_;
};

}  // namespace

Result<TileProgram> plan_tiles(OperatorGraph graph, const VirtualDevice& device,
                               const TileOptions& options) {
  if (!device.exchange) return bad_input("the units of the device are no tiles");
  for (const TaskOperator& op : graph.operators)
    if (op.is_stitched()) return internal_error("tiles run no stitched operators");
  return TilePlanner(std::move(graph), device, options).run();
}

}  // namespace lemma::backend
