// Places in the arena: how small it is, and what waits for it cost.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "backend/compile/compile.h"
#include "backend/memory/pack.h"
#include "backend/memory/plan_memory.h"
#include "backend/prove/check_program.h"
#include "backend/schedule/schedule.h"
#include "tests/backend/random_graph.h"
#include "tests/backend/slow_device.h"

namespace lemma::backend {
namespace {

/// Blocks that are in use from one moment to another, with the most bytes at one moment as the bound.
PackingProblem random_problem(std::uint64_t seed, std::size_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  PackingProblem problem;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<double>(random() % 20);
    problem.blocks.push_back(
        {64 * (1 + random() % 9), begin, begin + 1 + static_cast<double>(random() % 8), {}});
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t at_begin = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
      const PackingProblem::Block &a = problem.blocks[i], &b = problem.blocks[j];
      if (b.begin <= a.begin && a.begin < b.end) at_begin += b.size;
      if (i != j && a.begin < b.end && b.begin < a.end) problem.blocks[i].conflicts.push_back(j);
    }
    problem.least_bytes = std::max(problem.least_bytes, at_begin);
  }
  return problem;
}

void expect_no_overlap(const PackingProblem& problem, const Packing& packing) {
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    EXPECT_LE(packing.offsets[i] + problem.blocks[i].size, packing.bytes);
    for (const std::uint32_t j : problem.blocks[i].conflicts)
      EXPECT_TRUE(packing.offsets[i] + problem.blocks[i].size <= packing.offsets[j] ||
                  packing.offsets[j] + problem.blocks[j].size <= packing.offsets[i])
          << i << " and " << j;
  }
}

TEST(Pack, blocks_in_use_at_the_same_time_do_not_overlap) {
  std::uint64_t bytes = 0, least = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PackingProblem problem = random_problem(seed, 5 + seed);
    const Packing packing = pack(problem);
    expect_no_overlap(problem, packing);
    EXPECT_GE(packing.bytes, problem.least_bytes);
    EXPECT_EQ(packing.offsets, pack(problem).offsets);
    bytes += packing.bytes;
    least += problem.least_bytes;
  }
  EXPECT_LT(static_cast<double>(bytes), 1.02 * static_cast<double>(least));
}

/// Of all orders, each block at the lowest place: one of them gives the smallest packing there is.
std::uint64_t smallest(const PackingProblem& problem) {
  std::vector<std::uint32_t> order(problem.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t best = UINT64_MAX;
  do {
    std::vector<std::optional<std::uint64_t>> offsets(order.size());
    std::uint64_t bytes = 0;
    for (const std::uint32_t block : order) {
      std::uint64_t at = 0;
      const std::uint64_t size = problem.blocks[block].size;
      for (bool moved = true; moved;) {
        moved = false;
        for (const std::uint32_t other : problem.blocks[block].conflicts) {
          if (!offsets[other] || at + size <= *offsets[other] ||
              *offsets[other] + problem.blocks[other].size <= at)
            continue;
          at = *offsets[other] + problem.blocks[other].size;
          moved = true;
        }
      }
      offsets[block] = at;
      bytes = std::max(bytes, at + size);
    }
    best = std::min(best, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Pack, small_problems_are_solved) {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    PackingProblem problem = random_problem(seed, 7);
    for (PackingProblem::Block& block : problem.blocks) {
      block.begin /= 3;  // more at a time
      block.conflicts.clear();
    }
    for (std::uint32_t i = 0; i < 7; ++i)
      for (std::uint32_t j = 0; j < 7; ++j)
        if (i != j && problem.blocks[i].begin < problem.blocks[j].end &&
            problem.blocks[j].begin < problem.blocks[i].end)
          problem.blocks[i].conflicts.push_back(j);
    problem.least_bytes = 0;
    const std::uint64_t bytes = pack(problem).bytes, best = smallest(problem);
    EXPECT_GE(bytes, best) << seed;
    solved += bytes == best ? 1 : 0;
  }
  EXPECT_GE(solved, 58);
}

CompileOptions stored(std::uint32_t units) {
  CompileOptions options;
  options.device = slow_device(units);
  options.device.least_task_seconds = 0;
  options.fuses = false;
  options.stitching = StitchOptions::none();
  return options;
}

/// With one unit the order says when each tensor is in use.
TEST(Memory, the_arena_is_hardly_larger_than_what_is_in_use) {
  for (const std::uint32_t units : {1U, 2U, 7U}) {
    double arena = 0, live = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto program = compile(random_graph(seed, 40), stored(units));
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_GE(program->arena_bytes, largest_live_bytes(*program));
      arena += static_cast<double>(program->arena_bytes);
      live += static_cast<double>(largest_live_bytes(*program));
    }
    std::cout << units << " units: " << arena / live << " of the bytes in use\n";
    // Tasks of these graphs are shorter than events.
    EXPECT_LT(arena, (units == 1 ? 1.02 : 1.15) * live) << units;
  }
}

std::size_t wait_count(const TaskProgram& program) {
  std::size_t count = 0;
  for (const auto& unit : program.units)
    for (const Step& step : unit) count += step.waits.size();
  return count;
}

/// With waits that let tensors share memory, programs end hardly later as planned; and the proof needs the waits.
TEST(Memory, waits_for_memory_take_hardly_any_planned_time) {
  std::size_t with_waits = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const CompileOptions options = stored(7);
    auto plans = task_operators(random_graph(seed, 40), options);
    ASSERT_TRUE(plans) << plans.error().message;
    const Placement placement = options.policy(plans->front(), options.device);
    TaskProgram program = make_program(std::move(plans->front()), options.device, placement);
    const TaskProgram before = program;
    plan_memory(program);
    EXPECT_LE(planned_end(program), planned_end(before) * 1.001) << seed;
    const auto proof = check_program(program);
    EXPECT_TRUE(proof) << seed << ": " << proof.error().message;
    if (wait_count(before) == wait_count(program)) continue;
    ++with_waits;
    TaskProgram without = program;
    without.units = before.units;
    EXPECT_FALSE(check_program(without)) << seed;
  }
  EXPECT_GT(with_waits, 5U);
}

/// Programs with a limit are proved, and their arena is within it; what is too small is refused with the least that is not.
TEST(Memory, limits_are_kept_by_programs_of_any_number_of_units) {
  std::size_t limited = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const std::uint32_t units : {1U, 3U}) {
      CompileOptions options = stored(units);
      const auto usual = compile(random_graph(seed, 30), options);
      ASSERT_TRUE(usual) << usual.error().message;
      for (const double part : {0.8, 0.5}) {
        options.memory_limit =
            static_cast<std::uint64_t>(part * static_cast<double>(usual->arena_bytes));
        const auto program = compile(random_graph(seed, 30), options);
        if (!program) {
          EXPECT_EQ(program.error().kind, ErrorKind::bad_input);
          EXPECT_NE(program.error().message.find("too small: the least"), std::string::npos);
          ++refused;
          continue;
        }
        ++limited;
        EXPECT_LE(program->arena_bytes, *options.memory_limit);
        EXPECT_TRUE(check_program(*program));
        ASSERT_TRUE(program->memory);
        EXPECT_EQ(program->memory->arena_before, usual->arena_bytes);
        EXPECT_EQ(program->graph.operators.size(), program->memory->after.size());
      }
    }
  EXPECT_GT(limited, 10U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace lemma::backend
