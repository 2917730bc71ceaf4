#pragma once
// What `lemma inspect` tells about a graph, as data.

#include <string>
#include <vector>

#include "costmodel/graph_cost.h"
#include "ir/graph.h"

namespace lemma {

struct OperatorSummary {
  std::string name;
  std::int64_t count = 0;
  double flops = 0, integer_operations = 0, bytes = 0, seconds = 0;
  bool opaque = false;
};

struct OpaqueSummary {
  std::string operator_name;  // with its domain, where that is not the standard one
  std::string reason;
  std::int64_t count = 0;
};

struct SymbolSummary {
  std::string name;
  std::string source;     // "axis 0 of input 'x'"; empty if no input has it as a size
  std::int64_t uses = 0;  // types of values that mention it
};

/// Operators that task programs have a kernel of their own for (ir/kernel_override.h), at the sizes that are fixed.
struct OwnKernelSummary {
  std::string target, operator_name;
  std::string origin;  // a file; empty: Lemma's own
  std::int64_t count = 0;
};

struct ModelSummary {
  GraphCost total;
  std::int64_t constant_nodes = 0;         // operators computed once, from weights alone
  std::vector<OperatorSummary> operators;  // costliest first
  std::vector<OpaqueSummary> opaque;       // most frequent first
  std::vector<SymbolSummary> symbols;      // by name
  std::vector<OwnKernelSummary> kernels;   // by target and operator
};

ModelSummary summarize(const Graph& graph, const OperatorCosts& costs);

/// "Conv", or "com.microsoft.FusedConv" outside the standard domain.
std::string qualified_name(const OpaqueOperator& op);

}  // namespace lemma
