#pragma once
// ONNX files in. Operators that have a record become operations; all else becomes opaque nodes,
// which export writes back as they were: an operator set below 7 or newer than we know, operators
// of unknown domains, nodes with subgraphs, nodes whose types or parameters are not known.
//
// Weights are views of the memory-mapped file (or of its external data files): they are neither
// read nor copied at import, and may be unaligned, as everywhere in a Constant. A mapped file must
// not be shortened while the model is in use; replacing it by renaming is safe.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"

namespace lemma {

/// How a file is read, and how much of it is turned into operations.
struct ImportOptions {
  /// Shapes of graph inputs by name, in place of the declared ones; may hold symbols.
  std::map<std::string, Shape, std::less<>> shapes;
  /// Contents of graph inputs that may be relied upon where an operator takes a parameter from an
  /// input. They stay inputs of the graph.
  std::map<std::string, Constant, std::less<>> bound_inputs;
  /// Names of the graph outputs that are kept; all of them if it is empty.
  std::vector<std::string> outputs;
  /// Whether files beside the model may be opened for weights.
  bool allow_external_data = true;
  /// Whether initializers that callers may override (also declared as inputs, IR version 4 on) count
  /// as constants. In older files every initializer is declared so, and they always count.
  bool fix_overridable_initializers = false;
  /// Whether the branch that the constant condition of an If takes stands in its place, in that of a Scan or Loop of a
  /// small known number of steps its body, once for each step, if all of it is understood, and in that of an element of a
  /// sequence, or the contents of an optional value, what was put there.
  bool takes_branches = true;
  /// Limit on the nodes that one Loop or Scan becomes: its steps times the nodes of its body. All of them become at most
  /// four times as many. 0: they stay loops.
  std::int64_t unrolled_node_limit = 2'000;
  /// Whether an LSTM, GRU or RNN that no record describes (peepholes, lengths of sequences, other activations) becomes its
  /// steps. A runtime that has the operator is faster with it.
  bool writes_out_recurrences = false;
  /// First outputs of nodes that are opaque whatever is known of their types.
  std::set<std::string, std::less<>> opaque_outputs;
  /// Computes an operation on constants (interpreter/constant_operation.h), so that parameters of operators and conditions
  /// of an If may be computed by other nodes; none: they have to be constants.
  std::function<Result<std::vector<Constant>>(const Node& node,
                                              std::span<const Constant* const> operands)>
      evaluate;
  /// Whether the types that the file declares for outputs of opaque nodes are theirs. If not, these types are not known,
  /// and what depends on them is opaque as well.
  bool trusts_declarations = true;
  /// Limit on the nodes that inlining of local functions may produce.
  std::size_t inlined_node_limit = 1'000'000;
};

/// Operator sets whose records are complete; nodes of others stay opaque.
inline constexpr int oldest_operator_set = 7;
inline constexpr int newest_operator_set = 28;  // of the domain of ONNX itself
inline constexpr int newest_ir_version = 14;    // a file of a newer one is refused

/// A model's file, which stays mapped while the model lives. Errors name the file.
Result<OnnxModel> import_model(const std::filesystem::path& path,
                               const ImportOptions& options = {});

/// A model in memory. `bytes` stay valid as long as `owner` lives; external data is looked for in
/// `folder`, and refused if that is empty.
Result<OnnxModel> import_model(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                               const std::filesystem::path& folder,
                               const ImportOptions& options = {});

}  // namespace lemma
