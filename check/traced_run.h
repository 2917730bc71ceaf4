#pragma once
// One run of a graph, node by node, with what a comparison needs to know beside the results: which
// elements are undefined (docs/semantics.md), how large values became, and whether one overflowed.
//
// An element is undefined where a node gives NaN, and where a node gives an infinity although its
// operands are finite or it is an operator that may be undefined over the reals (a quotient). To see
// which results depend on such elements they are replaced by random numbers: what changes with the
// numbers is undefined, what is the same in several runs is defined. So a value behind the branch
// that Where does not take stays defined, and a comparison with 0/0 does not become a number.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

struct TraceOptions {
  interpreter::Domain domain = interpreter::Domain::f64;
  std::optional<std::uint64_t> replacements;  // seed of the numbers in place of what is undefined
  int threads = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

struct TracedRun {
  std::vector<interpreter::Tensor> outputs;
  double largest = 0;             // magnitude among the finite elements of all values
  bool has_undefined = false;     // of any value
  bool overflowed = false;        // an operator that is defined everywhere gave an infinity
  std::uint64_t fingerprint = 0;  // of all elements of all values, as numbers
};

/// `graph` has no opaque nodes that its outputs need.
Result<TracedRun> trace(const Graph& graph, std::span<const interpreter::NamedTensor> inputs,
                        const TraceOptions& options);

/// Whether each element of each output is defined.
Result<std::vector<std::vector<bool>>> defined_elements(
    const Graph& graph, std::span<const interpreter::NamedTensor> inputs,
    const TraceOptions& options);

}  // namespace lemma
