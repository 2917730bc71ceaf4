#pragma once
// Whether kernels of one's own (ir/kernel_override.h) compute what their operators mean: they are compiled, run, and compared
// with the interpreter.

#include <span>
#include <string>
#include <vector>

#include "backend/execute/built_program.h"
#include "backend/own_kernel.h"
#include "facts/operator_instances.h"

namespace lemma::backend {

struct OverrideCheck {
  std::size_t applications = 0, comparisons = 0;  // comparisons of a whole result
};

/// Compares a kernel on those instances of its operator that it applies to (facts/operator_instances.h), on its examples and
/// on `more`. Symbols become 0, 1 and other sizes; elements are random, extreme, and where they are real also NaN and infinite;
/// rows are computed together and in many tasks. Applications with more than a few ten thousand elements are left out. An error
/// (`bad_input`, one line) names the kernel, the application, the element and both values; or says that the source does not
/// compile, or that the kernel applies to nothing that could be compared.
Result<OverrideCheck> check_override(const FoundOverride& kernel,
                                     std::span<const OperatorInstance> more,
                                     const ProgramBuilder& builder);

/// The same for several kernels, in one program: a result for each. Where the source of one does not compile, none is found right.
std::vector<Result<OverrideCheck>> check_overrides(std::span<const FoundOverride> kernels,
                                                   const ProgramBuilder& builder);

/// The same for the kernels from outside in programs, each with its applications there, unless that was found in this process
/// before. Lemma's own are tested where Lemma is.
Result<void> check_outside_kernels(std::span<const TaskProgram> programs,
                                   const ProgramBuilder& builder);
/// The same with a builder that keeps programs in the usual place, if there are such kernels. An error (`unsupported`) where
/// there is no compiler to test them with.
Result<void> check_outside_kernels(std::span<const TaskProgram> programs);

/// The digest of the files that kernels from outside are of, and of what they are for; empty if there are none.
std::string outside_kernels_digest();

}  // namespace lemma::backend
