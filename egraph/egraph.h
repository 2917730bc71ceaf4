#pragma once
// The e-graph over tensor values: engine/egraph.h over one language.
//
// Meaning. All e-nodes of one class compute the same value whatever the graph's inputs are, with the
// same elements undefined (docs/semantics.md). A class may contain itself below one of its nodes
// (x = x * 1); choosing one node for each class without running in circles is the matter of
// extraction.
//
// Facts (facts/value_facts.h). What one node of a class shows holds for the class. They are a least
// fixpoint: a fact follows from facts that were there before, and none is ever taken back.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "egraph/enode.h"
#include "engine/egraph.h"
#include "facts/value_facts.h"
#include "ir/graph.h"

namespace lemma {

class EGraph;

/// What the engine asks of tensors; its functions work on the tables of the e-graph. Definitions:
/// egraph/tensor_language.cpp.
struct TensorLanguage {
  using Graph = EGraph;                    // of which the functions below know the tables
  using Label = ENodeLabel;                // all of a node but its children
  struct Data {                            // what is known of a class
    TypeId type;                           // of the value, or those of a tuple's outputs
    FactsId facts;                         // all that its nodes have shown
    std::uint8_t narrowings = 0;           // of bounds so far
    bool weight_only = false;              // some node needs no graph input and no opaque node
    std::uint32_t constant = 0xffffffffU;  // position, if the class holds a constant
  };

  static const ENodeLabel& label_of(const EGraph& egraph, FormId form);  // of nodes of this form
  /// Operators and projections are looked for by matching.
  static std::uint32_t symbol_of(const ENodeLabel& label) { return symbol(label.kind, label.op); }
  /// One for each operator and one for all projections; `no_symbol` for other kinds. `op` counts for operations alone.
  static std::uint32_t symbol(ENodeKind kind, OperatorId op) {
    if (kind == ENodeKind::operation) return op.v + 1U;
    return kind == ENodeKind::projection ? projections : engine::no_symbol;
  }
  static constexpr std::uint32_t projections = 0;  // their symbol

  ///@{
  /// What engine::OwnAnalysis asks for: they keep facts, what is weight-only and what is observed.
  static Data found(EGraph& egraph, ENodeId id);
  static void adopt(EGraph& egraph, ClassId home, ENodeId id);
  static void united(EGraph& egraph, ClassId kept, ClassId gone, const Data& known);
  static void restore(EGraph& egraph);
  ///@}
};

/// An e-graph of tensor values. It owns types, attributes, constants and opaque operators, which nodes name by number.
class EGraph : public engine::EGraph<TensorLanguage> {
 public:
  // Terms.

  /// Adds the inputs of the graph and what its outputs need; to be called once, before anything else
  /// is added. Returns the class of each value; none for values that are not needed.
  /// `inputs`: facts of the graph's inputs, in order; those of a model's inputs if it is empty.
  std::vector<ClassId> add_graph(const Graph& graph, std::span<const ValueFacts> inputs = {});
  ClassId add_constant(const Constant& constant);  // equal constants are one class
  /// Completes attributes and infers types; the class is a tuple if output_count > 1.
  Result<ClassId> add_operation(OperatorId op, std::span<const ClassId> children,
                                AttributesId attributes, std::uint32_t output_count = 1);
  /// The same for attributes that have no number yet.
  Result<ClassId> add_operation(OperatorId op, std::span<const ClassId> children,
                                Attributes attributes, std::uint32_t output_count = 1);
  /// Output of a tuple.
  ClassId add_projection(ClassId tuple, std::uint32_t output);
  AttributesId intern(Attributes attributes);  // equal ones get one number

  // The same in two stages, for adding many nodes of one form.

  struct Inferred {      // of one operator on given types
    bool valid = false;  // well typed: `form` and `type` count, else `error`
    FormId form;         // with complete attributes
    TypeId type;         // of what the operator gives
    std::string error;   // why it is not valid
  };
  static constexpr TypeId absent_type{0xffffffffU};  // of an absent optional operand
  /// Inferred once and kept; the reference lasts as long as the e-graph.
  const Inferred& infer(OperatorId op, std::span<const TypeId> operands, AttributesId attributes,
                        std::uint32_t output_count);
  FormId projection_form(TypeId tuple, std::uint32_t output);        // `output` counts from 0
  TypeId type_of(FormId form) const { return forms_[form.v].type; }  // of what such nodes give
  /// The children must have the types that the form says, and their trailing absent ones left out.
  /// `home` must have the type of the form.
  using engine::EGraph<TensorLanguage>::add;

  // Equalities.

  /// False if they were equal already. Values of different types cannot be equal: an internal error.
  Result<bool> unite(ClassId a, ClassId b);

  // Reading.

  /// An estimate: that of the engine, and the tables of this class.
  std::size_t memory_bytes() const;

  std::size_t form_count() const { return forms_.size(); }  // the numbers of forms are below it
  /// A node of this form, without children.
  const ENode& node_of(FormId form) const { return forms_[form.v].node; }
  /// The forms of operations of this operator, ascending.
  const std::vector<FormId>& forms_of(OperatorId op) const {
    static const std::vector<FormId> none;
    return op.v < operator_forms_.size() ? operator_forms_[op.v] : none;
  }
  /// ascending.
  const std::vector<FormId>& forms_of_projections() const { return projection_forms_; }
  /// The types of the children; absent_type for none.
  std::span<const TypeId> operand_types(FormId form) const { return forms_[form.v].operands; }
  using engine::EGraph<TensorLanguage>::may_have_node;
  using engine::EGraph<TensorLanguage>::may_have_parent;
  ///@{
  /// False only if no node of a canonical class, or no parent of it, is of this kind and operator.
  bool may_have_node(ClassId id, ENodeKind kind, OperatorId op) const {
    return may_have_node(id, TensorLanguage::symbol(kind, op));
  }
  bool may_have_parent(ClassId id, ENodeKind kind, OperatorId op) const {
    return may_have_parent(id, TensorLanguage::symbol(kind, op));
  }
  ///@}
  ///@{
  /// Ascending; without duplicates after rebuild().
  const std::vector<ENodeId>& nodes_of(OperatorId op) const {
    return nodes_with(TensorLanguage::symbol(ENodeKind::operation, op));
  }
  const std::vector<ENodeId>& projections() const {
    return nodes_with(TensorLanguage::projections);
  }
  ///@}

  /// The class need not be canonical.
  TypeId type_id(ClassId id) const { return data(find(id)).type; }
  /// One type for a value; one for each output for a tuple.
  const std::vector<TensorType>& types(ClassId id) const { return types_[type_id(id).v]; }
  const TensorType& type(ClassId id) const { return types(id).front(); }    // of the first output
  const TensorType& type(TypeId id) const { return types_[id.v].front(); }  // of the first output
  /// Types of a node's children, undefined for absent ones, as Instance wants them.
  std::vector<TensorType> input_types(ENodeId id) const;
  /// Some node of the class depends on no graph input and no opaque node.
  bool weight_only(ClassId id) const { return data(find(id)).weight_only; }
  /// The node's own inputs are weight-only (then it can be computed ahead of time).
  bool weight_only(ENodeId id) const;
  /// What is known of the class's value, or of the outputs of its tuple.
  const std::vector<ValueFacts>& facts(ClassId id) const { return facts_[data(find(id)).facts.v]; }
  /// Equal facts have equal numbers.
  FactsId facts_id(ClassId id) const { return data(find(id)).facts; }
  const std::vector<ValueFacts>& facts(FactsId id) const { return facts_[id.v]; }  // by output
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
  /// Number 0: none.
  const Attributes& attributes(AttributesId id) const { return attributes_[id.v]; }
  /// Of an operation: complete ones.
  const Attributes& attributes(const ENode& node) const { return attributes_[node.payload]; }
  /// Of a node of kind `constant`.
  const Constant& constant(const ENode& node) const { return constants_[node.payload]; }
  /// The contents of a class that holds a constant; null otherwise.
  const Constant* constant_of(ClassId id) const;
  /// Of a node of kind `opaque`.
  const OpaqueOperator& opaque(const ENode& node) const { return opaques_[node.payload]; }
  /// Of a node of kind `input`.
  const std::string& input_name(const ENode& node) const { return input_names_[node.payload]; }

  // What to_graph() needs from the graph that was added.

  struct Output {      // of the graph that was added
    std::string name;  // as the graph has it
    ClassId value;     // as add_graph() found it, perhaps not canonical any more
  };
  const std::string& graph_name() const { return graph_name_; }    // "graph" before add_graph()
  const std::vector<Output>& outputs() const { return outputs_; }  // in the order of the graph
  const std::vector<ENodeId>& inputs() const { return inputs_; }   // in the order of the graph
  /// Suggested names by founding class, in order of node.
  const std::vector<std::pair<ClassId, std::string>>& names() const { return names_; }
  /// Nodes with smaller numbers came from add_graph.
  std::uint32_t original_id_limit() const { return original_id_limit_; }

  /// Everything that the engine and this class promise; for tests and debugging. To be called after
  /// rebuild().
  Result<void> check_invariants() const;

 private:
  friend struct TensorLanguage;
  struct Form {  // a node without children
    ENode node;
    TypeId type;
    bool never_weight_only = false;
    absl::InlinedVector<TypeId, 4> operands;
  };
  using InferenceKey = absl::InlinedVector<std::uint32_t, 8>;

  TypeId intern(std::vector<TensorType> types);
  FormId intern_form(const ENode& node, std::span<const TypeId> operands, TypeId type,
                     bool never_weight_only);
  FormId intern_form(const ENode& node, std::span<const ClassId> children, TypeId type,
                     bool never_weight_only);
  ClassId add_leaf(ENodeKind kind, std::uint32_t payload, std::vector<TensorType> types);
  bool all_weight_only(std::span<const ClassId> children) const;
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

  std::uint32_t original_id_limit_ = 0;
  std::vector<ClassId> weight_changed_;
  std::vector<ClassId> facts_changed_;

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

inline const ENodeLabel& TensorLanguage::label_of(const EGraph& egraph, FormId form) {
  return egraph.node_of(form);
}

}  // namespace lemma

extern template class lemma::engine::EGraph<lemma::TensorLanguage>;
