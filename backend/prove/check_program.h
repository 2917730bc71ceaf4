#pragma once
// The proof of a task program, before anything is emitted: whatever the speed of the units, every run ends, and
// every task reads what the program means it to read. This folder shares no code with the scheduler and the memory
// planner; it takes from them nothing but the program.
//
// It shows that
// - each task of each operator is run once, and the tasks of an operator write each element of its result once;
// - what tasks touch lies inside their buffers, buffers inside their memory, and nothing writes to inputs or weights;
// - no wait waits for ever;
// - two tasks that touch the same byte, of which one writes it, are ordered by the units' order and the waits;
// - a byte that a task reads has been written, in this run and last of all, for the buffer that is read;
// - all bytes of the outputs have been written at the end;
// - phases read only what earlier phases wrote to shared memory;
// - what a task reads of weights that its unit keeps is kept there (check_residents.h).
//
// A wait is taken to say only what is certain: of a counter that several units signal, a value short of the total
// says little about each of them.
//
// One order in which the tasks may run is enough: it is run step by step with a clock for each step (Fidge 1988,
// Mattern 1989), and for each byte the last writer and the readers since then. If no access in this order is
// unordered with those before it, there is none in any order, because happening-before is transitive.

#include "backend/program.h"

namespace lemma::backend {

/// The error, of kind `internal`, is the first violation.
Result<void> check_program(const TaskProgram& program);

}  // namespace lemma::backend
