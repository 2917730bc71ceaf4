#pragma once
// An order in which the steps of a program may run, and what has ended for certain when each begins.

#include "backend/program.h"

namespace lemma::backend {

struct OrderedStep {
  UnitNumber unit = 0;
  std::uint32_t index = 0;
  std::vector<std::uint32_t> ended;  // by unit: so many of its steps have ended
};

/// Errors where units wait for ever.
Result<std::vector<OrderedStep>> execution_order(const TaskProgram& program);

}  // namespace lemma::backend
