#pragma once
// Builds the graph node by node: an operation where a record expresses the node, else an opaque one.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "facts/symbolic_values.h"
#include "frontend_onnx/computed_constants.h"
#include "frontend_onnx/functions.h"
#include "frontend_onnx/known_containers.h"
#include "frontend_onnx/subgraphs.h"
#include "frontend_onnx/tensor_source.h"
#include "ir/graph.h"
#include "ir/onnx_mapping.h"
#include "procedures/result_types.h"

namespace lemma::frontend {

/// What of a model is written out in the place of nodes that stand for it (ImportOptions::takes_branches).
struct Expansion {
  bool takes_branches = true;
  std::int64_t loop_limit = 0;          // on the nodes that one Loop or Scan becomes
  bool writes_out_recurrences = false;  // in the forms that their records leave out
};

class GraphBuilder {
 public:
  /// `evaluate`: of operations on constants; may be empty.
  GraphBuilder(const OperatorSets& sets, const TensorSource& source, Expansion expansion,
               EvaluateOperation evaluate = nullptr)
      : sets_(sets),
        source_(source),
        expansion_(expansion),
        computed_(graph_, std::move(evaluate)),
        loop_nodes_left_(4 * expansion.loop_limit) {}

  Graph& graph() { return graph_; }
  /// Gives a value its name in the file. Contents are those that may be relied upon, if it is an
  /// input whose contents are known.
  void name_value(const std::string& name, ValueId value);
  /// One more name for a value, by which nodes that follow may call it.
  void alias(const std::string& name, ValueId value) {
    if (!name.empty()) values_.insert_or_assign(name, value);
  }
  /// A name for a value that the file does not have: this one, or one like it where it is taken.
  std::string fresh_name(std::string name) const;
  void bind(ValueId input, Constant contents);
  /// A type that the file states for a value, for outputs of opaque nodes.
  void declare(const std::string& name, TensorType type) { declared_[name] = std::move(type); }
  /// Makes a size for an axis of a value that is not known, and says whether a size is such a one; without it outputs of
  /// opaque nodes have the types that the file declares, and no others.
  void take_unknown_sizes(std::function<Dimension(const std::string& value, std::size_t axis)> make,
                          std::function<bool(const Dimension& size)> is_unknown) {
    unknown_size_ = std::move(make);
    is_unknown_size_ = std::move(is_unknown);
  }
  /// Nodes whose first outputs have these names are opaque.
  void keep_opaque(std::set<std::string, std::less<>> outputs) {
    opaque_outputs_ = std::move(outputs);
  }
  /// States that something uses the value of that name; outputs nobody uses may be left out.
  void mark_used(const std::string& name) { used_.insert(name); }

  /// Whose own operators the file has.
  const std::set<std::string>& runtimes() const { return runtimes_; }
  /// Symbols of sizes with which the graph cannot run if they are 0: some node that its outputs need cannot. Outputs are
  /// known by now.
  std::set<std::string> positive_sizes() const;

  const ValueId* find(const std::string& name) const;
  /// The contents of a value that depends on constants alone; null if they are not known.
  const Constant* computed(ValueId value) { return computed_.find(value); }
  /// Whether one of the nodes since that position is not understood. What makes a sequence whose elements are known is.
  bool has_opaque_from(std::size_t first) const;
  /// Nodes in whose place others were added: a branch, a body for each step of a Loop or Scan, the element of a sequence.
  int taken_branches() const { return taken_branches_; }
  Result<void> add_node(const FlatNode& node);
  /// A tensor of the file under its name: a constant, or an opaque node for types that a Constant
  /// cannot hold.
  Result<void> add_tensor(const std::string& name, const ::onnx::TensorProto& tensor);
  /// Adds the nodes of a body. What it defines is named anew, after `place`, since two bodies may define one name;
  /// `names` are those of its inputs, and of constants that were added before; they become those of all that it defines
  /// and of its outputs. False if something is not understood.
  bool add_body(const ::onnx::GraphProto& body, const std::string& place, NameMap& names);
  /// The names of a body's constants, which steps of a loop share. `names` are those that add_body() gave.
  static NameMap constants_of(const ::onnx::GraphProto& body, const NameMap& names);

 private:
  struct Operands {
    std::vector<ValueId> values;
    std::vector<ValueId> captured;
  };
  Result<Operands> operands_of(const ::onnx::NodeProto& node) const;
  Result<bool> add_constant_node(const ::onnx::NodeProto& node);
  bool add_alias(const ::onnx::NodeProto& node, const Operands& operands);
  bool add_taken_branch(const ::onnx::NodeProto& node, const Operands& operands);
  bool add_unrolled_scan(const ::onnx::NodeProto& node);
  bool add_unrolled_loop(const ::onnx::NodeProto& node);
  bool add_unrolled_recurrence(const ::onnx::NodeProto& node);
  /// Gives the output its value, if the node takes something out of a sequence or an optional value that is known.
  bool add_container_part(const ::onnx::NodeProto& node, const Operands& operands);
  /// Looks at a node that was added: what it makes may be such a value.
  void remember_container(const ::onnx::NodeProto& node, const Operands& operands);
  bool expand(const ::onnx::NodeProto& node, const Operands& operands);
  Result<void> add_operation(const ::onnx::NodeProto& node, const Operands& operands);
  Result<void> add_opaque(const ::onnx::NodeProto& node, const Operands& operands,
                          std::string reason);
  bool says_all(const TensorType& type) const;
  void take_known(TensorType& type, const TensorType& inferred) const;
  void infer_opaque_types(const ::onnx::NodeProto& node, const Operands& operands,
                          std::vector<TensorType>& types);
  TensorType broadcast_type(const ::onnx::NodeProto& node, const Operands& operands,
                            const UnknownSize& unknown);
  Result<int> operator_set_of(const ::onnx::NodeProto& node) const;
  std::size_t used_outputs(const ::onnx::NodeProto& node) const;
  Result<OnnxCall> call_of(const ::onnx::NodeProto& node, int set,
                           std::span<const OnnxMatch> candidates, const Operands& operands) const;
  struct Applied {
    NodeId node;
    std::vector<std::size_t> outputs;  // at which outputs of the file's node those of `node` stand
  };
  Result<Applied> apply(const OnnxMatch& match, const OnnxCall& call, const Operands& operands);
  ValueId folded(ValueId value);
  bool compute_operands(const Operands& operands);
  Result<void> add_first_match(const ::onnx::NodeProto& node,
                               const std::vector<OnnxMatch>& candidates, int set,
                               const Operands& operands);
  bool has_fixed_types(const Operands& operands) const;
  Result<void> check_control_types(const ::onnx::NodeProto& node, const Operands& operands) const;
  bool is_wrong_for_all_sizes(const OnnxMatch& match, const OnnxCall& call,
                              const Operands& operands) const;

  const OperatorSets& sets_;
  const TensorSource& source_;
  Expansion expansion_;
  Graph graph_;
  ComputedConstants computed_;
  KnownContainers containers_;
  SymbolicValues known_;
  absl::flat_hash_map<std::string, ValueId> values_;
  std::map<ValueId, Constant> bound_;
  absl::flat_hash_map<std::string, TensorType> declared_;
  std::function<Dimension(const std::string&, std::size_t)> unknown_size_;
  std::function<bool(const Dimension&)> is_unknown_size_;
  absl::flat_hash_set<std::string> used_;
  std::set<std::string> runtimes_;
  std::set<std::string, std::less<>> opaque_outputs_;
  std::vector<std::pair<NodeId, std::string>> positive_sizes_;  // by the nodes that say so
  int taken_branches_ = 0;
  std::int64_t unrolled_nodes_ = 0;                                      // that Scans have become
  std::int64_t loop_nodes_left_;                                         // that Loops may become
  absl::flat_hash_map<std::string, std::vector<OnnxMatch>> candidates_;  // by domain and name
};

}  // namespace lemma::frontend
