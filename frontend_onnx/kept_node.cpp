#include "frontend_onnx/kept_node.h"

#include <deque>
#include <set>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/declared_types.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/graph_builder.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/node_attributes.h"
#include "frontend_onnx/node_meaning.h"
#include "frontend_onnx/subgraphs.h"
#include "frontend_onnx/value_file.h"

namespace lemma {

using frontend::GraphBuilder;
using NodeProto = ::onnx::NodeProto;

struct KeptNode::Message {
  NodeProto node;
};

namespace {

/// Tensors of strings are no constants; they are read here, all else as for any node.
Result<NodeAttributes> attributes_of(const NodeProto& node, const frontend::TensorSource& source) {
  NodeAttributes attributes;
  NodeProto others = node;
  others.clear_attribute();
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_t() && attribute.t().data_type() == ::onnx::TensorProto::STRING)
      attributes.tensors.emplace(attribute.name(), frontend::strings_from(attribute.t()));
    else
      *others.add_attribute() = attribute;
  }
  OnnxCall call;
  LEMMA_RETURN_IF_ERROR(frontend::read_attributes(others, source, call));
  attributes.values = std::move(call.attributes);
  for (auto& [name, tensor] : call.tensors) attributes.tensors.emplace(name, std::move(tensor));
  for (auto& [name, list] : call.strings) attributes.strings.emplace(name, std::move(list));
  return attributes;
}

Result<std::vector<KeptBody>> bodies_of(const NodeProto& node) {
  std::vector<KeptBody> bodies;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    KeptBody& body = bodies.emplace_back();
    body.attribute = attribute.name();
    for (const auto& input : attribute.g().input()) body.inputs.push_back(input.name());
    frontend::SizeSymbols symbols;
    for (const auto& output : attribute.g().output()) {
      LEMMA_ASSIGN_OR_RETURN(TensorType type, frontend::declared_type(output, symbols));
      body.outputs.push_back(std::move(type));
    }
  }
  return bodies;
}

/// Adds inputs under names of their own; what they are called in the file is known to the builder.
class GraphInputs {
 public:
  explicit GraphInputs(GraphBuilder& builder) : builder_(builder) {}

  Result<void> add(const std::string& name, const KnownInput& input) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                           builder_.graph().add_input(fmt::format("{}", count_++), input.type));
    builder_.name_value(name, value);
    if (input.contents) builder_.bind(value, *input.contents);
    return {};
  }
  void skip() { ++count_; }

 private:
  GraphBuilder& builder_;
  std::size_t count_ = 0;
};

Result<void> add_outputs(GraphBuilder& builder, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const ValueId* value = builder.find(names[i]);
    if (value == nullptr) return bad_input(fmt::format("output '{}' is not defined", names[i]));
    LEMMA_RETURN_IF_ERROR(builder.graph().add_output(fmt::format("{}", i), *value));
  }
  return {};
}

/// The nodes and tensors of a body.
Result<void> add_contents(GraphBuilder& builder, const ::onnx::GraphProto& body) {
  if (body.sparse_initializer_size() != 0) return unsupported("sparse initializers of a body");
  for (const NodeProto& node : body.node()) {
    for (const std::string& input : node.input()) builder.mark_used(input);
    for (const std::string& name : frontend::captured_names(node)) builder.mark_used(name);
  }
  for (const auto& output : body.output()) builder.mark_used(output.name());
  for (const auto& tensor : body.initializer())
    LEMMA_RETURN_IF_ERROR(builder.add_tensor(tensor.name(), tensor));
  int index = 0;
  for (const NodeProto& node : body.node())
    LEMMA_RETURN_IF_ERROR(builder.add_node({&node, index++, ""}));
  return {};
}

/// The operator sets and functions that a node depends on.
class ContextCollector {
 public:
  explicit ContextCollector(const ModelEnvelope::Data& data) : data_(data) {}

  Result<std::string> run(const NodeProto& root) {
    std::deque<NodeProto> waiting = {root};
    for (; !waiting.empty(); waiting.pop_front()) {
      frontend::for_each_node(waiting.front(), [this](const NodeProto& node) { add(node); });
      while (!called_.empty()) {
        const std::string& content = data_.functions.at(called_.front());
        LEMMA_ASSIGN_OR_RETURN(const std::string digest,
                               frontend::meaning_of_function(content, *data_.source));
        lines_.insert(fmt::format("function {} {}", called_.front(), digest));
        ::onnx::FunctionProto message;
        if (!message.ParseFromString(content)) return internal_error("a function cannot be read");
        for (const NodeProto& inner : message.node()) waiting.push_back(inner);
        called_.pop_front();
      }
    }
    return fmt::format("{}", fmt::join(lines_, "\n"));
  }

 private:
  void add(const NodeProto& node) {
    const std::string domain = frontend::canonical_domain(node.domain());
    if (const auto set = data_.operator_sets.find(domain); set != data_.operator_sets.end())
      lines_.insert(fmt::format("operator set '{}' {}", domain, set->second));
    const std::string key = frontend::function_key(node);
    if (data_.functions.contains(key) && seen_.insert(key).second) called_.push_back(key);
  }

  const ModelEnvelope::Data& data_;
  std::set<std::string> lines_, seen_;
  std::deque<std::string> called_;  // functions that are not read yet
};

}  // namespace

Result<std::string> KeptNode::context() const {
  return ContextCollector(envelope_.data()).run(message_->node);
}

Result<KeptNode> KeptNode::read(const OpaqueOperator& op, ModelEnvelope envelope) {
  KeptNode kept;
  auto message = std::make_shared<Message>();
  NodeProto& node = message->node;
  if (op.payload.empty() || !node.ParseFromString(op.payload))
    return unsupported(fmt::format("{} did not come from a file", op.name));
  kept.domain_ = op.domain;
  kept.name_ = op.name;
  const auto& sets = envelope.data().operator_sets;
  if (const auto entry = sets.find(op.domain); entry != sets.end())
    kept.operator_set_ = entry->second;
  kept.input_count_ = static_cast<std::size_t>(node.input_size());
  kept.output_count_ = static_cast<std::size_t>(node.output_size());
  kept.captured_ = frontend::captured_names(node);
  if (envelope.data().source == nullptr)
    return unsupported(fmt::format("{} did not come from a file", op.name));
  LEMMA_ASSIGN_OR_RETURN(kept.attributes_, attributes_of(node, *envelope.data().source));
  LEMMA_ASSIGN_OR_RETURN(kept.bodies_, bodies_of(node));
  kept.message_ = std::move(message);
  kept.envelope_ = std::move(envelope);
  return kept;
}

const KeptBody* KeptNode::body(std::string_view attribute) const {
  for (const KeptBody& body : bodies_)
    if (body.attribute == attribute) return &body;
  return nullptr;
}

Result<Graph> KeptNode::alone(std::span<const KnownInput> inputs) const {
  const ModelEnvelope::Data& data = envelope_.data();
  // No runtime takes the node in a form that has no record, so its steps stand for it.
  GraphBuilder builder(data.operator_sets, *data.source, {.writes_out_recurrences = true});
  GraphInputs added(builder);
  NodeProto node = message_->node;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_present = inputs[i].type.data_type != DataType::undefined;
    const std::string name = is_present ? fmt::format("input {}", i) : "";
    if (i < input_count_) node.set_input(static_cast<int>(i), name);
    if (is_present)
      LEMMA_RETURN_IF_ERROR(added.add(name, inputs[i]));
    else
      added.skip();
  }
  const std::vector<std::string> outputs(node.output().begin(), node.output().end());
  for (const std::string& output : outputs) builder.mark_used(output);
  LEMMA_RETURN_IF_ERROR(builder.add_node({&node, 0, ""}));
  LEMMA_RETURN_IF_ERROR(add_outputs(builder, outputs));
  return std::move(builder.graph());
}

Result<Graph> KeptNode::graph_of(const KeptBody& body, std::span<const KnownInput> own,
                                 std::span<const KnownInput> captured) const {
  const ModelEnvelope::Data& data = envelope_.data();
  GraphBuilder builder(data.operator_sets, *data.source, {});
  GraphInputs added(builder);
  if (own.size() != body.inputs.size())
    return bad_input(fmt::format("{} has {} inputs, but is given {}", body.attribute,
                                 body.inputs.size(), own.size()));
  for (std::size_t i = 0; i < own.size(); ++i)
    LEMMA_RETURN_IF_ERROR(added.add(body.inputs[i], own[i]));
  for (std::size_t i = 0; i < captured.size() && i < captured_.size(); ++i)
    LEMMA_RETURN_IF_ERROR(added.add(captured_[i], captured[i]));
  for (const auto& attribute : message_->node.attribute()) {
    if (attribute.name() != body.attribute || !attribute.has_g()) continue;
    LEMMA_RETURN_IF_ERROR(add_contents(builder, attribute.g()));
    std::vector<std::string> outputs;
    for (const auto& output : attribute.g().output()) {
      if (output.name().empty()) return bad_input("an output of a body has no name");
      outputs.push_back(output.name());
    }
    LEMMA_RETURN_IF_ERROR(add_outputs(builder, outputs));
  }
  return std::move(builder.graph());
}

}  // namespace lemma
