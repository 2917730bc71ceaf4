#pragma once
// Counterexamples as text: what is needed to see a refuted rule fail again, by evaluation alone.
//
//   lemma counterexample 1
//   rule NAME                                    and its canonical text
//   values n=2, p=[1, 0]                         of all variables
//   domain exact integers                        that elements are computed in
//   input x f32[2, 3] = 1 -4 0 2 2 3             one line an input, all elements in row-major order
//   difference output 0: element [0, 1] is ...   what evaluation must find
//   end
//
// Where the right side is undefined there are no elements, and no line says the domain.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/compare.h"
#include "interpreter/domain.h"
#include "rule_language/substitution.h"

namespace lemma::verifier {

/// The text of a counterexample, without a domain if the right side is undefined.
std::string counterexample_text(const Substitution& rule, const std::string& values,
                                std::optional<interpreter::Domain> domain,
                                const std::vector<interpreter::Tensor>& inputs,
                                const std::string& difference);

struct ReplayedCounterexample {
  Substitution rule;
  std::string values, difference;   // as the file says
  std::vector<std::string> inputs;  // lines of the file
  std::string evaluated;            // what evaluation finds; empty if the sides are equal
  bool holds() const { return !evaluated.empty() && evaluated == difference; }
};

/// Evaluates both sides again. An error means that the text is not readable, or that its values are
/// none that the rule speaks of.
Result<ReplayedCounterexample> replay_counterexample(std::string_view text);

/// The first difference of the outputs, left and right by turns; empty if there is none. In f64 elements may differ by
/// `tolerance`, relative to the larger one or 1.
std::string first_difference(const std::vector<interpreter::Tensor>& outputs,
                             interpreter::Domain domain, double tolerance = 1e-9);

}  // namespace lemma::verifier
