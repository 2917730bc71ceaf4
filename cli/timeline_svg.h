#pragma once
// A picture of a schedule: units from top to bottom, planned time from left to right.

#include <string>

#include "backend_cuda/program.h"

namespace lemma {

/// Tasks are colored by the operators that they stand for; a tooltip names each. The same program gives the same bytes.
std::string timeline_svg(const backend::TaskProgram& program);

}  // namespace lemma
