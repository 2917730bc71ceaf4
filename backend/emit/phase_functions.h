#pragma once
// The phases of stitched operators as functions of their own. Operators share those that are equal, so that the code
// of a program does not grow with the number of its operators.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/emit/emit_nest.h"
#include "backend/program.h"

namespace lemma::backend {

/// The loops of a nest, in a function where its inputs and its result `y` are declared.
Result<source::Statements> emit_loops(const lowering::LoweredOutput& nest,
                                      const std::vector<LoopBounds>& bounds,
                                      const LoopSchedule& schedule);

class PhaseFunctions {
 public:
  /// The body of an operator's kernel: memory for what its phases hand to each other, and calls of the phases.
  /// `grid`: bounds of its axes, which are declared.
  Result<source::Statements> emit_body(const TaskOperator& op, const Kernel& kernel,
                                       std::vector<LoopBounds> grid);

  /// The functions, in the order in which they were first called.
  const std::vector<std::string>& texts() const { return texts_; }
  /// The numbers of those that were called since this was asked before.
  std::set<std::size_t> take_called() { return std::exchange(called_, {}); }

 private:
  Result<source::Call> call_of(const TaskOperator& op, const Phase& phase,
                               const std::vector<LoopBounds>& grid, bool is_windowed);

  std::map<std::string, std::size_t> numbers_;  // by text without the name
  std::vector<std::string> texts_;
  std::set<std::size_t> called_;
};

}  // namespace lemma::backend
