#include "egraph/egraph.h"

#include <algorithm>

#include <absl/hash/hash.h>
#include <fmt/format.h>

namespace lemma {

// ---- Tables -----------------------------------------------------------------------------------

AttributesId EGraph::intern(Attributes attributes) {
  if (attributes.empty()) return {0};
  std::vector<std::uint32_t>& bucket = attributes_by_hash_[attributes.hash()];
  for (const std::uint32_t i : bucket)
    if (attributes_[i] == attributes) return {i};
  bucket.push_back(static_cast<std::uint32_t>(attributes_.size()));
  attributes_.push_back(std::move(attributes));
  return {bucket.back()};
}

TypeId EGraph::intern(std::vector<TensorType> types) {
  std::size_t hash = types.size();
  for (const TensorType& type : types)
    hash = absl::HashOf(hash, type.data_type, type.shape.has_value(), type.shape.value_or(Shape{}));
  std::vector<std::uint32_t>& bucket = types_by_hash_[hash];
  for (const std::uint32_t i : bucket)
    if (types_[i] == types) return {i};
  bucket.push_back(static_cast<std::uint32_t>(types_.size()));
  types_.push_back(std::move(types));
  return {bucket.back()};
}

FormId EGraph::intern_form(const ENode& node, std::span<const TypeId> operands, TypeId type,
                           bool never_weight_only) {
  InferenceKey key = {static_cast<std::uint32_t>(node.kind), node.op.v, node.payload,
                      node.output_count};
  for (const TypeId operand : operands) key.push_back(operand.v);
  const auto [where, inserted] =
      form_by_key_.try_emplace(std::move(key), FormId{static_cast<std::uint32_t>(forms_.size())});
  if (!inserted) return where->second;
  forms_.push_back({node, type, never_weight_only, {operands.begin(), operands.end()}});
  if (node.kind == ENodeKind::operation) {
    if (node.op.v >= operator_forms_.size()) operator_forms_.resize(node.op.v + std::size_t{1});
    operator_forms_[node.op.v].push_back(where->second);
  }
  if (node.kind == ENodeKind::projection) projection_forms_.push_back(where->second);
  return where->second;
}

FormId EGraph::intern_form(const ENode& node, std::span<const ClassId> children, TypeId type,
                           bool never_weight_only) {
  absl::InlinedVector<TypeId, 4> operands;
  for (const ClassId child : children)
    operands.push_back(child.is_none() ? absent_type : type_id(child));
  return intern_form(node, operands, type, never_weight_only);
}

// ---- Reading ----------------------------------------------------------------------------------

std::vector<TensorType> EGraph::input_types(ENodeId id) const {
  std::vector<TensorType> result;
  for (const ClassId child : children(id))
    result.push_back(child.is_none() ? TensorType{} : type(child));
  return result;
}

bool EGraph::all_weight_only(std::span<const ClassId> children) const {
  return std::all_of(children.begin(), children.end(),
                     [this](ClassId child) { return child.is_none() || weight_only(child); });
}

bool EGraph::weight_only(ENodeId id) const {
  return !forms_[form(id).v].never_weight_only && all_weight_only(children(id));
}

const Constant* EGraph::constant_of(ClassId id) const {
  const std::uint32_t position = data(find(id)).constant;
  return position < constants_.size() ? &constants_[position] : nullptr;
}

std::size_t EGraph::memory_bytes() const {
  return engine::EGraph<TensorLanguage>::memory_bytes() +
         512 * (types_.size() + attributes_.size()) + 256 * (inferred_.size() + forms_.size());
}

// ---- Terms ------------------------------------------------------------------------------------

ClassId EGraph::add_leaf(ENodeKind kind, std::uint32_t payload, std::vector<TensorType> types) {
  ENode node;
  node.kind = kind;
  node.payload = payload;
  node.output_count = static_cast<std::uint32_t>(types.size());
  return add(intern_form(node, std::span<const TypeId>(), intern(std::move(types)),
                         kind == ENodeKind::input),
             {});
}

ClassId EGraph::add_constant(const Constant& constant) {
  std::vector<ClassId>& bucket = constants_by_hash_[constant.hash()];
  for (const ClassId id : bucket)
    if (constants_[node({id.v}).payload] == constant) return id;
  const auto position = static_cast<std::uint32_t>(constants_.size());
  constants_.push_back(constant);
  bucket.push_back(add_leaf(ENodeKind::constant, position, {constant.type()}));
  return bucket.back();
}

const EGraph::Inferred& EGraph::infer(OperatorId op, std::span<const TypeId> operands,
                                      AttributesId attributes, std::uint32_t output_count) {
  InferenceKey key = {op.v, attributes.v, output_count};
  for (const TypeId operand : operands) key.push_back(operand.v);
  std::unique_ptr<Inferred>& entry = inferred_[key];
  if (entry) return *entry;
  entry = std::make_unique<Inferred>();
  std::vector<TensorType> inputs;
  for (const TypeId operand : operands) {
    const bool absent = operand == absent_type;
    inputs.push_back(absent ? TensorType{} : types_[operand.v].front());
    if (!absent && types_[operand.v].size() != 1) entry->error = "an operand is a tuple";
  }
  if (!entry->error.empty()) return *entry;
  const OperatorRecord& operator_record = record(op);
  auto complete =
      complete_attributes(operator_record, inputs, attributes_[attributes.v], output_count);
  if (!complete) {
    entry->error = complete.error().message;
    return *entry;
  }
  auto outputs = infer_types(operator_record, {inputs, *complete, output_count});
  if (!outputs) {
    entry->error = outputs.error().message;
    return *entry;
  }
  ENode node;
  node.op = op;
  node.payload = intern(std::move(*complete)).v;
  node.output_count = output_count;
  entry->valid = true;
  entry->type = intern(std::move(*outputs));
  entry->form = intern_form(node, operands, entry->type, operator_record.has(not_folded));
  return *entry;
}

Result<ClassId> EGraph::add_operation(OperatorId op, std::span<const ClassId> children,
                                      AttributesId attributes, std::uint32_t output_count) {
  while (!children.empty() && children.back().is_none())
    children = children.first(children.size() - 1);
  absl::InlinedVector<TypeId, 4> operands;
  for (const ClassId child : children)
    operands.push_back(child.is_none() ? absent_type : type_id(child));
  const Inferred& inferred = infer(op, operands, attributes, output_count);
  if (!inferred.valid) return bad_input(fmt::format("{}: {}", record(op).name, inferred.error));
  return add(inferred.form, children);
}

Result<ClassId> EGraph::add_operation(OperatorId op, std::span<const ClassId> children,
                                      Attributes attributes, std::uint32_t output_count) {
  return add_operation(op, children, intern(std::move(attributes)), output_count);
}

FormId EGraph::projection_form(TypeId tuple, std::uint32_t output) {
  ENode node;
  node.kind = ENodeKind::projection;
  node.payload = output;
  const TypeId type = intern(std::vector<TensorType>{types_[tuple.v][output]});
  return intern_form(node, std::span(&tuple, 1), type, false);
}

ClassId EGraph::add_projection(ClassId tuple, std::uint32_t output) {
  return add(projection_form(type_id(tuple), output), {&tuple, 1});
}

// ---- Graphs -----------------------------------------------------------------------------------

std::vector<ClassId> EGraph::add_graph(const Graph& graph, std::span<const ValueFacts> inputs) {
  adding_graph_ = true;
  std::vector<ClassId> values(graph.value_count());
  graph_name_ = graph.name();
  for (const NodeId id : graph.live_nodes()) {
    const Node& source = graph.node(id);
    std::vector<ClassId> children;
    for (const ValueId input : source.inputs)
      children.push_back(input.is_none() ? ClassId::none() : values[input.v]);
    ENode node;
    node.output_count = source.output_count;
    ClassId added;
    switch (source.kind) {
      case NodeKind::input:
        node.kind = ENodeKind::input;
        node.payload = static_cast<std::uint32_t>(input_names_.size());
        input_names_.push_back(graph.input_name(source));
        facts_of_inputs_.push_back(
            intern({facts_of_inputs_.size() < inputs.size()
                        ? inputs[facts_of_inputs_.size()]
                        : facts_of_input(graph.type(source.output()).data_type)}));
        added = add(
            intern_form(node, std::span<const TypeId>(), intern(graph.output_types(source)), true),
            {});
        inputs_.push_back({added.v});
        break;
      case NodeKind::constant: added = add_constant(graph.constant(source)); break;
      case NodeKind::opaque:
        node.kind = ENodeKind::opaque;
        node.payload = static_cast<std::uint32_t>(opaques_.size());
        opaques_.push_back(graph.opaque(source));
        added =
            add(intern_form(node, children, intern(graph.output_types(source)), true), children);
        break;
      case NodeKind::operation:
        // The graph has completed the attributes and inferred the types already.
        node.op = source.op;
        node.payload = intern(source.attributes).v;
        added = add(intern_form(node, children, intern(graph.output_types(source)),
                                graph.op(source).has(not_folded)),
                    children);
        break;
    }
    for (std::uint32_t k = 0; k < source.output_count; ++k) {
      const ValueId value = source.output(k);
      values[value.v] = source.output_count == 1 ? added : add_projection(added, k);
      if (const std::string& name = graph.suggested_name(value); !name.empty())
        names_.emplace_back(values[value.v], name);
    }
  }
  for (const GraphOutput& output : graph.outputs())
    outputs_.push_back({output.name, values[output.value.v]});
  original_id_limit_ = static_cast<std::uint32_t>(id_count());
  adding_graph_ = false;
  return values;
}

}  // namespace lemma
