#pragma once
// Types as model files declare them, and the names of symbolic sizes.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend_onnx/messages.h"
#include "ir/graph.h"
#include "ir/tensor_type.h"

namespace lemma::frontend {

/// Gives every named size (dim_param) its symbol, and every unnamed one a symbol of its own. Names in
/// a file are free text; symbols are words that rules and explanations can hold too.
class SizeSymbols {
 public:
  Dimension named(const std::string& parameter);
  Dimension unnamed(const std::string& value, std::size_t axis);
  /// Whether it is a symbol of an unnamed size, of which a file says nothing.
  bool is_unnamed(const Dimension& size) const;
  /// A shape that did not come from the file, whose symbols are names as in the file.
  Shape adopted(Shape shape);

  /// The name in the file for each symbol that has one.
  const std::map<std::string, std::string>& parameters() const { return parameters_; }

 private:
  std::string unique(std::string_view base);
  std::map<std::string, std::string> by_parameter_;
  std::map<std::string, std::string> parameters_;
  std::set<std::string> taken_;
};

/// The declared tensor type: undefined for what is no tensor, no shape where none is declared.
Result<TensorType> declared_type(const ::onnx::ValueInfoProto& value, SizeSymbols& symbols);

/// The names of sizes in a file, by symbol: those that it had (`parameters`), and those of sizes that several results of
/// opaque nodes have in common, because a reader would take each for a size of its own.
std::map<std::string, std::string> names_of_sizes(
    const Graph& graph, const std::vector<NodeId>& live,
    const std::map<std::string, std::string>& parameters);

/// Writes a type into a declaration, keeping what it says of sizes that `type` has no file name for.
void declare_type(const TensorType& type, const std::map<std::string, std::string>& parameters,
                  ::onnx::ValueInfoProto& value);

}  // namespace lemma::frontend
