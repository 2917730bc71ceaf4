#pragma once
// Opaque nodes of an imported model at run time: attributes, and the graphs that stand for a node once more is known
// of its operands than at import.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"
#include "ir/run_time_value.h"
#include "procedures/procedure.h"

namespace lemma {

/// A body of a node: a branch of an If, the steps of a Loop, a Scan or a SequenceMap.
struct KeptBody {
  std::string attribute;
  std::vector<std::string> inputs;
  std::vector<TensorType> outputs;  // as declared; undefined for what is no tensor
};

/// An input of a graph that is made for a node or a body.
struct KnownInput {
  TensorType type;
  std::optional<Constant>
      contents;  // what may be relied upon, where an operator takes a parameter from an input
};

class KeptNode {
 public:
  /// The opaque operator of a graph that came with this envelope.
  static Result<KeptNode> read(const OpaqueOperator& op, ModelEnvelope envelope);

  const std::string& domain() const { return domain_; }
  const std::string& name() const { return name_; }
  int operator_set() const { return operator_set_; }  // of the domain; 0 if it is not imported
  /// The node's own inputs; those of the opaque node after them are captured by the bodies.
  std::size_t input_count() const { return input_count_; }
  std::size_t output_count() const { return output_count_; }
  /// What else of the file decides what the node computes: the versions of the operator sets of its operators, those in
  /// bodies included, and the local functions that are called there. Equal for nodes for which these are the same.
  Result<std::string> context() const;
  const NodeAttributes& attributes() const { return attributes_; }
  const std::vector<KeptBody>& bodies() const { return bodies_; }
  const KeptBody* body(std::string_view attribute) const;

  /// A graph of the node alone. The graph has an input "0", "1", ... for each of the node's that is present (its type is
  /// not undefined), and the node's outputs under such names, where the node has them. The node may be opaque in it
  /// again: opaque nodes of the graph belong to the same envelope.
  Result<Graph> alone(std::span<const KnownInput> inputs) const;
  /// The graph of a body. Its inputs are "0", "1", ..., first the body's own, then those that are captured, in the
  /// order of the opaque node's inputs. What the file declares of types within the body is not relied upon.
  Result<Graph> graph_of(const KeptBody& body, std::span<const KnownInput> own,
                         std::span<const KnownInput> captured) const;

 private:
  struct Message;
  KeptNode() : envelope_(nullptr) {}

  ModelEnvelope envelope_;
  std::shared_ptr<const Message> message_;
  std::string domain_, name_;
  int operator_set_ = 0;
  std::size_t input_count_ = 0, output_count_ = 0;
  NodeAttributes attributes_;
  std::vector<KeptBody> bodies_;
  std::vector<std::string> captured_;
};

}  // namespace lemma
