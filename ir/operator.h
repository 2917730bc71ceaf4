#pragma once
// The operator record: everything Lemma knows about one operator, in one place. Interpreter,
// generator, verifier, cost model, code generation and the ONNX front end read the same record, so
// that they agree.
//
// To add an operator, add one record to a file of operators/ (see CONTRIBUTING.md).
//
// The meaning is either a definition (an index expression, ir/definition.h) or a composition of
// other operators; exactly one of the two is given.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/attributes.h"
#include "ir/constraints.h"
#include "ir/definition.h"
#include "ir/onnx_mapping.h"
#include "ir/tensor_type.h"

namespace lemma {

class Graph;
struct ValueId;

/// One application of an operator, as its record's functions see it: input types and complete,
/// normalized attributes. An absent optional input has an undefined type.
struct Instance {
  std::span<const TensorType> inputs;  // by operand; whoever made the instance owns them
  const Attributes& attributes;        // as complete_attributes() gives them
  std::size_t output_count = 1;        // how many outputs the node has (variadic operators)
  Constraints* constraints = nullptr;  // takes what is demanded of sizes, if anyone asks

  /// Operand i is there; false behind the last one, too.
  bool has(std::size_t i) const {
    return i < inputs.size() && inputs[i].data_type != DataType::undefined;
  }
  /// Of an operand of known rank.
  const Shape& shape(std::size_t i) const { return *inputs[i].shape; }
  /// Of an operand of known rank.
  std::size_t rank(std::size_t i) const { return inputs[i].shape->size(); }
  DataType type(std::size_t i) const { return inputs[i].data_type; }  // undefined for an absent one

  /// Demands of sizes. Each is false where it is certainly wrong: the shape rule then says what is; what is open
  /// is taken for granted.
  bool are_equal(const Dimension& a, const Dimension& b) const;
  bool is_at_most(const Dimension& a, const Dimension& b) const;        // a <= b
  bool divides(const Dimension& divisor, const Dimension& size) const;  // without a remainder
  /// Notes a demand that the shape rule decides by itself; true if it has to go on whatever it finds.
  bool assumes(ConstraintKind kind, const Dimension& a, const Dimension& b) const;
};

/// What the value of an attribute stands for, and so how it is normalized.
enum class AttributeRole : std::uint8_t {
  plain,
  axis,         // an axis of input 0: negative values count from the end, and are normalized away
  axes,         // several of them; sorted
  output_axes,  // axes of the output, whose rank is that of input 0 plus their number (Unsqueeze)
  // Those from here on are brought into canonical form by the record's own function, if at all.
  listed_axes,   // axes of input 0 in the order of other lists
  permutation,   // of the axes of input 0
  output_shape,  // the shape of the output
  // A real attribute whose value the record's own functions need: the shape of the output depends on it, say.
  // In proofs it is a number; an application with a symbol is refused.
  number,
  groups,  // cuts axis 1 of input 0 and axis 0 of input 1, its filters, into as many parts
};

/// Whether the attribute names axes that are normalized by its role alone.
constexpr bool names_axes(AttributeRole role) {
  return role == AttributeRole::axis || role == AttributeRole::axes ||
         role == AttributeRole::output_axes;
}

/// What a record says of one of its attributes.
struct AttributeSpecification {
  std::string_view name;                        // as in ONNX, where ONNX has it
  AttributeKind kind = AttributeKind::integer;  // of all its values
  /// Text of the default in the textual form; "required" and "optional" (may be absent) are special.
  std::string_view default_text = "required";
  AttributeRole role = AttributeRole::plain;  // decides how it is normalized
  /// What a string may be; empty: what the record's own functions accept.
  std::span<const std::string_view> choices = {};
};

/// Algebraic and structural properties, combined with |.
enum OperatorFlag : std::uint32_t {
  no_flags = 0,
  elementwise = 1U << 0,    // output element depends on the same (broadcast) element of each input
  commutative = 1U << 1,    // in inputs 0 and 1
  data_movement = 1U << 2,  // elements are copied, never computed with
  view = 1U << 3,           // same elements in the same order: no data need move (Reshape, ...)
  linear = 1U << 4,         // linear in each input separately (multilinear)
  not_folded = 1U << 5,     // stays in the model even on constants: it says how they are stored
  // Not shown among the properties in docs/operators.md:
  broadcasting = 1U << 6,     // not elementwise, but leading axes are broadcast
  keeps_axes = 1U << 7,       // axes stay in place, counted from the end; none are broadcast
  reads_inside = 1U << 8,     // affine positions are inside: the output's shape follows from them
  spatial = 1U << 9,          // axes from 2 on are spatial, of any number
  sized_by_reals = 1U << 10,  // real attributes decide on sizes of the output
  recurrent =
      1U << 11,  // goes along axis 0 of input 0; over n + 1 steps it is composed of itself over n
};

/// How many operands, or outputs, there may be; optional ones that are absent count up to the last that is there.
struct Arity {
  int minimum = 1;  // operands below this number must not be absent
  int maximum = 1;  // -1: any number
};

/// The shape rule; by output.
using InferFunction = Result<std::vector<TensorType>> (*)(const Instance&);
using DefineFunction = Definition (*)(const Instance&);  // asked for well-typed applications only
/// Builds the equivalent of the node from other operators in `graph`; returns its outputs.
using ComposeFunction = Result<std::vector<ValueId>> (*)(Graph& graph, const Instance&,
                                                         std::span<const ValueId> inputs);
/// Brings attributes into canonical form beyond defaults and axis roles (automatic padding, ...).
using NormalizeFunction = Result<Attributes> (*)(const Instance&);

/// What an operator is where its operands behind the first are constants of one element: another one, with attributes
/// in their place.
struct ConstantForm {
  std::string_view op = {};                         // empty: there is none
  std::array<std::string_view, 2> attributes = {};  // of the second and the third operand
};

/// An application that the shape rule accepts, as text.
struct OperatorExample {
  /// Types as graphs have them, separated by "; ": "f32[N, 2, 3]; i64[2]". "-" is an absent operand.
  std::string_view operands;
  /// The attributes that are not the defaults: "axis=1; mode=\"linear\"".
  std::string_view attributes = {};
  int outputs = 1;  // how many the node has
};

/// All that is known of one operator. What it points to lives as long as the program.
struct OperatorRecord {
  std::string_view name;     // of the newest ONNX operator set, where ONNX has the operator
  std::string_view summary;  // one line for docs/operators.md
  Arity inputs = {};         // operands
  Arity outputs = {};        // more than one number of them: the node says how many
  std::span<const AttributeSpecification> attributes = {};  // all that it has
  std::uint32_t flags = no_flags;                           // of OperatorFlag
  /// Output types; called with known input types only. Checks all that can be wrong with them, and states
  /// through the instance all that it demands of sizes.
  InferFunction infer = nullptr;
  ///@{
  /// The meaning: one of the two. The other one is null.
  DefineFunction define = nullptr;
  ComposeFunction compose = nullptr;
  ///@}
  NormalizeFunction normalize = nullptr;   // null: defaults and roles do it all
  std::span<const OnnxMapping> onnx = {};  // its forms in ONNX; empty: it is no operator of ONNX
  /// The same in operators that more files may have: how exporters spell it where there is no form for it, so that
  /// runtimes recognise it. None: the composition.
  ComposeFunction spelling = nullptr;
  /// The runtime that has it beside the operators of ONNX ("onnxruntime"); empty: it is nobody's own. A search
  /// makes such operators for a target that is this runtime only.
  std::string_view runtime = {};
  ConstantForm constant_form = {};  // without a name: there is none
  /// Examples for operators of which the family of applications that stands for the meaning
  /// (facts/operator_instances.h) has none that the shape rule accepts, or misses some: what proofs record of the
  /// operator covers these as well.
  std::span<const OperatorExample> examples = {};

  bool has(OperatorFlag flag) const { return (flags & flag) != 0; }  // one of the properties
};

/// Nothing that every record must have is missing; for static_assert beside each table.
constexpr bool is_complete(std::span<const OperatorRecord> records) {
  for (const OperatorRecord& record : records) {
    if (record.name.empty() || record.summary.empty() || record.infer == nullptr) return false;
    if ((record.define == nullptr) == (record.compose == nullptr)) return false;
    for (const OnnxMapping& mapping : record.onnx)
      if (mapping.name.empty() || mapping.since < 1) return false;
  }
  return true;
}

/// Position in the table of all operators, which is sorted by name; behind its end are those that were made on demand,
/// in the order in which they were first asked for.
struct OperatorId {
  std::uint16_t v = 0;                                        // below operator_id_limit()
  friend auto operator<=>(OperatorId, OperatorId) = default;  // by number
  /// For the hash tables of Abseil.
  template <typename H>
  friend H AbslHashValue(H state, OperatorId id) {
    return H::combine(std::move(state), id.v);
  }
};

/// Sorted by name. Made in operators/.
std::span<const OperatorRecord> all_operators();
const OperatorRecord& record(OperatorId id);  // stays where it is while the program runs
/// The record of an operator that is made on demand from others, as gradients and copies on devices are; nothing if the
/// name means none. What the record points to stays. Made in made_operators/.
std::optional<OperatorRecord> made_operator(std::string_view name);
/// Ids of all operators that there are now, made ones too, are below.
std::size_t operator_id_limit();
/// Nothing for an unknown name. A name of an operator that is made on demand has it made.
std::optional<OperatorId> find_operator(std::string_view name);
/// The operator of a name in our own code: an unknown one is a broken invariant.
OperatorId operator_named(std::string_view name);

/// Attributes checked against the specification, with defaults filled in and axes normalized.
/// Errors name the attribute.
Result<Attributes> complete_attributes(const OperatorRecord& record,
                                       std::span<const TensorType> inputs, Attributes attributes,
                                       std::size_t output_count);

/// Output types of one application: arity and attributes checked, then the record's rule.
Result<std::vector<TensorType>> infer_types(const OperatorRecord& record, const Instance& instance);

/// Whether a recurrent operator unfolds: the number of steps is known, or is one more than some number.
/// Otherwise it has no composition.
bool unfolds(const Instance& instance);

/// What the shape rule demands of sizes, those of the outputs to be at least 0 left out. Together with that it is
/// just when the application is well typed.
Result<std::vector<Constraint>> constraints_of(const OperatorRecord& record, Instance instance);

}  // namespace lemma
