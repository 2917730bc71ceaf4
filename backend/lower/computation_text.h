#pragma once
// Computations, and task programs, as text: for people who want to know what a pass did, and for tests.
//
//   buffers
//     %0 "x" : f32[9, 40] input
//     %1 "w" : f32[40, 96] weights digest 00a1b2c3d4e5f607
//     %2 "y" : f32[9, 96] output
//   computations
//     0: %2 "y" = MatMul(%0, %1)
//          y[i0, i1] = sum(k0 < 40: a[i0, k0] * b[k0, i1])
//   groups
//     block, 9 points: 0
//   outputs: %2

#include <string>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Buffers that nothing reads or writes are left out. An operand that is read with other sizes than its buffer's has them
/// behind it, "%0 as [360]". Definitions that would take more than a few pages are counted, not printed.
std::string text(const ComputationGraph& graph);

/// Where the buffers of a program are, and the steps of its units.
std::string program_text(const TaskProgram& program);

}  // namespace lemma::backend
