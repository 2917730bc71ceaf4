#pragma once
// Nodes that the file does not have, which stand in the place of one of its own: steps of a loop, elements of a sequence.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "frontend_onnx/graph_builder.h"

namespace lemma::frontend {

/// Adds nodes of the standard operators in the spelling of an operator set. Functions are false where the node is not
/// valid. Names of results are new ones (GraphBuilder::fresh_name) or those of the node that is replaced.
class NodeMaker {
 public:
  NodeMaker(GraphBuilder& builder, int operator_set)
      : builder_(builder), operator_set_(operator_set) {}

  bool add_integer(const std::string& name, std::int64_t value);
  bool add_integers(const std::string& name, const std::vector<std::int64_t>& values);
  bool add_boolean(const std::string& name, bool value);
  /// A scalar of a real type; false for types other than f32 and f64.
  bool add_real(const std::string& name, double value, DataType type);
  /// The element at a position of an axis, which goes.
  bool gather(const std::string& input, std::int64_t position, std::int64_t axis,
              const std::string& output);
  /// With a new axis of size 1, counted in the result.
  bool unsqueeze(const std::string& input, std::int64_t axis, const std::string& output);
  bool concat(const std::vector<std::string>& inputs, std::int64_t axis, const std::string& output);
  /// Parts of these sizes along an axis, one for each output.
  bool split(const std::string& input, const std::vector<std::int64_t>& sizes, std::int64_t axis,
             const std::vector<std::string>& outputs);

  /// A node of one output with these attributes, which are integers or reals.
  struct Attribute {
    std::string name;
    std::variant<std::int64_t, std::vector<std::int64_t>, float> value;
  };
  bool add(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
           const std::vector<Attribute>& attributes = {});

 private:
  bool add(const ::onnx::NodeProto& node);

  GraphBuilder& builder_;
  int operator_set_;
};

}  // namespace lemma::frontend
