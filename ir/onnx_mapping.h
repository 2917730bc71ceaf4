#pragma once
// The representation of an operator in ONNX files, as data of its record. It does not use protobuf:
// the front end converts between these structures and the messages.
//
// ONNX has moved many parameters from attributes to inputs over its versions (axes, pads, shapes).
// In Lemma a parameter is always an attribute; OnnxParameter says where each operator set carries
// it. An application whose parameter input is not known at import cannot be expressed by the
// record and becomes an opaque node.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ir/attributes.h"
#include "ir/constant.h"
#include "ir/tensor_type.h"

namespace lemma {

struct OperatorRecord;

/// An attribute of the record that ONNX carries as an input from some operator set on.
struct OnnxParameter {
  std::string_view attribute;  // name in the record, and of the ONNX attribute before `input_since`
  int input = 1;               // position among the ONNX inputs
  int input_since = 1;         // first operator set in which it is an input; 1 for always
};

/// What is known about one input of an ONNX node at import.
struct OnnxOperand {
  TensorType type;                     // undefined type: the input is absent
  const Constant* constant = nullptr;  // contents, if it is a constant
  const Shape* elements = nullptr;     // integer contents as dimensions, if known (also constants)
  bool present() const { return type.data_type != DataType::undefined; }
};

/// An ONNX node in neutral form. `attributes` has the ONNX names; integers and reals as stored,
/// element types as integers; a tensor attribute is in `tensors`.
struct OnnxCall {
  std::string_view name;
  int opset = 0;
  std::vector<OnnxOperand> inputs;
  Attributes attributes;
  std::vector<std::pair<std::string, Constant>> tensors;
  std::vector<std::pair<std::string, std::string_view>> others =
      {};  // graphs, ...: name, "a graph"
  std::vector<std::pair<std::string, std::vector<std::string>>> strings = {};  // lists of strings
  std::size_t output_count = 1;
  std::vector<bool> used_outputs = {};  // of those that the node names; empty: all are
  bool uses(std::size_t output) const {
    return output < output_count && (used_outputs.empty() || used_outputs[output]);
  }
};

/// How the record expresses the call: attributes, and which ONNX inputs are its operands
/// (-1: an absent optional one).
struct ImportedCall {
  Attributes attributes;
  std::vector<int> inputs;
  /// The ONNX outputs that are those of the record, also such that the node does not name; nothing: the same
  /// ones.
  std::optional<std::vector<std::size_t>> outputs = std::nullopt;
  /// Sizes with which the node cannot run if they are 0.
  std::vector<Dimension> positive_sizes = {};
};

/// An input of an exported node: operand i of the Lemma node, a constant, integers that may be
/// symbolic (written as an i64 vector, or i64 scalar), or nothing.
struct OnnxAbsent {};
struct OnnxOperandInput {
  std::size_t operand = 0;
};
struct OnnxIntegersInput {
  Shape elements;
  bool scalar = false;
};
using OnnxInput = std::variant<OnnxAbsent, OnnxOperandInput, OnnxIntegersInput, Constant>;

struct ShorterCall;

struct ExportedCall {
  std::string name;
  std::string domain;
  Attributes attributes;
  std::vector<std::pair<std::string, Constant>> tensors;
  std::vector<OnnxInput> inputs;
  std::vector<std::pair<std::string, std::vector<std::string>>> strings = {};  // lists of strings
  /// At which ONNX outputs those of the record stand; empty: at the same ones.
  std::vector<std::size_t> outputs = {};
  std::shared_ptr<const ShorterCall> shorter = nullptr;
};

/// Another form of the same call that computes fewer sizes; one that runs only if these sizes are not 0.
struct ShorterCall {
  ExportedCall call;
  std::vector<Dimension> positive_sizes;
};

struct OnnxMapping;
struct Instance;

/// Hooks for what parameters alone cannot say. They start from the result of the default rule.
/// An `unsupported` error makes the node opaque; its text is the reason shown by `lemma inspect`.
using OnnxImportHook = Result<ImportedCall> (*)(const OnnxCall& call, ImportedCall standard);
using OnnxExportHook = Result<ExportedCall> (*)(const Instance& instance, int opset,
                                                ExportedCall standard);

struct OnnxMapping {
  std::string_view name;
  int since = 1;  // operator sets in which this mapping is right
  int until = 1000;
  std::span<const OnnxParameter> parameters = {};
  OnnxImportHook import_hook = nullptr;
  OnnxExportHook export_hook = nullptr;
  bool import_only = false;  // other spellings (Sum for Add, ...) that export never chooses
  std::string_view domain = "";
  /// The runtime that alone has this form; empty: it is standard. `since` and `until` count operator sets of `domain`.
  std::string_view runtime = "";
  int outputs = 0;  // how many a node may name, where it is not as many as the record has
  bool takes_strings = false;  // the hook reads attributes that are lists of strings
};

/// The record and mapping for an ONNX operator at an operator set; nothing if there is none.
struct OnnxMatch {
  const OperatorRecord* record = nullptr;
  const OnnxMapping* mapping = nullptr;
};
/// All candidates in table order (several records may share a name, told apart by hooks).
std::vector<OnnxMatch> onnx_candidates(std::string_view domain, std::string_view name, int opset);

/// Default rule, then the mapping's hook. Attributes are those of the record's specification; ONNX
/// attributes without a counterpart there are an `unsupported` error unless they have no effect.
Result<ImportedCall> import_call(const OperatorRecord& record, const OnnxMapping& mapping,
                                 const OnnxCall& call);

/// The ONNX form of one application in a model of operator set `opset`: a standard one, or else one of `runtime`, if
/// one is named.
Result<ExportedCall> export_call(const OperatorRecord& record, const Instance& instance, int opset,
                                 std::string_view runtime = "");

}  // namespace lemma
