#pragma once
// Operators that no index expression can say: the sizes of their results, or how many terms an element has, depend on the
// values of their operands, or their operands or results are no tensors of numbers (sequences, optional values, strings).
// They have no operator record, because their results have no type before run time. In graphs they stay opaque nodes; where
// a model is run, they are computed by the procedure of their record here.
//
// To add one, add a record to a file of operators/ that makes such records (procedures/procedures.h).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/attributes.h"
#include "ir/run_time_value.h"

namespace lemma {

/// The attributes of a node as its file has them.
struct NodeAttributes {
  Attributes values;                            // numbers and strings; element types as integers
  std::map<std::string, RunTimeValue> tensors;  // also such of strings
  std::map<std::string, std::vector<std::string>> strings;

  /// The value, or what stands for it if there is none (or one of another kind).
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  std::optional<Integers> integers(std::string_view name) const;
};

/// One application of a procedure. An operand that is absent is nothing.
struct ProcedureCall {
  std::span<const RunTimeValue> inputs;
  const NodeAttributes& attributes;
  int operator_set = 0;  // of the operator's domain
  std::size_t output_count = 1;
  /// Which random numbers a procedure draws where the node gives no seed: those of a stream of the run's seed.
  std::uint64_t seed = 0, stream = 0;

  bool has(std::size_t i) const { return i < inputs.size() && !inputs[i].is_nothing(); }
  /// Operands of one kind; the error names the operand.
  Result<const Constant*> tensor(std::size_t i) const;
  Result<const Strings*> strings(std::size_t i) const;
  Result<const RunTimeValue::Sequence*> sequence(std::size_t i) const;
  /// The only element of an operand of integers or booleans.
  Result<std::int64_t> integer(std::size_t i) const;
};

/// Axis `axis` of a tensor of that rank, counted from the end if it is negative.
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

/// At least as many results as the call asks for.
using ProcedureFunction = Result<std::vector<RunTimeValue>> (*)(const ProcedureCall&);

/// Whether results of other numbers, drawn elsewhere, could be those of the call: an error says what no draw gives. Results
/// are of the types that the procedure gives; those that are not known are nothing.
using AdmitsFunction = Result<void> (*)(const ProcedureCall&,
                                        std::span<const RunTimeValue> results);

struct ProcedureRecord {
  std::string_view name;
  std::string_view domain;  // "" for the standard one
  int since = 1;            // the first operator set of which it is valid
  std::string_view summary;
  ProcedureFunction run = nullptr;
  /// Of a procedure that draws random numbers; null for others. Its results have no values of their own: nothing may
  /// compute them ahead of time, or take two calls for one.
  AdmitsFunction admits = nullptr;

  bool draws() const { return admits != nullptr; }
};

/// Sorted by domain and name. Made in operators/.
std::span<const ProcedureRecord> all_procedures();
/// Null if there is none for this operator in that operator set.
const ProcedureRecord* find_procedure(std::string_view domain, std::string_view name,
                                      int operator_set);

}  // namespace lemma
