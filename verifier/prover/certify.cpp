#include "verifier/prover/certify.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_analysis.h"
#include "verifier/prover/explain.h"
#include "verifier/prover/replay.h"
#include "verifier/prover/schematic.h"

namespace lemma::verifier {
namespace {

// ---- One chain --------------------------------------------------------------------------------

/// Writes the rewriting steps of one case as the lines of a chain.
class ChainWriter {
 public:
  ChainWriter(const Substitution& rule, const RuleCase& rule_case, Graph& graph,
              const std::vector<AxiomUse>& steps)
      : graph_(graph), steps_(steps), schematic_(rule, rule_case) {}

  Result<std::vector<std::string>> write(const std::vector<Goal>& goals,
                                         const std::vector<ProofRewrite>& rewrites) {
    std::vector<std::vector<ValueId>> states(1);
    for (const Goal& goal : goals) states[0].push_back(goal.left);
    for (const ProofRewrite& rewrite : rewrites) {
      LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> next, rewritten(states.back(), rewrite));
      states.push_back(std::move(next));
    }
    std::map<std::vector<ValueId>, std::size_t> last;  // detours come back to where they began
    for (std::size_t i = 0; i < states.size(); ++i) last[states[i]] = i;
    std::vector<std::string> lines;
    for (std::size_t i = last.at(states[0]); i < rewrites.size(); i = last.at(states[i + 1])) {
      LEMMA_ASSIGN_OR_RETURN(std::string line, step_line(states[i], rewrites[i]));
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  Result<std::vector<ValueId>> rewritten(std::vector<ValueId> state, const ProofRewrite& rewrite) {
    const AxiomUse& step = steps_[rewrite.step];
    LEMMA_ASSIGN_OR_RETURN(const Sides sides,
                           sides_of(graph_, {step.axiom, step.inputs, step.bindings}));
    LEMMA_ASSIGN_OR_RETURN(const ValueId present, value_at(graph_, state, rewrite.position));
    const ValueId from = (rewrite.backward ? sides.right : sides.left)[rewrite.output];
    const ValueId to = (rewrite.backward ? sides.left : sides.right)[rewrite.output];
    if (present != from) return internal_error("a step of the explanation does not fit");
    LEMMA_ASSIGN_OR_RETURN(state[rewrite.position[0]],
                           replaced_at(graph_, state, rewrite.position, to));
    return state;
  }

  Result<std::string> step_line(const std::vector<ValueId>& state, const ProofRewrite& rewrite) {
    const AxiomUse& step = steps_[rewrite.step];
    const Substitution& axiom = *step.axiom;
    std::string values;
    const auto add = [&values](const std::string& name, const std::string& value) {
      values += fmt::format("{}{}={}", values.empty() ? "" : ", ", name, value);
    };
    for (std::uint32_t i = 0; i < axiom.inputs.size(); ++i)
      add(axiom.inputs[i].name, reference(state, rewrite, i));
    for (const std::string& name : variable_names(axiom)) {
      if (const auto group = step.bindings.groups.find(name); group != step.bindings.groups.end())
        add(name, schematic_.write_list(name, group->second));
      else if (const auto size = step.bindings.dimensions.find(name);
               size != step.bindings.dimensions.end())
        add(name, schematic_.write(name, AttributeValue(size->second)));
      else
        add(name, schematic_.write(name, step.bindings.parameters.at(name)));
    }
    return fmt::format("step {} {} {} at {}: {}", axiom.name,
                       rewrite.backward ? "backward" : "forward", rewrite.output,
                       text(rewrite.position), values);
  }

  /// Where an input of the axiom stands: below the position, elsewhere, or nowhere yet.
  std::string reference(const std::vector<ValueId>& state, const ProofRewrite& rewrite,
                        std::uint32_t input) {
    const AxiomUse& step = steps_[rewrite.step];
    const auto& side = rewrite.backward ? step.axiom->right : step.axiom->left;
    Position position = rewrite.position;
    if (find_input(*step.axiom, side[rewrite.output], input, position)) return "@" + text(position);
    for (std::uint32_t i = 0; i < state.size(); ++i) {
      position = {i};
      if (find_value(state[i], step.inputs[input], position)) return "@" + text(position);
    }
    return schematic_.write_term(graph_, step.inputs[input]);
  }

  static bool find_input(const Substitution& axiom, TermId id, std::uint32_t input,
                         Position& position) {
    const RuleTerm& term = axiom.terms[id.v];
    if (term.is_input) return term.input == input;
    for (std::uint32_t i = 0; i < term.operands.size(); ++i) {
      if (term.operands[i].is_none()) continue;
      position.push_back(i);
      if (find_input(axiom, term.operands[i], input, position)) return true;
      position.pop_back();
    }
    return false;
  }

  bool find_value(ValueId value, ValueId wanted, Position& position) const {
    if (value == wanted) return true;
    const Node& node = graph_.node(graph_.producer(value));
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_none()) continue;
      position.push_back(i);
      if (find_value(node.inputs[i], wanted, position)) return true;
      position.pop_back();
    }
    return false;
  }

  Graph& graph_;
  const std::vector<AxiomUse>& steps_;
  Schematic schematic_;
};

// ---- Which axioms ----------------------------------------------------------------------------

std::set<std::uint32_t> operators_of(const Substitution& rule, const std::vector<TermId>& side) {
  std::set<std::uint32_t> result;
  for (const TermId id : detail::reachable_terms(rule, side))
    if (!rule.terms[id.v].is_input) result.insert(rule.terms[id.v].op.v);
  return result;
}

std::vector<const DirectedAxiom*> pointers_to(const std::vector<DirectedAxiom>& axioms) {
  std::vector<const DirectedAxiom*> result;
  for (const DirectedAxiom& axiom : axioms) result.push_back(&axiom);
  return result;
}

std::set<std::uint32_t> operators_of(const Substitution& rule) {
  std::set<std::uint32_t> result;
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) result.insert(term.op.v);
  return result;
}

/// The axioms that bring in no operator that neither they match nor the rule has.
std::vector<const DirectedAxiom*> axioms_without_others(
    const std::vector<const DirectedAxiom*>& axioms, const Substitution& rule) {
  const std::set<std::uint32_t> own = operators_of(rule);
  std::vector<const DirectedAxiom*> result;
  for (const DirectedAxiom* axiom : axioms) {
    std::set<std::uint32_t> known = operators_of(axiom->rule, axiom->rule.left);
    known.insert(own.begin(), own.end());
    const std::set<std::uint32_t> made = operators_of(axiom->rule, axiom->rule.right);
    if (std::includes(known.begin(), known.end(), made.begin(), made.end()))
      result.push_back(axiom);
  }
  return result;
}

/// The axioms for each operator that axioms can both bring in beside those of the rule and take away
/// again: the axioms about it and the rule's operators alone.
std::vector<std::vector<const DirectedAxiom*>> axioms_with_one_other(
    const std::vector<const DirectedAxiom*>& axioms, const Substitution& rule) {
  struct Uses {
    std::vector<const DirectedAxiom*> axioms;
    bool brought = false, taken = false;
  };
  const std::set<std::uint32_t> own = operators_of(rule);
  const auto others = [&own](const std::set<std::uint32_t>& operators) {
    std::set<std::uint32_t> result;
    std::set_difference(operators.begin(), operators.end(), own.begin(), own.end(),
                        std::inserter(result, result.end()));
    return result;
  };
  std::map<std::uint32_t, Uses> by_operator;
  std::vector<const DirectedAxiom*> without;
  for (const DirectedAxiom* axiom : axioms) {
    const std::set<std::uint32_t> matched = others(operators_of(axiom->rule, axiom->rule.left));
    const std::set<std::uint32_t> made = others(operators_of(axiom->rule, axiom->rule.right));
    std::set<std::uint32_t> together = matched;
    together.insert(made.begin(), made.end());
    if (together.empty()) without.push_back(axiom);
    if (together.size() != 1) continue;
    Uses& uses = by_operator[*together.begin()];
    uses.axioms.push_back(axiom);
    uses.brought = uses.brought || matched.empty();
    uses.taken = uses.taken || made.empty();
  }
  std::vector<std::vector<const DirectedAxiom*>> result;
  for (auto& [op, uses] : by_operator) {
    if (!uses.brought || !uses.taken) continue;
    result.push_back(without);
    result.back().insert(result.back().end(), uses.axioms.begin(), uses.axioms.end());
  }
  return result;
}

// ---- All cases --------------------------------------------------------------------------------

class Certifier {
 public:
  Certifier(const Substitution& rule, const std::vector<DirectedAxiom>& axioms,
            const checker::AxiomTable& table, const RoundingTable& rounding)
      : rule_(rule),
        terms_(rule),
        all_axioms_(pointers_to(axioms)),
        own_axioms_(axioms_without_others(all_axioms_, rule)),
        with_one_other_(axioms_with_one_other(all_axioms_, rule)),
        table_(table),
        rounding_(rounding) {}

  Result<CertifiedRule> run(const std::string& witness) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(rule_));
    claims_.resize(cases.size());
    chosen_.resize(cases.size());
    for (const std::size_t i : order(cases))
      if (auto proved = prove_case(cases[i], i); !proved)
        return cases[i].text.empty() ? tl::unexpected(std::move(proved.error()))
                                     : with_context(cases[i].text, std::move(proved.error()));
    // No step may rest on the element type.
    if (auto typed = checker::replay_case(terms_, cases[0], chains_[chosen_[0]].steps, true);
        !typed)
      return with_context("the certificate", std::move(typed.error()));
    CertifiedRule result;
    result.cases = cases.size();
    for (const std::size_t chain : chosen_) {
      result.steps += chains_[chain].steps.size();
      for (const checker::Step& step : chains_[chain].steps) result.axioms.insert(step.axiom->name);
    }
    if (!witness.empty() || variable_names(rule_).empty())
      result.certificate = certificate_text(witness);
    if (result.certificate.empty()) return result;
    Digests digests;
    auto parsed = checker::parse_certificate(result.certificate, table_, digests);
    if (!parsed) return with_context("the certificate", std::move(parsed.error()));
    if (auto checked = checker::check_rounding(*parsed, rounding_); !checked)
      return with_context("the certificate", std::move(checked.error()));
    if (auto checked = checker::check(*parsed); !checked)
      return with_context("the certificate", std::move(checked.error()));
    return result;
  }

 private:
  struct WrittenChain {
    std::vector<std::string> lines;
    checker::Chain steps;
  };

  /// The most general cases first: what is found for them fits others too.
  static std::vector<std::size_t> order(const std::vector<RuleCase>& cases) {
    std::vector<std::pair<std::size_t, std::size_t>> keys;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::set<std::string> values;
      std::size_t ranks = 0;
      for (const auto& [name, value] : cases[i].bindings.parameters) values.insert(text(value));
      for (const auto& [name, shape] : cases[i].bindings.groups) {
        ranks += shape.size();
        for (const Dimension& size : shape) values.insert(size.text());
      }
      keys.emplace_back(100 * values.size() + ranks, i);
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::size_t> result;
    for (const auto& [key, i] : keys) result.push_back(i);
    return result;
  }

  Result<void> prove_case(const RuleCase& rule_case, std::size_t index) {
    {
      checker::Replay start(terms_, rule_case, DataType::f32);
      LEMMA_RETURN_IF_ERROR(start.begin());
      claims_[index] = checker::claim(rule_case, start.graph(), start.sides().left);
    }
    for (std::size_t i = recent_.size(); i-- > 0;)
      if (checker::replay_case(terms_, rule_case, chains_[recent_[i]].steps, false)) {
        chosen_[index] = recent_[i];
        std::rotate(recent_.begin() + static_cast<std::ptrdiff_t>(i),
                    recent_.begin() + static_cast<std::ptrdiff_t>(i) + 1, recent_.end());
        return confirm(rule_case, chosen_[index]);
      }
    LEMMA_RETURN_IF_ERROR(add_chain(rule_case));
    chosen_[index] = chains_.size() - 1;
    recent_.push_back(chosen_[index]);
    return confirm(rule_case, chosen_[index]);
  }

  /// Both sides of a case in one closure, and what its saturation came to.
  struct Search {
    Closure closure;
    std::vector<Goal> goals;
    ProofSearch saturation;
  };

  Result<Search> search(const RuleCase& rule_case, const std::vector<const DirectedAxiom*>& axioms,
                        Premises premises, const ProofSearchLimits& limits) {
    Search result;
    Graph& graph = result.closure.graph();
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < rule_case.inputs.size(); ++i) {
      inputs.push_back(*graph.add_input(rule_.inputs[i].name, rule_case.inputs[i]));
      if (rule_.inputs[i].defined) premises.defined.push_back(inputs.back());
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> left,
                           instantiate(rule_, rule_.left, inputs, rule_case.bindings, graph));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> right,
                           instantiate(rule_, rule_.right, inputs, rule_case.bindings, graph));
    for (std::size_t i = 0; i < left.size(); ++i) result.goals.push_back({left[i], right[i]});
    result.saturation = saturate(result.closure, result.goals, axioms, premises, limits);
    return result;
  }

  /// Most proofs need no operator that the rule does not have, and of the others most need one. The
  /// axioms that bring in more fill a closure: they are used only where the sides do not meet without.
  Result<void> add_chain(const RuleCase& rule_case) {
    std::vector<const std::vector<const DirectedAxiom*>*> attempts{&own_axioms_};
    for (const auto& axioms : with_one_other_) attempts.push_back(&axioms);
    attempts.push_back(&all_axioms_);
    std::string reason;
    for (const bool from_the_goal : {false, true})
      for (const auto* axioms : attempts) {
        if (from_the_goal && rule_.bidirectional) continue;
        auto added = add_chain(rule_case, *axioms, from_the_goal, {});
        if (added) return {};
        if (!from_the_goal) reason = added.error().message;
      }
    // A long chain that needs no reordering may be lost among what reordering adds.
    ProofSearchLimits in_order;
    in_order.rounds = in_order.rounds_in_order = 2 * in_order.rounds;
    if (add_chain(rule_case, own_axioms_, false, in_order)) return {};
    return bad_input(reason);
  }

  /// Adds a chain by these axioms. What a refinement unites may be equal to neither, so that the
  /// explanation of what was found can need one from right to left. Then those refinements are kept
  /// to where they are equations.
  Result<void> add_chain(const RuleCase& rule_case, const std::vector<const DirectedAxiom*>& axioms,
                         bool from_the_goal, const ProofSearchLimits& limits) {
    Premises premises;
    premises.from_the_goal = from_the_goal;
    premises.equations_only = rule_.bidirectional;
    for (int attempt = 0;; ++attempt) {
      LEMMA_ASSIGN_OR_RETURN(Search proof_search, search(rule_case, axioms, premises, limits));
      if (!proof_search.saturation.reached)
        return bad_input("the sides did not meet: " + proof_search.saturation.stopped);
      LEMMA_ASSIGN_OR_RETURN(
          const ProofExplanation explanation,
          explain(proof_search.closure, proof_search.goals, proof_search.saturation.steps));
      if (explanation.chain) return add_chain(rule_case, proof_search, *explanation.chain);
      if (premises.equations_only) return internal_error("an equality has no explanation");
      premises.only_as_equations.insert(explanation.misused.begin(), explanation.misused.end());
      premises.equations_only = attempt >= retries;
    }
  }

  Result<void> add_chain(const RuleCase& rule_case, Search& proof_search,
                         const std::vector<ProofRewrite>& rewrites) {
    const Substitution before = terms_;
    auto added = write_chain(rule_case, proof_search, rewrites);
    if (!added) terms_ = before;  // certificates list what their terms use
    return added;
  }

  Result<void> write_chain(const RuleCase& rule_case, Search& proof_search,
                           const std::vector<ProofRewrite>& rewrites) {
    const std::vector<AxiomUse>& steps = proof_search.saturation.steps;
    WrittenChain chain;
    LEMMA_ASSIGN_OR_RETURN(chain.lines,
                           ChainWriter(rule_, rule_case, proof_search.closure.graph(), steps)
                               .write(proof_search.goals, rewrites));
    for (const std::string& line : chain.lines) {
      auto step = checker::parse_step(line, table_, terms_);
      if (!step) return with_context("the chain found is unreadable", std::move(step.error()));
      chain.steps.push_back(std::move(*step));
    }
    checker::Replay replay(terms_, rule_case, DataType::f32);
    if (auto replayed = replay.run(chain.steps); !replayed)
      return with_context("the chain found does not replay", std::move(replayed.error()));
    chains_.push_back(std::move(chain));
    return {};
  }

  /// The second opinion: Z3 has to find that the goals follow from the axioms' instances.
  Result<void> confirm(const RuleCase& rule_case, std::size_t chain) {
    checker::Replay checked(terms_, rule_case, DataType::f32);
    LEMMA_RETURN_IF_ERROR(checked.run(chains_[chain].steps));
    std::vector<AxiomUse> steps;
    for (const SubstitutionUse& use : checked.uses())
      steps.push_back({use.substitution, use.inputs, use.bindings, nullptr, {}, 0});
    std::vector<Goal> goals;
    for (std::size_t i = 0; i < checked.sides().left.size(); ++i)
      goals.push_back({checked.sides().left[i], checked.sides().right[i]});
    if (auto agreed = replay(checked.graph(), steps, goals); !agreed)
      return with_context("Z3 does not agree with the proof found", std::move(agreed.error()));
    return {};
  }

  std::string certificate_text(const std::string& witness) const {
    const std::string rule = text(rule_);
    std::string result = fmt::format("{}\nverifier {}\nid {}\n{}", checker::format_line,
                                     proof_version, sha256(rule), rule);
    checker::Certificate used;
    used.terms = terms_;
    for (const WrittenChain& chain : chains_) used.chains.push_back(chain.steps);
    Digests digests;
    for (const std::string& line : digests.lines_about(checker::used_by(used)))
      result += line + "\n";
    std::vector<std::string> axioms;
    for (const checker::Chain& chain : used.chains)
      for (const checker::Step& step : chain) axioms.push_back(step.axiom->name);
    result += fmt::format("class {}\nwitness{}{}\n", name(worst_of(axioms, rounding_)),
                          witness.empty() ? "" : " ", witness);
    std::vector<std::vector<std::size_t>> cases_of;  // chains in the order in which cases use them;
    std::map<std::size_t, std::size_t> numbers;      // cases counted from 1
    std::string lines;
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      const std::size_t number = numbers.try_emplace(chosen_[i], numbers.size()).first->second;
      if (number == cases_of.size()) cases_of.emplace_back();
      cases_of[number].push_back(i + 1);
      lines += fmt::format("{} by {}\n", claims_[i], number + 1);
    }
    result += fmt::format("cases {} {}\n", claims_.size(), sha256(lines));
    for (std::size_t k = 0; k < cases_of.size(); ++k) {
      result += fmt::format("chain {}", k + 1);
      result += k == 0 ? "\n" : fmt::format(" of cases {}\n", fmt::join(cases_of[k], ", "));
      for (const std::string& line : chains_[chosen_[cases_of[k][0] - 1]].lines)
        result += "  " + line + "\n";
    }
    return result + "end\n";
  }

  /// How often misused refinements are taken away before all are.
  static constexpr int retries = 3;

  const Substitution& rule_;
  Substitution terms_;
  std::vector<const DirectedAxiom*> all_axioms_, own_axioms_;
  std::vector<std::vector<const DirectedAxiom*>> with_one_other_;
  const checker::AxiomTable& table_;
  const RoundingTable& rounding_;
  std::vector<WrittenChain> chains_;
  std::vector<std::size_t> recent_;  // chains, the one that fitted last at the end
  std::vector<std::string> claims_;
  std::vector<std::size_t> chosen_;  // by case
};

}  // namespace

Result<CertifiedRule> certify(const Substitution& rule, const std::vector<DirectedAxiom>& axioms,
                              const checker::AxiomTable& table, const std::string& witness,
                              const RoundingTable& rounding) {
  return Certifier(rule, axioms, table, rounding).run(witness);
}

}  // namespace lemma::verifier
