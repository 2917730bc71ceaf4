#pragma once
// What the operators of one model take, one by one, beside the model as a whole.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "costmodel/cost_provider.h"

namespace lemma {

/// What one model told.
struct Profiled {
  std::string model, failure;
  std::size_t nodes = 0, keys = 0, measured_now = 0, unknown = 0;
  double predicted = 0;             // from measured nodes, seconds
  double held_out = 0;              // with all nodes of the model left out of what is known
  double measured = 0, spread = 0;  // of the whole model; 0: it was not run
  std::string not_run;              // why
  struct Node {
    std::size_t count = 0;
    std::optional<Cost> cost;  // of one
  };
  std::map<std::string, Node> by_key;
  std::map<std::string, std::string>
      refused;  // operators that cannot be run by themselves, and why
};

}  // namespace lemma
