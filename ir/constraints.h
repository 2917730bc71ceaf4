#pragma once
// The constraints of one application of an operator on sizes, as data. The operator's shape rule
// states each constraint once (`Instance` in ir/operator.h). Run-time conditions, the index prover
// and the inference of side conditions are derived from these statements.
//
// Requirements on element types, ranks and other attributes are not constraints: these are known
// when a node is built, and the shape rule checks them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dimension.h"

namespace lemma {

enum class ConstraintKind : std::uint8_t {
  equal,       // a = b
  broadcasts,  // a = b, or one of them is 1
  expands,     // a = b, or a is 1
  at_most,     // a <= b
  divides,     // a is not 0, and b is a multiple of it
};

struct Constraint {
  ConstraintKind kind = ConstraintKind::equal;
  Dimension a, b;

  friend bool operator==(const Constraint&, const Constraint&) = default;
};

/// Nothing where the sizes leave it open.
std::optional<bool> truth(const Constraint& constraint);
Constraint substitute(const Constraint& constraint, const DimensionBindings& bindings);
std::string text(const Constraint& constraint);  // "N = 4"

/// The demands that a shape rule states.
class Constraints {
 public:
  /// What becomes of a demand that is open or wrong. `inferred`: what shape inference makes of it.
  /// `assumed`: the shape rule goes on as if it held, with the first of two sizes that meet; nothing is
  /// broadcast, so that sizes of 1 are demanded to be equal to others as well.
  enum class Mode : std::uint8_t { inferred, assumed };
  explicit Constraints(Mode mode = Mode::inferred) : mode_(mode) {}

  bool assumes() const { return mode_ == Mode::assumed; }
  void state(ConstraintKind kind, const Dimension& a, const Dimension& b) {
    stated_.push_back({kind, a, b});
  }
  const std::vector<Constraint>& stated() const { return stated_; }

 private:
  Mode mode_;
  std::vector<Constraint> stated_;
};

}  // namespace lemma
