#pragma once
// Task programs whose real elements are residues modulo 2^61 - 1 (lowering/field.h), for tests: sums and products are
// exact, so that a result is equal to the interpreter's or wrong. Schedule, kernels and their blocks are those of the
// program of f32: the text of the kernels has another scalar type, and every tensor is twice as large.

#include <string>

#include "backend/program.h"

namespace lemma::backend {

/// The program with residues, of 8 bytes, for elements of f32; buffers lie at twice their offsets. It is for emission
/// only. Errors are `unsupported`: other real types, and constants that no residue stands for.
Result<TaskProgram> in_prime_field(TaskProgram program);

}  // namespace lemma::backend
