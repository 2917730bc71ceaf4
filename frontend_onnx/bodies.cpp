#include "frontend_onnx/bodies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "facts/value_facts.h"
#include "frontend_onnx/declared_types.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/moved_initializers.h"
#include "frontend_onnx/subgraphs.h"

namespace lemma {

namespace frontend {
namespace {

using GraphMessage = ::onnx::GraphProto;
using NodeMessage = ::onnx::NodeProto;

/// Larger constants are no parameters of operators (shapes, axes, bounds).
constexpr std::size_t largest_captured = 1024;

template <typename Message>
Result<Message> parsed(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return internal_error("what was written cannot be read");
  return message;
}

Result<OnnxModel> imported(std::string text, const std::filesystem::path& folder,
                           const ImportOptions& options) {
  const auto bytes = std::make_shared<const std::string>(std::move(text));
  return import_model(bytes, std::as_bytes(std::span(*bytes)), folder, options);
}

/// Names that a graph defines, in its bodies as well, and those that these use.
std::set<std::string> names_of(const GraphMessage& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const NodeMessage& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    names.insert(node.output().begin(), node.output().end());
    collect_inner_names(node, names);
  }
  return names;
}

/// At any depth.
int node_count(const GraphMessage& graph, bool counts_constants) {
  int count = 0;
  for (const NodeMessage& node : graph.node())
    for_each_node(node, [&](const NodeMessage& inner) {
      count += counts_constants || inner.op_type() != "Constant" ? 1 : 0;
    });
  return count;
}

/// Writes the type that a value has outside. Its sizes are no sizes of the body's own: names that both
/// use may mean different things.
void declare_captured(const std::string& name, const TensorType& type,
                      ::onnx::ValueInfoProto& input) {
  input.set_name(name);
  if (type.data_type == DataType::undefined) return;
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.data_type));
  if (!type.shape) return;
  auto& shape = *tensor.mutable_shape();
  for (const Dimension& size : *type.shape) {
    auto& dimension = *shape.add_dim();
    if (size.is_constant())
      dimension.set_dim_value(size.offset());
    else
      dimension.set_dim_param("captured " + size.text());
  }
}

/// The bodies of one model, whose bytes are whole.
class Rewriter {
 public:
  Rewriter(::onnx::ModelProto& model, const Graph& graph, const std::filesystem::path& folder,
           const ImportOptions& reading, const BodyRewriting& rewriting)
      : model_(model),
        graph_(graph),
        folder_(folder),
        reading_(reading),
        rewrite_(rewriting.rewrite),
        on_rewritten_(rewriting.on_rewritten),
        facts_(facts_of_values(graph, {}, Reads::succeed)),
        // Nothing is known here of what bodies give.
        observed_(observed_values(graph, std::vector<ValueFacts>(graph.value_count()),
                                  rewriting.observed)),
        names_(names_of(model.graph())) {}

  /// How many were rewritten.
  Result<int> run() {
    std::map<std::string, NodeId> opaque;  // by first output
    for (const NodeId id : graph_.live_nodes())
      if (const Node& node = graph_.node(id); node.kind == NodeKind::opaque)
        opaque.emplace(graph_.suggested_name(node.output()), id);
    for (NodeMessage& node : *model_.mutable_graph()->mutable_node()) {
      if (!has_subgraphs(node) || node.output_size() == 0) continue;
      if (const auto entry = opaque.find(node.output(0)); entry != opaque.end())
        LEMMA_RETURN_IF_ERROR(rewrite_node(node, graph_.node(entry->second)));
    }
    return rewritten_;
  }

 private:
  Result<void> rewrite_node(NodeMessage& node, const Node& known) {
    const std::vector<std::string> captured = captured_names(node);
    if (static_cast<std::size_t>(node.input_size()) + captured.size() != known.inputs.size())
      return {};
    captured_.clear();
    for (std::size_t i = 0; i < captured.size(); ++i)
      captured_.emplace(captured[i], known.inputs[static_cast<std::size_t>(node.input_size()) + i]);
    for (auto& attribute : *node.mutable_attribute()) {
      const std::string place =
          fmt::format("{} '{}', {}", node.op_type(), node.output(0), attribute.name());
      if (attribute.has_g())
        LEMMA_RETURN_IF_ERROR(rewrite_body(place, known, *attribute.mutable_g()));
      for (GraphMessage& body : *attribute.mutable_graphs())
        LEMMA_RETURN_IF_ERROR(rewrite_body(place, known, body));
    }
    return {};
  }

  Result<void> rewrite_body(const std::string& place, const Node& known, GraphMessage& body) {
    if (body.sparse_initializer_size() != 0) return {};
    bool ordinary = body.input_size() == 0;
    const ::onnx::ModelProto model = around(body, ordinary);
    // What is wrong with a body is for those to say who run it.
    auto read = imported(model.SerializeAsString(), folder_, reading_);
    if (!read) return {};
    std::vector<char> observed = observed_outputs(known, read->graph.outputs().size());
    const std::optional<BetterBody> result =
        rewrite_({std::move(*read), place, ordinary, std::move(observed)});
    if (!result) return {};
    LEMMA_ASSIGN_OR_RETURN(const std::string text, serialize_model(result->model));
    LEMMA_ASSIGN_OR_RETURN(auto written, parsed<::onnx::ModelProto>(text));
    // Operator sets are imported for the whole model.
    if (written.opset_import_size() != model_.opset_import_size()) return {};
    const int before = node_count(body, result->counts_constants),
              after = node_count(written.graph(), result->counts_constants);
    if (after > before || (after == before && !result->cheaper)) return {};
    put_back(std::move(*written.mutable_graph()), body);
    ++rewritten_;
    if (on_rewritten_) on_rewritten_(place);
    return {};
  }

  /// The outputs of a body that are observed. What a branch gives, the node gives. Otherwise
  /// outputs may be given to the body again.
  std::vector<char> observed_outputs(const Node& node, std::size_t count) const {
    std::vector<char> observed(count, 1);
    if (graph_.opaque(node).name != "If" || node.output_count != count) return observed;
    for (std::uint32_t k = 0; k < count; ++k) observed[k] = observed_[node.output(k).v];
    return observed;
  }

  /// The model of a body.
  ::onnx::ModelProto around(const GraphMessage& body, bool& ordinary) const {
    ::onnx::ModelProto model;
    model.set_ir_version(std::max<std::int64_t>(model_.ir_version(), 4));
    *model.mutable_opset_import() = model_.opset_import();
    *model.mutable_functions() = model_.functions();
    *model.mutable_graph() = body;
    GraphMessage& graph = *model.mutable_graph();
    const std::set<std::string> used = names_of(body);
    std::set<std::string> outputs;
    for (const auto& output : body.output()) outputs.insert(output.name());
    for (const auto& [name, value] : captured_) {
      if (!used.contains(name) && !outputs.contains(name)) continue;
      const TensorType& type = graph_.type(value);
      const Constant* constant = graph_.constant_of(value);
      if (constant != nullptr && constant->bytes().size() <= largest_captured) {
        auto& tensor = *graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(static_cast<int>(type.data_type));
        for (const Dimension& size : *type.shape) tensor.add_dims(size.offset());
        tensor.set_raw_data(constant->bytes().data(), constant->bytes().size());
        continue;
      }
      declare_captured(name, type, *graph.add_input());
      const ValueFacts& facts = facts_[value.v];
      ordinary = ordinary && type.is_known() && facts.defined && facts.finite();
    }
    return model;
  }

  /// Nodes and constants. Inputs, outputs and what is said of the body stay. New names are new in all of the
  /// model, those in bodies of the body too: ONNX lets no body define a name that stands for another value around it.
  void put_back(GraphMessage written, GraphMessage& body) {
    const std::set<std::string> before = names_of(body);
    const std::function<std::string(const std::string&)> new_name = [&](const std::string& name) {
      if (before.contains(name)) return name;
      std::string fresh = name;
      for (int i = 1; !names_.insert(fresh).second; ++i) fresh = fmt::format("{}_{}", name, i);
      return fresh;
    };
    NameMap names;
    const auto define = [&](const std::string& name) {
      if (name.empty() || captured_.contains(name)) return;
      if (std::string fresh = new_name(name); fresh != name) names.emplace(name, std::move(fresh));
    };
    for (const auto& tensor : written.initializer()) define(tensor.name());
    for (const NodeMessage& node : written.node())
      for (const std::string& output : node.output()) define(output);
    const auto renamed = [&names](const std::string& name) {
      const auto entry = names.find(name);
      return entry != names.end() ? entry->second : name;
    };
    std::set<std::string> defined;
    body.clear_initializer();
    for (auto& tensor : *written.mutable_initializer()) {
      if (captured_.contains(tensor.name())) continue;
      tensor.set_name(renamed(tensor.name()));
      defined.insert(tensor.name());
      *body.add_initializer() = std::move(tensor);
    }
    body.clear_node();
    for (NodeMessage& node : *written.mutable_node()) {
      for (std::string& input : *node.mutable_input()) input = renamed(input);
      for (std::string& output : *node.mutable_output()) defined.insert(output = renamed(output));
      rename_subgraphs(node, names, new_name);
      *body.add_node() = std::move(node);
    }
    GraphMessage said;  // of values that are still there
    for (auto& value : *body.mutable_value_info())
      if (defined.contains(value.name())) *said.add_value_info() = std::move(value);
    body.mutable_value_info()->Swap(said.mutable_value_info());
  }

  ::onnx::ModelProto& model_;
  const Graph& graph_;
  const std::filesystem::path& folder_;
  const ImportOptions& reading_;
  const RewriteBody& rewrite_;
  const std::function<void(const std::string&)>& on_rewritten_;
  std::vector<ValueFacts> facts_;            // by value of the graph
  std::vector<char> observed_;               // the same
  std::set<std::string> names_;              // in the model, at any depth
  std::map<std::string, ValueId> captured_;  // by the bodies of the node at hand
  int rewritten_ = 0;
};

}  // namespace
}  // namespace frontend

bool has_bodies(const OnnxModel& model) {
  for (const NodeId id : model.graph.live_nodes()) {
    const Node& node = model.graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    ::onnx::NodeProto message;
    if (message.ParseFromString(model.graph.opaque(node).payload) &&
        frontend::has_subgraphs(message))
      return true;
  }
  return false;
}

std::int64_t node_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::operation) ++count;
    ::onnx::NodeProto message;
    if (node.kind == NodeKind::opaque && message.ParseFromString(graph.opaque(node).payload))
      frontend::for_each_node(message, [&count](const auto&) { ++count; });
  }
  return count;
}

Result<std::optional<OnnxModel>> with_rewritten_bodies(const OnnxModel& model,
                                                       const std::filesystem::path& folder,
                                                       const ImportOptions& reading,
                                                       const BodyRewriting& rewriting) {
  LEMMA_ASSIGN_OR_RETURN(std::string text, serialize_model(model));
  LEMMA_ASSIGN_OR_RETURN(auto message, frontend::parsed<::onnx::ModelProto>(text));
  const bool has_moved =
      rewriting.moves_initializers && frontend::move_initializers_into_bodies(message) != 0;
  if (has_moved) text = message.SerializeAsString();
  // Names and types are those of the bytes just written.
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel written,
                         frontend::imported(std::move(text), folder, reading));
  ImportOptions of_bodies;
  of_bodies.takes_branches = reading.takes_branches;
  of_bodies.unrolled_node_limit = reading.unrolled_node_limit;
  of_bodies.inlined_node_limit = reading.inlined_node_limit;
  LEMMA_ASSIGN_OR_RETURN(
      const int rewritten,
      frontend::Rewriter(message, written.graph, folder, of_bodies, rewriting).run());
  if (rewritten == 0 && !has_moved) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(OnnxModel result,
                         frontend::imported(message.SerializeAsString(), folder, reading));
  result.envelope = result.envelope.with_rewritten_bodies().in_place_of(model.envelope);
  return result;
}

}  // namespace lemma
