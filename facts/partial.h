#pragma once
// Where operators are undefined over the reals (docs/semantics.md, "Values"), derived from their
// definitions.

#include <cstdint>

#include "ir/definition.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma {

/// Whether some application may be undefined for other reasons than its operands: a quotient by
/// elements or by a size that may be 0, a function without a value somewhere, the minimum or maximum of
/// nothing. Read off the definition of an example, or of what the operator is composed of. Numbers,
/// 1 + exp(...), 1 + |...| and sums of exponentials are known not to be 0; true is the safe side.
bool may_be_undefined(OperatorId op);
/// The same, but for what depends on sizes alone: a mean or a maximum over nothing.
bool may_be_undefined_by_elements(OperatorId op);

/// Whether elements of an operator's result are sums or differences of elements that depend on operands: not,
/// of two of them, or along axes. Of compositions what any part does.
enum class Adding : std::uint8_t { none, pairs, axes };
Adding adding_of(OperatorId op);

/// Whether the application is defined at every element if its operands are. False is the safe side:
/// compositions and reads at computed positions are not looked into (docs/certificates.md, "Always
/// defined", lists what is total).
bool is_total(const Graph& graph, const Node& node);

/// Whether the function tells what is undefined over the reals from numbers: IsNaN and IsInf.
bool is_classification(const ExpressionNode& node);

/// Values that have no undefined element, by is_total() from inputs that have none.
class AlwaysDefined {
 public:
  explicit AlwaysDefined(const Graph& graph) : graph_(graph) {}
  void declare(ValueId input) { set(input, true); }
  bool holds(ValueId value);

 private:
  enum class Answer : char { open, no, yes };
  void set(ValueId value, bool answer);

  const Graph& graph_;
  std::vector<Answer> answers_;  // by value
};

}  // namespace lemma
