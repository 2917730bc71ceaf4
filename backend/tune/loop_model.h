#pragma once
// What the loops of a program take as modelled, to try the schedules that promise most first. A block of elements takes for each
// term of its sums what its multiplications, its loads or the latency of its sums take, whichever is longest, and what
// registers do not hold. Blocks that reach over the end of an axis compute some elements twice. What loops go through again
// comes from a cache. The form follows the models of compilers for such loops (Low et al., "Analytical modeling is enough for
// high-performance BLIS", TOMS 2016, sections 4.1 and 4.2); its figures are those of processors of this kind, not measured.

#include "backend/program.h"

namespace lemma::backend {

/// Of the processor that this program runs on.
struct VectorRegisters {
  std::int64_t count = 16, bytes = 32;
};
VectorRegisters vector_registers();

/// In cycles, for comparison only.
double modelled_cycles(const TaskProgram& program, const VectorRegisters& registers);

}  // namespace lemma::backend
