#pragma once
// `lemma rules generate`: candidate substitutions of an operator set.

#include <string>

#include "generator/generate.h"
#include "ir/result.h"

namespace lemma {

struct Enumeration {
  std::string rules;    // the file of candidates
  std::string figures;  // a JSON object
  std::string refuted;  // examples, with reasons
};
/// Of a set that is given by its name, or its file.
Result<Enumeration> enumerate(const std::string& set, const generator::GenerateOptions& options);

}  // namespace lemma
