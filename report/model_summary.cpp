#include "report/model_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "facts/weight_only.h"
#include "ir/kernel_override.h"

namespace lemma {

namespace {

std::vector<OperatorSummary> summarize_operators(const Graph& graph, const OperatorCosts& costs,
                                                 std::int64_t& constant_nodes) {
  std::map<std::string, OperatorSummary> by_name;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
    if (weight_only[id.v]) {
      ++constant_nodes;
      continue;
    }
    const bool opaque = node.kind == NodeKind::opaque;
    const std::string name =
        opaque ? qualified_name(graph.opaque(node)) : std::string(graph.op(node).name);
    OperatorSummary& row = by_name[opaque ? "opaque " + name : name];
    row.name = name;
    row.opaque = opaque;
    ++row.count;
    if (opaque) {
      row.seconds += costs.opaque_seconds();
      continue;
    }
    const CostKey key = cost_key(graph, node, weight_only, costs);
    row.seconds += costs.find(key).seconds;
    if (key.op->has(view)) continue;
    const OperationCount work = count_operations(key);
    row.flops += work.flops;
    row.integer_operations += work.integer_operations;
    row.bytes += work.bytes();
  }
  std::vector<OperatorSummary> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return rows;
}

std::vector<OpaqueSummary> summarize_opaque(const Graph& graph) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    const OpaqueOperator& op = graph.opaque(node);
    ++counts[{qualified_name(op), op.reason}];
  }
  std::vector<OpaqueSummary> rows;
  for (const auto& [key, count] : counts) rows.push_back({key.first, key.second, count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return rows;
}

std::vector<OwnKernelSummary> summarize_kernels(const Graph& graph) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> counts;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::operation) continue;
    const std::vector<TensorType> types = graph.input_types(node);
    for (const std::string_view target : kernel_targets())
      if (const auto found =
              find_override(graph.op(node), target, {types, node.attributes, node.output_count}))
        ++counts[{std::string(target), std::string(graph.op(node).name),
                  std::string(found->origin)}];
  }
  std::vector<OwnKernelSummary> rows;
  for (const auto& [key, count] : counts)
    rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  return rows;
}

std::vector<SymbolSummary> summarize_symbols(const Graph& graph) {
  std::map<std::string, SymbolSummary> symbols;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (const TensorType& type : graph.output_types(node)) {
      if (!type.shape) continue;
      std::map<std::string, int> mentioned;
      for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
        const Dimension& size = (*type.shape)[axis];
        collect_symbols(size, mentioned);
        const auto symbol = size.as_symbol();
        if (!symbol || node.kind != NodeKind::input) continue;
        std::string& source = symbols[*symbol].source;
        if (source.empty())
          source = fmt::format("axis {} of input '{}'", axis, graph.input_name(node));
      }
      for (const auto& [name, count] : mentioned) ++symbols[name].uses;
    }
  }
  std::vector<SymbolSummary> rows;
  for (auto& [name, row] : symbols) {
    row.name = name;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string qualified_name(const OpaqueOperator& op) {
  return op.domain.empty() || op.domain == "ai.onnx" ? op.name : op.domain + "." + op.name;
}

ModelSummary summarize(const Graph& graph, const OperatorCosts& costs) {
  ModelSummary summary;
  summary.total = cost_of(graph, costs);
  summary.operators = summarize_operators(graph, costs, summary.constant_nodes);
  summary.opaque = summarize_opaque(graph);
  summary.symbols = summarize_symbols(graph);
  summary.kernels = summarize_kernels(graph);
  return summary;
}

}  // namespace lemma
