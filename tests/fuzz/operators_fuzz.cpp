// Random applications of all operators: inference, definitions, compositions and the counts derived
// from them never crash, and the graph they make is well formed and reads back. The input is a seed.
//   build/fuzz/bin/operators_fuzz -max_total_time=60 -max_len=8

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "costmodel/operation_count.h"
#include "facts/symbolic_values.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "tests/ir/random_graph.h"

namespace {

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// The record's own functions on one node: what they give fits what inference said.
void check_meaning(const lemma::Graph& graph, const lemma::Node& node) {
  const lemma::OperatorRecord& op = graph.op(node);
  const auto types = graph.input_types(node), outputs = graph.output_types(node);
  const lemma::Instance instance{types, node.attributes, node.output_count};
  if (op.define != nullptr) {
    const lemma::Definition definition = op.define(instance);
    require(!text(definition).empty(), "a definition without text");
    require(definition.outputs().size() >= outputs.size(), "an output without definition");
    for (std::size_t k = 0; k < outputs.size(); ++k)
      require(definition.outputs()[k].axes.size() == outputs[k].rank(), "axes of another number");
  } else {
    lemma::Graph parts;
    std::vector<lemma::ValueId> inputs;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool present = instance.has(i);
      inputs.push_back(present ? *parts.add_input(std::to_string(i), types[i])
                               : lemma::ValueId::none());
    }
    const auto results = op.compose(parts, instance, inputs);
    require(results || results.error().kind != lemma::ErrorKind::internal,
            results ? "" : results.error().message);
    for (std::size_t k = 0; results && k < outputs.size(); ++k)
      require(parts.type((*results)[k]).data_type == outputs[k].data_type,
              std::string(op.name) + " is composed to another type");
  }
  count_operations(op, instance, outputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t seed = 0;
  std::memcpy(&seed, data, std::min(size, sizeof(seed)));
  const lemma::Graph graph = lemma::testing::RandomGraph(seed).make(40);
  const auto checked = lemma::check(graph, lemma::Stage::imported);
  require(checked.has_value(), checked ? "" : checked.error().message);
  lemma::SymbolicValues values;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const lemma::Node& node = graph.node({i});
    if (node.kind == lemma::NodeKind::operation) check_meaning(graph, node);
    values.update(graph, {i});
  }
  const lemma::GraphTextOptions options{.inline_constant_bytes = 1 << 20, .dead_nodes = true};
  const std::string printed = print_graph(graph, options);
  const auto again = lemma::parse_graph(printed);
  require(again.has_value(), again ? "" : again.error().message + "\n" + printed);
  require(print_graph(*again, options) == printed, printed);
  return 0;
}
