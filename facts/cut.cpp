#include "facts/cut.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/rebuild.h"

namespace lemma {

namespace {

/// 64-bit FNV-1a.
std::uint64_t digest(std::string_view bytes) {
  std::uint64_t state = 0xcbf29ce484222325ULL;
  for (const char byte : bytes)
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return state;
}

class Cutter {
 public:
  explicit Cutter(const Graph& graph)
      : graph_(graph), values_(graph.value_count(), ValueId::none()) {}

  Result<Graph> cut() {
    cut_.set_name(graph_.name());
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      LEMMA_RETURN_IF_ERROR(node.kind == NodeKind::opaque
                                ? open(node)
                                : copy_node(graph_, node, cut_, values_, ValueNames::dropped));
    }
    for (const GraphOutput& output : graph_.outputs())
      if (graph_.type(output.value).is_known())
        LEMMA_RETURN_IF_ERROR(cut_.add_output(output.name, values_[output.value.v]));
    return std::move(cut_);
  }

 private:
  /// Labels, or payloads with the names of outputs, tell opaque nodes apart; those that are alike all the same
  /// are numbered.
  Result<void> open(const Node& node) {
    const OpaqueOperator& op = graph_.opaque(node);
    std::string name = cut_name(op);
    const std::size_t number = seen_[name]++;
    if (number > 0) name += fmt::format(" number {}", number);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input.is_none() || !graph_.type(input).is_known()) continue;
      LEMMA_RETURN_IF_ERROR(
          cut_.add_output(fmt::format("into opaque {}#{}", name, i), values_[input.v]));
    }
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId output = node.output(k);
      if (!graph_.type(output).is_known()) continue;
      LEMMA_ASSIGN_OR_RETURN(values_[output.v], cut_.add_input(fmt::format("opaque {}#{}", name, k),
                                                               graph_.type(output)));
    }
    return {};
  }

  const Graph& graph_;
  Graph cut_;
  std::vector<ValueId> values_;
  std::map<std::string, std::size_t> seen_;
};

}  // namespace

std::string cut_name(const OpaqueOperator& op) {
  return fmt::format("{} {:016x}", op.name, digest(op.label.empty() ? op.payload : op.label));
}

Result<Graph> cut_at_opaque_nodes(const Graph& graph) { return Cutter(graph).cut(); }

bool has_opaque_nodes(const Graph& graph) {
  const std::vector<NodeId> live = graph.live_nodes();
  return std::any_of(live.begin(), live.end(),
                     [&graph](NodeId id) { return graph.node(id).kind == NodeKind::opaque; });
}

}  // namespace lemma
