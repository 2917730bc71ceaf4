#pragma once
// The proof of what stands between the segments of a program with control flow. Segments are proved by check_program.h.
//
// It shows, for every outcome of every condition and every number of steps, that
// - an instruction reads only what was written for the tensor that it reads, last of all at its place, in this run: also
//   behind branches and in later steps of loops, where places change;
// - a segment is given tensors of its types and sizes, at places that are not in its own part of the arena, and its
//   results are at places of their own;
// - places lie inside the arena, and nothing writes to inputs;
// - each step of a loop renews the states that it computes;
// - rows that are read or written exist, and a tensor that is filled by rows has all of them when it is read;
// - at the end all outputs are written.
//
// States are followed along all jumps until nothing new is found. A state says where each tensor is, and what each place
// holds; where two ways meet, a place holds what it holds on both. It shares no code with the planner of flow/.

#include "backend/flow_program.h"

namespace lemma::backend {

/// The error, of kind `internal`, is the first violation.
Result<void> check_flow(const FlowProgram& program);

}  // namespace lemma::backend
