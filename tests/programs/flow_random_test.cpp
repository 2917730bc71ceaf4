// Random models with nested branches and loops: each is planned, proved, and its instructions are followed on an arena of bytes,
// in which segments are computed by the interpreter. What is lost in the arena is filled with what no result is. The outputs are
// those of the interpreter for the whole model, for all conditions and numbers of steps that are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "backend/execute/program_times.h"
#include "backend/flow/make_flow_program.h"
#include "backend/prove/check_flow.h"
#include "programs/flow_emission.h"
#include "programs/flow_model.h"
#include "programs/flow_oracle.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using backend::FlowAction;
using backend::FlowInstruction;
using backend::FlowProgram;
using interpreter::NamedTensor;
using interpreter::Tensor;
using Bytes = std::vector<std::byte>;

// ---- Models -----------------------------------------------------------------------------------------

/// Writes the text of models whose values are vectors of three elements. Numbers stay small: products are of tangents.
class ModelWriter {
 public:
  explicit ModelWriter(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    std::vector<std::string> known = {"x", "z"};
    const std::string nodes = nodes_of(known, 2 + below(3), 0);
    return fmt::format(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[3] x, float[3] z, bool c, bool d, int64 n, int64 m) => (float[3] {0}, float[3] {1}) <float[3] w = {{0.5, -1, 2}}> {{
        {2}
      }})",
                       known[known.size() - 1], known[known.size() - 2], nodes);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  std::string fresh() { return fmt::format("v{}", number_++); }
  std::string any(const std::vector<std::string>& known) {
    return below(12) == 0 ? "w" : known[below(known.size())];
  }
  std::string condition() { return below(2) == 0 ? "c" : "d"; }

  /// Adds names of results to those that are known.
  std::string nodes_of(std::vector<std::string>& known, std::size_t count, int depth) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t kind = below(depth < 3 ? 8 : 5);
      if (kind >= 6)
        text += loop(known, depth);
      else if (kind == 5)
        text += branch(known, depth);
      else
        text += operation(known);
    }
    return text;
  }

  std::string operation(std::vector<std::string>& known) {
    constexpr const char* binary[] = {"Add", "Sub", "Max", "Min"};
    const std::string result = fresh();
    const std::string text = below(3) == 0 ? fmt::format("{} = Tanh({})\n", result, any(known))
                                           : fmt::format("{} = {}({}, {})\n", result,
                                                         binary[below(4)], any(known), any(known));
    known.push_back(result);
    return text;
  }

  std::string body_of(const std::vector<std::string>& known, int depth, std::size_t results,
                      std::vector<std::string>& outputs, std::string& text) {
    std::vector<std::string> inner = known;
    text = nodes_of(inner, 1 + below(3), depth + 1);
    std::string declared;
    for (std::size_t k = 0; k < results; ++k) {
      // An output of a body is made in it, or handed on by Identity, which import removes.
      const std::string output = fresh();
      text += fmt::format("{} = Identity({})\n", output, any(inner));
      outputs.push_back(output);
      declared += fmt::format("{}float[3] {}", k == 0 ? "" : ", ", output);
    }
    return declared;
  }

  std::string branch(std::vector<std::string>& known, int depth) {
    const std::size_t results = 1 + below(2);
    std::string bodies;
    for (const char* attribute : {"then_branch", "else_branch"}) {
      std::vector<std::string> outputs;
      std::string nodes;
      const std::string declared = body_of(known, depth, results, outputs, nodes);
      bodies += fmt::format("{}{} = {} () => ({}) {{ {} }}", bodies.empty() ? "" : ", ", attribute,
                            fresh(), declared, nodes);
    }
    std::string names;
    for (std::size_t k = 0; k < results; ++k) {
      known.push_back(fresh());
      names += (k == 0 ? "" : ", ") + known.back();
    }
    return fmt::format("{} = If ({}) <{}>\n", names, condition(), bodies);
  }

  std::string loop(std::vector<std::string>& known, int depth) {
    const std::size_t states = 1 + below(3);
    std::vector<std::string> inner = known;
    const std::string number = fresh(), goes_on = fresh(), next = fresh();
    std::string inputs = fmt::format("int64 {}, bool {}", number, goes_on), initial;
    for (std::size_t k = 0; k < states; ++k) {
      initial += ", " + any(known);
      inner.push_back(fresh());
      inputs += ", float[3] " + inner.back();
    }
    std::vector<std::string> outputs;
    std::string nodes;
    const std::string declared = body_of(inner, depth, states, outputs, nodes);
    if (below(2) == 0) {
      const std::string sum = fresh(), limit = fresh();
      nodes += fmt::format(
          "{0} = ReduceSum <keepdims = 0> ({1})\n{2} = Constant <value = float {{1.5}}> ()\n"
          "{3} = Less({0}, {2})\n",
          sum, outputs.front(), limit, next);
    } else {
      nodes += fmt::format("{} = Identity({})\n", next, goes_on);
    }
    std::string names;
    for (std::size_t k = 0; k < states; ++k) {
      known.push_back(fresh());
      names += (k == 0 ? "" : ", ") + known.back();
    }
    return fmt::format("{} = Loop ({}, {}{}) <body = {} ({}) => (bool {}, {}) {{ {} }}>\n", names,
                       below(2) == 0 ? "n" : "m", below(2) == 0 ? condition() : "", initial,
                       fresh(), inputs, next, declared, nodes);
  }

  std::mt19937_64 random_;
  int number_ = 0;
};

// ---- Instructions -----------------------------------------------------------------------------------

/// Follows the instructions of a program without rows.
class Follower {
 public:
  Follower(const FlowProgram& program, const std::vector<Graph>& segments,
           const std::vector<NamedTensor>& inputs)
      : program_(program), segments_(segments), arena_(program.arena_bytes, std::byte{0x7f}) {
    for (const NamedTensor& input : inputs)
      inputs_.emplace_back(input.value.bytes().begin(), input.value.bytes().end());
    for (const backend::FlowTensorNumber output : program.outputs)
      outputs_.emplace_back(program.tensors[output].bytes(), std::byte{0x7f});
    for (backend::FlowTensorNumber i = 0; i < program.tensors.size(); ++i) places_.push_back(i);
    counters_.resize(program.counters.size());
  }

  std::vector<Bytes> run() {
    for (std::size_t at = 0; at < program_.instructions.size();) {
      const FlowInstruction& step = program_.instructions[at++];
      Counter none, &counter = step.counter < counters_.size() ? counters_[step.counter] : none;
      switch (step.action) {
        case FlowAction::run: run(step); break;
        case FlowAction::copy: copy(step); break;
        case FlowAction::exchange: std::swap(places_[step.to], places_[step.from]); break;
        case FlowAction::reset:
          places_[step.to] = step.to;
          places_[step.from] = step.from;
          break;
        case FlowAction::test: counter.flag = place(step.from)[0] != std::byte{0}; break;
        case FlowAction::jump: at = step.target; break;
        case FlowAction::jump_if: at = counter.flag ? step.target : at; break;
        case FlowAction::jump_unless: at = counter.flag ? at : step.target; break;
        case FlowAction::begin_count:
          counter.value = 0;
          counter.limit = step.number;
          if (step.from != backend::no_tensor)
            std::memcpy(&counter.limit, place(step.from), sizeof(counter.limit));
          break;
        case FlowAction::jump_if_done:
          at = counter.value >= counter.limit ? step.target : at;
          break;
        case FlowAction::advance: ++counter.value; break;
        case FlowAction::write_count:
          std::memcpy(place(step.to), &counter.value, sizeof(counter.value));
          break;
        default: ADD_FAILURE() << "an instruction about rows";
      }
    }
    return outputs_;
  }

 private:
  struct Counter {
    std::int64_t value = 0, limit = 0;
    bool flag = false;
  };

  std::byte* place(backend::FlowTensorNumber number) {
    const backend::FlowTensor& tensor = program_.tensors[places_[number]];
    switch (tensor.memory) {
      case backend::Memory::input: return inputs_[tensor.position].data();
      case backend::Memory::output: return outputs_[tensor.position].data();
      default: return arena_.data() + tensor.offset;
    }
  }

  void copy(const FlowInstruction& step) {
    std::memmove(place(step.to), place(step.from), program_.tensors[step.to].bytes());
  }

  /// The segment leaves nothing in its part of the arena.
  void run(const FlowInstruction& step) {
    const Graph& graph = segments_[step.segment];
    std::vector<NamedTensor> inputs;
    std::size_t argument = 0;
    for (const NodeId id : graph.inputs()) {
      const backend::FlowTensorNumber number = step.arguments[argument++];
      const backend::FlowTensor& tensor = program_.tensors[number];
      Tensor value = Tensor::uninitialized(tensor.type, tensor.sizes);
      std::memcpy(value.writable_bytes().data(), place(number), tensor.bytes());
      inputs.push_back({graph.input_name(graph.node(id)), std::move(value)});
    }
    const auto results = interpreter::run(graph, inputs);
    ASSERT_TRUE(results) << results.error().message;
    std::fill_n(arena_.begin() + static_cast<std::ptrdiff_t>(program_.segment_places[step.segment]),
                program_.segments[step.segment].arena_bytes, std::byte{0x7f});
    for (const Tensor& result : *results)
      std::copy(result.bytes().begin(), result.bytes().end(), place(step.arguments[argument++]));
  }

  const FlowProgram& program_;
  const std::vector<Graph>& segments_;
  Bytes arena_;
  std::vector<Bytes> inputs_, outputs_;
  std::vector<backend::FlowTensorNumber> places_;
  std::vector<Counter> counters_;
};

template <typename T>
NamedTensor scalar(const std::string& name, DataType type, T value) {
  return {name, Tensor::of(type, {}, std::vector<T>{value})};
}

std::vector<std::vector<NamedTensor>> drawn_calls(std::mt19937_64& random) {
  constexpr std::int64_t counts[] = {0, 1, 2, 3, -1, INT64_MIN};
  std::vector<std::vector<NamedTensor>> calls;
  for (int i = 0; i < 6; ++i) {
    std::vector<float> x, z;
    for (int k = 0; k < 3; ++k) {
      x.push_back(static_cast<float>(random() % 64) / 16 - 2);
      z.push_back(static_cast<float>(random() % 64) / 16 - 2);
    }
    calls.push_back({{"x", Tensor::of(DataType::f32, {3}, x)},
                     {"z", Tensor::of(DataType::f32, {3}, z)},
                     scalar("c", DataType::boolean, static_cast<std::uint8_t>(random() % 2)),
                     scalar("d", DataType::boolean, static_cast<std::uint8_t>(random() % 2)),
                     scalar("n", DataType::i64, counts[random() % 6]),
                     scalar("m", DataType::i64, counts[random() % 6])});
  }
  return calls;
}

TEST(RandomFlow, InstructionsGiveWhatTheInterpreterGives) {
  int with_flow = 0, exchanges = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = ModelWriter(seed).write();
    ImportOptions reading;
    reading.trusts_declarations = false;
    const auto model = frontend::import_message(frontend::parse_text(text), reading);
    ASSERT_TRUE(model) << text << model.error().message;
    if (!has_control_flow(model->graph)) continue;
    ++with_flow;
    const auto flow = flow_model(*model, 8);
    const auto program = compile_flow(*model, backend::compile_options(1), 8);
    ASSERT_TRUE(flow && program) << text << (program ? "" : program.error().message);
    exchanges += static_cast<int>(
        std::ranges::count(program->instructions, FlowAction::exchange, &FlowInstruction::action));
    std::mt19937_64 random(seed);
    for (const std::vector<NamedTensor>& inputs : drawn_calls(random)) {
      const auto wanted = run_flow_model(*model, inputs, {});
      ASSERT_TRUE(wanted) << wanted.error().message;
      const std::vector<Bytes> outputs = Follower(*program, flow->segments, inputs).run();
      for (std::size_t i = 0; i < wanted->size(); ++i)
        ASSERT_TRUE(std::ranges::equal((*wanted)[i].bytes(), outputs[i]))
            << "seed " << seed << ", output " << i << "\n"
            << text << backend::text(*program);
    }
  }
  EXPECT_GT(with_flow, 200);
  EXPECT_GT(exchanges, 400);
}

}  // namespace
}  // namespace lemma
