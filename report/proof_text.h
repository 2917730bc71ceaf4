#pragma once
// One case of a proof as readable text: both graphs, the inputs, and the terms after each step.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "rule_language/rule_cases.h"
#include "verifier/checker/certificate.h"

namespace lemma {

/// The case `index` of `cases`, replayed with the chain that the certificate names for it.
Result<std::string> case_text(const checker::Certificate& certificate,
                              const std::vector<RuleCase>& cases, std::size_t index);
Result<nlohmann::ordered_json> case_json(const checker::Certificate& certificate,
                                         const std::vector<RuleCase>& cases, std::size_t index);

}  // namespace lemma
