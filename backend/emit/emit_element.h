#pragma once
// The body of a loop nest: source that computes one element of an output, where the variables of
// its axes are in scope. The caller provides what surrounds it: loops, or the threads of a grid.

#include <cstdint>
#include <string>

#include "backend/emit/statements.h"
#include "backend/lane_terms.h"
#include "lowering/lower.h"

namespace lemma::backend {

struct ElementSource {
  source::Statements statements;
  std::string value;  // an expression: the element
};

/// Where an element goes.
struct ElementStore {
  std::string target;
  std::string type;  // of the target

  source::Assignment of(const std::string& value) const;
};

/// What becomes of a reduction of many terms, where few elements are computed (lowering/lower.h).
enum class LongReductions : std::uint8_t {
  partial_results,  // dealt out to partial results, as the interpreter does it
  in_order,         // nothing
  across_lanes,  // dealt out to so many `lanes` of a warp, which all compute the element (emit_cuda)
};

/// Inputs are x0, x1, ..., pointers to elements in row-major order; `ok` is a std::uint8_t that takes note
/// of divisors of zero. Where the element is undefined its value means nothing, but no input is read
/// outside.
Result<ElementSource> emit_element(const lowering::LoweredOutput& output,
                                   LongReductions reductions = LongReductions::partial_results);

/// The same across lanes, which take terms of reductions together.
Result<ElementSource> emit_element_across_lanes(const lowering::LoweredOutput& output,
                                                const TermsOfLanes& terms);

/// Whether a term reads an element of f16, inside its tensor, whose neighbours along the variable lie side by side: they are
/// converted together.
bool reads_halves_along(const lowering::TermGraph& graph, lowering::TermNumber id,
                        lowering::LoopVariable variable);

/// Whether a term is an exponential of f32, for which some processors have instructions that compilers do not find.
bool is_exponential_of_f32(const lowering::TermGraph& graph, lowering::TermNumber id);

}  // namespace lemma::backend
