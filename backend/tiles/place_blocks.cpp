#include "backend/tiles/place_blocks.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "backend/memory/pack.h"

namespace lemma::backend {

namespace {

/// Blocks begin at multiples of 8 bytes: of all elements.
constexpr std::uint64_t block_alignment = 8;

std::uint64_t bytes_of(const TileProgram& program, const TileBlock& block) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(block.elements()) *
                              byte_size(program.graph.buffers[block.buffer].type);
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

/// The most bytes in use at one time.
std::uint64_t most_in_use(const PackingProblem& problem, const std::vector<BlockLife>& lives,
                          const std::vector<BlockNumber>& blocks) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto size = static_cast<std::int64_t>(problem.blocks[i].size);
    changes.emplace_back(lives[blocks[i]].begin, size);
    changes.emplace_back(lives[blocks[i]].end + 1, -size);
  }
  std::sort(changes.begin(), changes.end());  // ends come before beginnings at the same time
  std::int64_t now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

PackingProblem problem_of(const TileProgram& program, const std::vector<BlockLife>& lives,
                          const std::vector<BlockNumber>& blocks) {
  PackingProblem problem;
  for (const BlockNumber block : blocks)
    problem.blocks.push_back({bytes_of(program, program.blocks[block]),
                              static_cast<double>(lives[block].begin),
                              static_cast<double>(lives[block].end),
                              {}});
  for (std::uint32_t i = 0; i < blocks.size(); ++i)
    for (std::uint32_t j = 0; j < blocks.size(); ++j)
      if (i != j && lives[blocks[i]].begin <= lives[blocks[j]].end &&
          lives[blocks[j]].begin <= lives[blocks[i]].end)
        problem.blocks[i].conflicts.push_back(j);
  // Less than all of the memory is not looked for.
  problem.least_bytes =
      std::max(most_in_use(problem, lives, blocks), program.device.shared_bytes_per_unit);
  return problem;
}

/// Blocks one after the other, the largest first, each at the first place that is free as long as it is in use.
Packing place_in_order(const PackingProblem& problem) {
  std::vector<std::uint32_t> order(problem.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return problem.blocks[a].size > problem.blocks[b].size;
  });
  Packing packing;
  packing.offsets.resize(order.size(), 0);
  std::vector<bool> is_placed(order.size(), false);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const std::uint32_t block : order) {
    taken.clear();
    for (const std::uint32_t other : problem.blocks[block].conflicts)
      if (is_placed[other])
        taken.emplace_back(packing.offsets[other],
                           packing.offsets[other] + problem.blocks[other].size);
    std::sort(taken.begin(), taken.end());
    std::uint64_t place = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= place + problem.blocks[block].size) break;
      place = std::max(place, end);
    }
    packing.offsets[block] = place;
    packing.bytes = std::max(packing.bytes, place + problem.blocks[block].size);
    is_placed[block] = true;
  }
  return packing;
}

}  // namespace

Result<void> place_blocks(TileProgram& program, const std::vector<BlockLife>& lives) {
  std::vector<std::vector<BlockNumber>> by_tile(program.device.units);
  for (BlockNumber block = 0; block < program.blocks.size(); ++block)
    by_tile[program.blocks[block].tile].push_back(block);
  program.tile_bytes.assign(program.device.units, 0);
  for (UnitNumber tile = 0; tile < by_tile.size(); ++tile) {
    const PackingProblem problem = problem_of(program, lives, by_tile[tile]);
    const std::uint64_t in_use = most_in_use(problem, lives, by_tile[tile]);
    if (in_use > program.device.shared_bytes_per_unit)
      return unsupported(fmt::format("tile {} would need {} bytes at one time, and has {}", tile,
                                     in_use, program.device.shared_bytes_per_unit));
    Packing packing = place_in_order(problem);
    if (packing.bytes > program.device.shared_bytes_per_unit) packing = pack(problem);
    if (packing.bytes > program.device.shared_bytes_per_unit)
      return unsupported(
          fmt::format("no places are found for the {} bytes of tile {}, which has {}", in_use, tile,
                      program.device.shared_bytes_per_unit));
    for (std::size_t i = 0; i < by_tile[tile].size(); ++i)
      program.blocks[by_tile[tile][i]].offset = packing.offsets[i];
    program.tile_bytes[tile] = packing.bytes;
  }
  return {};
}

}  // namespace lemma::backend
