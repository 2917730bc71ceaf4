#pragma once
// The rules of a database that one run may use.

#include "pipeline/optimize_model.h"
#include "rule_language/rule_database.h"

namespace lemma {

/// The rules up to a class that the options select.
RuleDatabase chosen_rules(const RuleDatabase& database, const OptimizeOptions& options,
                          RoundingClass worst);

/// What may be left out without a rule, with rules up to this class.
LeftOut left_out_with(const OptimizeOptions& options, RoundingClass worst);

}  // namespace lemma
