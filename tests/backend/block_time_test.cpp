// Planned times of tasks on GPUs: they are of the tiles and loops that the source has.

#include "backend/blocks/block_time.h"

#include <gtest/gtest.h>

#include <set>

#include "backend/compile/compile.h"
#include "backend/simulate/simulate.h"
#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "ir/graph.h"

namespace lemma::backend {
namespace {

VirtualDevice described(const std::string& name) {
  auto device = load_virtual_device(std::string(LEMMA_SOURCE_DIRECTORY) + "/targets/devices/" +
                                    name + ".json");
  EXPECT_TRUE(device && device->multiprocessor) << name;
  return device ? *device : VirtualDevice{};
}

TensorType matrix(std::int64_t rows, std::int64_t columns, DataType type) {
  return {type, Shape{Dimension(rows), Dimension(columns)}};
}

/// Tanh(x w) of `rows` rows.
Graph product(std::int64_t rows, std::int64_t terms, std::int64_t columns, DataType type) {
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix(rows, terms, type));
  const ValueId w = *graph.add_input("w", matrix(terms, columns, type));
  const auto add = [&graph](std::string_view op, const std::vector<ValueId>& operands) {
    return graph.node(*graph.add_operation(operator_named(op), operands, {}, 1)).output();
  };
  (void)graph.add_output("y", add("Tanh", {add("MatMul", {x, w})}));
  return graph;
}

/// Of the product as one task.
double seconds_of(const VirtualDevice& device, DataType type, std::int64_t rows = 256,
                  std::int64_t terms = 1024) {
  CompileOptions options;
  options.device = device;
  options.stitching = StitchOptions::none();
  const auto plans = task_operators(product(rows, terms, 256, type), options);
  EXPECT_TRUE(plans) << (plans ? "" : plans.error().message);
  return plans ? plans->back().operators.back().kernels.front().seconds_per_task : 0;
}

std::multiset<std::string> names_in_source(const ProgramFiles& files) {
  constexpr std::string_view begin = "// Tiles: ";
  std::multiset<std::string> names;
  for (const auto& [file, text] : files) {
    if (file != "kernels.cuh") continue;
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
      names.insert(text.substr(at + begin.size(), text.find('\n', at) - at - begin.size()));
  }
  return names;
}

TEST(BlockTime, tiles_are_those_of_the_source) {
  CompileOptions options;
  options.device = described("h100");
  options.device.multiprocessor->source.block_threads = 128;
  for (const DataType type : {DataType::f32, DataType::f16}) {
    const auto program = compile(product(200, 300, 500, type), options);
    ASSERT_TRUE(program) << program.error().message;
    const ProductLimits limits =
        product_limits(*options.device.multiprocessor, options.device.shared_bytes_per_unit - 128);
    std::multiset<std::string> planned;
    for (OperatorNumber op = 0; op < program->graph.operators.size(); ++op)
      for (const Phase& phase : program->graph.operators[op].body.phases)
        if (const auto tiles =
                tiled_phase(program->graph.operators[op], program->kernel(op), phase, limits))
          planned.insert(tile_name(tiles->tiles, tiles->left.access, tiles->right.access,
                                   limits.tiles.block_threads));
    const auto files = emit_cuda_program({&*program, 1}, {"model", "model"},
                                         options.device.multiprocessor->source);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(planned.size(), 1U);
    EXPECT_EQ(planned, names_in_source(*files));
  }
}

TEST(BlockTime, matrix_units_take_less_than_lanes) {
  VirtualDevice device = described("h100");
  const double f32 = seconds_of(device, DataType::f32), f16 = seconds_of(device, DataType::f16);
  EXPECT_LT(3 * f16, f32);
  device.multiprocessor->source.takes_tf32 = true;
  EXPECT_LT(seconds_of(device, DataType::f32), f32 / 2);
  device.multiprocessor->source.architecture = "sm_75";
  EXPECT_EQ(seconds_of(device, DataType::f32), f32);
  EXPECT_GT(seconds_of(device, DataType::f16), 2 * f16);
}

TEST(BlockTime, sums_without_tiles_take_more) {
  const VirtualDevice device = described("h100");
  const double tiles = seconds_of(device, DataType::f32);
  EXPECT_GT(seconds_of(device, DataType::f64), 5 * tiles);
  // Three rows have no tiles, four have.
  EXPECT_GT(seconds_of(device, DataType::f32, 3), seconds_of(device, DataType::f32, 4));
}

TEST(BlockTime, lanes_and_cycles_count) {
  VirtualDevice device = described("h100");
  const double before = seconds_of(device, DataType::f32);
  device.multiprocessor->f32_lanes /= 2;
  const double half = seconds_of(device, DataType::f32);
  EXPECT_GT(half, 1.4 * before);
  device.multiprocessor->cycles_per_second *= 2;
  EXPECT_NEAR(seconds_of(device, DataType::f32) - device.seconds_per_task,
              (half - device.seconds_per_task) / 2, half / 100);
}

/// Of x + v as one task, where v has an element for each row, but for what it takes to begin one.
double seconds_of_sum(const VirtualDevice& device, std::int64_t rows, std::int64_t columns) {
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix(rows, columns, DataType::f32));
  const ValueId v = *graph.add_input("v", matrix(rows, 1, DataType::f32));
  (void)graph.add_output("y", *graph.add("Add", {x, v}));
  CompileOptions options;
  options.device = device;
  const auto plans = task_operators(graph, options);
  EXPECT_TRUE(plans) << (plans ? "" : plans.error().message);
  return plans->back().operators.back().kernels.front().seconds_per_task - device.seconds_per_task;
}

/// nvcc divides by a length that it knows: by a shift, or by a multiplication.
TEST(BlockTime, rows_of_a_power_of_two_are_numbered_faster) {
  VirtualDevice device = described("h100");
  device.seconds_per_byte = device.seconds_per_weight_byte = 0;
  EXPECT_GT(seconds_of_sum(device, 256, 1000) / 1000,
            1.02 * seconds_of_sum(device, 256, 1024) / 1024);
}

/// No product can take less than its multiplications take on all lanes, nor less than its operands take to be read once.
TEST(BlockTime, nothing_is_faster_than_the_lanes_or_the_memory) {
  for (const char* const name : {"h100", "a100", "t4", "a10", "l4", "b200", "b300", "rtx5090"}) {
    const VirtualDevice device = described(name);
    for (const std::int64_t rows : {4, 30, 256})
      for (const std::int64_t terms : {8, 100, 1024}) {
        const auto products = static_cast<double>(rows * terms * 256);
        const auto elements = static_cast<double>(rows * terms + terms * 256 + rows * 256);
        const double seconds = seconds_of(device, DataType::f32, rows, terms);
        EXPECT_GT(seconds, products / device.multiprocessor->f32_lanes /
                               device.multiprocessor->cycles_per_second);
        EXPECT_GT(seconds, 4 * elements * device.seconds_per_byte);
      }
  }
}

/// Reading two tensors and writing one, each much larger than the last cache.
TEST(PlannedTime, no_bytes_pass_faster_than_the_bandwidth_of_the_memory) {
  for (const auto& [name, bytes_per_second] :
       {std::pair{"h100", 3.35e12}, std::pair{"a100", 2.04e12}, std::pair{"t4", 320e9},
        std::pair{"a10", 600e9}, std::pair{"l4", 300e9}, std::pair{"b200", 7.7e12},
        std::pair{"rtx5090", 1.792e12}}) {
    constexpr std::int64_t rows = 16384, columns = 4096;
    Graph graph;
    const ValueId x = *graph.add_input("x", matrix(rows, columns, DataType::f32));
    const ValueId z = *graph.add_input("z", matrix(rows, columns, DataType::f32));
    const auto added = graph.add_operation(operator_named("Add"), {x, z}, {}, 1);
    (void)graph.add_output("y", graph.node(*added).output());
    CompileOptions options;
    options.device = described(name);
    const auto program = compile(graph, options);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    const double least = 3.0 * 4 * rows * columns / bytes_per_second;
    const double planned = simulate(*program).seconds;
    EXPECT_GT(planned, least) << name;
    EXPECT_LT(planned, 1.5 * least) << name;
  }
}

}  // namespace
}  // namespace lemma::backend
