#pragma once
// What is said of rules that were verified, for programs.

#include <string>
#include <string_view>

#include "verifier/verify_database.h"

namespace lemma {

/// "proved", "refuted" or "unknown".
std::string_view verdict_name(const verifier::Verdict& verdict);

/// A line of JSON for each rule, in order: its name, verdict, proofs ("certificate,index"), the conditions under which it is
/// proved, the reason if it is not, and the counterexample if it is refuted.
std::string verdict_lines(const verifier::DatabaseVerification& verification);

}  // namespace lemma
