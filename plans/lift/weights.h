#pragma once
// Weights of ranks, compared with those of the single-device model.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "plans/placement/placement.h"

namespace lemma::plans {

struct PlacedWeight {
  ValueId single;
  Placement placement;
};

class Weights {
 public:
  Weights(const Graph& single, const Mesh& mesh);

  /// The constant of the single-device graph that the ranks have, by contents; one of that name if there are several.
  std::optional<PlacedWeight> find(const std::string& name,
                                   const std::vector<const Constant*>& ranks) const;

 private:
  struct Candidate {
    ValueId value;
    std::string name;
    const Constant* contents;
  };
  const Mesh& mesh_;
  std::vector<Candidate> candidates_;
};

/// One constant with the axes of devices in front.
Constant stacked(const std::vector<const Constant*>& ranks, const Mesh& mesh);

}  // namespace lemma::plans
