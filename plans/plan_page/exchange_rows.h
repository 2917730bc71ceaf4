#pragma once
// What the devices of a plan exchange, for people: which value, by what, how much, and why.

#include <string>
#include <vector>

#include "base/result.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/program.h"
#include "plans/relations/relations.h"

namespace lemma::plans {

struct ExchangeRow {
  std::string what;   // "AllReduce", or "rank 0 to rank 1"
  std::string value;  // its name
  std::string why;    // how it is made, and who reads it how
  double bytes = 0;   // that leave one rank
  double seconds = 0;
};

/// The name of a node's operator on one device, and of its result: "MatMul 'y'".
std::string described_operator(const Graph& graph, const Node& node);

/// Those of all devices alike. The mesh of the cluster has axes of the sizes of the program's.
Result<std::vector<ExchangeRow>> exchange_rows(const Graph& single, const Program& program,
                                               const Relations& relations,
                                               const clusters::Mesh& mesh);
/// Messages and collectives of some ranks.
std::vector<ExchangeRow> exchange_rows(const RankedProgram& program,
                                       const clusters::Cluster& cluster);

}  // namespace lemma::plans
