#pragma once
// A side of an axiom as expressions over elements of its inputs: the operators' definitions,
// substituted into each other.

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "verifier/index/elements.h"

namespace lemma::verifier::index {

/// An application of a function that is not defined everywhere, for all values of `bound`.
struct PartialApplication {
  Formula guard;  // where it is applied: of the variables of `bound` and of the output's index
  std::string function;
  Polynomial argument;
  std::vector<Bound> bound;  // of the reductions that it stands in
  Dimension size = {};       // function "index": the argument is in [0, size)
  bool is_bound() const { return !bound.empty(); }
};

/// An element of an input that is read, for all values of `bound`.
struct ReadElement {
  Formula guard;
  std::uint32_t input = 0;
  std::vector<Dimension> indices;
  std::vector<Bound> bound;
};

/// A minimum or maximum that is an operator's result: it is over something, for all values of
/// `bound`.
struct InhabitedDomain {
  Formula guard;
  std::vector<Bound> over;
  Formula domain;  // where an element of it is not neutral
  std::vector<Bound> bound;
};

/// One output, and its demands (docs/semantics.md, "What is read").
struct ComposedOutput {
  Pieces value;
  Formula range = always();  // of the index variables
  std::vector<Bound> axes;   // these, with their extents
  std::vector<PartialApplication> partial;
  std::vector<ReadElement> reads;
  std::vector<InhabitedDomain> inhabited;
  /// Implications: a tensor that is read has no axis of size 0.
  std::vector<Formula> nonempty;
  /// Implications: indices that are elements are inside the tensors that are read. They hold where
  /// the output is defined.
  std::vector<Formula> in_range;
  /// Must hold for the simplifications made: divisors are positive.
  std::vector<Formula> obligations;
};

/// Floors of floors as one, floor(floor(a / b) / c) = floor(a / (b * c)), and multiples of divisors
/// taken out. Right where all `divisors`, which are added, are positive.
Dimension with_merged_quotients(const Dimension& value, std::vector<Dimension>& divisors);

/// An index v < q*d of an output as u*d + w, u < q, w < d: the name of v with d. The names of u and w are that of v
/// with the letters h and l.
using IndexSplits = std::map<std::string, Dimension>;

/// The side's outputs at symbolic indices "_i0", "_i1", ... of each output, or what these are split into where
/// their size can be divided so. `graph` has no composite operators. `facts` is what is known of the sizes. Throws
/// Unsupported.
std::vector<ComposedOutput> compose(const Graph& graph, const std::vector<Formula>& facts,
                                    const IndexSplits& splits = {});

// ---- What a run computes ------------------------------------------------------------------------
//
// Floating-point numbers instead of real ones: an operation of definitions rounds, and of functions it is known only
// that equal arguments give equal bits. Of an operator with reductions, a kernel, only that is known for all of its
// operands together: how it orders a sum may depend on their sizes.

/// Kernels by node. Those of one number have the same operands, of the same types.
using Kernels = std::map<NodeId, std::uint32_t>;

/// Whether the elements of the operation are seen as functions of all its operands together.
bool is_kernel(const Graph& graph, const Node& node);

/// The bits of a number, as a value. Of 0 and -0 only that they are each other's negation.
Polynomial number_of_run(double value);

/// Values as a run computes them; each kernel on the way has a number. `graph` may have composite operators, which are
/// functions or kernels. Throws Unsupported.
std::vector<ComposedOutput> compose_run(const Graph& graph, std::span<const ValueId> values,
                                        const std::vector<Formula>& facts,
                                        const IndexSplits& splits, const Kernels& kernels);

std::vector<ValueId> values_of(std::span<const GraphOutput> outputs);

}  // namespace lemma::verifier::index
