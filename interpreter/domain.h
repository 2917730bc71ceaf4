#pragma once
// The interpreter evaluates lowered definitions: their words are its own.

#include "lowering/lanes.h"

namespace lemma::interpreter {

using namespace lowering;  // NOLINT: on purpose

}  // namespace lemma::interpreter
