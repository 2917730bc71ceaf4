#pragma once
// A page about rules that were verified: both sides of each as pictures, and why it holds or does not.

#include <string>

#include "verifier/verify_database.h"

namespace lemma {

/// The page. The section of a rule has the id `rule-NAME`. A rule of which no typical application is known has its text only.
std::string verdicts_page(const verifier::DatabaseVerification& verification);

}  // namespace lemma
