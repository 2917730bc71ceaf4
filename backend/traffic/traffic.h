#pragma once
// Bytes that go between memory and the units of a device while a task program runs once.

#include "backend/program.h"

namespace lemma::backend {

struct Traffic {
  double read = 0, written = 0;  // bytes
  double all() const { return read + written; }
};

/// The traffic as planned: each task reads what it reads, and writes what it writes, once. What phases hand to each
/// other stays in the task. Weights that a unit keeps are read once.
Traffic planned_traffic(const TaskProgram& program);

struct CacheOptions {
  std::uint64_t bytes = 1U << 20U;  // that a unit keeps while it runs a task
  std::uint64_t line_bytes = 64;
};

/// The same from the accesses that the loop nests make, element by element, to a cache that drops the line that was
/// used longest ago. It is empty when a task begins; lines that were written go to memory when they are dropped or
/// the task ends, those of shared buffers only when they are dropped. Guards are taken to hold where the index lies
/// inside its tensor. Errors are `unsupported`: reads at indices that depend on elements.
Result<Traffic> simulated_traffic(const TaskProgram& program, const CacheOptions& options);

}  // namespace lemma::backend
