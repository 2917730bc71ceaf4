#include "database/generalise.h"

#include <functional>
#include <optional>

#include "database/normal_form.h"
#include "database/proposals.h"
#include "database/trial.h"
#include "verifier/prover/sampling.h"

namespace lemma::database {
namespace {

/// Steps of one kind, and proposals of it that turned out false, before the next kind is tried.
constexpr std::size_t steps_of_a_kind = 12, failures_of_a_kind = 60;
/// Proposals for groups of axes that are handed to the prover.
constexpr std::size_t proofs_of_axes = 6;

class Generaliser {
 public:
  Generaliser(const Substitution& candidate, const verifier::AxiomSet& axioms)
      : trial_(axioms), history_{{"", candidate}} {}

  Generalised run() {
    const Substitution candidate = history_.front().rule;
    const verifier::Verdict& as_it_is = trial_.verdict(candidate);
    if (verifier::is_refuted(as_it_is)) return {candidate, as_it_is, {}};
    for (const auto& kind : {shared_parts, fixed_sizes, separate_names, attribute_parameters,
                             separate_names, convolution_groups, separate_names})
      climb(kind);
    // Down to what can be proved, at worst the candidate.
    while (history_.size() > 1 && !verifier::is_proved(trial_.verdict(history_.back().rule)))
      history_.pop_back();
    if (verifier::is_proved(trial_.verdict(history_.back().rule))) climb_axes();
    Generalised result{history_.back().rule, trial_.verdict(history_.back().rule), {}};
    for (std::size_t i = 1; i < history_.size(); ++i) result.steps.push_back(history_[i].step);
    return result;
  }

 private:
  /// Takes plausible proposals until there is none.
  void climb(const std::function<std::vector<Proposal>(const Substitution&)>& kind) {
    for (std::size_t step = 0; step < steps_of_a_kind; ++step) {
      std::size_t failures = 0;
      std::optional<Proposal> found;
      for (Proposal& proposal : kind(history_.back().rule)) {
        if (auto rule = trial_.plausible(std::move(proposal.rule))) {
          found = Proposal{std::move(proposal.step), std::move(*rule)};
          break;
        }
        if (++failures >= failures_of_a_kind) break;
      }
      if (!found) return;
      history_.push_back(std::move(*found));
    }
  }

  /// The first that can be proved.
  void climb_axes() {
    std::size_t proofs = 0;
    for (Proposal& proposal : axes_as_groups(history_.back().rule)) {
      auto rule = trial_.plausible(std::move(proposal.rule));
      if (!rule) continue;
      if (verifier::is_proved(trial_.verdict(*rule))) {
        history_.push_back({std::move(proposal.step), std::move(*rule)});
        return;
      }
      if (++proofs >= proofs_of_axes) return;
    }
  }

  Trial trial_;
  std::vector<Proposal> history_;
};

}  // namespace

Generalised generalise(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  return Generaliser(candidate, axioms).run();
}

}  // namespace lemma::database
