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

std::size_t EGraph::hash_of(const ENode& node, std::span<const ClassId> children) const {
  std::size_t hash = absl::HashOf(node.kind, node.op, node.payload, node.output_count);
  for (const ClassId child : children) hash = absl::HashOf(hash, child);
  return hash;
}

std::uint32_t EGraph::lookup(std::size_t hash, const ENode& node,
                             std::span<const ClassId> children) const {
  return table_.find(hash, [&](std::uint32_t i) {
    const ENode& other = nodes_[i];
    const auto others = this->children({i});
    return other.kind == node.kind && other.op == node.op && other.payload == node.payload &&
           other.output_count == node.output_count &&
           std::equal(children.begin(), children.end(), others.begin(), others.end());
  });
}

// ---- Reading ----------------------------------------------------------------------------------

ClassId EGraph::find(ClassId id) const {
  std::uint32_t i = id.v;
  while (parent_of_[i] != i) {
    parent_of_[i] = parent_of_[parent_of_[i]];
    i = parent_of_[i];
  }
  return {i};
}

std::span<const ClassId> EGraph::children(ENodeId id) const {
  const ENode& node = nodes_[id.v];
  return std::span(children_).subspan(node.first_child, node.child_count);
}

std::span<const ClassId> EGraph::founding_children(ENodeId id) const {
  const ENode& node = nodes_[id.v];
  return std::span(founding_children_).subspan(node.first_child, node.child_count);
}

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
  const ENodeKind kind = nodes_[id.v].kind;
  if (kind == ENodeKind::input || kind == ENodeKind::opaque) return false;
  if (kind == ENodeKind::operation && record(nodes_[id.v].op).has(not_folded)) return false;
  return all_weight_only(children(id));
}

const Constant* EGraph::constant_of(ClassId id) const {
  const std::uint32_t position = classes_[find(id).v].constant;
  return position < constants_.size() ? &constants_[position] : nullptr;
}

std::size_t EGraph::memory_bytes() const {
  return nodes_.capacity() * sizeof(ENode) + classes_.capacity() * sizeof(EClass) +
         (children_.capacity() + founding_children_.capacity()) * sizeof(ClassId) +
         parent_of_.capacity() * sizeof(std::uint32_t) + table_.bytes() +
         2 * list_entries_ * sizeof(ENodeId) + 512 * (types_.size() + attributes_.size()) +
         256 * inferred_.size();
}

// ---- Terms ------------------------------------------------------------------------------------

ClassId EGraph::append(ENode node, std::span<const ClassId> canonical,
                       std::span<const ClassId> founding, TypeId type, bool weight_only) {
  const ENodeId id{static_cast<std::uint32_t>(nodes_.size())};
  node.first_child = static_cast<std::uint32_t>(children_.size());
  node.child_count = static_cast<std::uint32_t>(canonical.size());
  node.stamp = clock_;
  children_.insert(children_.end(), canonical.begin(), canonical.end());
  founding_children_.insert(founding_children_.end(), founding.begin(), founding.end());
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    const bool repeated =
        std::find(canonical.begin(), canonical.begin() + static_cast<std::ptrdiff_t>(i),
                  canonical[i]) != canonical.begin() + static_cast<std::ptrdiff_t>(i);
    if (!canonical[i].is_none() && !repeated) classes_[canonical[i].v].parents.push_back(id);
  }
  nodes_.push_back(node);
  parent_of_.push_back(id.v);
  EClass& own = classes_.emplace_back();
  own.nodes.push_back(id);
  own.type = type;
  own.weight_only = weight_only;
  if (node.kind == ENodeKind::constant) own.constant = node.payload;
  ++class_count_;
  list_entries_ += 2 + canonical.size();
  if (node.kind == ENodeKind::operation) {
    operator_nodes_.resize(all_operators().size());
    operator_nodes_[node.op.v].push_back(id);
  }
  if (node.kind == ENodeKind::projection) projections_.push_back(id);
  return id.founded();
}

ClassId EGraph::add(ENode node, std::span<const ClassId> children, TypeId type, bool weight_only) {
  absl::InlinedVector<ClassId, 4> canonical(children.begin(), children.end());
  for (ClassId& child : canonical)
    if (!child.is_none()) child = find(child);
  const std::size_t hash = hash_of(node, canonical);
  if (const std::uint32_t found = lookup(hash, node, canonical); found != NodeTable::absent)
    return {found};
  const ClassId id = append(node, canonical, children, type, weight_only);
  table_.insert(hash, id.v);
  return id;
}

ClassId EGraph::add_leaf(ENodeKind kind, std::uint32_t payload, std::vector<TensorType> types) {
  ENode node;
  node.kind = kind;
  node.payload = payload;
  node.output_count = static_cast<std::uint32_t>(types.size());
  return add(node, {}, intern(std::move(types)), kind == ENodeKind::constant);
}

ClassId EGraph::add_constant(const Constant& constant) {
  std::vector<ClassId>& bucket = constants_by_hash_[constant.hash()];
  for (const ClassId id : bucket)
    if (constants_[nodes_[id.v].payload] == constant) return id;
  const auto position = static_cast<std::uint32_t>(constants_.size());
  constants_.push_back(constant);
  bucket.push_back(add_leaf(ENodeKind::constant, position, {constant.type()}));
  return bucket.back();
}

const EGraph::Inferred& EGraph::infer(OperatorId op, std::span<const ClassId> children,
                                      AttributesId attributes, std::uint32_t output_count) {
  InferenceKey key = {op.v, attributes.v, output_count};
  for (const ClassId child : children)
    key.push_back(child.is_none() ? 0xffffffffU : type_id(child).v);
  std::unique_ptr<Inferred>& entry = inferred_[key];
  if (entry) return *entry;
  entry = std::make_unique<Inferred>();
  std::vector<TensorType> inputs;
  for (const ClassId child : children) {
    inputs.push_back(child.is_none() ? TensorType{} : type(child));
    if (!child.is_none() && types(child).size() != 1) entry->error = "an operand is a tuple";
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
  entry->valid = true;
  entry->attributes = intern(std::move(*complete));
  entry->type = intern(std::move(*outputs));
  return *entry;
}

Result<ClassId> EGraph::add_operation(OperatorId op, std::span<const ClassId> children,
                                      AttributesId attributes, std::uint32_t output_count) {
  while (!children.empty() && children.back().is_none())
    children = children.first(children.size() - 1);
  const Inferred& inferred = infer(op, children, attributes, output_count);
  if (!inferred.valid) return bad_input(fmt::format("{}: {}", record(op).name, inferred.error));
  ENode node;
  node.op = op;
  node.payload = inferred.attributes.v;
  node.output_count = output_count;
  return add(node, children, inferred.type,
             !record(op).has(not_folded) && all_weight_only(children));
}

Result<ClassId> EGraph::add_operation(OperatorId op, std::span<const ClassId> children,
                                      Attributes attributes, std::uint32_t output_count) {
  return add_operation(op, children, intern(std::move(attributes)), output_count);
}

ClassId EGraph::add_projection(ClassId tuple, std::uint32_t output) {
  ENode node;
  node.kind = ENodeKind::projection;
  node.payload = output;
  const TypeId type = intern(std::vector<TensorType>{types(tuple)[output]});
  return add(node, {&tuple, 1}, type, weight_only(tuple));
}

// ---- Graphs -----------------------------------------------------------------------------------

std::vector<ClassId> EGraph::add_graph(const Graph& graph) {
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
        added = add(node, {}, intern(graph.output_types(source)), false);
        inputs_.push_back({added.v});
        break;
      case NodeKind::constant: added = add_constant(graph.constant(source)); break;
      case NodeKind::opaque:
        node.kind = ENodeKind::opaque;
        node.payload = static_cast<std::uint32_t>(opaques_.size());
        opaques_.push_back(graph.opaque(source));
        added = add(node, children, intern(graph.output_types(source)), false);
        break;
      case NodeKind::operation:
        // The graph has completed the attributes and inferred the types already.
        node.op = source.op;
        node.payload = intern(source.attributes).v;
        added = add(node, children, intern(graph.output_types(source)),
                    !graph.op(source).has(not_folded) && all_weight_only(children));
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
  original_id_limit_ = static_cast<std::uint32_t>(nodes_.size());
  return values;
}

}  // namespace lemma
