// Programs are proved, and changed ones are refused unless an exhaustive check finds them harmless.

#include "backend/prove/check_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backend/compile/compile.h"
#include "backend/memory/plan_memory.h"
#include "backend/schedule/schedule.h"
#include "tests/backend/exhaustive_check.h"
#include "tests/backend/random_graph.h"
#include "tests/backend/slow_device.h"

namespace lemma::backend {
namespace {

/// Tasks as small as can be, so that small graphs have schedules with many events.
CompileOptions fine_grained(std::uint32_t units, Policy policy) {
  CompileOptions options;
  options.device = slow_device(units);
  options.device.least_task_seconds = 0;
  options.device.seconds_per_task = 1e-9;
  options.device.seconds_per_event = 1e-9;
  options.policy = policy;
  return options;
}

TaskProgram compiled(const Graph& graph, const CompileOptions& options) {
  auto program = compile(graph, options);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : TaskProgram();
}

struct Mutant {
  std::string kind, what;
  TaskProgram program;
};

/// All single changes of a program, of every kind.
class Mutants {
 public:
  explicit Mutants(const TaskProgram& program) : program_(program) {
    for (std::size_t unit = 0; unit < program.units.size(); ++unit)
      for (std::size_t i = 0; i < program.units[unit].size(); ++i) change_step(unit, i);
    change_memory();
  }
  const std::vector<Mutant>& all() const { return all_; }

 private:
  TaskProgram& add(const std::string& kind, std::size_t unit, std::size_t index) {
    all_.push_back(
        {kind, kind + " " + std::to_string(unit) + "." + std::to_string(index), program_});
    return all_.back().program;
  }

  void change_step(std::size_t unit, std::size_t i) {
    const std::vector<Step>& steps = program_.units[unit];
    for (std::size_t w = 0; w < steps[i].waits.size(); ++w) {
      std::vector<Wait>& dropped = add("wait dropped", unit, i).units[unit][i].waits;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(w));
      --add("wait reduced", unit, i).units[unit][i].waits[w].value;
      ++add("wait increased", unit, i).units[unit][i].waits[w].value;
      Wait& other = add("wait for another counter", unit, i).units[unit][i].waits[w];
      other.counter = (other.counter + 1) % program_.counters;
    }
    for (std::size_t s = 0; s < steps[i].signals.size(); ++s) {
      std::vector<CounterNumber>& dropped = add("signal dropped", unit, i).units[unit][i].signals;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(s));
    }
    if (i + 1 < steps.size()) {
      std::vector<Step>& order = add("order exchanged", unit, i).units[unit];
      std::swap(order[i], order[i + 1]);
      if (!steps[i + 1].waits.empty()) {
        std::vector<Step>& late = add("wait delayed", unit, i).units[unit];
        std::swap(late[i].waits, late[i + 1].waits);
      }
    }
    if (program_.units.size() > 1) move(unit, i);
  }

  void move(std::size_t unit, std::size_t i) {
    TaskProgram& moved = add("unit changed", unit, i);
    std::vector<Step>& from = moved.units[unit];
    std::vector<Step>& to = moved.units[(unit + 1) % moved.units.size()];
    const Step step = from[i];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(std::min(i, to.size())), step);
  }

  void change_memory() {
    const std::vector<Buffer>& buffers = program_.graph.buffers;
    for (BufferNumber a = 0; a < buffers.size(); ++a)
      for (BufferNumber b = 0; b < a; ++b) {
        if (buffers[a].memory != Memory::arena || buffers[b].memory != Memory::arena) continue;
        if (buffers[a].offset == buffers[b].offset) continue;
        TaskProgram& changed = add("buffers overlapped", a, b);
        changed.graph.buffers[a].offset = changed.graph.buffers[b].offset;
      }
  }

  const TaskProgram& program_;
  std::vector<Mutant> all_;
};

bool shares_counter(const TaskProgram& program) {
  std::map<CounterNumber, std::size_t> owners;
  for (std::size_t unit = 0; unit < program.units.size(); ++unit)
    for (const Step& step : program.units[unit])
      for (const CounterNumber counter : step.signals)
        if (owners.emplace(counter, unit).first->second != unit) return true;
  return false;
}

struct Tally {
  int rejected = 0, harmless = 0, harmful_survivors = 0, falsely_rejected = 0;
};

TEST(Proof, agrees_with_an_exhaustive_check_on_changed_programs) {
  std::map<std::string, Tally> tallies;
  int sharing = 0;  // programs with counters of several units
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    // The last ones on so many units that these share counters.
    const bool is_wide = seed >= 24;
    CompileOptions options = fine_grained(is_wide ? 8 : 2 + static_cast<std::uint32_t>(seed % 3),
                                          policies()[seed % policies().size()].policy);
    options.fuses = !is_wide;
    if (is_wide) options.stitching = StitchOptions::none();
    const TaskProgram program = compiled(random_graph(seed, is_wide ? 4 : 6), options);
    if (program.task_count() > 60) continue;
    ASSERT_FALSE(exhaustive_violation(program)) << "seed " << seed;
    sharing += shares_counter(program) ? 1 : 0;
    const Mutants mutants(program);
    for (const Mutant& mutant : mutants.all()) {
      const auto verdict = check_program(mutant.program);
      const auto violation = exhaustive_violation(mutant.program);
      Tally& tally = tallies[mutant.kind];
      ++(violation ? (verdict ? tally.harmful_survivors : tally.rejected)
                   : (verdict ? tally.harmless : tally.falsely_rejected));
      // Of a counter that several units signal, the proof knows only what is certain.
      if (!violation && shares_counter(mutant.program)) continue;
      EXPECT_EQ(!verdict, violation.has_value())
          << "seed " << seed << ": " << mutant.what << ": "
          << (verdict ? "proved" : verdict.error().message) << "; "
          << violation.value_or("nothing found") << "\n"
          << text(mutant.program);
    }
  }
  int rejected = 0;
  for (const auto& [kind, tally] : tallies) {
    std::cout << kind << ": " << tally.rejected << " rejected, " << tally.harmless
              << " harmless and proved, " << tally.harmful_survivors << " harmful and proved, "
              << tally.falsely_rejected << " harmless and rejected\n";
    rejected += tally.rejected;
    EXPECT_GT(tally.rejected, 0) << kind;
  }
  EXPECT_GE(tallies.size(), 8U);
  EXPECT_GT(rejected, 100);
  EXPECT_GT(sharing, 0);
}

/// A counter that two units signal says nothing certain of either before both have ended.
TEST(Proof, a_shared_counter_short_of_its_total_is_not_enough) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{32, 16}});
  const ValueId a = *graph.add("Tanh", {x}), b = *graph.add("Exp", {a});
  ASSERT_TRUE(graph.add_output("y", b));
  TaskProgram program = compiled(graph, fine_grained(2, place_by_critical_path));
  const std::uint32_t count = static_cast<std::uint32_t>(program.accesses[0].size());
  ASSERT_GE(count, 2U);
  for (std::vector<Step>& unit : program.units)
    for (Step& step : unit) {
      step.waits.clear();
      step.signals.clear();
      if (step.task.op == 0) step.signals = {0};
      if (step.task.op == 1) step.waits = {{0, count}};
    }
  program.counters = 1;
  EXPECT_TRUE(check_program(program)) << check_program(program).error().message;
  for (Step& step : program.units[0])
    if (!step.waits.empty()) --step.waits[0].value;
  EXPECT_EQ(!check_program(program), exhaustive_violation(program).has_value());
}

TEST(Proof, structure_is_checked) {
  CompileOptions options = fine_grained(2, place_by_critical_path);
  options.stitching = StitchOptions::none();
  const TaskProgram program = compiled(random_graph(3, 8), options);
  const auto refuses = [&program](const auto& change, std::string_view reason) {
    TaskProgram changed = program;
    change(changed);
    const auto verdict = check_program(changed);
    ASSERT_FALSE(verdict) << reason;
    EXPECT_NE(verdict.error().message.find(reason), std::string::npos) << verdict.error().message;
  };
  refuses([](TaskProgram& p) { p.units[0].pop_back(); }, "not all of");
  refuses([](TaskProgram& p) { p.units[0].push_back(p.units[0].back()); }, "is run twice");
  refuses([](TaskProgram& p) { p.arena_bytes = 64; }, "outside its memory");
  refuses([](TaskProgram& p) { p.accesses[0][0].writes[0].base += 1000000; }, "outside a buffer");
  refuses([](TaskProgram& p) { p.accesses[0].pop_back(); }, "one access for each task");
  refuses([](TaskProgram& p) { p.units[0][0].waits = {{0, 1000000}}; }, "waits for ever");
  refuses([](TaskProgram& p) { p.units[0][0].waits = {{77, 1}}; }, "waits for no counter");
  refuses(
      [](TaskProgram& p) {
        for (Buffer& buffer : p.graph.buffers)
          if (buffer.memory == Memory::weights) buffer.contents.reset();
      },
      "has no contents");
}

TEST(Memory, buffers_share_the_arena) {
  Graph graph;
  ValueId value = *graph.add_input("x", {DataType::f32, Shape{64, 64}});
  for (int i = 0; i < 10; ++i) value = *graph.add(i % 2 == 0 ? "Tanh" : "Exp", {value});
  ASSERT_TRUE(graph.add_output("y", value));
  CompileOptions options;
  options.device = cpu_device(1);
  options.fuses = false;
  options.stitching = StitchOptions::none();
  const TaskProgram program = compiled(graph, options);
  EXPECT_LE(program.arena_bytes, 2U * 64 * 64 * 4);
  EXPECT_GT(unshared_bytes(program), 2U * program.arena_bytes);
}

TEST(Compile, gives_the_same_program_each_time) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const CompileOptions options = fine_grained(3, place_by_critical_path);
    const TaskProgram a = compiled(random_graph(seed, 20), options);
    const TaskProgram b = compiled(random_graph(seed, 20), options);
    EXPECT_EQ(text(a), text(b));
    EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  }
}

TEST(Compile, programs_of_many_units_are_proved) {
  for (std::uint64_t seed = 100; seed < 130; ++seed)
    for (const NamedPolicy& policy : policies())
      compiled(random_graph(seed, 30), fine_grained(16, policy.policy));
}

std::size_t wait_total(const TaskProgram& program) {
  std::size_t count = 0;
  for (const auto& unit : program.units)
    for (const Step& step : unit) count += step.waits.size();
  return count;
}

/// Programs in which one wait for a counter of several units is for one signal less: how many the proof refuses and, as
/// other waits imply what is needed, accepts.
std::pair<int, int> changed_shared_waits(const TaskProgram& program) {
  TaskProgram changed = program;
  int refused = 0, accepted = 0;
  for (std::vector<Step>& steps : changed.units)
    for (Step& step : steps)
      for (Wait& wait : step.waits) {
        if (wait.counter < program.units.size()) continue;
        --wait.value;
        ++(check_program(changed) ? accepted : refused);
        ++wait.value;
      }
  return {refused, accepted};
}

TEST(Compile, steps_of_an_operator_share_a_counter) {
  std::size_t before = 0, after = 0;
  int refused = 0, accepted = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CompileOptions options = fine_grained(16, place_by_critical_path);
    options.fuses = false;
    options.stitching = StitchOptions::none();
    auto plans = task_operators(random_graph(seed, 20), options);
    ASSERT_TRUE(plans) << plans.error().message;
    const Placement placement = options.policy(plans->front(), options.device);
    TaskProgram program = make_program(std::move(plans->front()), options.device, placement);
    plan_memory(program);
    const auto times = planned_times(program);
    before += wait_total(program);
    share_counters(program);
    after += wait_total(program);
    EXPECT_EQ(planned_times(program), times) << seed;
    const auto proof = check_program(program);
    ASSERT_TRUE(proof) << seed << ": " << proof.error().message;
    if (seed >= 5) continue;
    const auto [more_refused, more_accepted] = changed_shared_waits(program);
    refused += more_refused;
    accepted += more_accepted;
  }
  std::cout << before << " waits became " << after << "; of changed ones, " << refused
            << " are refused and " << accepted << " implied by others\n";
  EXPECT_LT(2 * after, before);
  EXPECT_GT(refused, 2 * accepted);
}

/// A * (B * C) as in Wolong: every task of the second product needs all of the first. Both are phases of one program, on
/// all units, and what lies between them is a synchronisation of all units made of events.
TEST(Compile, a_product_of_three_is_one_program_with_a_global_synchronization) {
  Graph graph;
  std::vector<ValueId> factors;
  for (const char* name : {"a", "b", "c"})
    factors.push_back(*graph.add_input(name, {DataType::f32, Shape{256, 256}}));
  const ValueId inner = *graph.add("MatMul", {factors[1], factors[2]});
  ASSERT_TRUE(graph.add_output("z", *graph.add("MatMul", {factors[0], inner})));
  CompileOptions options;
  options.device = slow_device(6);
  const TaskProgram program = compiled(graph, options);
  ASSERT_EQ(program.graph.operators.size(), 2U);
  const auto clocks = clocks_of(program);
  Clock firsts;  // by unit: how many tasks of the first product it has
  for (const std::vector<Step>& steps : program.units)
    firsts.push_back(static_cast<std::uint32_t>(std::count_if(
        steps.begin(), steps.end(), [](const Step& step) { return step.task.op == 0; })));
  for (std::size_t unit = 0; unit < program.units.size(); ++unit) {
    EXPECT_GT(firsts[unit], 0U) << unit;
    ASSERT_GT(program.units[unit].size(), firsts[unit]) << unit;
    for (std::size_t i = 0; i < program.units[unit].size(); ++i) {
      if (program.units[unit][i].task.op == 0) continue;
      std::size_t known = 0;
      for (std::size_t other = 0; other < firsts.size(); ++other)
        known += clocks[unit][i][other] >= firsts[other] ? 1 : 0;
      EXPECT_EQ(known, program.units.size()) << unit << " " << i;
    }
  }
}

/// A chain of products: on several units, each waits for all of the one before it.
Graph chain_of_products(std::int64_t size) {
  Graph graph;
  ValueId value = *graph.add_input("x", {DataType::f32, Shape{size, size}});
  const ValueId factor = *graph.add_input("a", {DataType::f32, Shape{size, size}});
  for (int i = 0; i < 6; ++i) value = *graph.add("MatMul", {factor, value});
  EXPECT_TRUE(graph.add_output("y", value));
  return graph;
}

/// A program has as many units as it ends first with: one, where waits and the start of others take longer than they save.
TEST(Compile, it_takes_as_many_units_as_pay) {
  CompileOptions options;
  options.device = slow_device(3);
  options.stitching = StitchOptions::none();
  const auto units_for = [&options](std::int64_t size) {
    return compiled(chain_of_products(size), options).units.size();
  };
  EXPECT_EQ(units_for(64), 3U);  // not asked to choose
  options.chooses_units = true;
  EXPECT_EQ(units_for(64), 3U);
  options.device.seconds_to_start_units = 1;  // a run takes 1.6 milliseconds on one unit
  EXPECT_EQ(units_for(64), 1U);
  options.device.seconds_to_start_units = 0;
  options.device.seconds_per_event = 1e-3;
  EXPECT_EQ(units_for(64), 1U);
  EXPECT_EQ(units_for(256), 3U);
}

TEST(Compile, names_what_has_no_loop_nest) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{4}});
  OpaqueOperator opaque;
  opaque.name = "Strange";
  opaque.reason = "nobody knows it";
  const NodeId node = graph.add_opaque(opaque, {x}, {{DataType::f32, Shape{4}}});
  ASSERT_TRUE(graph.add_output("y", graph.node(node).output()));
  const auto program = compile(graph, {});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(program.error().message, "there is no loop nest for Strange (nobody knows it)");
}

}  // namespace
}  // namespace lemma::backend
