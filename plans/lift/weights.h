#pragma once
// Weights of ranks, compared with those of the single-device model.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "plans/placement/placement.h"
#include "plans/placement/window.h"

namespace lemma::plans {

struct PlacedWeight {
  ValueId single;
  Placement placement;
};

/// A part of a constant of the single-device graph.
struct WeightWindow {
  ValueId single;
  Window window;
};

class Weights {
 public:
  Weights(const Graph& single, const Mesh& mesh);

  /// The constant of the single-device graph that the ranks have, by contents; one of that name if there are several.
  std::optional<PlacedWeight> find(const std::string& name,
                                   const std::vector<const Constant*>& ranks) const;
  /// The constant that a rank has all or any block of, likewise.
  std::optional<WeightWindow> find_window(const std::string& name, const Constant& contents) const;

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
