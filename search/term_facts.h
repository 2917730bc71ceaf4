#pragma once
// What is known of terms, by abstract interpretation of the operators' definitions (facts/value_facts.h).

#include <map>
#include <vector>

#include "facts/value_facts.h"
#include "ir/graph.h"

namespace lemma {

/// Facts of the values of a graph, which may grow: of those that are asked about, and of what they are computed from.
class TermFacts {
 public:
  /// `inputs`: what is known of inputs; of others what holds for every input of their type. `reads`: whether reads at
  /// computed indices are taken to succeed.
  TermFacts(const Graph& terms, const std::map<ValueId, ValueFacts>& inputs, Reads reads)
      : terms_(terms), inputs_(inputs), reads_(reads) {}

  const ValueFacts& of(ValueId root);

 private:
  void compute(const Node& node);

  const Graph& terms_;
  const std::map<ValueId, ValueFacts>& inputs_;
  Reads reads_;
  std::vector<ValueFacts> facts_;
  std::vector<char> known_;  // by node
};

}  // namespace lemma
