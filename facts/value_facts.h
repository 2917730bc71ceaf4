#pragma once
// Facts about the elements of a value that are known before run time (docs/semantics.md, "Values"
// and "Intentional infinities"): whether all are defined, whether one may be an infinity, and their
// bounds. The facts of an operator's results are derived from its definition by abstract
// interpretation (facts/expression_facts.h), those of a composite operator from its composition. Facts
// hold in every run.

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma {

/// Bounds speak of the elements that are defined. Elements that are infinities count among them.
struct ValueFacts {
  bool defined = false;  // no element is undefined
  bool nonzero = false;  // no element is 0
  // Some element may be an infinity that the model put there on purpose.
  bool plus_infinity = true, minus_infinity = true;
  double lower = -HUGE_VAL, upper = HUGE_VAL;

  /// Whether no element is an infinity that the model put there on purpose.
  bool finite() const { return !plus_infinity && !minus_infinity; }
  bool may_be_zero() const { return !nonzero && lower <= 0 && upper >= 0; }
  bool nonnegative() const { return lower >= 0; }
  bool positive() const { return lower > 0 || (lower >= 0 && nonzero); }
  friend bool operator==(const ValueFacts&, const ValueFacts&) = default;
};

/// What holds if both hold: two descriptions of one value.
ValueFacts both(const ValueFacts& a, const ValueFacts& b);
/// What holds if one of the two holds: elements come from two values.
ValueFacts either(const ValueFacts& a, const ValueFacts& b);
/// `facts` says all that `wanted` says.
bool implies(const ValueFacts& facts, const ValueFacts& wanted);
/// "defined finite nonzero [0, 1]"; where not finite, which infinities there may be.
std::string text(const ValueFacts& facts);
/// Inverse of text().
Result<ValueFacts> parse_facts(std::string_view text);

/// Nothing but what its type says: undefined elements and infinities are possible.
ValueFacts unknown_facts(DataType type);
/// The facts of a model's input, and of opaque operators' outputs: defined, finite, within the
/// type's range.
ValueFacts facts_of_input(DataType type);
/// The facts of a constant from its contents, which are read once.
ValueFacts facts_of_constant(const Constant& constant);

/// How the index of a read is known to be within its tensor.
enum class Reads : std::uint8_t {
  must_be_shown,  // by bounds
  succeed,        // operators of the original model: its run errors are taken not to happen
};

/// Equal numbers: the operands are one value. Empty: nothing is known of that.
using OperandIdentities = std::span<const std::uint32_t>;

/// One operator with given types and attributes, prepared for asking again and again. What the
/// instance refers to need not outlive the constructor.
class OperatorFacts {
 public:
  OperatorFacts(const OperatorRecord& record, const Instance& instance);
  ~OperatorFacts();
  OperatorFacts(OperatorFacts&&) noexcept;
  OperatorFacts& operator=(OperatorFacts&&) noexcept;

  /// Facts of each output, given those of the operands (anything for absent ones).
  std::vector<ValueFacts> outputs(std::span<const ValueFacts> operands,
                                  OperandIdentities identities = {},
                                  Reads reads = Reads::must_be_shown) const;
  /// A read of it may lie outside its tensor for some contents of the operands.
  bool may_read_outside() const;
  /// observes_undefined() of the application (facts/observation.h).
  bool observes() const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

/// The same, once.
std::vector<ValueFacts> facts_of_outputs(const OperatorRecord& record, const Instance& instance,
                                         std::span<const ValueFacts> operands,
                                         OperandIdentities identities = {},
                                         Reads reads = Reads::must_be_shown);

/// All outputs are defined at every element, whatever the operands are, as long as they are defined.
bool is_total(const OperatorRecord& record, const Instance& instance);

/// Facts of all values of a graph, by value; of its inputs these, in order, or those of a model's
/// inputs where the list is empty. Unknown for values that are not computable.
std::vector<ValueFacts> facts_of_values(const Graph& graph, std::span<const ValueFacts> inputs,
                                        Reads reads);

/// Those values of a graph that something looks at which tells NaN from numbers (an operator of
/// observes_undefined(), or an opaque one, or what stands around the graph: `roots`, by output; none
/// where the list is empty), and that are not known to be defined and finite; and what these are computed
/// from. Only what keeps every bit may be said of them.
std::vector<char> observed_values(const Graph& graph, std::span<const ValueFacts> facts,
                                  std::span<const char> roots = {});

}  // namespace lemma
