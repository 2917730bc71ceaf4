#pragma once
// Why the last one of a sequence of graphs refines the first one, where each is made from the one before by one use of a
// rule.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/backtracking.h"
#include "search/derivation.h"

namespace lemma {

struct Walk {
  std::optional<Derivation> derivation;  // if one is wanted
  std::map<std::string, std::size_t> rules_used;
  std::vector<Graph> stages;  // before and after each use that is a refinement only
};

struct WalkRules {
  std::span<const CompiledRule> compiled;    // that the steps name
  std::span<const Substitution> as_written;  // the same, among others
  const RuleNames& bitwise;
  bool explain = true;
};

/// A rule with `=>` is an equation where its left side is known to be defined. In a graph with opaque operators, which
/// may have to be given the same, it is stated as one.
Result<Walk> walked(const std::vector<BacktrackingResult::Step>& path, const Graph& end,
                    const WalkRules& rules);

}  // namespace lemma
