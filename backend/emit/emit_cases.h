#pragma once
// The body of a loop nest whose elements along some axes have formulas of their own (backend/cases.h): all of them, in
// one step of the loops over the other axes.

#include <functional>
#include <string>

#include "backend/cases.h"
#include "backend/emit/statements.h"

namespace lemma::backend {

/// `store`: a statement for the element with these indices along the axes of the cases, and its value.
using CaseStore = std::function<source::Statement(const std::vector<std::int64_t>& indices,
                                                  const std::string& value)>;

/// The statements of the cases for one element of the other axes.
Result<source::Statements> emit_cases(const lowering::LoweredOutput& nest, const Cases& cases,
                                      const CaseStore& store);

/// Whether all formulas are sums, differences and products of elements of f32 that lie side by side along the last axis, and
/// of numbers.
bool can_be_vectors(const lowering::LoweredOutput& nest, const Cases& cases);

/// The same for a vector of elements along the last axis, with as many as `count` of the source.
Result<source::Statements> emit_case_vectors(const lowering::LoweredOutput& nest,
                                             const Cases& cases, const CaseStore& store);

}  // namespace lemma::backend
