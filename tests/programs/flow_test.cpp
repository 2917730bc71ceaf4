// Models with If, Loop and Scan as programs: what is planned and refused, what the proof finds, and what built programs give
// beside the interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "backend/execute/built_program.h"
#include "backend/execute/program_times.h"
#include "backend/prove/check_flow.h"
#include "outputs/scratch.h"
#include "programs/flow_emission.h"
#include "programs/flow_oracle.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using backend::FlowAction;
using backend::FlowInstruction;
using backend::FlowProgram;
using backend::FlowTensor;
using interpreter::NamedTensor;
using interpreter::Tensor;
using ::testing::HasSubstr;

constexpr std::int64_t room = 8;

OnnxModel read(const std::string& text) {
  ImportOptions reading;
  reading.trusts_declarations = false;
  reading.unrolled_node_limit = 0;
  auto model = frontend::import_message(frontend::parse_text(text), reading);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

Result<FlowProgram> planned(const std::string& text, int threads = 1) {
  return compile_flow(read(text), backend::compile_options(threads), room);
}

std::string refusal(const std::string& text) {
  const auto program = planned(text);
  return program ? "" : program.error().message;
}

/// A model with a header that all of them have.
std::string model(const std::string& graph) {
  return R"(<ir_version: 8, opset_import: ["" : 17]> )" + graph;
}

const std::string branch = model(R"(
    g (float[2,3] x, bool c) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
      t = Neg(x)
      s = If (c) <then_branch = a () => (float[2,3] p) { p = Add(t, w) },
                  else_branch = b () => (float[2,3] q) { u = Mul(t, t)  q = Exp(u) }>
      y = Add(s, t)
    })");

/// Doubles a vector until its sum is more than a limit, at most n times; gives each sum.
const std::string doubling = model(R"(
    g (int64 n, bool c, float[3] x, float limit) => (float[3] last, float[K] sums) {
      last, sums = Loop (n, c, x) <body = b (int64 i, bool goes_on, float[3] s)
          => (bool next, float[3] t, float u) {
        t = Add(s, s)
        u = ReduceSum <keepdims = 0> (t)
        next = Less(u, limit)
      }>
    })");

/// Two states that change places, one that stays, and one that a step gives twice.
const std::string swapped = model(R"(
    g (int64 n, float[2] a, float[2] b, float[2] k) => (float[2] p, float[2] q, float[2] r, float[2] s, float[2] v) {
      p, q, r, s, v = Loop (n, , a, b, k, a, b) <body = l (int64 i, bool g, float[2] d, float[2] e, float[2] f, float[2] h, float[2] j)
          => (bool next, float[2] d2, float[2] e2, float[2] f2, float[2] h2, float[2] j2) {
        next = Identity(g)
        d2 = Identity(e)
        e2 = Identity(d)
        f2 = Identity(f)
        h2 = Add(h, k)
        j2 = Identity(h2)
      }>
    })");

/// A loop in a loop, whose number of steps is the number of the outer step, and a branch within.
const std::string nested = model(R"(
    g (int64 n, bool c, float[2] x) => (float[2] y, float[2] z) <float[2] one = {1, 1}> {
      y, z = Loop (n, c, x, x) <body = b (int64 i, bool g, float[2] s, float[2] o) => (bool next, float[2] t, float[2] o2) {
          next = Identity(g)
          m = Loop (i, g, s) <body = d (int64 j, bool h, float[2] u) => (bool more, float[2] v) {
              more = Identity(h)
              ones = ReduceSum <keepdims = 0> (u)
              hundred = Constant <value = float {100}> ()
              small = Less(ones, hundred)
              v = If (small) <then_branch = e () => (float[2] p) { p = Add(u, u) },
                              else_branch = f () => (float[2] q) { q = Sub(u, x) }>
            }>
          t = Add(m, one)
          o2 = Mul(t, o)
        }>
    })");

/// A scan along the second axis, backwards, whose rows become columns; and one forwards.
const std::string scan = model(R"(
    g (float[2] x, float[2,4] xs, float[4] ys) => (float[2] last, float[2,4] sums, float[4,2] again) {
      last, sums, again = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
          scan_output_axes = [1, 0], scan_output_directions = [0, 1],
          body = b (float[2] s, float[2] e, float f) => (float[2] t, float[2] u, float[2] v) {
            t = Sub(e, s)
            u = Mul(t, f)
            v = Identity(s)
          }> (x, xs, ys)
    })");

NamedTensor floats(const std::string& name, interpreter::Sizes sizes, std::vector<float> elements) {
  return {name, Tensor::of(DataType::f32, std::move(sizes), elements)};
}
NamedTensor integer(const std::string& name, std::int64_t value) {
  return {name, Tensor::of(DataType::i64, {}, std::vector<std::int64_t>{value})};
}
NamedTensor boolean(const std::string& name, bool value) {
  return {name, Tensor::of(DataType::boolean, {},
                           std::vector<std::uint8_t>{value ? std::uint8_t{1} : std::uint8_t{0}})};
}

// ---- Plans ------------------------------------------------------------------------------------------

std::size_t count(const FlowProgram& program, FlowAction action) {
  return static_cast<std::size_t>(
      std::count_if(program.instructions.begin(), program.instructions.end(),
                    [action](const FlowInstruction& step) { return step.action == action; }));
}

TEST(Flow, BranchesWriteWhereTheResultIsWanted) {
  const auto program = planned(branch);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->segments.size(), 4U);  // before, two branches, behind
  EXPECT_EQ(count(*program, FlowAction::copy), 0U) << text(*program);
}

TEST(Flow, BranchesShareMemory) {
  const auto of_sizes = [](std::int64_t first, std::int64_t second) {
    const auto program = planned(model(fmt::format(R"(
      g (float[{0}] x, float[{1}] z, bool c, bool d) => (float y) {{
        y = If (c) <then_branch = a () => (float p) {{
                      s = Exp(x)
                      p = If (d) <then_branch = a1 () => (float p1) {{ p1 = ReduceSum <keepdims = 0> (s) }},
                                  else_branch = a2 () => (float p2) {{ p2 = ReduceMax <keepdims = 0> (s) }}> }},
                    else_branch = b () => (float q) {{
                      t = Exp(z)
                      q = If (d) <then_branch = b1 () => (float q1) {{ q1 = ReduceSum <keepdims = 0> (t) }},
                                  else_branch = b2 () => (float q2) {{ q2 = ReduceMax <keepdims = 0> (t) }}> }}>
      }})",
                                                   first, second)));
    EXPECT_TRUE(program) << program.error().message;
    return program ? program->arena_bytes : 0;
  };
  EXPECT_EQ(of_sizes(16, 16), 64U);
  EXPECT_EQ(of_sizes(4096, 16), 16384U);
  EXPECT_EQ(of_sizes(4096, 4096), 16384U);
}

TEST(Flow, AStateThatAStepMakesIsNotCopied) {
  const auto program = planned(doubling);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(count(*program, FlowAction::exchange), 1U);
  EXPECT_EQ(count(*program, FlowAction::copy), 2U);  // before the loop and behind it
  EXPECT_TRUE(program->has_free_rows());
  const FlowTensor& sums = program->tensors[program->outputs[1]];
  EXPECT_EQ(sums.sizes, (lowering::Sizes{room}));
}

TEST(Flow, PlansAreTheSameEachTime) {
  for (const std::string& graph : {branch, doubling, swapped, nested, scan}) {
    const auto first = planned(graph), second = planned(graph);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(text(*first), text(*second));
    EXPECT_EQ(first->arena_bytes, second->arena_bytes);
  }
}

// ---- What is refused --------------------------------------------------------------------------------

TEST(Flow, AStateThatGrowsIsRefused) {
  EXPECT_EQ(refusal(model(R"(
    g (int64 n, float[1] x) => (float[M] y) {
      y = Loop (n, , x) <body = b (int64 i, bool g, float[K] s) => (bool next, float[L] t) {
          t = Concat <axis = 0> (s, x)
          next = Identity(g)
        }>
    })")),
            "Loop 'y': state 0 is f32[1] before a step and f32[2] behind it; states of fixed sizes "
            "have a program");
}

TEST(Flow, BranchesOfOtherSizesAreRefused) {
  EXPECT_EQ(refusal(model(R"(
    g (float[2] x, bool c) => (float[M] y) {
      y = If (c) <then_branch = a () => (float[K] p) { p = Concat <axis = 0> (x, x) },
                  else_branch = b () => (float[K] q) { q = Neg(x) }>
    })")),
            "If 'y': its branches give f32[4] and f32[2] as output 0");
}

TEST(Flow, WhatReadsRowsThatARunDecidesIsRefused) {
  EXPECT_EQ(
      refusal(model(R"(
    g (int64 n, float x) => (float y) {
      last, all = Loop (n, , x) <body = b (int64 i, bool g, float s) => (bool next, float t, float u) {
          next = Identity(g)
          t = Neg(s)
          u = Identity(t)
        }>
      y = ReduceSum <keepdims = 0> (all)
    })")),
      "ReduceSum 'y': it reads 'all', which has as many rows as a loop takes steps, and only a run "
      "decides that");
}

TEST(Flow, AnOperatorWithoutProgramIsNamed) {
  EXPECT_THAT(refusal(model(R"(
    g (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, , x) <body = b (int64 i, bool g, float[2] s) => (bool next, float[2] t) {
          next = Identity(g)
          z = NonZero(s)
          r = Shape(z)
          f = Cast <to = 1> (r)
          t = Mul(s, f)
        }>
    })")),
              HasSubstr("Loop 'y': body: NonZero"));
}

// ---- The proof --------------------------------------------------------------------------------------

/// Whether the checker finds a change. Changes that change nothing are skipped by the caller.
bool is_found(FlowProgram program, const std::function<void(FlowProgram&)>& change) {
  change(program);
  return !backend::check_flow(program);
}

TEST(FlowProof, EachInstructionThatIsLeftOutIsMissed) {
  for (const std::string& graph : {branch, doubling, swapped, nested, scan}) {
    const auto program = planned(graph);
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_TRUE(backend::check_flow(*program));
    for (std::size_t at = 0; at < program->instructions.size(); ++at) {
      const FlowAction action = program->instructions[at].action;
      // What these decide is not what the proof is about: any outcome and any number of steps is right.
      if (action == FlowAction::jump_if || action == FlowAction::jump_if_done ||
          action == FlowAction::test || action == FlowAction::begin_count ||
          action == FlowAction::advance || action == FlowAction::require_room ||
          action == FlowAction::jump_unless || action == FlowAction::jump)
        continue;
      if (action == FlowAction::reset) continue;  // a loop may begin with its places changed
      EXPECT_TRUE(is_found(*program,
                           [at](FlowProgram& changed) {
                             changed.instructions[at] = {
                                 .action = FlowAction::jump,
                                 .target = static_cast<backend::InstructionNumber>(at + 1)};
                           }))
          << at << "\n"
          << text(*program);
    }
  }
}

TEST(FlowProof, TensorsThatShareMemoryAtTheWrongTimeAreFound) {
  std::size_t found = 0, changes = 0;
  for (const std::string& graph : {doubling, swapped, nested, scan}) {
    const auto program = planned(graph);
    ASSERT_TRUE(program) << program.error().message;
    // States of one loop are in use at the same time.
    for (const FlowInstruction& step : program->instructions) {
      if (step.action != FlowAction::exchange) continue;
      ++changes;
      found += is_found(*program,
                        [&step](FlowProgram& changed) {
                          changed.tensors[step.to].offset = changed.tensors[step.from].offset;
                        })
                   ? 1
                   : 0;
    }
  }
  // Two states are copied when nothing reads what they were.
  EXPECT_EQ(found, changes - 2);
  EXPECT_GT(changes, 8U);
}

TEST(FlowProof, AResultOfAnotherSizeIsFound) {
  const auto program = planned(doubling);
  ASSERT_TRUE(program) << program.error().message;
  for (const FlowInstruction& step : program->instructions) {
    if (step.action != FlowAction::run) continue;
    for (const backend::FlowTensorNumber argument : step.arguments)
      EXPECT_TRUE(is_found(*program, [argument](FlowProgram& changed) {
        changed.tensors[argument].sizes.push_back(2);
      }));
  }
}

TEST(FlowProof, MoreStepsThanRowsAreFound) {
  const auto program = planned(doubling);
  ASSERT_TRUE(program) << program.error().message;
  for (std::size_t at = 0; at < program->instructions.size(); ++at) {
    if (program->instructions[at].action != FlowAction::require_room) continue;
    EXPECT_TRUE(
        is_found(*program, [at](FlowProgram& changed) { ++changed.instructions[at].number; }));
  }
}

// ---- Programs that run ------------------------------------------------------------------------------

class BuiltFlow : public testing::Test {
 protected:
  void SetUp() override {
    auto builder = backend::ProgramBuilder::create(folder_.path());
    if (!builder) GTEST_SKIP() << builder.error().message;
    builder_ = std::make_shared<const backend::ProgramBuilder>(std::move(*builder));
  }

  /// Compares a program with the interpreter on these inputs, one list after the other.
  void compare(const std::string& graph, const std::vector<std::vector<NamedTensor>>& calls,
               int threads = 1) {
    const OnnxModel onnx = read(graph);
    const auto program = compile_flow(onnx, backend::compile_options(threads), room);
    ASSERT_TRUE(program) << program.error().message;
    const auto folder = builder_->write(*program, {"task_program", "task program"});
    ASSERT_TRUE(folder) << folder.error().message;
    ASSERT_TRUE(builder_->build(*folder, [] { return false; }));
    const auto built = backend::BuiltProgram::open(*folder);
    ASSERT_TRUE(built) << built.error().message;
    const backend::TaskProgram described = described_interface(*program);
    for (const std::vector<NamedTensor>& inputs : calls) {
      backend::ProgramCall call(described, backend::inputs_by_position(described, inputs));
      const auto ran = built->run(call);
      const auto wanted = run_flow_model(onnx, inputs, {});
      ASSERT_TRUE(wanted) << wanted.error().message;
      const bool fits = std::all_of(wanted->begin(), wanted->end(), [](const Tensor& output) {
        return output.sizes().empty() || output.sizes().front() <= room;
      });
      if (!fits) {
        ASSERT_FALSE(ran);
        EXPECT_THAT(ran.error().message, HasSubstr("takes more than 8 steps"));
        continue;
      }
      ASSERT_TRUE(ran) << ran.error().message;
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        const std::span<const std::byte> expected = (*wanted)[i].bytes();
        ASSERT_LE(expected.size(), call.outputs()[i].bytes().size());
        EXPECT_EQ(std::memcmp(expected.data(), call.outputs()[i].bytes().data(), expected.size()),
                  0)
            << "output " << i;
      }
    }
  }

  TemporaryDirectory folder_;
  std::shared_ptr<const backend::ProgramBuilder> builder_;
};

TEST_F(BuiltFlow, Branches) {
  std::vector<std::vector<NamedTensor>> calls;
  for (const bool condition : {true, false, true})
    calls.push_back({floats("x", {2, 3}, {0, 0, 0, 0, 0, 0}), boolean("c", condition)});
  calls.push_back({floats("x", {2, 3}, {1, 2, 3, 4, 5, 6}), boolean("c", true)});
  compare(branch, calls);
}

TEST_F(BuiltFlow, NumbersOfStepsThatOnlyARunDecides) {
  std::vector<std::vector<NamedTensor>> calls;
  for (const std::int64_t steps :
       {std::int64_t{3}, std::int64_t{0}, std::int64_t{-1}, std::int64_t{8}, std::int64_t{9},
        std::int64_t{1}, INT64_MAX, INT64_MIN})
    for (const bool condition : {true, false})
      for (const float limit : {1.0F, 40.0F, 700.0F, 1e30F})
        calls.push_back({integer("n", steps), boolean("c", condition), floats("x", {3}, {1, 2, 3}),
                         floats("limit", {}, {limit})});
  compare(doubling, calls);
}

TEST_F(BuiltFlow, StatesThatChangePlaces) {
  std::vector<std::vector<NamedTensor>> calls;
  for (const std::int64_t steps : {0, 1, 2, 3, 1, 0, 7})
    calls.push_back({integer("n", steps), floats("a", {2}, {1, 2}), floats("b", {2}, {3, 4}),
                     floats("k", {2}, {5, 6})});
  compare(swapped, calls);
}

TEST_F(BuiltFlow, LoopsInLoops) {
  std::vector<std::vector<NamedTensor>> calls;
  for (const std::int64_t steps : {0, 1, 2, 3, 4, 6, 5})
    for (const bool condition : {true, false})
      calls.push_back({integer("n", steps), boolean("c", condition), floats("x", {2}, {1, 2})});
  compare(nested, calls);
  compare(nested, calls, 2);
}

TEST_F(BuiltFlow, ScansEitherWay) {
  compare(scan, {{floats("x", {2}, {1, 2}), floats("xs", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                  floats("ys", {4}, {1, 10, 100, 1000})}});
}

TEST_F(BuiltFlow, OutputsThatAreGivenOrKnown) {
  // Nothing is computed: an output is an input, a constant, or the state that a loop was given.
  compare(
      model(R"(
    g (float[2] x, float[2] z, bool c, int64 n) => (float[2] y, float[2] k, float[2] w, float[2] s) <float[2] k = {7, 8}> {
      y = If (c) <then_branch = a () => (float[2] p) { p = Identity(x) },
                  else_branch = b () => (float[2] q) { q = Identity(k) }>
      w = Identity(z)
      s = Loop (n, , k) <body = d (int64 i, bool g, float[2] t) => (bool next, float[2] u) {
          next = Identity(g)
          u = Identity(x)
        }>
    })"),
      {{floats("x", {2}, {1, 2}), floats("z", {2}, {3, 4}), boolean("c", true), integer("n", 0)},
       {floats("x", {2}, {1, 2}), floats("z", {2}, {3, 4}), boolean("c", false), integer("n", 2)}});
}

}  // namespace
}  // namespace lemma
