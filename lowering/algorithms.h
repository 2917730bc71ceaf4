#pragma once
// Reductions that need not go through all their terms for each element: scans, scatters, selections by rank, and what is made of
// them. Each is
// recognised by the form of its terms, whatever operator it comes from, so that the definition stays the only place that
// says what the operator means. The interpreter and task programs both run what is found here.

#include <optional>
#include <variant>
#include <vector>

#include "lowering/terms.h"

namespace lemma::lowering {

/// Along `axis`, element i is the reduction of the terms from one end of the axis up to i: reduction(position: select(position
/// <= axis, element, neutral element)). A sum adds them from that end on, so that each element is the one before it and one term.
struct Scan {
  LoopVariable axis = 0, position = 0;  // of the same extent; `position` is bound
  TermNumber element = 0;               // at `position`
  bool is_reverse = false;              // from the last term on
  bool is_exclusive = false;            // without the term at i itself
};

/// Terms that go to the elements that their indices name: reduction(bound: select(conditions and index == axis for each target,
/// element, otherwise)). Each element takes its terms in the order of the bound variables.
struct Scatter {
  struct Target {
    LoopVariable axis = 0;
    TermNumber index = 0;
  };
  std::vector<TermNumber> conditions;  // that do not depend on the axes of targets
  std::vector<Target> targets;
  TermNumber element = 0;
  TermNumber otherwise = 0;  // a constant: what elements without a term are
};

/// The position of the element that has the rank `axis` in the order of all elements along `candidate`: by value, NaN above all
/// numbers, and equal ones by position.
struct Selection {
  LoopVariable axis = 0, candidate = 0;  // `candidate` is bound
  TermNumber element = 0;                // at `candidate`
  bool takes_largest = false;            // they have the first ranks
};

/// Each element has the value of the last term that goes to it, or what it is without one: select(0 <= last, value, otherwise),
/// where `last` is a scatter that takes the greatest position, and positions ascend in the order of the terms.
struct Replacement {
  Scatter scatter;      // of the positions
  TermNumber last = 0;  // its reduction, with as many terms as `scatter` goes through
  TermNumber value = 0, otherwise = 0;
};

/// Element j along `axis` is the sum of terms times roots of unity, which stand for a Fourier transform of `length` (lowering/
/// fourier.h): sum(position: (real + i imaginary) * exp(+-2 pi i j position / length)), where the angle is a multiple that is
/// reduced as an integer.
struct FourierTransform {
  LoopVariable axis = 0, position = 0;  // `position` is bound
  std::optional<LoopVariable>
      parts;  // an axis of the real and the imaginary part; without it there is the real one
  TermNumber real = 0;                  // at `position`
  std::optional<TermNumber> imaginary;  // the same; nothing: 0
  std::int64_t length = 0;
  bool is_conjugate = false;  // the angles are negative
};

using Algorithm = std::variant<Scan, Scatter, Selection, Replacement, FourierTransform>;

/// `axes`: the loops around the reduction. Nothing for all other terms. A scan, a scatter or a selection.
std::optional<Algorithm> find_algorithm(const TermGraph& graph, TermNumber reduction,
                                        const std::vector<LoopVariable>& axes);

/// The same for what is more than a reduction: a replacement.
std::optional<Replacement> find_replacement(const TermGraph& graph, TermNumber root,
                                            const std::vector<LoopVariable>& axes);

/// The same for transforms, whose sums are rounded in other places than those of the definition. Short ones are none.
std::optional<FourierTransform> find_fourier_transform(const TermGraph& graph, TermNumber reduction,
                                                       const std::vector<LoopVariable>& axes);

/// Adds the value that a replacement has at the variables of its scatter, in place of the last term's.
TermNumber add_value_at_term(TermGraph& graph, const Replacement& replacement);

/// The axes along which elements are computed together.
VariableSet joint_axes(const Algorithm& algorithm);

/// The operations of the algorithm on elements, for all elements of the axes. `root`: the reduction, or the replacement.
double operation_count(const TermGraph& graph, TermNumber root, const Algorithm& algorithm,
                       const std::vector<LoopVariable>& axes);

/// A function such as exp takes about as long as so many additions.
inline constexpr double operations_of_function = 20;

/// The operations on elements that are done for each point of the variables `outside`, to have the values of the roots there.
double operations_at_point(const TermGraph& graph, const std::vector<TermNumber>& roots,
                           VariableSet outside);

}  // namespace lemma::lowering
