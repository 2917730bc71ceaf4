#pragma once
// An e-graph over tensor values: a set of terms and a congruence on them (Nelson and Oppen 1980;
// deferred rebuilding after Willsey et al., "egg", POPL 2021).
//
// Meaning. All e-nodes of one class compute the same value whatever the graph's inputs are, with the
// same elements undefined (docs/semantics.md). A class may contain itself below one of its nodes
// (x = x * 1); choosing one node for each class without running in circles is the matter of
// extraction.
//
// Facts (facts/value_facts.h). What one node of a class shows holds for the class. They are a least
// fixpoint: a fact follows from facts that were there before, and none is ever taken back.
//
// Canonical: find(c) == c. Children of e-nodes are canonical after rebuild(), not between unite()
// and rebuild(). Everything is ordered by number, so that two runs do the same.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "egraph/enode.h"
#include "egraph/node_table.h"
#include "facts/value_facts.h"
#include "ir/graph.h"

namespace lemma {

class EGraph {
 public:
  // Terms.

  /// Adds the inputs of the graph and what its outputs need; to be called once, before anything else
  /// is added. Returns the class of each value; none for values that are not needed.
  /// `inputs`: facts of the graph's inputs, in order; those of a model's inputs if it is empty.
  std::vector<ClassId> add_graph(const Graph& graph, std::span<const ValueFacts> inputs = {});
  ClassId add_constant(const Constant& constant);
  /// Completes attributes and infers types; the class is a tuple if output_count > 1.
  Result<ClassId> add_operation(OperatorId op, std::span<const ClassId> children,
                                AttributesId attributes, std::uint32_t output_count = 1);
  Result<ClassId> add_operation(OperatorId op, std::span<const ClassId> children,
                                Attributes attributes, std::uint32_t output_count = 1);
  /// Output of a tuple.
  ClassId add_projection(ClassId tuple, std::uint32_t output);
  AttributesId intern(Attributes attributes);

  // The same in two stages, for adding many nodes of one form.

  struct Inferred {  // of one operator on given types
    bool valid = false;
    FormId form;  // with complete attributes
    TypeId type;
    std::string error;
  };
  static constexpr TypeId absent_type{0xffffffffU};
  const Inferred& infer(OperatorId op, std::span<const TypeId> operands, AttributesId attributes,
                        std::uint32_t output_count);
  FormId projection_form(TypeId tuple, std::uint32_t output);
  TypeId type_of(FormId form) const { return forms_[form.v].type; }
  /// The children must have the types that the form says, and their trailing absent ones left out.
  /// A new node founds a class, unless it is to be part of `home` (of its own type, or none).
  ClassId add(FormId form, std::span<const ClassId> children, ClassId home = ClassId::none());

  // Whether a node is there, in two stages between which others can be asked for, so that memory is
  // waited for once. Children must be canonical.

  NodeTable::Key prefetch(FormId form, std::span<const ClassId> children) const {
    const NodeTable::Key key = key_of(form, children);
    table_.prefetch(key);
    return key;
  }
  /// The class as add() would return it; none if it is not there.
  ClassId known(const NodeTable::Key& key, std::span<const ClassId> children) const {
    return {lookup(key, children)};
  }

  // Equalities.

  /// False if they were equal already. Values of different types cannot be equal: an internal error.
  Result<bool> unite(ClassId a, ClassId b);
  /// Restores congruence: equal children make equal nodes. Cheap if nothing changed.
  void rebuild();
  /// Shortens paths. After rebuild() they are short: reading from several threads is safe then.
  ClassId find(ClassId id) const {
    std::uint32_t i = id.v, above = parent_of_[i];
    while (parent_of_[above] != above) {
      parent_of_[i] = parent_of_[above];
      i = above;
      above = parent_of_[i];
    }
    return {above};
  }

  // Reading. Duplicate nodes are left out by nodes() and parents() after rebuild().

  std::size_t node_count() const { return table_.size(); }  // without duplicates
  std::size_t id_count() const { return nodes_.size(); }    // with them
  std::size_t class_count() const { return class_count_; }
  std::size_t memory_bytes() const;

  const ENode& node(ENodeId id) const { return nodes_[id.v]; }
  void prefetch(ENodeId id) const { __builtin_prefetch(&nodes_[id.v]); }
  /// Kept apart from the nodes, because matching asks them of many nodes and no more of most.
  FormId form(ENodeId id) const { return form_of_[id.v]; }
  /// clock() when the children or the class of the node last changed.
  std::uint32_t stamp(ENodeId id) const { return stamp_of_[id.v]; }
  std::span<const ClassId> children(ENodeId id) const {
    const ENode& node = nodes_[id.v];
    return {node.child_count <= ENode::most_near ? node.near : &children_[node.near[0].v],
            node.child_count};
  }
  /// The children with which the node was added: classes as they were then, never renamed. The term of
  /// class id c is that of node c over the terms of these, which have smaller numbers.
  std::span<const ClassId> founding_children(ENodeId id) const;
  std::size_t form_count() const { return forms_.size(); }
  /// A node of this form, without children.
  const ENode& node_of(FormId form) const { return forms_[form.v].node; }
  /// The forms of operations of this operator, ascending.
  const std::vector<FormId>& forms_of(OperatorId op) const {
    static const std::vector<FormId> none;
    return op.v < operator_forms_.size() ? operator_forms_[op.v] : none;
  }
  const std::vector<FormId>& forms_of_projections() const { return projection_forms_; }
  /// The types of the children; absent_type for none.
  std::span<const TypeId> operand_types(FormId form) const { return forms_[form.v].operands; }
  /// The nodes of a canonical class.
  const std::vector<ENodeId>& nodes(ClassId id) const { return at(id).nodes; }
  const std::vector<ENodeId>& parents(ClassId id) const { return at(id).parents; }
  /// False only if no node among nodes(id), or parents(id), is of this kind and operator.
  bool may_have_node(ClassId id, ENodeKind kind, OperatorId op) const {
    return (at(id).node_kinds & kind_bit(kind, op)) != 0;
  }
  bool may_have_parent(ClassId id, ENodeKind kind, OperatorId op) const {
    return (at(id).parent_kinds & kind_bit(kind, op)) != 0;
  }
  const std::vector<ENodeId>& nodes_of(OperatorId op) const {
    static const std::vector<ENodeId> none;
    return op.v < operator_nodes_.size() ? operator_nodes_[op.v] : none;
  }
  const std::vector<ENodeId>& projections() const { return projections_; }

  TypeId type_id(ClassId id) const { return at(find(id)).type; }
  /// One type for a value; one for each output for a tuple.
  const std::vector<TensorType>& types(ClassId id) const { return types_[type_id(id).v]; }
  const TensorType& type(ClassId id) const { return types(id).front(); }
  const TensorType& type(TypeId id) const { return types_[id.v].front(); }
  /// Types of a node's children, undefined for absent ones, as Instance wants them.
  std::vector<TensorType> input_types(ENodeId id) const;
  /// Some node of the class depends on no graph input and no opaque node.
  bool weight_only(ClassId id) const { return at(find(id)).weight_only; }
  /// The node's own inputs are weight-only (then it can be computed ahead of time).
  bool weight_only(ENodeId id) const;
  /// What is known of the class's value, or of the outputs of its tuple.
  const std::vector<ValueFacts>& facts(ClassId id) const { return facts_[at(find(id)).facts.v]; }
  FactsId facts_id(ClassId id) const { return at(find(id)).facts; }
  const std::vector<ValueFacts>& facts(FactsId id) const { return facts_[id.v]; }
  /// What a node of this form would show. Operands with equal numbers are one value.
  FactsId facts_of(FormId form, std::span<const FactsId> operands, OperandIdentities identities,
                   Reads reads);
  /// Whether a read of such a node may lie outside its tensor for some contents of its operands.
  bool may_read_outside(FormId form);
  /// Something tells its undefined elements and infinities from others, and it may have some: only
  /// what keeps every bit may be said of it. As of the last rebuild().
  bool is_observed(ClassId id) const { return is_seen(find(id)); }
  /// An observed class has grown since: what is observed is known after rebuild() only.
  bool observation_is_stale() const { return observation_is_stale_; }
  /// This value is looked at by something outside the graph. To be called after add_graph().
  void observe(ClassId id) { observed_roots_.push_back(id); }
  const Attributes& attributes(AttributesId id) const { return attributes_[id.v]; }
  const Attributes& attributes(const ENode& node) const { return attributes_[node.payload]; }
  const Constant& constant(const ENode& node) const { return constants_[node.payload]; }
  /// The contents of a class that holds a constant; null otherwise.
  const Constant* constant_of(ClassId id) const;
  const OpaqueOperator& opaque(const ENode& node) const { return opaques_[node.payload]; }
  const std::string& input_name(const ENode& node) const { return input_names_[node.payload]; }

  /// Grows with every call of advance_clock(); changed nodes carry the time of their change.
  std::uint32_t clock() const { return clock_; }
  void advance_clock() { ++clock_; }

  // What to_graph() needs from the graph that was added.

  struct Output {
    std::string name;
    ClassId value;
  };
  const std::string& graph_name() const { return graph_name_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<ENodeId>& inputs() const { return inputs_; }
  /// Suggested names by founding class, in order of node.
  const std::vector<std::pair<ClassId, std::string>>& names() const { return names_; }
  /// Nodes with smaller numbers came from add_graph.
  std::uint32_t original_id_limit() const { return original_id_limit_; }

  /// Everything that the comments of this class promise; for tests and debugging. To be called
  /// after rebuild().
  Result<void> check_invariants() const;

 private:
  struct EClass {
    std::vector<ENodeId> nodes;
    std::vector<ENodeId> parents;
    std::uint64_t node_kinds = 0, parent_kinds = 0;  // of the nodes in these lists; see kind_bit()
    TypeId type;
    FactsId facts;
    std::uint8_t narrowings = 0;  // of bounds so far
    bool weight_only = false;
    std::uint32_t constant = 0xffffffffU;  // position, if the class holds a constant
  };
  struct Form {  // a node without children
    ENode node;
    TypeId type;
    bool never_weight_only = false;
    absl::InlinedVector<TypeId, 4> operands;
  };
  using InferenceKey = absl::InlinedVector<std::uint32_t, 8>;

  static constexpr std::uint32_t absent_place = 0xffffffffU;
  EClass& at(ClassId canonical) { return classes_[place_of_[canonical.v]]; }
  const EClass& at(ClassId canonical) const { return classes_[place_of_[canonical.v]]; }
  /// Operators share bits; other kinds share one.
  static std::uint64_t kind_bit(ENodeKind kind, OperatorId op) {
    return std::uint64_t{1} << (kind == ENodeKind::operation ? op.v % 63U : 63U);
  }
  TypeId intern(std::vector<TensorType> types);
  FormId intern_form(const ENode& node, std::span<const TypeId> operands, TypeId type,
                     bool never_weight_only);
  FormId intern_form(const ENode& node, std::span<const ClassId> children, TypeId type,
                     bool never_weight_only);
  std::span<ClassId> own_children(ENodeId id);
  static NodeTable::Key key_of(FormId form, std::span<const ClassId> children) {
    if (children.size() > ENode::most_near) return key_of_many(form, children);
    return {form.v, children.empty() ? NodeTable::absent : children[0].v,
            children.size() < 2 ? NodeTable::absent : children[1].v};
  }
  static NodeTable::Key key_of_many(FormId form, std::span<const ClassId> children);
  std::uint32_t lookup(const NodeTable::Key& key, std::span<const ClassId> children) const {
    return table_.find(key, [&](std::uint32_t i) {
      return children.size() <= ENode::most_near || has_children({i}, children);
    });
  }
  bool has_children(ENodeId id, std::span<const ClassId> children) const;
  ENodeId append(FormId form, std::span<const ClassId> canonical,
                 std::span<const ClassId> founding);
  void found_class(ENodeId id);
  void join_class(ENodeId id, ClassId home);
  ClassId add_leaf(ENodeKind kind, std::uint32_t payload, std::vector<TensorType> types);
  bool all_weight_only(std::span<const ClassId> children) const;
  void touch(const std::vector<ENodeId>& nodes);
  void repair(ENodeId id);
  void mark_duplicate(ENodeId id);
  void propagate_weight_only();
  FactsId intern(std::vector<ValueFacts> facts);
  FactsId facts_of(ENodeId id);
  /// Enters more facts of a class; parents learn of them in rebuild().
  void learn(ClassId canonical, FactsId more);
  const OperatorFacts& operator_facts(FormId form);
  bool observes(FormId form);
  void propagate_facts();
  void find_observed();
  bool is_seen(ClassId id) const { return id.v < observed_.size() && observed_[id.v] != 0; }
  void drop_duplicates();

  std::vector<ENode> nodes_;
  std::vector<FormId> form_of_;          // by node
  std::vector<std::uint32_t> stamp_of_;  // by node
  std::vector<ClassId> children_;        // of nodes with many; by ENode::near[0]
  std::vector<ClassId> founding_children_;
  std::vector<std::uint32_t> first_founding_child_;  // by node
  std::vector<EClass> classes_;                      // by place; canonical ones only
  std::vector<std::uint32_t> place_of_;  // by class number; absent_place if not canonical
  std::vector<std::uint32_t> free_places_;
  mutable std::vector<std::uint32_t> parent_of_;  // union-find
  NodeTable table_;
  std::size_t class_count_ = 0;
  std::size_t list_entries_ = 0;
  std::uint32_t clock_ = 1;
  std::uint32_t original_id_limit_ = 0;

  std::vector<std::vector<ENodeId>> operator_nodes_{all_operators().size()};
  std::vector<ENodeId> projections_;
  std::vector<ClassId> changed_;  // merged since the last rebuild
  std::vector<ClassId> weight_changed_;
  std::vector<ClassId> facts_changed_;
  std::vector<ENodeId> duplicates_;  // found by the rebuild that is going on

  std::vector<Attributes> attributes_ = {Attributes{}};
  absl::flat_hash_map<std::size_t, std::vector<std::uint32_t>> attributes_by_hash_;
  std::vector<std::vector<TensorType>> types_;
  absl::flat_hash_map<std::size_t, std::vector<std::uint32_t>> types_by_hash_;
  std::vector<Form> forms_;
  std::vector<std::vector<FormId>> operator_forms_{all_operators().size()};
  std::vector<FormId> projection_forms_;
  absl::flat_hash_map<InferenceKey, FormId> form_by_key_;
  absl::flat_hash_map<InferenceKey, std::unique_ptr<Inferred>> inferred_;

  std::vector<Constant> constants_;
  absl::flat_hash_map<std::size_t, std::vector<ClassId>> constants_by_hash_;
  std::vector<OpaqueOperator> opaques_;
  std::vector<std::string> input_names_;

  std::vector<std::vector<ValueFacts>> facts_;
  absl::flat_hash_map<std::size_t, std::vector<std::uint32_t>> facts_by_hash_;
  absl::flat_hash_map<InferenceKey, FactsId> facts_by_key_;
  std::vector<std::unique_ptr<OperatorFacts>> operator_facts_;  // by form
  std::vector<std::optional<bool>> form_observes_;              // by form; nothing: not asked yet
  std::vector<FactsId> facts_of_inputs_;                        // by position of the input
  std::vector<ENodeId> observers_;
  std::vector<ClassId> observed_roots_;
  std::vector<char> observed_;  // by class; empty if there are no observers
  bool observation_is_stale_ = false;
  bool adding_graph_ = false;

  std::string graph_name_ = "graph";
  std::vector<Output> outputs_;
  std::vector<ENodeId> inputs_;
  std::vector<std::pair<ClassId, std::string>> names_;
};

}  // namespace lemma
