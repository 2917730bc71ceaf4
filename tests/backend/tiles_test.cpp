// Programs for machines of tiles: what the planner makes is proved, fits, and ends no later where operators share supersteps; changed
// programs are refused.

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backend/compile/compile.h"
#include "backend/prove/check_tiles.h"
#include "backend/tiles/plan_tiles.h"
#include "tests/backend/random_graph.h"

namespace lemma::backend {
namespace {

/// The shipped machine with so many tiles, on which small tensors are worth several tasks.
VirtualDevice tile_device(std::uint32_t units) {
  auto device = load_virtual_device(
      std::string(LEMMA_SOURCE_DIRECTORY) + "/targets/devices/tiles-1216.json", units);
  EXPECT_TRUE(device) << device.error().message;
  if (!device) return {};
  EXPECT_TRUE(device->exchange);
  device->least_task_seconds = 0;
  return *device;
}

OperatorGraph operators_of(const Graph& graph, const VirtualDevice& device, bool fuses = true) {
  CompileOptions options;
  options.device = device;
  options.fuses = fuses;
  options.stitching = StitchOptions::none();
  auto plans = task_operators(graph, options);
  EXPECT_TRUE(plans) << plans.error().message;
  return plans ? std::move(plans->back()) : OperatorGraph();
}

TileProgram planned(std::uint64_t seed, std::uint32_t units, const TileOptions& options = {}) {
  const VirtualDevice device = tile_device(units);
  auto program = plan_tiles(operators_of(random_graph(seed, 20), device, false), device, options);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : TileProgram();
}

TEST(Tiles, programs_are_proved_and_fit) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const std::uint32_t units : {1U, 5U, 64U}) {
      const TileProgram program = planned(seed, units);
      const auto checked = check_tiles(program);
      EXPECT_TRUE(checked) << seed << " " << units << ": " << checked.error().message;
      for (const std::uint64_t bytes : program.tile_bytes)
        EXPECT_LE(bytes, program.device.shared_bytes_per_unit);
      const TileTimes times = simulate(program);
      EXPECT_NEAR(
          times.seconds,
          times.exchange_seconds + times.computing_seconds + program.device.seconds_per_launch,
          1e-12);
      EXPECT_LE(times.busy_seconds, times.computing_seconds * units * (1 + 1e-9));
      EXPECT_EQ(times.exchanged_bytes == 0, units == 1) << seed;
      for (const Superstep& step : program.steps) transfers += step.transfers.size();
    }
  EXPECT_GT(transfers, 1000U);
}

TEST(Tiles, operators_that_share_supersteps_need_fewer_exchanges) {
  double shared = 0, alone = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TileProgram together = planned(seed, 64), apart = planned(seed, 64, {false});
    EXPECT_TRUE(check_tiles(apart));
    EXPECT_LE(together.steps.size(), apart.steps.size());
    shared += simulate(together).seconds;
    alone += simulate(apart).seconds;
  }
  EXPECT_LT(shared, alone);
}

TEST(Tiles, a_tile_without_room_is_named) {
  VirtualDevice device = tile_device(5);
  device.shared_bytes_per_unit = 256;
  const auto program = plan_tiles(operators_of(random_graph(3, 20), device), device);
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("bytes at one time, and has 256"), std::string::npos)
      << program.error().message;
}

/// What tiles receive in a superstep is limited by their memory: with less of it there are more supersteps.
TEST(Tiles, tasks_that_would_receive_too_much_at_once_follow_each_other) {
  std::size_t with_much = 0, with_little = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::uint64_t bytes : {65536U, 16384U, 8192U}) {
      VirtualDevice device = tile_device(3);
      const OperatorGraph operators = operators_of(random_graph(seed, 20), device, false);
      const auto much = plan_tiles(operators, device);
      device.shared_bytes_per_unit = bytes;
      const auto little = plan_tiles(operators, device);
      ASSERT_TRUE(much);
      if (!little) continue;
      EXPECT_TRUE(check_tiles(*little)) << seed;
      EXPECT_GE(little->steps.size(), much->steps.size());
      with_much += much->steps.size();
      with_little += little->steps.size();
    }
  EXPECT_GT(with_little, with_much);
}

TEST(Tiles, the_same_operators_give_the_same_program) {
  const TileProgram first = planned(7, 16), second = planned(7, 16);
  ASSERT_EQ(first.blocks.size(), second.blocks.size());
  for (std::size_t i = 0; i < first.blocks.size(); ++i) {
    EXPECT_EQ(first.blocks[i].offset, second.blocks[i].offset);
    EXPECT_EQ(first.blocks[i].runs, second.blocks[i].runs);
  }
}

/// The first task that reads a block that was received, and its place.
struct Received {
  std::size_t step = 0, task = 0;
  BlockNumber block = 0;
};
Received first_received(const TileProgram& program) {
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    std::set<BlockNumber> received;
    for (const TileTransfer& transfer : program.steps[step].transfers) received.insert(transfer.to);
    for (std::size_t task = 0; task < program.steps[step].tasks.size(); ++task)
      for (const BlockNumber block : program.steps[step].tasks[task].reads)
        if (received.contains(block)) return {step, task, block};
  }
  ADD_FAILURE() << "nothing is received";
  return {};
}

/// The error of a program that is changed.
std::string refusal(const std::function<void(TileProgram&)>& change, std::uint64_t seed = 2) {
  TileProgram program = planned(seed, 16);
  EXPECT_TRUE(check_tiles(program));
  change(program);
  const auto checked = check_tiles(program);
  EXPECT_FALSE(checked) << "the change is not found";
  return checked ? "" : checked.error().message;
}

TEST(Tiles, changed_programs_are_refused) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(refusal([](TileProgram& p) { p.steps[first_received(p).step].transfers.clear(); }),
      "is not there");
  has(refusal([](TileProgram& p) {
        const Received at = first_received(p);
        TileTask& task = p.steps[at.step].tasks[at.task];
        std::erase(task.reads, at.block);
      }),
      "is not there");
  has(refusal([](TileProgram& p) {
        TileTask& task = p.steps[0].tasks[0];
        task.tile = (task.tile + 1) % p.device.units;
      }),
      "on another tile");
  has(refusal([](TileProgram& p) { p.loaded.clear(); }), "that it has not");
  has(refusal([](TileProgram& p) { p.steps.back().tasks.pop_back(); }), "is run");
  has(refusal([](TileProgram& p) { p.steps[0].tasks.push_back(p.steps[0].tasks[0]); }),
      "is run twice");
  has(refusal([](TileProgram& p) { p.blocks[0].offset = p.device.shared_bytes_per_unit; }),
      "outside of its tile");
  has(refusal([](TileProgram& p) { std::swap(p.steps.front(), p.steps.back()); }), "");
  has(refusal([](TileProgram& p) {
        TileTransfer& transfer = p.steps[first_received(p).step].transfers.front();
        transfer.run.end -= 1;
        if (transfer.run.first == transfer.run.end)
          p.steps[first_received(p).step].transfers.erase(
              p.steps[first_received(p).step].transfers.begin());
      }),
      "is not there");
}

/// Two blocks of a tile that are in use at the same time get one place.
TEST(Tiles, blocks_that_overlap_are_refused) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TileProgram program = planned(seed, 4);
    for (const Superstep& step : program.steps)
      for (const TileTask& task : step.tasks) {
        if (task.reads.empty() || program.blocks[task.reads[0]].runs.empty()) continue;
        TileProgram changed = program;
        changed.blocks[task.writes[0]].offset = changed.blocks[task.reads[0]].offset;
        EXPECT_FALSE(check_tiles(changed)) << seed;
        ++tried;
        break;
      }
  }
  EXPECT_GT(tried, 20U);
}

}  // namespace
}  // namespace lemma::backend
