#pragma once
// A page about two rule databases: what each of them proves that does not follow from the other one, as pictures.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma {

/// What one database has and the other one has not.
struct OnlyIn {
  std::string database;
  std::size_t rules = 0;              // of the database
  std::vector<Substitution> missing;  // that do not follow from the other one
};

/// The page. A rule of which no typical application is known has its text only.
std::string rules_difference_page(std::span<const OnlyIn> sides);

}  // namespace lemma
