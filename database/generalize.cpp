#include "database/generalize.h"

#include <functional>
#include <optional>

#include "database/defaults.h"
#include "database/derivation.h"
#include "database/normal_form.h"
#include "database/proposals.h"
#include "database/trial.h"

namespace lemma::database {
namespace {

/// Steps of one kind, and proposals of it that turned out false, before the next kind is tried.
constexpr std::size_t steps_of_a_kind = 12, failures_of_a_kind = 120;
/// Proofs of single steps that may fail.
constexpr std::size_t failed_proofs = 12;
/// Proposals for groups of axes that are handed to the prover.
constexpr std::size_t proofs_of_axes = 10;

/// Rules that one candidate may become.
constexpr std::size_t most_rules = 3;

/// The rule for any number of axes: what follows from this is no other rule, but one for more axes.
Substitution without_most_axes(Substitution rule) {
  for (RuleGroup& group : rule.groups) group.maximum = 8;
  return rule;
}

class Generalizer {
 public:
  Generalizer(const Substitution& candidate, const verifier::AxiomSet& axioms)
      : trial_(axioms), history_{{"", candidate}} {}

  Generalized run() {
    const Substitution candidate = history_.front().rule;
    if (const auto& verdict = trial_.verdict(candidate); verifier::is_refuted(verdict))
      return {{}, verdict, {}};
    Generalized result;
    climb_all();
    if (!verifier::is_proved(trial_.verdict(history_.back().rule))) {
      result.verdict = trial_.verdict(candidate);
      if (!verifier::is_proved(result.verdict)) return result;
      // One of the steps was too much for the prover. Again, with a proof for each.
      history_ = {{"", candidate}};
      careful_ = true;
      climb_all();
    }
    std::vector<Proposal> last = climb_axes();
    if (last.empty()) last.push_back({"", history_.back().rule});
    for (Proposal& proposal : last) history_.push_back(std::move(proposal));
    for (const Proposal& step : history_)
      if (!step.step.empty()) result.steps.push_back(step.step);
    for (std::size_t i = history_.size() - last.size(); i < history_.size(); ++i)
      result.rules.push_back(
          {history_[i].rule, std::get<verifier::Proved>(trial_.verdict(history_[i].rule))});
    return result;
  }

 private:
  void climb_all() {
    const Substitution candidate = history_.front().rule;
    const std::vector<WrittenDefault> defaults = write_defaults();
    for (const auto& kind :
         {separate_inputs, shared_parts, fixed_sizes, separate_names, attribute_parameters,
          separate_names, convolution_groups, separate_names})
      climb(kind);
    history_.push_back({"", without_defaults(history_.back().rule, defaults)});
  }

  bool is_taken(const Substitution& rule) {
    if (!careful_) return true;
    if (proofs_ == 0) return false;
    if (verifier::is_proved(trial_.verdict(rule))) return true;
    --proofs_;
    return false;
  }

  /// Strides and the like are written out where the candidate leaves them away, so that they can
  /// become parameters.
  std::vector<WrittenDefault> write_defaults() {
    Substitution written = history_.front().rule;
    std::vector<WrittenDefault> defaults = lemma::database::write_defaults(written);
    if (auto rule = normal_form(written); rule && !defaults.empty())
      history_.push_back({"", std::move(*rule)});
    return defaults;
  }

  static Substitution without_defaults(Substitution rule,
                                       const std::vector<WrittenDefault>& defaults) {
    drop_defaults(rule, defaults);
    auto result = normal_form(rule);
    return result ? std::move(*result) : rule;
  }

  /// Takes plausible proposals until there is none.
  void climb(const std::function<std::vector<Proposal>(const Substitution&)>& kind) {
    for (std::size_t step = 0; step < steps_of_a_kind; ++step) {
      std::size_t failures = 0;
      std::optional<Proposal> accepted;
      for (Proposal& proposal : kind(history_.back().rule)) {
        if (auto rule = trial_.plausible(std::move(proposal.rule)); rule && is_taken(*rule)) {
          accepted = Proposal{std::move(proposal.step), std::move(*rule)};
          break;
        }
        if (++failures >= failures_of_a_kind) break;
      }
      if (!accepted) return;
      history_.push_back(std::move(*accepted));
    }
  }

  /// The proposals with a direction each: where one side does not bind all variables the rule can
  /// be read from the other side only.
  static std::vector<Proposal> each_direction(std::vector<Proposal> proposals) {
    std::vector<Proposal> result;
    for (Proposal& proposal : proposals) {
      Substitution tidied = proposal.rule;
      tidy(tidied);
      if (!tidied.bidirectional || normal_form(tidied)) {
        result.push_back(std::move(proposal));
        continue;
      }
      Substitution forward = proposal.rule;
      forward.bidirectional = false;
      result.push_back({proposal.step, forward, proposal.for_many_axes});
      result.push_back({proposal.step, reversed(forward), proposal.for_many_axes});
    }
    return result;
  }

  /// The first that can be proved, and those after it that do not follow from it.
  std::vector<Proposal> climb_axes() {
    std::size_t proofs = 0;
    std::vector<Proposal> result;
    DerivationRules known, lifted;
    for (Proposal& proposal : each_direction(axes_as_groups(history_.back().rule))) {
      auto rule = trial_.plausible(std::move(proposal.rule));
      if (!rule) continue;
      const DerivationRules& before = proposal.for_many_axes ? known : lifted;
      if (!result.empty() && derive(*rule, before, Start::both_sides).derivable) continue;
      if (!verifier::is_proved(trial_.verdict(*rule))) {
        if (++proofs >= proofs_of_axes) break;
        continue;
      }
      known.add(*rule);
      lifted.add(without_most_axes(*rule));
      result.push_back({std::move(proposal.step), std::move(*rule)});
      if (result.size() == most_rules) break;
    }
    return result;
  }

  Trial trial_;
  std::vector<Proposal> history_;
  bool careful_ = false;
  std::size_t proofs_ = failed_proofs;  // that may still fail
};

}  // namespace

Generalized generalize(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  return Generalizer(candidate, axioms).run();
}

}  // namespace lemma::database
