// Graphs that are cut into parts: parts that run one after the other compute what the graph computes, whatever nodes are
// left to the runtime.

#include "programs/graph_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "interpreter/random.h"
#include "interpreter/run.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

NodeId node_named(const Graph& graph, std::string_view op) {
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    const bool is_it = node.kind == NodeKind::opaque
                           ? graph.opaque(node).name == op
                           : node.kind == NodeKind::operation && graph.op(node).name == op;
    if (is_it) return id;
  }
  ADD_FAILURE() << op;
  return {};
}

/// Operations on two inputs and a constant, of which each takes what is there by then.
Graph random_graph(std::mt19937& random) {
  Graph graph;
  const TensorType type = {DataType::f32, Shape{Dimension(2), Dimension(3)}};
  std::vector<ValueId> values = {*graph.add_input("a", type), *graph.add_input("b", type)};
  values.push_back(
      graph.add_constant(interpreter::random_tensor(DataType::f32, {2, 3}, 7, 1).constant()));
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < 12; ++i) {
    const auto value = random() % 3 == 0   ? graph.add("Neg", {any()})
                       : random() % 2 == 0 ? graph.add("Add", {any(), any()})
                                           : graph.add("Max", {any(), any()});
    EXPECT_TRUE(value);
    values.push_back(*value);
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(
        graph.add_output("y" + std::to_string(i),
                         i == 2 ? any() : values[values.size() - 1 - static_cast<std::size_t>(i)]));
  return graph;
}

std::map<std::string, Tensor> run_parts(const PartedGraph& parted,
                                        std::map<std::string, Tensor> values) {
  for (const GraphPart& part : parted.parts) {
    std::vector<NamedTensor> inputs;
    for (const NodeId id : part.graph.inputs()) {
      const std::string& name = part.graph.input_name(part.graph.node(id));
      const auto known = values.find(name);
      if (known == values.end()) {
        ADD_FAILURE() << name << " is not there yet";
        return {};
      }
      inputs.push_back({name, known->second});
    }
    const auto outputs = interpreter::run(part.graph, inputs);
    if (!outputs) {
      ADD_FAILURE() << outputs.error().message;
      return {};
    }
    for (std::size_t i = 0; i < outputs->size(); ++i)
      EXPECT_TRUE(values.emplace(part.graph.outputs()[i].name, (*outputs)[i]).second);
  }
  return values;
}

TEST(GraphParts, PartsComputeWhatTheGraphComputes) {
  std::mt19937 random(1);
  std::size_t most_parts = 0;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const Graph graph = random_graph(random);
    std::set<NodeId> in_runtime;
    for (const NodeId id : graph.live_nodes())
      if (graph.node(id).kind == NodeKind::operation && random() % 3 == 0) in_runtime.insert(id);
    const auto parted = cut_into_parts(graph, in_runtime);
    ASSERT_TRUE(parted) << parted.error().message;
    most_parts = std::max(most_parts, parted->parts.size());
    std::set<NodeId> seen;
    for (const GraphPart& part : parted->parts)
      for (const NodeId id : part.nodes) {
        EXPECT_TRUE(seen.insert(id).second);
        EXPECT_EQ(part.is_program, !in_runtime.contains(id));
      }
    std::map<std::string, Tensor> given;
    std::vector<NamedTensor> inputs;
    for (const char* name : {"a", "b"}) {
      given.emplace(name, interpreter::random_tensor(DataType::f32, {2, 3}, 3,
                                                     static_cast<unsigned char>(*name)));
      inputs.push_back({name, given.at(name)});
    }
    const auto expected = interpreter::run(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto values = run_parts(*parted, given);
    ASSERT_EQ(parted->outputs.size(), expected->size());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const auto value = values.find(parted->outputs[i].value);
      ASSERT_NE(value, values.end());
      EXPECT_EQ(value->second.reals(), (*expected)[i].reals());
    }
  }
  EXPECT_GT(most_parts, 4U);
}

constexpr const char* in_the_middle = R"(graph "g"
  input %0 "x" : f32[4]
  %1 = Neg(%0) : f32[4]
  %2 = opaque "" "Strange" "payload" "reason" (%1) : f32[4]
  %3 = Abs(%2) : f32[4]
  %4 = Exp(%1) : f32[4]
  output "y" = %3
  output "z" = %4
)";

TEST(GraphParts, OnlyWhatHasNoProgramIsInTheRuntime) {
  const Graph graph = parsed(in_the_middle);
  const auto parted = cut_into_parts(graph, {node_named(graph, "Strange")});
  ASSERT_TRUE(parted) << parted.error().message;
  ASSERT_EQ(parted->parts.size(), 3U);
  EXPECT_TRUE(parted->parts[0].is_program);
  EXPECT_EQ(parted->parts[0].nodes.size(), 2U);  // Neg and Exp
  EXPECT_FALSE(parted->parts[1].is_program);
  EXPECT_TRUE(parted->parts[2].is_program);
  EXPECT_EQ(operators_text(graph, {node_named(graph, "Strange"), node_named(graph, "Neg")}),
            "Neg, Strange");
}

TEST(GraphParts, WhatIsNoTensorStaysWithinAPart) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = opaque "" "Pack" "payload" "reason" (%0) : undefined[?]
  %2 = opaque "" "Count" "payload" "reason" (%1) : f32[4]
  %3 = Abs(%2) : f32[4]
  %4 = opaque "" "Unpack" "payload" "reason" (%1, %3) : f32[4]
  %5 = Neg(%4) : f32[4]
  output "y" = %5
)");
  const auto parted = cut_into_parts(
      graph, {node_named(graph, "Pack"), node_named(graph, "Count"), node_named(graph, "Unpack")});
  ASSERT_TRUE(parted) << parted.error().message;
  ASSERT_EQ(parted->parts.size(), 2U);  // Abs is in the runtime as well
  EXPECT_EQ(parted->parts[0].nodes.size(), 4U);
  EXPECT_FALSE(parted->parts[0].is_program);
  EXPECT_TRUE(parted->parts[1].is_program);
}

}  // namespace
}  // namespace lemma
