#pragma once
// Which value of a single-device graph each value of a program is, and how that is placed: proved value by value.
//
// A value of the program that is related to one of the single-device graph stands for any tensor so placed in what is
// claimed of the values behind it. So each claim is about a few operators, and equal layers have equal claims. Where
// a value is not related to any (the exponentials of a softmax whose axis is on several devices), claims about the values
// behind it contain what it is computed by.

#include <optional>
#include <string>
#include <vector>

#include "plans/placement/placement.h"
#include "plans/placement/window.h"
#include "plans/program.h"
#include "plans/relations/claim.h"

namespace lemma::plans {

struct Relation {
  ValueId single;  // of the single-device graph
  Placement placement;
  Window window;                    // on a mesh without axes: the part that it is
  std::vector<std::size_t> claims;  // that prove it, in Relations::claims
};

struct Relations {
  std::vector<std::optional<Relation>> of;  // by value of the program's graph
  std::vector<AskedClaim> claims;           // also those that were not proved
};

Relations relate(const Graph& single, const Program& program);

}  // namespace lemma::plans
