#pragma once
// Recurrences over a number of steps that is not known. Such an operator has no definition by elements; an index proof
// knows of it only that it is a function, and that it is monotone (docs/semantics.md, "Values"): operands that refine
// those of another application give results that refine its results.

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::verifier::index {

struct Sides {
  Graph left, right;
};
/// Nothing if the outputs of the second graph refine those of the first one; else why that is not seen.
using Refines = std::function<std::optional<std::string>(const Graph& left, const Graph& right)>;

std::size_t recurrence_count(const Graph& graph);
/// How many recurrences are over a number of steps that is known.
std::size_t single_steps(const Graph& graph);

/// The sides with inputs of their own in place of what recurrences give: an application on the right becomes the same
/// inputs as one on the left whose operands its operands refine, or of which each step does the same. So the right side refines the left one if it does so
/// for all values of these inputs. An error if there is no such application on the left.
Result<Sides> without_recurrences(Sides sides, const Refines& refines);

}  // namespace lemma::verifier::index
