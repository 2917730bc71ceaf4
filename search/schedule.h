#pragma once
// The passes of a search, in their order. docs/search.md ("Passes") has the table for people.

#include <span>
#include <string_view>

#include "search/pass.h"

namespace lemma {

struct SearchPass {
  std::string_view name;
  /// Whether it is run, by the options, the rules, the graph and what the passes before it have found.
  bool (*when)(const SearchContext& context, const Candidates& all);
  double share;  // of the time that is left when it begins; 1: as long as it takes
  Result<Candidates> (*run)(const SearchContext& context, Candidates all);
};

/// All that look for cheaper graphs.
std::span<const SearchPass> searching_passes();
/// The one that decides, in the end, which graph is taken.
const SearchPass& choosing_pass();

/// Runs those whose turn it is. Limits of the context are lowered where memory is short; what was found before stays.
Result<Candidates> run_passes(SearchContext context, std::span<const SearchPass> passes,
                              Candidates all);

}  // namespace lemma
