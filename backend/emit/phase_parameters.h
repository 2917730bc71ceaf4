#pragma once
// The parameters of a function that holds the loops of one phase, for every language in which phases are emitted.

#include <functional>
#include <string>
#include <vector>

#include "backend/emit/emit_nest.h"
#include "backend/program.h"

namespace lemma::backend {

/// What a function has as parameters, and what it is called with.
class PhaseParameters {
 public:
  void add(source::Parameter parameter, std::string argument);

  /// Bounds that are not the same for all tasks; the function's names for them are put into `bounds`. `by_points`: a
  /// call is for one point of the grid, whose coordinates are the first of each axis.
  void add_bounds(const std::vector<LoopBounds>& grid, bool by_points,
                  std::vector<LoopBounds>& bounds);

  const std::vector<source::Parameter>& declarations() const { return declarations_; }
  const std::vector<source::Expression>& arguments() const { return arguments_; }

 private:
  std::vector<source::Parameter> declarations_;
  std::vector<source::Expression> arguments_;
};

/// One tensor of a phase: the number of its argument, or of a shared buffer after them, and its name in the function.
struct PhaseTensor {
  std::uint32_t argument;
  DataType type;
  lowering::Domain domain;  // of elements with a real type
  std::string name;
  bool is_read;  // else it is written

  /// The type of the elements in C++.
  Result<std::string> element_type() const;
};

/// The inputs that the phase reads, then its result `y`.
std::vector<PhaseTensor> tensors_of(const Phase& phase);

/// The C++ type of the elements that a pointer to the tensor points to, `const` for those that are read.
Result<std::string> pointed_type(const PhaseTensor& tensor);

/// The number of a task's first point in the grid of its kernel.
std::string first_point_text(const Kernel& kernel, const std::vector<LoopBounds>& grid);

}  // namespace lemma::backend
