// Weights that units keep: where it pays, and that changed plans are refused.

#include <gtest/gtest.h>

#include <functional>

#include "backend/blocks/resident_reads.h"
#include "backend/compile/compile.h"
#include "backend/prove/check_program.h"
#include "backend/schedule/choose_residents.h"
#include "backend/schedule/schedule.h"
#include "backend/simulate/lower_bound.h"
#include "backend/simulate/simulate.h"
#include "backend/traffic/traffic.h"

namespace lemma::backend {
namespace {

CompileOptions for_device(const std::string& name) {
  auto device = load_virtual_device(std::string(LEMMA_SOURCE_DIRECTORY) + "/targets/devices/" +
                                    name + ".json");
  EXPECT_TRUE(device && device->multiprocessor) << name;
  CompileOptions options;
  if (device) options.device = *device;
  options.stitching = StitchOptions::none();
  return options;
}

/// h = tanh(h r), so many times, with so many matrices in turn.
Graph recurrence(int steps, std::int64_t length, int matrices = 1) {
  Graph graph;
  const auto matrix = [&graph, length](int number) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < length * length; ++i)
      values.push_back(static_cast<float>((i * 7 + number) % 13 - 6));
    return graph.add_constant(Constant::of(DataType::f32, {length, length}, values));
  };
  ValueId value = *graph.add_input("h", {DataType::f32, Shape{1, length}});
  std::vector<ValueId> weights;
  for (int i = 0; i < matrices; ++i) weights.push_back(matrix(i));
  for (int step = 0; step < steps; ++step)
    value = *graph.add(
        "Tanh",
        {*graph.add("MatMul", {value, weights[static_cast<std::size_t>(step % matrices)]})});
  EXPECT_TRUE(graph.add_output("y", value));
  return graph;
}

TaskProgram compiled(const Graph& graph, const CompileOptions& options) {
  auto program = compile(graph, options);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : TaskProgram();
}

std::uint64_t kept_bytes(const TaskProgram& program) {
  std::uint64_t bytes = 0;
  for (const auto& parts : program.residents.parts)
    for (const ResidentPart& part : parts) bytes += part.copied_bytes();
  return bytes;
}

std::size_t tasks_with_residents(const TaskProgram& program) {
  std::size_t count = 0;
  for (const auto& steps : program.units)
    for (const Step& step : steps) count += program.has_residents(step.task) ? 1 : 0;
  return count;
}

TEST(Residents, a_recurrence_reads_its_weights_once) {
  for (const char* const name : {"h100", "a100", "t4", "a10", "l4", "b200", "b300", "rtx5090"}) {
    CompileOptions options = for_device(name);
    const Graph graph = recurrence(12, 256);
    const TaskProgram kept = compiled(graph, options);
    options.device.multiprocessor->source.keeps_weights = false;
    const TaskProgram read = compiled(graph, options);
    EXPECT_TRUE(read.residents.is_empty());
    EXPECT_EQ(tasks_with_residents(kept), kept.task_count()) << name;
    EXPECT_EQ(kept_bytes(kept), 256U * 256 * 4) << name;
    EXPECT_LT(planned_end(kept), planned_end(read)) << name;
    EXPECT_LT(4 * planned_traffic(kept).read, planned_traffic(read).read) << name;
    EXPECT_GE(planned_end(kept), lower_bound(kept.graph, kept.device).seconds_with_events())
        << name;
  }
}

TEST(Residents, weights_that_one_operator_reads_are_not_kept) {
  EXPECT_TRUE(compiled(recurrence(6, 128, 6), for_device("h100")).residents.is_empty());
}

/// Units have a part of each of two matrices: where there is room for one, the other is read from the device's memory.
TEST(Residents, what_has_no_room_is_read_from_the_devices_memory) {
  constexpr std::uint64_t all_kilobytes = 208;
  CompileOptions options = for_device("h100");
  options.device.units = 3;
  options.device.shared_bytes_per_unit = all_kilobytes << 10U;
  int partly = 0;
  for (const std::uint64_t kilobytes : {16, 32, 48, 64, 80, 96, 128, 150}) {
    TaskProgram program = compiled(recurrence(12, 256, 2), options);
    ASSERT_EQ(tasks_with_residents(program), program.task_count());
    make_room_for_addresses(program, (all_kilobytes - kilobytes) << 10U);
    EXPECT_LE(kept_bytes(program), 3 * kilobytes << 10U);
    EXPECT_LE(program.residents.offset + program.residents.bytes, all_kilobytes << 10U);
    EXPECT_TRUE(check_program(program)) << kilobytes;
    const std::size_t tasks = tasks_with_residents(program);
    partly += tasks > 0 && tasks < program.task_count() ? 1 : 0;
  }
  EXPECT_GT(partly, 0);
}

TEST(Residents, other_programs_may_leave_less_room) {
  TaskProgram program = compiled(recurrence(12, 256), for_device("h100"));
  ASSERT_FALSE(program.residents.is_empty());
  const std::uint64_t bytes = address_bytes(program.graph) + 4096;
  make_room_for_addresses(program, bytes);
  EXPECT_GE(program.residents.offset, bytes);
  EXPECT_TRUE(check_program(program));
}

struct Change {
  std::string_view reason;
  std::function<void(TaskProgram&)> change;
};

/// The first part of the first unit that keeps some, and a read of it.
ResidentPart& some_part(TaskProgram& program) {
  for (auto& parts : program.residents.parts)
    if (!parts.empty()) return parts.front();
  throw std::logic_error("no part");
}
std::vector<ResidentRead>& some_reads(TaskProgram& program) {
  for (auto& tasks : program.residents.reads)
    for (auto& reads : tasks)
      if (!reads.empty()) return reads;
  throw std::logic_error("no read");
}

TEST(Residents, changed_plans_are_refused) {
  const TaskProgram program = compiled(recurrence(12, 256), for_device("h100"));
  ASSERT_FALSE(program.residents.is_empty());
  const BufferNumber input = program.graph.inputs.front();
  const std::vector<Change> changes = {
      {"at another place", [](auto& p) { some_reads(p).front().origin += 4; }},
      {"at another place", [](auto& p) { some_part(p).to_stride -= 4; }},
      {"does not keep", [](auto& p) { some_part(p).from -= 4; }},
      {"does not keep", [](auto& p) { some_part(p).row_bytes -= 4; }},
      {"does not keep", [](auto& p) { some_part(p).rows -= 1; }},
      {"whole words", [](auto& p) { some_part(p).row_bytes -= 2; }},
      {"not aligned", [](auto& p) { some_part(p).place += 4; }},
      {"lies outside its buffer", [](auto& p) { some_part(p).rows += 1000; }},
      {"no extent", [](auto& p) { some_part(p).rows = 0; }},
      {"outside the memory of a unit", [](auto& p) { p.residents.bytes -= 16; }},
      {"outside the memory of a unit",
       [](auto& p) { p.residents.offset = p.device.shared_bytes_per_unit; }},
      {"where tasks keep something", [](auto& p) { p.residents.offset = 0; }},
      {"rows of kept weights share", [](auto& p) { some_part(p).to_stride = 16; }},
      {"is no weights", [input](auto& p) { some_part(p).buffer = input; }},
      {"nor none", [](auto& p) { some_reads(p).push_back(some_reads(p).front()); }},
      {"that there are not", [](auto& p) { some_reads(p).front().part = 7; }},
      {"not those of the program's tasks", [](auto& p) { p.residents.parts.pop_back(); }},
  };
  for (const Change& each : changes) {
    TaskProgram changed = program;
    each.change(changed);
    const auto verdict = check_program(changed);
    ASSERT_FALSE(verdict) << each.reason;
    EXPECT_NE(verdict.error().message.find(each.reason), std::string::npos)
        << each.reason << ": " << verdict.error().message;
  }
}

/// A task that keeps its reads finds other weights on another unit.
TEST(Residents, tasks_on_other_units_are_refused) {
  TaskProgram program = compiled(recurrence(12, 256), for_device("h100"));
  std::vector<UnitNumber> units;
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
    if (!program.units[unit].empty()) units.push_back(unit);
  ASSERT_GT(units.size(), 1U);
  std::swap(program.units[units[0]].back().task, program.units[units[1]].back().task);
  const auto verdict = check_program(program);
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().message.find("its unit does not keep"), std::string::npos)
      << verdict.error().message;
}

TEST(Residents, parts_share_no_memory) {
  CompileOptions options = for_device("h100");
  options.device.units = 4;  // with parts of both matrices
  TaskProgram program = compiled(recurrence(24, 256, 2), options);
  for (auto& parts : program.residents.parts)
    if (parts.size() > 1) {
      parts[1].place = parts[0].place;
      const auto verdict = check_program(program);
      ASSERT_FALSE(verdict);
      EXPECT_NE(verdict.error().message.find("share memory"), std::string::npos)
          << verdict.error().message;
      return;
    }
  FAIL() << "no unit keeps two parts";
}

/// Every element of every box lies at a place of its own, rows have odd lengths, and the rows that are copied are those.
TEST(Residents, layouts_are_copied_row_by_row) {
  const ResidentLayout layout = {0, {4, 6, 10}, {1, 6, 4}, {30, 5, 1}};
  for (std::int64_t a = 0; a < 4; ++a)
    for (std::int64_t c = 0; c + 4 <= 10; ++c) {
      const Region region = {3, a * 60 + c, {{6, 10}, {4, 1}}};
      const auto part = resident_part(layout, region, 4);
      ASSERT_TRUE(part);
      EXPECT_EQ(part->first,
                (ResidentPart{3, static_cast<std::uint64_t>(a * 60 + c) * 4, 0, 6, 16, 40, 20}));
      EXPECT_EQ(part->second, -(a * 30 + c) * 4);
    }
  // Too wide, no box, no whole words.
  EXPECT_FALSE(resident_part(layout, {3, 0, {{6, 10}, {5, 1}}}, 4));
  EXPECT_FALSE(resident_part(layout, {3, 0, {{3, 7}}}, 4));
  EXPECT_FALSE(resident_part(layout, {3, 1, {{6, 10}, {4, 1}}}, 2));
  EXPECT_TRUE(resident_part(layout, {3, 2, {{6, 10}, {4, 1}}}, 8));
}

}  // namespace
}  // namespace lemma::backend
