#pragma once
// One function for each distinct kernel of programs.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/emit/emit_nest.h"
#include "backend/program.h"

namespace lemma::backend {

struct KernelFunction {
  std::string declaration;  // with a comment, and without the semicolon
  std::string definition;
  std::set<std::size_t> phases;  // numbers of those that it calls
};

struct KernelTexts {
  std::vector<KernelFunction> functions;  // by number, in the order in which they are first needed
  std::vector<std::string> phases;        // definitions
  /// The number of the function, by program and operator.
  std::vector<std::vector<std::uint32_t>> by_operator;
};

/// "kernel_3"
std::string kernel_name(std::uint32_t number);

/// The bounds of the axes of the grid for the task with the number `part`; declarations of those that depend on it are
/// appended to `statements`. `nest`: the first phase.
std::vector<LoopBounds> part_bounds(const Kernel& kernel, const lowering::LoweredOutput& nest,
                                    source::Statements& statements);

/// Declarations of the tensors of an operator with one phase. `residents`: arguments that are in the memory of a block.
Result<source::Statements> declarations_of_tensors(const Phase& phase,
                                                   const std::set<std::uint32_t>& residents);

/// void kernel_3(void* const* arguments, std::int64_t part): arguments in the order of the operator's. Operators
/// with equal nests, parts and arguments share a function.
Result<KernelTexts> kernel_texts(std::span<const TaskProgram> programs);

}  // namespace lemma::backend
