#pragma once
// The interpreter evaluates lowered definitions and uses the names of lowering/.

#include "lowering/lanes.h"

namespace lemma::interpreter {

using namespace lowering;  // NOLINT: on purpose

}  // namespace lemma::interpreter
