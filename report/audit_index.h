#pragma once
// The page that lists all rules, with search and filters.

#include <set>
#include <string>
#include <vector>

#include "report/audit_pages.h"

namespace lemma {

/// Names of the operators on both sides.
std::set<std::string> operators_of(const Substitution& rule);

/// The body of index.html and what makes it searchable. Without JavaScript it is a table of all rules.
std::string audit_index_body(const std::vector<AuditedRule>& rules);
std::string audit_index_script();

}  // namespace lemma
