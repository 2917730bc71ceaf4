#pragma once
// What `lemma profile` tells of models: JSON for programs, a table for people.

#include <string>
#include <vector>

#include "profiler/profile_database.h"
#include "profiler/profiled_model.h"

namespace lemma {

std::string profile_json(const RuntimeIdentity& target, const std::vector<Profiled>& all);
std::string profile_table(const std::vector<Profiled>& all);

}  // namespace lemma
