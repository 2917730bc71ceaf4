#pragma once
// The e-graph community's JSON format (egraph-serialize):
//   {"nodes": {ID: {"op": TEXT, "children": [ID...], "eclass": CLASS, "cost": NUMBER}...},
//    "root_eclasses": [CLASS...]}
// Children are node ids and stand for the classes of those nodes. A missing cost is 1. Nodes marked
// "subsumed" are not chosen. Other keys are passed over. docs/extraction.md says more.

#include <string>
#include <string_view>
#include <vector>

#include "egraph/exact/problem.h"

namespace lemma::exact {

struct EGraphDocument {
  Problem problem;
  CostScale scale;
  /// Nodes of cost 10^18 or more that are left out, because the digits of the other costs would be lost beside them.
  std::size_t never_chosen = 0;
  std::vector<std::string> node_names;      // by node of the problem
  std::vector<std::string> operator_names;  // by node of the problem
  std::vector<std::string> class_names;     // by class, in order of first mention by a node
  /// Roots that no node belongs to; they are left out of the problem.
  std::vector<std::string> absent_roots;
};

/// An error if the text is not such an e-graph, or no root is there.
Result<EGraphDocument> read_egraph_json(std::string_view text);

/// The e-graph with its costs; reading it gives the same problem.
std::string write_egraph_json(const EGraphDocument& document);

}  // namespace lemma::exact
