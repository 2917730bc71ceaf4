#pragma once
// What a verification rests on: claims about tensors, each a rule with sizes, proved from the operators' definitions.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::plans {

/// Wherever elements of the first output of a graph are defined, those of the second are defined and equal. The inputs
/// are all the tensors of their types.
struct Claim {
  Graph graph;
  ValueId left, right;
};

/// The claim as a rule: "NAME" stands for its name. Claims that differ in names only have one text.
Result<std::string> text(const Claim& claim);

/// A claim that was asked about.
struct AskedClaim {
  std::string rule;  // as text, with its name
  bool is_proved = false;
  bool needs_defined_inputs = false;  // it holds where the inputs have no undefined elements
};

/// The claims that one verification asks about; each is decided once.
class Claims {
 public:
  /// The number of a proved claim; nothing if it is not proved.
  std::optional<std::size_t> ask(const Claim& claim);

  const std::vector<AskedClaim>& all() const { return claims_; }

 private:
  std::vector<AskedClaim> claims_;
  std::map<std::string, std::size_t> by_text_;
};

}  // namespace lemma::plans
