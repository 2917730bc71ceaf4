#pragma once
// A target in one file and one description, toy.json: a machine that takes a millisecond for each operator, has no
// Softmax, and whose program is the list of the operators.

#include <memory>

#include "targets/target.h"

namespace lemma::testing {

std::unique_ptr<Target> toy_target();

}  // namespace lemma::testing
