#pragma once
// Arithmetic on lanes: arrays of elements of one kind, which the strip evaluator (program.h) works
// on. A kernel is a loop over lanes that the compiler vectorizes; nothing here knows about tensors
// or expressions.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "interpreter/domain.h"
#include "ir/definition.h"

namespace lemma::interpreter {

/// Which operands are arrays of lanes; the others are one element for all lanes. Where both are
/// single elements, `lanes` with a count of 1 serves.
enum class OperandForm : std::uint8_t { lanes, right_uniform, left_uniform };

/// `ok` belongs to kernels that may fail for a lane (division by zero, overflow): they set it to 0
/// there, and leave it alone elsewhere. Others ignore it.
using UnaryKernel = void (*)(const void* a, void* out, std::uint8_t* ok, std::size_t count);
using BinaryKernel = void (*)(const void* a, const void* b, void* out, std::uint8_t* ok,
                              std::size_t count);

struct UnaryOperation {
  UnaryKernel kernel = nullptr;
  const char* failure =
      nullptr;  // what went wrong where ok is 0; null for kernels that cannot fail
};
struct BinaryOperation {
  BinaryKernel kernels[3] = {};  // by OperandForm
  const char* failure = nullptr;
  BinaryKernel kernel(OperandForm form) const { return kernels[static_cast<int>(form)]; }
};

/// `unsigned64` says that integer lanes hold u64. Errors are `unsupported`: the domain lacks the
/// operation.
Result<BinaryOperation> binary_operation(ExpressionKind kind, LaneKind lanes, bool unsigned64);
Result<UnaryOperation> unary_operation(ScalarFunction function, LaneKind lanes, bool unsigned64);
/// Conversion of an element of type `from` to one of type `to`, wrapped or rounded to it.
Result<UnaryOperation> cast_operation(DataType from, DataType to, Domain domain);

/// out[i] = condition[i] ? a[i] : b[i]; a null operand means that its value does not matter.
void select_lanes(std::size_t lane_bytes, const std::uint8_t* condition, const void* a,
                  bool a_uniform, const void* b, bool b_uniform, void* out, std::size_t count);
/// All lanes become the one element.
void fill_lanes(std::size_t lane_bytes, const void* element, void* out, std::size_t count);

}  // namespace lemma::interpreter
