#pragma once
// Kernels of one's own: source that stands in a task program in place of the loops that are derived from an operator's
// definition, for one operator and one target. The definition stays the meaning. A kernel is compared with the interpreter
// before it is used (backend/execute/override_check.h); where it does not apply, the derived loops stand.
//
// Lemma's own are in operators/own_kernels.cpp. A library of operators gives its own by LEMMA_KERNEL_OVERRIDES
// (ir/operator_library.h).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/operator.h"

namespace lemma {

/// The functions are asked of applications with constant sizes, complete attributes and one output, whose elements have
/// types of C++ (no narrow floats or packed integers). Operators with several outputs have kernels where a node has one.
struct KernelOverride {
  std::string_view op;      // the operator's name
  std::string_view target;  // of kernel_targets()
  /// For which types, sizes and attributes it is.
  bool (*applies)(const Instance&) = nullptr;
  /// Statements in C++20 for the rows from `first_row` to before `end_row` of the result. In scope are pointers to the
  /// elements in row-major order: `x0`, `x1`, ... to those of each operand that there is, and `y` to those of the whole result;
  /// none of them overlaps with `y`. `std::byte* scratch`, aligned to 64 bytes, is there if scratch_bytes asks for it, and has
  /// what it had. lemma::lowering of lowering/scalar_operations.h is in scope: what the interpreter computes elements with.
  /// Elements of `boolean` are bytes of 0 or 1.
  std::string (*source)(const Instance&) = nullptr;
  /// Scalar operations of the whole application, as costs count them.
  double (*operations)(const Instance&) = nullptr;
  /// Equal parts of the result, one after the other in memory, which may be computed at the same time; null: one.
  std::int64_t (*rows)(const Instance&) = nullptr;
  /// Memory that a call needs for itself, at most most_scratch_bytes; null: none.
  std::size_t (*scratch_bytes)(const Instance&) = nullptr;
  /// By how much an element may differ from the interpreter's, relative to its size and the greatest finite one of the result
  /// together; at most most_tolerance. 0: not at all.
  double tolerance = 0;
  /// Applications that it is tested on beside those that stand for the operator's meaning (facts/operator_instances.h).
  std::span<const OperatorExample> examples = {};
};

inline constexpr std::size_t most_scratch_bytes = std::size_t{16} << 20U;
inline constexpr double most_tolerance = 1e-3;

/// The targets whose programs may have such kernels.
std::span<const std::string_view> kernel_targets();

/// Lemma's own kernels. Made in operators/.
std::span<const KernelOverride> own_overrides();

/// Adds kernels from outside, after the operators were registered. `origin`: the path of a library, or another name for
/// people. All that the kernels point to has to stay. Errors, with nothing added: an operator or a target that there is not, a
/// function that is missing, a tolerance that is too large, two kernels for one operator and target.
Result<void> register_overrides(std::span<const KernelOverride> kernels, std::string_view origin);

struct FoundOverride {
  const KernelOverride* kernel = nullptr;
  std::string_view origin;  // empty: Lemma's own
};

/// The kernel for an application: one from outside before one of Lemma's own; nothing where none applies.
std::optional<FoundOverride> find_override(const OperatorRecord& op, std::string_view target,
                                           const Instance& instance);

/// All kernels, those from outside first, in the order of operators and targets.
std::vector<FoundOverride> all_overrides();

}  // namespace lemma
