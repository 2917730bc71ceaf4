#pragma once
// The proofs of some rules, as the report of `lemma optimize` shows them.

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/result.h"

namespace lemma {

struct ReportedProof {
  std::size_t cases = 0, steps = 0;
  std::set<std::string> axioms;
  std::string shown;  // one case, replayed: both graphs and each step
};

/// The proofs by rule, for those whose certificates hold. `rules`: the folder that has axioms/ and
/// substitutions/.
Result<std::map<std::string, ReportedProof>> proofs_of(const std::filesystem::path& rules,
                                                       const std::set<std::string>& names);

/// "add_of_div_with_its_input" as words; what a found rule's name has at its end to be unlike others, in brackets.
std::string readable_rule_name(const std::string& name);

}  // namespace lemma
