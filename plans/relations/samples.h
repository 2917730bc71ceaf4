#pragma once
// All values of a single-device graph and of a program, computed on the same random inputs: they tell at once which claims
// are false. They prove nothing.

#include <optional>
#include <vector>

#include "interpreter/tensor.h"
#include "plans/placement/window.h"
#include "plans/program.h"

namespace lemma::plans {

class Samples {
 public:
  /// Nothing where they cannot be computed: sizes are symbols, there are too many elements or operations, or an operator
  /// fails on the inputs.
  static std::optional<Samples> compute(const Graph& single, const Program& program);

  /// Whether what devices have may be that value, placed so; true if that cannot be told.
  bool may_be(ValueId value, ValueId single, const Placement& placement) const;

  /// The parts of a single-device value, smaller than all of it, that a value of a program on a mesh without axes may be.
  /// Nothing if that cannot be told.
  std::optional<std::vector<Window>> windows(ValueId value, ValueId single) const;

 private:
  explicit Samples(Mesh mesh) : mesh_(std::move(mesh)) {}
  Mesh mesh_;
  std::vector<std::optional<interpreter::Tensor>> single_, program_;  // by value
};

}  // namespace lemma::plans
