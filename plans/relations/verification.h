#pragma once
// Whether a program over many devices is a single-device graph.

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "plans/program.h"
#include "plans/relations/relations.h"

namespace lemma::plans {

enum class Verdict : std::uint8_t { proved, refuted, unknown };
std::string_view name(Verdict verdict);

/// The first value of a program, in its order, that is no value of the single-device graph, and behind which none is.
struct Divergence {
  std::string where;                  // its operator and name
  std::vector<std::string> operands;  // what its operands are, as far as they are related
};

struct Verification {
  Verdict verdict = Verdict::unknown;
  Relations relations;
  std::size_t related = 0, values = 0;   // of the program's values, inputs left out
  std::optional<Divergence> divergence;  // unless it is proved
  std::string counterexample;            // refuted: what differs
  std::string reason;  // unknown: why nothing could be computed, if that was tried
  /// Proofs that hold for inputs without undefined elements (no NaN, no overflow of an exponential).
  std::size_t for_defined_inputs = 0;
};

/// Where the value that a relation is of stands: on the devices of a mesh, or in the single-device value.
std::string place_text(const Graph& single, const Program& program, const Relation& relation);

/// Proved: every output of the program is that of the single-device graph, placed as the program says, for all inputs.
/// Refuted: on some inputs they differ.
Verification verify(const Graph& single, const Program& program);

}  // namespace lemma::plans
