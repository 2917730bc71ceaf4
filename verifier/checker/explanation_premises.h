#pragma once
// What the replay of an explanation takes for granted beside the rules.

#include <map>
#include <string>

#include "base/result.h"
#include "facts/value_facts.h"

namespace lemma::checker {

/// What an explanation may take for granted.
struct ExplanationPremises {
  /// What the user promises of inputs of the model, by name.
  std::map<std::string, ValueFacts, std::less<>> promised;
  /// Facts of constants without their bytes are believed: they were just read off them.
  bool knows_constants = false;
  /// Something around the graph may tell NaN in its outputs from numbers: those that are not defined
  /// have to be equal.
  bool observes_outputs = false;
};

/// NAME: FACTS, as in "x: defined finite [0, 1]".
Result<void> add_promise(const std::string& text, ExplanationPremises& premises);

}  // namespace lemma::checker
