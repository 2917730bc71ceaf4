#pragma once
// Two equal graphs, as choices at the places where they differ. A place is a smallest set of nodes of both
// that can be exchanged by itself: what the rest of the graph reads of it is a value of both graphs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "search/derivation.h"

namespace lemma {

class Mixture {
 public:
  /// Places that look alike are chosen together.
  struct Kind {
    std::string text;  // operators before and after: "2 Mul, Conv -> Conv"
    std::size_t places = 0;
  };

  /// `derivation` says which values of the two graphs are equal; what follows from directed steps alone
  /// does not count. Nothing: a value has no term, so that nothing is known of it.
  static Result<std::optional<Mixture>> of(const Graph& before, const Graph& after,
                                           Derivation derivation);

  /// The kinds in the order in which they first occur.
  const std::vector<Kind>& kinds() const { return kinds_; }
  /// `before`, with the places of these kinds (by number) as they are in `after`; of values of `before`
  /// that are equal the first one is used. Nothing if the nodes would form a cycle.
  Result<std::optional<Graph>> graph(const std::vector<bool>& taken) const;

 private:
  /// A node of one of the graphs. Values are numbered by class: equal ones have one number.
  struct Unit {
    const Graph* graph = nullptr;
    NodeId node;
    bool weight_only = false;
    std::vector<std::uint32_t> inputs, outputs;
    std::optional<std::size_t> kind;  // nothing: both graphs have it
  };
  /// The nodes of one graph that are needed, by the class that they give.
  struct Side {
    std::vector<Unit> units;
    std::vector<std::uint32_t> unit_of;  // by class
  };
  friend class MixtureBuilder;
  friend class MixtureWriter;

  const Graph* before_ = nullptr;
  Side sides_[2];                       // before, after
  std::vector<std::uint32_t> outputs_;  // classes
  std::vector<Kind> kinds_;
};

}  // namespace lemma
