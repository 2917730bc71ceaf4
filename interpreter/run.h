#pragma once
// Running a whole graph on given inputs.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interpreter/evaluate.h"
#include "interpreter/tensor.h"
#include "ir/dimension.h"
#include "ir/graph.h"

namespace lemma::interpreter {

/// The value of a graph's input.
struct NamedTensor {
  std::string name;  // of the input
  Tensor value;      // of the input's type, with sizes that are numbers
};

/// How a graph is run: each of its operations is evaluated with these options.
struct RunOptions : EvaluationOptions {
  /// Whether, in f64, an infinity that an operator gives is undefined, as NaN is
  /// (docs/semantics.md, "Values").
  bool infinities_are_undefined = false;
};

/// Values of the graph's outputs, in order. Inputs are native tensors or tensors of the domain of
/// the options, one for each graph input; symbolic sizes are taken from them. Fails for graphs with
/// an opaque node that an output depends on.
Result<std::vector<Tensor>> run(const Graph& graph, std::span<const NamedTensor> inputs,
                                const RunOptions& options = {});

/// The types of these inputs, in the order of the graph's. Nothing: one is missing.
std::optional<std::vector<TensorType>> input_types(const Graph& graph,
                                                   std::span<const NamedTensor> inputs);

/// Symbols of the graph's input shapes solved from actual types, in the order of the inputs.
Result<DimensionBindings> bind_symbols(const Graph& graph, std::span<const TensorType> types);

}  // namespace lemma::interpreter
