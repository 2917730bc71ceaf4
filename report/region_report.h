#pragma once
// What is said of a graph that is cut into calls of libraries and persistent kernels.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backend_cuda/regions/plan_regions.h"

namespace lemma {

/// What was chosen between, and what a run of it should take.
nlohmann::ordered_json region_json(const backend::RegionPlan& plan);

/// "  call 3.1 Conv 'y': ..." or "  kernel 5.2: 7 operators in 90 tasks", in microseconds, for each call and each kernel.
std::vector<std::string> region_lines(const backend::RegionProgram& program);

}  // namespace lemma
