#include "frontend_onnx/graph_builder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/body_types.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/node_attributes.h"
#include "frontend_onnx/node_meaning.h"
#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

using NodeMessage = ::onnx::NodeProto;

void GraphBuilder::name_value(const std::string& name, ValueId value) {
  if (name.empty()) return;
  values_.insert_or_assign(name, value);
  graph_.suggest_name(value, name);
}

void GraphBuilder::bind(ValueId input, Constant contents) {
  if (!is_real(contents.type().data_type)) {
    const auto integers = contents.integers();
    known_.set(input, Shape(integers.begin(), integers.end()));
  }
  bound_.insert_or_assign(input, std::move(contents));
}

const ValueId* GraphBuilder::find(const std::string& name) const {
  const auto entry = values_.find(name);
  return entry != values_.end() ? &entry->second : nullptr;
}

std::string GraphBuilder::fresh_name(std::string name) const {
  while (values_.contains(name) || used_.contains(name)) name += "'";
  return name;
}

bool GraphBuilder::has_opaque_from(std::size_t first) const {
  const std::vector<Node>& nodes = graph_.nodes();
  return std::any_of(nodes.begin() + static_cast<long>(first), nodes.end(),
                     [this](const Node& node) {
                       return node.kind == NodeKind::opaque &&
                              (node.output_count != 1 || !containers_.has(node.output()));
                     });
}

/// Adds other nodes in the place of one that stands for them, if it does.
bool GraphBuilder::expand(const NodeMessage& node, const Operands& operands) {
  return expansion_.takes_branches &&
         (add_taken_branch(node, operands) || add_unrolled_scan(node) || add_unrolled_loop(node) ||
          add_container_part(node, operands));
}

Result<void> GraphBuilder::add_node(const FlatNode& flat) {
  const NodeMessage& node = *flat.node;
  auto added = [&]() -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const Operands operands, operands_of(node));
    if (!flat.opaque_reason.empty()) return add_opaque(node, operands, flat.opaque_reason);
    if (node.output_size() > 0 && opaque_outputs_.contains(node.output(0)))
      return add_opaque(node, operands, "it was when the file was written");
    LEMMA_ASSIGN_OR_RETURN(const bool constant, add_constant_node(node));
    if (constant || expand(node, operands)) return {};
    auto operation = add_operation(node, operands);
    if (operation || add_alias(node, operands)) return {};
    if (operation.error().kind == ErrorKind::bad_input) return operation;
    if (expansion_.writes_out_recurrences && add_unrolled_recurrence(node)) return {};
    LEMMA_RETURN_IF_ERROR(add_opaque(node, operands, std::move(operation.error().message)));
    if (expansion_.takes_branches) remember_container(node, operands);
    return {};
  }();
  if (!added) return with_context(label(flat), std::move(added.error()));
  return {};
}

Result<GraphBuilder::Operands> GraphBuilder::operands_of(const NodeMessage& node) const {
  Operands operands;
  for (const std::string& input : node.input()) {
    const ValueId* value = input.empty() ? nullptr : find(input);
    if (value == nullptr && !input.empty())
      return bad_input(fmt::format("input '{}' is not defined", input));
    operands.values.push_back(value != nullptr ? *value : ValueId::none());
  }
  for (const std::string& name : captured_names(node)) {
    const ValueId* value = find(name);
    if (value == nullptr)
      return bad_input(fmt::format("'{}', used in a subgraph, is not defined", name));
    operands.captured.push_back(*value);
  }
  return operands;
}

namespace {

/// Identity, or a Dropout that does not train and whose mask nobody asks for.
bool hands_on_its_operand(const NodeMessage& node) {
  if (!canonical_domain(node.domain()).empty() || node.output_size() != 1) return false;
  if (node.op_type() == "Identity") return true;
  return node.op_type() == "Dropout" && (node.input_size() < 3 || node.input(2).empty());
}

}  // namespace

/// Adds an alias. What hands on a value of unknown type is that value: an opaque node would hide where
/// it comes from.
bool GraphBuilder::add_alias(const NodeMessage& node, const Operands& operands) {
  if (!hands_on_its_operand(node) || operands.values.empty() || operands.values[0].is_none())
    return false;
  if (graph_.type(operands.values[0]).is_known()) return false;
  values_.insert_or_assign(node.output(0), operands.values[0]);
  return true;
}

// ---- Constants ----------------------------------------------------------------------------------

Result<void> GraphBuilder::add_tensor(const std::string& name, const ::onnx::TensorProto& tensor) {
  auto constant = constant_from(tensor, source_);
  if (constant) {
    const ValueId value = graph_.add_constant(std::move(*constant));
    known_.update(graph_, graph_.producer(value));
    name_value(name, value);
    return {};
  }
  if (constant.error().kind != ErrorKind::unsupported)
    return with_context(fmt::format("tensor '{}'", name), std::move(constant.error()));
  NodeMessage node;
  node.set_op_type("Constant");
  node.add_output(name);
  auto& attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = tensor;
  return add_opaque(node, {}, std::move(constant.error().message));
}

/// Whether the node was a constant that the graph can hold.
Result<bool> GraphBuilder::add_constant_node(const NodeMessage& node) {
  if (node.op_type() != "Constant" || !canonical_domain(node.domain()).empty()) return false;
  if (node.attribute_size() != 1 || node.output_size() != 1 || node.output(0).empty()) return false;
  const auto& attribute = node.attribute(0);
  if (!attribute.ref_attr_name().empty()) return false;
  const std::string& name = attribute.name();
  if (name == "value" && attribute.has_t()) {
    LEMMA_RETURN_IF_ERROR(add_tensor(node.output(0), attribute.t()));
    return true;
  }
  std::optional<Constant> constant;
  if (name == "value_float") {
    constant = Constant::scalar_f32(attribute.f());
  } else if (name == "value_int") {
    constant = Constant::of(DataType::i64, {}, std::vector<std::int64_t>{attribute.i()});
  } else if (name == "value_floats") {
    const std::vector<float> elements(attribute.floats().begin(), attribute.floats().end());
    constant = Constant::of(DataType::f32, {attribute.floats_size()}, elements);
  } else if (name == "value_ints") {
    constant = Constant::of_integers({attribute.ints().begin(), attribute.ints().end()});
  } else {
    return false;
  }
  const ValueId value = graph_.add_constant(std::move(*constant));
  known_.update(graph_, graph_.producer(value));
  name_value(node.output(0), value);
  return true;
}

// ---- Branches -----------------------------------------------------------------------------------

namespace {

bool is_constant_node(const NodeMessage& node) {
  return node.op_type() == "Constant" && canonical_domain(node.domain()).empty() &&
         node.output_size() == 1 && !node.output(0).empty();
}

/// Null if the node is no If, or its condition is no constant.
const ::onnx::GraphProto* taken_branch(const NodeMessage& node, const Constant* condition) {
  if (node.op_type() != "If" || !canonical_domain(node.domain()).empty()) return nullptr;
  if (condition == nullptr || condition->type().data_type != DataType::boolean ||
      condition->bytes().size() != 1)
    return nullptr;
  const std::string wanted =
      condition->bytes().front() != std::byte{0} ? "then_branch" : "else_branch";
  for (const auto& attribute : node.attribute())
    if (attribute.name() == wanted && attribute.has_g()) return &attribute.g();
  return nullptr;
}

}  // namespace

NameMap GraphBuilder::constants_of(const ::onnx::GraphProto& body, const NameMap& names) {
  NameMap constants;
  const auto take = [&](const std::string& name) {
    if (const auto known = names.find(name); known != names.end()) constants.insert(*known);
  };
  for (const auto& tensor : body.initializer()) take(tensor.name());
  for (const NodeMessage& node : body.node())
    if (is_constant_node(node)) take(node.output(0));
  return constants;
}

bool GraphBuilder::add_body(const ::onnx::GraphProto& body, const std::string& place,
                            NameMap& names) {
  const NameMap given = names;
  const auto define = [&](const std::string& name) {
    if (!name.empty()) names[name] = fresh_name(fmt::format("{}/{}", place, name));
  };
  const auto renamed = [&names](const std::string& name) {
    const auto entry = names.find(name);
    return entry != names.end() ? entry->second : name;
  };
  for (const auto& tensor : body.initializer()) {
    if (given.contains(tensor.name())) continue;
    define(tensor.name());
    if (!add_tensor(renamed(tensor.name()), tensor)) return false;
  }
  std::vector<NodeMessage> nodes;
  for (const NodeMessage& inner : body.node()) {
    if (is_constant_node(inner) && given.contains(inner.output(0))) continue;
    for (const std::string& output : inner.output()) define(output);
    nodes.push_back(inner);
  }
  for (NodeMessage& inner : nodes) {
    rename_captures(inner, names);
    for (std::string& input : *inner.mutable_input()) mark_used(input = renamed(input));
    for (std::string& output : *inner.mutable_output()) output = renamed(output);
    for (const std::string& name : captured_names(inner)) mark_used(name);
  }
  for (const auto& output : body.output()) mark_used(renamed(output.name()));
  for (const NodeMessage& inner : nodes)
    if (!add_node({&inner, 0, ""})) return false;
  for (const auto& output : body.output()) {
    const std::string name = renamed(output.name());
    if (find(name) == nullptr) return false;
    names[output.name()] = name;
  }
  return true;
}

/// Adds the branch in place of the node. False, and the node is to be opaque, if it is no such node, or
/// something in the branch is not understood.
bool GraphBuilder::add_taken_branch(const NodeMessage& node, const Operands& operands) {
  if (node.op_type() != "If" || operands.values.empty() || operands.values.front().is_none())
    return false;
  const Constant* condition = computed_.find(operands.values.front());
  const ::onnx::GraphProto* branch = taken_branch(node, condition);
  if (branch == nullptr || branch->output_size() != node.output_size() ||
      branch->sparse_initializer_size() != 0)
    return false;
  NameMap names;
  if (!add_body(*branch, node.output(0), names)) return false;
  for (int i = 0; i < node.output_size(); ++i)
    name_value(node.output(i), *find(names.at(branch->output(i).name())));
  ++taken_branches_;
  return true;
}

// ---- Operations ---------------------------------------------------------------------------------

Result<int> GraphBuilder::operator_set_of(const NodeMessage& node) const {
  const std::string domain = canonical_domain(node.domain());
  const auto entry = sets_.find(domain);
  if (entry == sets_.end())
    return bad_input(fmt::format("the model imports no operator set of domain '{}'", domain));
  if (!domain.empty()) return entry->second;
  // Each record says from which set on it is right. Files are written for `oldest_operator_set` or newer ones.
  if (entry->second < 1)
    return bad_input(fmt::format("operator set {} is older than the first one", entry->second));
  if (entry->second > newest_operator_set)
    return unsupported(
        fmt::format("operator set {} is newer than {}, the newest that is understood",
                    entry->second, newest_operator_set));
  return entry->second;
}

/// Outputs up to the last one that something uses; at least one.
std::size_t GraphBuilder::used_outputs(const NodeMessage& node) const {
  int count = node.output_size();
  while (count > 1 && !used_.contains(node.output(count - 1))) --count;
  return static_cast<std::size_t>(count);
}

Result<OnnxCall> GraphBuilder::call_of(const NodeMessage& node, int set,
                                       std::span<const OnnxMatch> candidates,
                                       const Operands& operands) const {
  OnnxCall call;
  call.name = node.op_type();
  call.opset = set;
  // How many parts a Split has is part of its meaning; other outputs are asked for or not.
  const bool any_number = std::any_of(candidates.begin(), candidates.end(), [](const auto& match) {
    return match.record->outputs.maximum < 0;
  });
  call.output_count =
      any_number ? static_cast<std::size_t>(node.output_size()) : used_outputs(node);
  for (int i = 0; i < node.output_size(); ++i)
    call.used_outputs.push_back(!node.output(i).empty() && used_.contains(node.output(i)));
  LEMMA_RETURN_IF_ERROR(read_attributes(node, source_, call));
  for (std::size_t i = 0; i < operands.values.size(); ++i) {
    const ValueId value = operands.values[i];
    OnnxOperand& operand = call.inputs.emplace_back();
    if (value.is_none()) continue;
    operand.type = graph_.type(value);
    if (!operand.type.is_known())
      return unsupported(fmt::format("input {} has the type {}", i, text(operand.type)));
    operand.constant = graph_.constant_of(value);
    if (const auto bound = bound_.find(value); bound != bound_.end())
      operand.constant = &bound->second;
    operand.elements = known_.find(value);
  }
  return call;
}

Result<GraphBuilder::Applied> GraphBuilder::apply(const OnnxMatch& match, const OnnxCall& call,
                                                  const Operands& operands) {
  LEMMA_ASSIGN_OR_RETURN(ImportedCall imported, import_call(*match.record, *match.mapping, call));
  std::vector<ValueId> inputs;
  for (const int position : imported.inputs) {
    if (position >= static_cast<int>(operands.values.size()))
      return internal_error("the mapping names an input that is not there");
    inputs.push_back(position < 0 ? ValueId::none()
                                  : operands.values[static_cast<std::size_t>(position)]);
  }
  Applied applied;
  if (imported.outputs) {
    applied.outputs = std::move(*imported.outputs);
  } else {
    applied.outputs.resize(call.output_count);
    std::iota(applied.outputs.begin(), applied.outputs.end(), 0);
  }
  LEMMA_ASSIGN_OR_RETURN(
      applied.node, graph_.add_operation(operator_named(match.record->name), std::move(inputs),
                                         std::move(imported.attributes), applied.outputs.size()));
  for (const Dimension& size : imported.positive_sizes)
    if (const auto symbol = size.as_symbol()) positive_sizes_.emplace_back(applied.node, *symbol);
  return applied;
}

std::set<std::string> GraphBuilder::positive_sizes() const {
  std::set<std::string> result;
  const std::vector<NodeId> live = graph_.live_nodes();
  for (const auto& [node, symbol] : positive_sizes_)
    if (std::binary_search(live.begin(), live.end(), node)) result.insert(symbol);
  return result;
}

/// Whether a call is wrong for all sizes. With sizes that are not known, shapes that cannot be
/// shown to agree may still do at run time. What is wrong with the attributes or the number of
/// operands is wrong for all sizes.
bool GraphBuilder::is_wrong_for_all_sizes(const OnnxMatch& match, const OnnxCall& call,
                                          const Operands& operands) const {
  if (has_fixed_types(operands)) return true;
  auto imported = import_call(*match.record, *match.mapping, call);
  if (!imported) return imported.error().kind == ErrorKind::bad_input;
  std::vector<TensorType> types;
  for (const int position : imported->inputs)
    types.push_back(position < 0 ? TensorType{}
                                 : call.inputs[static_cast<std::size_t>(position)].type);
  const auto completed =
      complete_attributes(*match.record, types, std::move(imported->attributes), call.output_count);
  return !completed && completed.error().kind == ErrorKind::bad_input;
}

bool GraphBuilder::has_fixed_types(const Operands& operands) const {
  return std::all_of(operands.values.begin(), operands.values.end(), [this](ValueId value) {
    if (value.is_none()) return true;
    const Shape* elements = known_.find(value);
    return graph_.type(value).shape && is_constant(*graph_.type(value).shape) &&
           (elements == nullptr || is_constant(*elements));
  });
}

Result<void> GraphBuilder::add_operation(const NodeMessage& node, const Operands& operands) {
  if (node.op_type().empty()) return bad_input("it has no operator");
  if (node.output_size() == 0 || !operands.captured.empty())
    return unsupported(node.output_size() == 0 ? "it has no outputs" : "it has subgraphs");
  LEMMA_ASSIGN_OR_RETURN(const int set, operator_set_of(node));
  const std::string domain = canonical_domain(node.domain());
  auto [cached, is_new] = candidates_.try_emplace(domain + "." + node.op_type());
  if (is_new) cached->second = onnx_candidates(domain, node.op_type(), set);
  if (cached->second.empty())
    return unsupported(fmt::format("operator '{}{}{}' of operator set {} has no record", domain,
                                   domain.empty() ? "" : ".", node.op_type(), set));
  auto added = add_first_match(node, cached->second, set, operands);
  // A parameter may be computed by other nodes.
  if (!added && added.error().kind == ErrorKind::unsupported && compute_operands(operands))
    added = add_first_match(node, cached->second, set, operands);
  return added;
}

/// Binds what can be computed of the operands. False: nothing new is known.
bool GraphBuilder::compute_operands(const Operands& operands) {
  bool is_any_new = false;
  for (const ValueId value : operands.values) {
    if (value.is_none() || graph_.constant_of(value) != nullptr || bound_.contains(value)) continue;
    const Constant* contents = computed_.find(value);
    if (contents == nullptr) continue;
    bind(value, *contents);
    is_any_new = true;
  }
  return is_any_new;
}

/// Adds the operation of the first record that expresses the node.
Result<void> GraphBuilder::add_first_match(const NodeMessage& node,
                                           const std::vector<OnnxMatch>& candidates, int set,
                                           const Operands& operands) {
  LEMMA_ASSIGN_OR_RETURN(OnnxCall call, call_of(node, set, candidates, operands));
  const std::size_t used = call.output_count;
  const auto has_outputs = [&node](const OnnxMatch& match) {
    const int most =
        match.mapping->outputs != 0 ? match.mapping->outputs : match.record->outputs.maximum;
    return most < 0 || node.output_size() <= most;
  };
  if (std::none_of(candidates.begin(), candidates.end(), has_outputs))
    return bad_input(
        fmt::format("{} outputs are named, but {} has fewer", node.output_size(), node.op_type()));
  std::optional<Error> reason;
  for (const OnnxMatch& match : candidates) {
    // The operator has its least number of outputs whether or not somebody uses them.
    const auto least = static_cast<std::size_t>(std::max(match.record->outputs.minimum, 0));
    call.output_count =
        std::max(used, std::min(least, static_cast<std::size_t>(node.output_size())));
    auto applied = apply(match, call, operands);
    if (applied) {
      known_.update(graph_, applied->node);
      if (!match.mapping->runtime.empty()) runtimes_.insert(std::string(match.mapping->runtime));
      const lemma::Node operation = graph_.node(applied->node);  // a copy: folding adds nodes
      for (std::size_t i = 0; i < applied->outputs.size(); ++i) {
        const auto position = static_cast<int>(applied->outputs[i]);
        if (position < node.output_size())
          name_value(node.output(position),
                     folded(operation.output(static_cast<std::uint32_t>(i))));
      }
      return {};
    }
    Error& error = applied.error();
    if (error.kind == ErrorKind::bad_input && !is_wrong_for_all_sizes(match, call, operands))
      error.kind = ErrorKind::unsupported;
    // What one candidate finds wrong, another may still express.
    if (!reason || error.kind == ErrorKind::bad_input) reason = std::move(error);
  }
  if (reason->kind == ErrorKind::internal) reason->message.insert(0, "internal error: ");
  return tl::unexpected<Error>(std::move(*reason));
}

/// The value, or a constant in its place where its contents are known without symbols.
ValueId GraphBuilder::folded(ValueId value) {
  const Shape* elements = known_.find(value);
  const TensorType& type = graph_.type(value);
  if (elements == nullptr || !type.shape || graph_.constant_of(value) != nullptr) return value;
  const auto contents = constant_sizes(*elements);
  const auto sizes = constant_sizes(*type.shape);
  if (!contents || !sizes) return value;
  std::optional<Constant> constant;
  if (type.data_type == DataType::i64)
    constant = Constant::of(DataType::i64, *sizes, *contents);
  else if (type.data_type == DataType::i32)
    constant = Constant::of(DataType::i32, *sizes,
                            std::vector<std::int32_t>(contents->begin(), contents->end()));
  if (!constant || constant->element_count() != contents->size()) return value;
  const ValueId replacement = graph_.add_constant(std::move(*constant));
  known_.update(graph_, graph_.producer(replacement));
  return replacement;
}

// ---- Opaque nodes -------------------------------------------------------------------------------

/// The condition of an If, trip count and condition of a Loop.
Result<void> GraphBuilder::check_control_types(const NodeMessage& node,
                                               const Operands& operands) const {
  const bool is_if = node.op_type() == "If", is_loop = node.op_type() == "Loop";
  if (!canonical_domain(node.domain()).empty() || !(is_if || is_loop)) return {};
  const std::size_t count = std::min<std::size_t>(is_if ? 1 : 2, operands.values.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (operands.values[i].is_none()) continue;
    const DataType wanted = is_loop && i == 0 ? DataType::i64 : DataType::boolean;
    const DataType given = graph_.type(operands.values[i]).data_type;
    if (given != DataType::undefined && given != wanted)
      return bad_input(fmt::format("input {} is {}, not {}", i, name(given), name(wanted)));
  }
  return {};
}

/// The type of an elementwise operation whose operands broadcast in a way that their sizes do not tell; unknown for other
/// nodes.
TensorType GraphBuilder::broadcast_type(const NodeMessage& node, const Operands& operands,
                                        const UnknownSize& unknown) {
  const auto candidates = candidates_.find(canonical_domain(node.domain()) + "." + node.op_type());
  const auto set = operator_set_of(node);
  if (candidates == candidates_.end() || !set || node.output_size() != 1) return {};
  auto call = call_of(node, *set, candidates->second, operands);
  if (!call) return {};
  std::vector<TensorType> types;
  for (const OnnxOperand& operand : call->inputs) types.push_back(operand.type);
  const auto shape = broadcast_shape(types, unknown);
  if (!shape) return {};
  for (OnnxOperand& operand : call->inputs) operand.type.shape = Shape();
  for (const OnnxMatch& match : candidates->second) {
    if (!match.record->has(elementwise)) continue;
    auto imported = import_call(*match.record, *match.mapping, *call);
    if (!imported) continue;
    std::vector<TensorType> scalars;
    for (const int position : imported->inputs)
      scalars.push_back(position < 0 ? TensorType{}
                                     : call->inputs[static_cast<std::size_t>(position)].type);
    const auto result =
        infer_types(*match.record, Instance{scalars, imported->attributes, call->output_count});
    if (result && result->size() == 1) return {result->front().data_type, shape};
  }
  return {};
}

/// Whether there is nothing to be found out of a type that the file declares.
bool GraphBuilder::says_all(const TensorType& type) const {
  return type.is_known() &&
         std::none_of(type.shape->begin(), type.shape->end(),
                      [this](const Dimension& size) { return is_unknown_size_(size); });
}

/// Takes what a type does not say, a whole shape or a size, from an inferred one.
void GraphBuilder::take_known(TensorType& type, const TensorType& inferred) const {
  if (!inferred.is_known()) return;
  if (!type.is_known()) {
    type = inferred;
  } else if (type.data_type == inferred.data_type && type.rank() == inferred.rank()) {
    for (std::size_t axis = 0; axis < type.rank(); ++axis)
      if (is_unknown_size_((*type.shape)[axis]) && !is_unknown_size_((*inferred.shape)[axis]))
        (*type.shape)[axis] = (*inferred.shape)[axis];
  }
}

/// Fills in what is certain of the types, and of their sizes, that the file does not declare.
void GraphBuilder::infer_opaque_types(const NodeMessage& node, const Operands& operands,
                                      std::vector<TensorType>& types) {
  if (!unknown_size_ || std::all_of(types.begin(), types.end(),
                                    [this](const TensorType& type) { return says_all(type); }))
    return;
  const UnknownSize unknown = [&](std::size_t output, std::size_t axis) {
    const std::string& name = node.output(static_cast<int>(output));
    return unknown_size_(name.empty() ? node.op_type() : name, axis);
  };
  OnnxCall call;
  call.name = node.op_type();
  call.output_count = types.size();
  std::vector<TensorType> given;
  for (const ValueId value : operands.values) {
    given.push_back(value.is_none() ? TensorType{} : graph_.type(value));
    call.inputs.push_back({given.back(), nullptr, nullptr});
  }
  if (!read_attributes(node, source_, call)) return;
  std::vector<TensorType> inferred = result_types(call, canonical_domain(node.domain()), unknown);
  const std::vector<TensorType> of_bodies = body_types(node, given, unknown);
  for (std::size_t k = 0; k < types.size(); ++k) {
    take_known(types[k], of_bodies[k]);
    take_known(types[k], inferred[k]);
    if (!types[k].is_known()) types[k] = broadcast_type(node, operands, unknown);
  }
}

Result<void> GraphBuilder::add_opaque(const NodeMessage& node, const Operands& operands,
                                      std::string reason) {
  // Export will read this data: what is wrong with it is the model's fault, to be said now.
  std::optional<Error> error;
  for_each_tensor(node, [&](const ::onnx::TensorProto& tensor) {
    auto located = source_.locate(tensor);
    if (!located && !error) error = std::move(located.error());
  });
  if (error) return tl::unexpected<Error>(std::move(*error));
  LEMMA_RETURN_IF_ERROR(check_control_types(node, operands));
  std::vector<TensorType> types;
  for (const std::string& output : node.output()) {
    const auto declared = declared_.find(output);
    types.push_back(declared != declared_.end() ? declared->second : TensorType{});
  }
  infer_opaque_types(node, operands, types);
  std::vector<ValueId> inputs = operands.values;
  inputs.insert(inputs.end(), operands.captured.begin(), operands.captured.end());
  // Names of nodes say nothing of what is computed; the envelope keeps them.
  NodeMessage unnamed = node;
  unnamed.clear_name();
  LEMMA_ASSIGN_OR_RETURN(std::string meaning, meaning_of(unnamed, source_));
  std::string label = fmt::format("{}", fmt::join(node.output(), " "));
  const NodeId id = graph_.add_opaque(
      {canonical_domain(node.domain()), node.op_type(), unnamed.SerializeAsString(),
       std::move(reason), std::move(meaning), std::move(label)},
      std::move(inputs), std::move(types));
  for (int i = 0; i < node.output_size(); ++i)
    name_value(node.output(i), graph_.node(id).output(static_cast<std::uint32_t>(i)));
  return {};
}

}  // namespace lemma::frontend
