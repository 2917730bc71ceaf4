#include "frontend_onnx/spelling.h"

#include "ir/onnx_mapping.h"
#include "ir/rebuild.h"

namespace lemma::frontend {

namespace {

using Types = std::vector<TensorType>;

class Speller {
 public:
  Speller(int set, std::string_view runtime) : set_(set), runtime_(runtime) {}

  bool has_work(const Graph& graph) const {
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::operation && is_replaced(node, graph.input_types(node)))
        return true;
    }
    return false;
  }

  Result<std::vector<ValueId>> operator()(Graph& target, const Node& node,
                                          std::vector<ValueId> inputs) const {
    Types types;
    for (const ValueId input : inputs)
      types.push_back(input.is_none() ? TensorType{} : target.type(input));
    const OperatorRecord& op = record(node.op);
    if (is_replaced(node, types))
      return replacement(op)(target, {types, node.attributes, node.output_count}, inputs);
    return add_copy(target, node, node.attributes, std::move(inputs));
  }

 private:
  static ComposeFunction replacement(const OperatorRecord& op) {
    return op.spelling != nullptr ? op.spelling : op.compose;
  }

  bool is_replaced(const Node& node, const Types& types) const {
    const OperatorRecord& op = record(node.op);
    if (replacement(op) == nullptr) return false;
    const auto call = export_call(op, {types, node.attributes, node.output_count}, set_, runtime_);
    return !call && call.error().kind == ErrorKind::unsupported;
  }

  int set_;
  std::string_view runtime_;
};

}  // namespace

bool needs_spelling(const OnnxModel& model, std::string_view runtime) {
  return Speller(model.envelope.operator_set(), runtime).has_work(model.graph);
}

Result<OnnxModel> spelled(const OnnxModel& model, std::string_view runtime) {
  constexpr int limit =
      32;  // spellings are of simpler operators; it only stops a cycle among records
  const Speller spell(model.envelope.operator_set(), runtime);
  OnnxModel current = model;
  for (int round = 0; spell.has_work(current.graph); ++round) {
    if (round == limit) return internal_error("operators are spelled by one another without end");
    LEMMA_ASSIGN_OR_RETURN(
        current.graph,
        rebuild(
            current.graph, [](const Graph& source, ValueId v) { return source.type(v); }, spell));
  }
  return current;
}

}  // namespace lemma::frontend
