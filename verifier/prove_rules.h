#pragma once
// Rules from text that the search may use at once, without a folder of records.

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution.h"

namespace lemma::verifier {

/// Proves each rule twice, as `lemma rules verify` does, from the axioms of the folder `axioms` (rules/ or one like it)
/// and from the operators' definitions. Takes up to some seconds a rule. `threads`: 0 for as many as there are
/// processors.
///
/// Errors name the first rule that has not both proofs as it is, and why: with a counterexample, or with the conditions
/// under which it is proved. Two rules of one name are an error too.
Result<RuleDatabase> prove_rules(std::vector<Substitution> rules,
                                 const std::filesystem::path& axioms, int threads);

}  // namespace lemma::verifier
