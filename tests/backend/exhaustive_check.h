#pragma once
// Whether a program is right, by trying everything: an oracle for prove/check_program.h that shares no code with it
// and is too slow for programs of more than a hundred steps.

#include <optional>
#include <string>

#include "backend/program.h"

namespace lemma::backend {

/// What is wrong; nothing if all is well. Two tasks are unordered if some execution begins one while the other has
/// not ended, which is found by holding each task back in turn for as long as anything else can go on.
std::optional<std::string> exhaustive_violation(const TaskProgram& program);

}  // namespace lemma::backend
