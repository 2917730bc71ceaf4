#pragma once

#include <utility>
#include <vector>

namespace lemma {

/// When each step of a task program begins and ends, in seconds, by unit and position.
using StepTimes = std::vector<std::vector<std::pair<double, double>>>;

}  // namespace lemma
