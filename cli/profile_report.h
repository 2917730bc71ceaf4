#pragma once
// What `lemma profile` tells of models: JSON for programs, a table for people.

#include <string>
#include <vector>

#include "cli/model_profiler.h"

namespace lemma {

std::string profile_json(const TargetIdentity& target, const std::vector<Profiled>& all);
std::string profile_table(const std::vector<Profiled>& all);

}  // namespace lemma
