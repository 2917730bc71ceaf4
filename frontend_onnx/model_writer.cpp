#include "frontend_onnx/model_writer.h"

#include <algorithm>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/declared_types.h"
#include "frontend_onnx/device_configurations.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/kept_parts.h"
#include "frontend_onnx/node_attributes.h"
#include "frontend_onnx/size_nodes.h"
#include "frontend_onnx/subgraphs.h"
#include "frontend_onnx/value_names.h"
#include "frontend_onnx/wire.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using GraphMessage = ::onnx::GraphProto;

constexpr int fallback_operator_set = 9;  // for Identity in a model that imports no standard set

class ModelWriter {
 public:
  ModelWriter(const OnnxModel& model, const LayoutOptions& options)
      : graph_(model.graph),
        envelope_(model.envelope.data()),
        tensors_(*envelope_.source, options.data_file, options.external_threshold,
                 options.all_external),
        sets_(envelope_.operator_sets),
        runtime_(options.runtime),
        given_order_(options.order),
        opaque_outputs_(options.opaque_outputs),
        live_(model.graph.live_nodes()) {
    set_ = sets_.try_emplace("", fallback_operator_set).first->second;
  }

  Result<Rope> run() {
    LEMMA_RETURN_IF_ERROR(parse_opaque_nodes());
    names_.emplace(graph_, live_, opaque_);
    size_names_ = names_of_sizes(graph_, live_, envelope_.size_parameters);
    make_size_nodes();
    LEMMA_RETURN_IF_ERROR(export_calls());
    LEMMA_ASSIGN_OR_RETURN(const std::vector<NodeId> order, order_nodes());
    for (const NodeId id : order) {
      if (given_order_ != nullptr && graph_.node(id).kind == NodeKind::operation) continue;
      auto written = write(id);
      if (!written) return with_context(label(id), std::move(written.error()));
    }
    if (given_order_ != nullptr) LEMMA_RETURN_IF_ERROR(write_in_given_order());
    for (const auto& [name, value] : names_->output_aliases()) write_identity(value, name);
    LEMMA_RETURN_IF_ERROR(write_overridable());
    return finish();
  }

 private:
  // ---- Preparation ------------------------------------------------------------------------------

  Result<void> parse_opaque_nodes() {
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::opaque) continue;
      NodeMessage& message = opaque_[id];
      if (!message.ParseFromString(graph_.opaque(node).payload))
        return internal_error("an opaque node cannot be read back");
      if (message.output_size() != static_cast<int>(node.output_count) ||
          static_cast<std::size_t>(message.input_size()) + captured_names(message).size() !=
              node.inputs.size())
        return internal_error(
            fmt::format("an opaque node ({}) does not fit its payload", graph_.opaque(node).name));
    }
    return {};
  }

  void make_size_nodes() {
    std::map<std::string, SizeSource> sources;
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::input && node.kind != NodeKind::opaque) continue;
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        const TensorType& type = graph_.type(node.output(i));
        for (std::size_t axis = 0; type.shape && axis < type.rank(); ++axis)
          if (const auto symbol = (*type.shape)[axis].as_symbol())
            if (sources.try_emplace(*symbol, SizeSource{names_->of(node.output(i)), axis}).second)
              source_nodes_.emplace(*symbol, id);
      }
    }
    sizes_.emplace(std::move(sources), set_,
                   NodeSink{[this](std::string_view op, std::vector<std::string> inputs,
                                   std::map<std::string, std::int64_t> attributes) {
                              return write_size_node(op, inputs, attributes);
                            },
                            [this](const std::vector<std::int64_t>& elements, bool scalar) {
                              return integers(elements, scalar);
                            }});
  }

  Result<void> export_calls() {
    const auto is_positive = [this](const Dimension& size) {
      const auto symbol = size.as_symbol();
      return symbol && envelope_.positive_sizes.contains(*symbol);
    };
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::operation) continue;
      const std::vector<TensorType> types = graph_.input_types(node);
      auto call =
          export_call(graph_.op(node), {types, node.attributes, node.output_count}, set_, runtime_);
      if (!call) return with_context(label(id), std::move(call.error()));
      if (call->shorter && std::ranges::all_of(call->shorter->positive_sizes, is_positive))
        *call = ExportedCall(call->shorter->call);
      calls_.emplace(id, std::move(*call));
    }
    return {};
  }

  /// Ascending ids, except that what a symbolic size is read from comes before its users.
  Result<std::vector<NodeId>> order_nodes() const {
    enum class State : std::uint8_t { unseen, open, done };
    std::vector<State> states(graph_.node_count(), State::unseen);
    std::vector<NodeId> order;
    std::vector<NodeId> stack;
    for (const NodeId root : live_) {
      stack.push_back(root);
      while (!stack.empty()) {
        const NodeId id = stack.back();
        State& state = states[id.v];
        if (state != State::unseen) {
          if (state == State::open) order.push_back(id);
          state = State::done;
          stack.pop_back();
          continue;
        }
        state = State::open;
        std::vector<NodeId> needed = needed_nodes(id);
        for (auto next = needed.rbegin(); next != needed.rend(); ++next) {
          if (states[next->v] == State::open)
            return internal_error(
                fmt::format("{}: a size that it needs depends on its output", label(id)));
          if (states[next->v] == State::unseen) stack.push_back(*next);
        }
      }
    }
    return order;
  }

  std::vector<NodeId> needed_nodes(NodeId id) const {
    std::vector<NodeId> needed;
    for (const ValueId input : graph_.node(id).inputs)
      if (!input.is_none()) needed.push_back(graph_.producer(input));
    const auto call = calls_.find(id);
    if (call == calls_.end()) return needed;
    std::map<std::string, int> symbols;
    for (const OnnxInput& input : call->second.inputs)
      if (const auto* integers = std::get_if<OnnxIntegersInput>(&input))
        for (const Dimension& size : integers->elements) collect_symbols(size, symbols);
    for (const auto& [symbol, count] : symbols)
      if (const auto source = source_nodes_.find(symbol); source != source_nodes_.end())
        needed.push_back(source->second);
    return needed;
  }

  // ---- Nodes ------------------------------------------------------------------------------------

  /// Each run of an operation as a node. The last one has the names of the values.
  Result<void> write_in_given_order() {
    std::map<NodeId, std::size_t> left;
    for (const NodeId id : *given_order_) ++left[id];
    for (const NodeId id : *given_order_) {
      const Node& node = graph_.node(id);
      const bool is_last = --left.at(id) == 0;
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        const ValueId value = node.output(i);
        if (is_last)
          names_of_runs_.erase(value);
        else
          names_of_runs_[value] = names_->unique(names_->of(value) + "_run");
      }
      auto written = write(id);
      if (!written) return with_context(label(id), std::move(written.error()));
    }
    return {};
  }

  /// The name that the value has where the next node is written.
  const std::string& name_of(ValueId value) const {
    const auto of_run = names_of_runs_.find(value);
    return of_run != names_of_runs_.end() ? of_run->second : names_->of(value);
  }

  Result<void> write(NodeId id) {
    const Node& node = graph_.node(id);
    switch (node.kind) {
      case NodeKind::input: return {};
      case NodeKind::constant:
        write_constant(names_->of(node.output()), graph_.constant(node));
        return {};
      case NodeKind::operation: return write_operation(id);
      case NodeKind::opaque: return write_opaque(id);
    }
    return {};
  }

  /// Before IR version 4 an initializer must be declared as an input. So as not to give the model
  /// inputs that it did not have, other constants become nodes there.
  bool is_initializer(const std::string& name) const {
    return envelope_.ir_version >= 4 || envelope_.initializers.contains(name);
  }

  void write_constant(const std::string& name, const Constant& constant) {
    if (is_initializer(name)) {
      Rope content = tensors_.tensor(name, constant);
      if (const auto remarks = envelope_.tensor_remarks.find(name);
          remarks != envelope_.tensor_remarks.end())
        content.append(remarks->second);
      initializers_.append_message_field(GraphMessage::kInitializerFieldNumber, std::move(content));
      if (envelope_.ir_version < 4) declare(name, constant.type(), *rest_.add_input());
      return;
    }
    Rope attribute;
    attribute.append_bytes_field(::onnx::AttributeProto::kNameFieldNumber, "value");
    attribute.append_message_field(::onnx::AttributeProto::kTFieldNumber,
                                   tensors_.tensor("", constant));
    attribute.append_varint_field(::onnx::AttributeProto::kTypeFieldNumber,
                                  ::onnx::AttributeProto::TENSOR);
    Rope node;
    node.append_bytes_field(NodeMessage::kOutputFieldNumber, name);
    node.append_bytes_field(NodeMessage::kOpTypeFieldNumber, "Constant");
    node.append_message_field(NodeMessage::kAttributeFieldNumber, std::move(attribute));
    nodes_.append_message_field(GraphMessage::kNodeFieldNumber, std::move(node));
  }

  /// A constant that export itself needs; equal ones are written once.
  std::string parameter(const Constant& constant, std::string_view base) {
    auto& bucket = parameters_[constant.digest()];
    for (const auto& [known, name] : bucket)
      if (known == constant) return name;
    std::string name = names_->unique(name_of_parameter(constant, base));
    write_constant(name, constant);
    bucket.emplace_back(constant, name);
    return name;
  }

  /// The name of an initializer with the same contents, if the name is free: most likely it is that
  /// one.
  std::string name_of_parameter(const Constant& constant, std::string_view otherwise) const {
    for (const auto& [name, contents] : envelope_.small_initializers)
      if (contents == constant && !names_->is_taken(name)) return name;
    return std::string(otherwise);
  }

  std::string integers(const std::vector<std::int64_t>& elements, bool scalar) {
    std::vector<std::int64_t> sizes;
    if (!scalar || elements.size() != 1)
      sizes.push_back(static_cast<std::int64_t>(elements.size()));
    return parameter(Constant::of(DataType::i64, sizes, elements), "integers");
  }

  void append_node(const NodeMessage& message) {
    nodes_.append_bytes_field(GraphMessage::kNodeFieldNumber, message.SerializeAsString());
  }

  std::string write_size_node(std::string_view op, const std::vector<std::string>& inputs,
                              const std::map<std::string, std::int64_t>& attributes) {
    NodeMessage message;
    message.set_op_type(std::string(op));
    for (const std::string& input : inputs) message.add_input(input);
    const std::string output = names_->unique(fmt::format("size_{}", op));
    message.add_output(output);
    for (const auto& [name, value] : attributes) {
      auto& attribute = *message.add_attribute();
      attribute.set_name(name);
      attribute.set_type(::onnx::AttributeProto::INT);
      attribute.set_i(value);
    }
    append_node(message);
    return output;
  }

  void write_identity(ValueId value, const std::string& name) {
    NodeMessage message;
    message.set_op_type("Identity");
    message.add_input(names_->of(value));
    message.add_output(name);
    append_node(message);
  }

  Result<std::string> input_name(const Node& node, const OnnxInput& input) {
    if (const auto* operand = std::get_if<OnnxOperandInput>(&input)) {
      if (operand->operand >= node.inputs.size())
        return internal_error("the mapping names an operand that is not there");
      return name_of(node.inputs[operand->operand]);
    }
    if (const auto* sizes = std::get_if<OnnxIntegersInput>(&input)) {
      std::vector<SizedValue> nearby;
      for (const ValueId value : node.inputs)
        if (!value.is_none() && graph_.type(value).shape)
          nearby.push_back({name_of(value), &*graph_.type(value).shape});
      return sizes_->sizes(sizes->elements, sizes->scalar, nearby);
    }
    if (const auto* constant = std::get_if<Constant>(&input))
      return parameter(*constant, "parameter");
    return std::string();
  }

  Result<void> write_operation(NodeId id) {
    const Node& node = graph_.node(id);
    const ExportedCall& call = calls_.at(id);
    NodeMessage message;
    if (const std::string* remarks = remarks_of(node)) message.ParseFromString(*remarks);
    message.set_op_type(call.name);
    if (const std::string domain = canonical_domain(call.domain); !domain.empty()) {
      message.set_domain(domain);
      sets_.try_emplace(domain, 1);
    }
    if (const std::string name = node_name(node); !name.empty()) message.set_name(name);
    for (const OnnxInput& input : call.inputs) {
      LEMMA_ASSIGN_OR_RETURN(const std::string name, input_name(node, input));
      message.add_input(name);
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const std::size_t position = call.outputs.empty() ? i : call.outputs.at(i);
      while (message.output_size() < static_cast<int>(position)) message.add_output("");
      message.add_output(name_of(node.output(i)));
    }
    for (const auto& [name, value] : call.attributes)
      LEMMA_RETURN_IF_ERROR(write_attribute(name, value, message));
    for (const auto& [name, values] : call.strings) write_strings(name, values, message);
    LEMMA_ASSIGN_OR_RETURN(const std::string node_without_tensors,
                           without_stale_device_configurations(message.SerializeAsString()));
    Rope content;
    content.append(node_without_tensors);
    for (const auto& [name, constant] : call.tensors) {
      Rope attribute;
      attribute.append_bytes_field(::onnx::AttributeProto::kNameFieldNumber, name);
      attribute.append_message_field(::onnx::AttributeProto::kTFieldNumber,
                                     tensors_.tensor("", constant));
      attribute.append_varint_field(::onnx::AttributeProto::kTypeFieldNumber,
                                    ::onnx::AttributeProto::TENSOR);
      content.append_message_field(NodeMessage::kAttributeFieldNumber, std::move(attribute));
    }
    nodes_.append_message_field(GraphMessage::kNodeFieldNumber, std::move(content));
    return {};
  }

  /// Empty in a model whose nodes have none.
  std::string node_name(const Node& node) {
    const std::string given = given_name(node);
    if (given.empty() && !has_node_names()) return "";
    return only_node_name(!given.empty()
                              ? given
                              : fmt::format("{}/{}", graph_.op(node).name, name_of(node.output())));
  }

  bool has_node_names() {
    if (!has_node_names_)
      has_node_names_ = std::any_of(
          envelope_.node_remarks.begin(), envelope_.node_remarks.end(), [](const auto& remarks) {
            NodeMessage message;
            return message.ParseFromString(remarks.second) && !message.name().empty();
          });
    return *has_node_names_;
  }

  /// The name that it had in the file; empty if it had none.
  std::string given_name(const Node& node) const {
    const std::string* remarks = remarks_of(node);
    NodeMessage message;
    if (remarks != nullptr) message.ParseFromString(*remarks);
    return message.name();
  }

  /// Name, documentation, metadata and devices of the node in the file that made this value; null if it has none.
  const std::string* remarks_of(const Node& node) const {
    const auto entry = envelope_.node_remarks.find(graph_.suggested_name(node.output()));
    return entry != envelope_.node_remarks.end() ? &entry->second : nullptr;
  }

  /// ONNX Runtime refuses a graph in which two nodes have one name. The nodes of a local function have the
  /// names of its body wherever it is called.
  std::string only_node_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !node_names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  Result<void> write_opaque(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [name, value] : names_->aliases_before(id))
      if (written_aliases_.insert(name).second) write_identity(value, name);
    NodeMessage& message = opaque_.at(id);
    if (const std::string given = given_name(node); !given.empty())
      message.set_name(only_node_name(given));
    for (int i = 0; i < message.input_size(); ++i)
      message.set_input(i, names_->of(node.inputs[static_cast<std::size_t>(i)]));
    for (int i = 0; i < message.output_size(); ++i)
      if (!message.output(i).empty())
        message.set_output(i, names_->of(node.output(static_cast<std::uint32_t>(i))));
    if (opaque_outputs_ != nullptr && message.output_size() > 0)
      opaque_outputs_->insert(message.output(0));
    LEMMA_ASSIGN_OR_RETURN(const std::string stripped,
                           without_stale_device_configurations(message.SerializeAsString()));
    LEMMA_ASSIGN_OR_RETURN(
        Rope content, rewrite_tensors(stripped, MessageKind::node, [this](std::string_view tensor) {
          return tensors_.restored(tensor);
        }));
    nodes_.append_message_field(GraphMessage::kNodeFieldNumber, std::move(content));
    for_each_node(message, [this](const NodeMessage& inner) { needs_function(inner); });
    return {};
  }

  // ---- The rest of the model --------------------------------------------------------------------

  void needs_function(const NodeMessage& node) {
    const std::string key = function_key(node);
    if (envelope_.functions.contains(key) && functions_.insert(key).second)
      unread_functions_.push_back(key);
  }

  Result<Rope> functions() {
    while (!unread_functions_.empty()) {
      const std::string key = std::move(unread_functions_.back());
      unread_functions_.pop_back();
      ::onnx::FunctionProto function;
      if (!function.ParseFromString(envelope_.functions.at(key)))
        return internal_error("a function cannot be read back");
      for (const NodeMessage& node : function.node())
        for_each_node(node, [this](const NodeMessage& inner) { needs_function(inner); });
    }
    Rope out;
    for (const std::string& key : functions_) {
      LEMMA_ASSIGN_OR_RETURN(
          Rope content,
          rewrite_tensors(envelope_.functions.at(key), MessageKind::function,
                          [this](std::string_view tensor) { return tensors_.restored(tensor); }));
      out.append_message_field(::onnx::ModelProto::kFunctionsFieldNumber, std::move(content));
    }
    return out;
  }

  Result<void> write_overridable() {
    for (const auto& [name, tensor] : envelope_.overridable) {
      const bool is_input = std::any_of(
          graph_.inputs().begin(), graph_.inputs().end(),
          [&, &input = name](NodeId id) { return graph_.input_name(graph_.node(id)) == input; });
      if (!is_input) continue;
      LEMMA_ASSIGN_OR_RETURN(Rope content, tensors_.restored(tensor));
      initializers_.append_message_field(GraphMessage::kInitializerFieldNumber, std::move(content));
    }
    return {};
  }

  /// Values stay as they are declared, if they are. What is inferred may be called otherwise.
  void declare_unless_declared(const std::string& name, const TensorType& type,
                               ::onnx::ValueInfoProto& out) {
    const auto entry = envelope_.declarations.find(name);
    const bool is_declared = entry != envelope_.declarations.end() &&
                             out.ParseFromString(entry->second) &&
                             out.type().tensor_type().has_shape();
    // A number of axes that is wrong would be found out by a reader of the simpler graph.
    const bool is_right =
        is_declared && (!type.shape || out.type().tensor_type().shape().dim_size() ==
                                           static_cast<int>(type.rank()));
    if (!is_right) declare(name, type, out);
  }

  void declare(const std::string& name, const TensorType& type, ::onnx::ValueInfoProto& out) {
    if (const auto entry = envelope_.declarations.find(name); entry != envelope_.declarations.end())
      out.ParseFromString(entry->second);
    out.set_name(name);
    declare_type(type, size_names_, out);
  }

  /// Types that a reader could not find out by itself, or that the original declared.
  void declare_values() {
    std::set<std::string> outputs;
    for (const GraphOutput& output : graph_.outputs()) outputs.insert(output.name);
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        const std::string& name = names_->of(node.output(i));
        const TensorType& type = graph_.type(node.output(i));
        if (outputs.contains(name)) continue;
        const bool is_declared = envelope_.declarations.contains(name);
        if (is_declared || (node.kind == NodeKind::opaque && type.data_type != DataType::undefined))
          declare_unless_declared(name, type, *rest_.add_value_info());
      }
    }
  }

  Result<Rope> finish() {
    ::onnx::ModelProto header;
    header.ParseFromString(envelope_.header);
    rest_.MergeFrom(header.graph());
    rest_.set_name(graph_.name());
    GraphMessage inputs;  // real inputs come before declared initializers
    for (const NodeId id : graph_.inputs()) {
      const Node& node = graph_.node(id);
      declare(graph_.input_name(node), graph_.type(node.output()), *inputs.add_input());
    }
    for (auto& input : *rest_.mutable_input()) inputs.add_input()->Swap(&input);
    rest_.mutable_input()->Swap(inputs.mutable_input());
    for (const GraphOutput& output : graph_.outputs())
      declare_unless_declared(output.name, graph_.type(output.value), *rest_.add_output());
    repeat_outputs(envelope_.output_order, rest_);
    declare_values();
    keep_annotations(envelope_, *names_, rest_);

    LEMMA_ASSIGN_OR_RETURN(Rope functions_rope, functions());
    std::set<std::string> imported;
    for (const auto& import : header.opset_import())
      imported.insert(canonical_domain(import.domain()));
    // Without any import a model is of operator set 1; it must not seem to be of none.
    for (const auto& [domain, version] : sets_)
      if (!imported.contains(domain) && !(header.opset_import().empty() && domain.empty())) {
        auto& import = *header.add_opset_import();
        import.set_domain(domain);
        import.set_version(version);
      }
    header.clear_graph();

    Rope graph = std::move(nodes_);
    graph.append(rest_.SerializeAsString());
    graph.append(std::move(initializers_));
    Rope out;
    out.append(header.SerializeAsString());
    out.append_message_field(::onnx::ModelProto::kGraphFieldNumber, std::move(graph));
    out.append(std::move(functions_rope));
    if (keeps_training(graph_, live_, envelope_, *names_))
      for (const std::string& training : envelope_.training)
        out.append_bytes_field(::onnx::ModelProto::kTrainingInfoFieldNumber, training);
    return out;
  }

  std::string label(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string_view kind = "value";
    if (node.kind == NodeKind::operation) kind = graph_.op(node).name;
    if (node.kind == NodeKind::opaque) kind = graph_.opaque(node).name;
    return fmt::format("node '{}' ({})",
                       node.output_count != 0 ? names_->of(node.output()) : std::string(), kind);
  }

  const Graph& graph_;
  const ModelEnvelope::Data& envelope_;
  TensorWriter tensors_;
  OperatorSets sets_;
  std::string_view runtime_;
  const std::vector<NodeId>* given_order_;
  std::map<ValueId, std::string> names_of_runs_;        // of values that are computed again later
  std::set<std::string, std::less<>>* opaque_outputs_;  // may be null
  int set_ = 0;
  std::vector<NodeId> live_;
  OpaqueNodes opaque_;
  std::map<std::string, std::string> size_names_;  // by symbol
  std::optional<ValueNames> names_;
  std::optional<SizeNodes> sizes_;
  std::map<std::string, NodeId> source_nodes_;  // by symbol
  std::map<NodeId, ExportedCall> calls_;
  std::map<std::uint64_t, std::vector<std::pair<Constant, std::string>>> parameters_;
  std::set<std::string> written_aliases_, node_names_;
  std::optional<bool> has_node_names_;  // the file that came in has some
  std::set<std::string> functions_;
  std::vector<std::string> unread_functions_;
  Rope nodes_;
  Rope initializers_;
  GraphMessage rest_;
};

}  // namespace

Result<Rope> lay_out(const OnnxModel& model, const LayoutOptions& options) {
  return ModelWriter(model, options).run();
}

}  // namespace lemma::frontend
