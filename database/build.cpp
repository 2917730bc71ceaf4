#include "database/build.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "database/compose.h"
#include "database/minimise.h"
#include "database/normal_form.h"
#include "database/parallel.h"
#include "ir/sha256.h"

namespace lemma::database {

/// Raised whenever the same question may have another answer.
constexpr int build_version = 5;

std::string_view name(CandidateReport::Fate fate) {
  using Fate = CandidateReport::Fate;
  switch (fate) {
    case Fate::proved: return "proved";
    case Fate::derived: return "derived";
    case Fate::conditional: return "conditional";
    case Fate::refuted: return "refuted";
    case Fate::unknown: return "unknown";
  }
  return "?";
}

std::size_t Build::count(CandidateReport::Fate fate) const {
  return static_cast<std::size_t>(
      std::count_if(candidates.begin(), candidates.end(),
                    [fate](const CandidateReport& one) { return one.fate == fate; }));
}

std::string job_text(const verifier::AxiomSet& axioms, const DerivationLimits& limits) {
  std::string result =
      fmt::format("build {} proofs {} limits {} {} {} {}\n", build_version, proof_version,
                  limits.nodes, limits.iterations, limits.matches, limits.cases);
  for (const Substitution& axiom : axioms.axioms()) result += text(axiom) + "\n";
  return result;
}

namespace {

using Fate = CandidateReport::Fate;

/// "by A B": the names; nothing for "no".
std::optional<std::vector<std::string>> parse_names(const std::string& answer) {
  if (!answer.starts_with("by ")) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t at = 3; at < answer.size();) {
    const std::size_t end = std::min(answer.find(' ', at), answer.size());
    names.push_back(answer.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

/// Candidates that one base of rules is asked about together, and those that are decided together.
/// They decide which rules are known when, and must not depend on the number of threads.
constexpr std::size_t window = 96, decided_together = 8;

class Builder {
 public:
  Builder(const verifier::AxiomSet& axioms, Journal& journal, const BuildOptions& options)
      : axioms_(axioms), journal_(journal), options_(options), pool_(options.threads) {}

  Result<Build> run(const std::vector<Substitution>& given) {
    LEMMA_RETURN_IF_ERROR(state_commutativity(commutative_operators(given)));
    collect(given);
    for (std::size_t begin = 0; begin < build_.candidates.size(); begin += window)
      LEMMA_RETURN_IF_ERROR(work_off(begin, std::min(build_.candidates.size(), begin + window)));
    LEMMA_RETURN_IF_ERROR(compose());
    std::sort(build_.rules.begin(), build_.rules.end(), [](const BuiltRule& a, const BuiltRule& b) {
      return a.proved.rule.name < b.proved.rule.name;
    });
    LEMMA_RETURN_IF_ERROR(minimise(build_.rules, journal_, options_));
    return std::move(build_);
  }

 private:
  Result<Decision> decision(const Substitution& candidate) {
    if (stopped()) return bad_input(std::string(interrupted));
    const std::string question = "decide\n" + claim_text(candidate);
    if (const auto known = journal_.find(question)) return parse_decision(*known);
    Decision decided = decide(candidate, axioms_);
    LEMMA_RETURN_IF_ERROR(journal_.add(question, to_text(decided)));
    return decided;
  }

  void add_rules(std::vector<DecidedRule>& rules) {
    for (DecidedRule& rule : rules) {
      if (!names_.insert(rule.rule.name).second) continue;
      base_.add(rule.rule);
      base_digest_ = sha256(base_digest_ + "\n" + text(rule.rule));
      build_.rules.push_back({std::move(rule), {}, false, ""});
    }
  }

  Result<void> state_commutativity(const std::vector<Substitution>& rules) {
    for (const Substitution& rule : rules) {
      LEMMA_ASSIGN_OR_RETURN(Decision decided, decision(rule));
      if (decided.outcome == Decision::Outcome::proved) add_rules(decided.rules);
    }
    return {};
  }

  /// Rules with several outputs, from those with one.
  Result<void> compose() {
    std::vector<Substitution> rules;
    for (const BuiltRule& rule : build_.rules) rules.push_back(rule.proved.rule);
    const std::vector<Substitution> composed = several_outputs(rules);
    std::vector<std::optional<DecidedRule>> decided(composed.size());
    auto all = pool_.for_each(composed.size(), [&](std::size_t i) -> Result<void> {
      if (stopped()) return bad_input(std::string(interrupted));
      const std::string question = "prove\n" + text(composed[i]);
      auto known = journal_.find(question);
      if (!known) {
        known = to_text(decide_as_it_is(composed[i], axioms_));
        LEMMA_RETURN_IF_ERROR(journal_.add(question, *known));
      }
      LEMMA_ASSIGN_OR_RETURN(Decision answer, parse_decision(*known));
      if (!answer.rules.empty()) decided[i] = std::move(answer.rules[0]);
      return {};
    });
    if (!all) return all;
    for (std::optional<DecidedRule>& rule : decided) {
      if (!rule || !names_.insert(rule->rule.name).second) continue;
      build_.rules.push_back({std::move(*rule), {}, false, ""});
    }
    return {};
  }

  /// Each claim once, small ones first.
  void collect(const std::vector<Substitution>& given) {
    build_.given = given.size();
    std::vector<std::optional<Substitution>> normal(given.size());
    (void)pool_.for_each(given.size(), [&](std::size_t i) -> Result<void> {
      normal[i] = normal_form(given[i]);
      return {};
    });
    std::vector<std::pair<RuleSize, std::string>> order;
    std::map<std::string, Substitution> by_text;
    for (std::optional<Substitution>& one : normal) {
      if (!one) {
        ++build_.trivial;
        continue;
      }
      std::string claim = claim_text(*one);
      const RuleSize size = size_of(*one);
      if (by_text.emplace(claim, std::move(*one)).second)
        order.emplace_back(size, std::move(claim));
      else
        ++build_.repeated;
    }
    std::sort(order.begin(), order.end());
    for (const auto& [size, claim] : order) {
      CandidateReport report;
      report.candidate = std::move(by_text.at(claim));
      build_.candidates.push_back(std::move(report));
    }
  }

  // ---- One window of candidates -----------------------------------------------------------------

  Result<void> work_off(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> open;
    for (std::size_t i = begin; i < end; ++i) open.push_back(i);
    while (!open.empty()) {
      LEMMA_RETURN_IF_ERROR(drop_derivable(open));
      const std::size_t count = std::min(open.size(), decided_together);
      std::vector<Decision> decisions(count);
      LEMMA_RETURN_IF_ERROR(
          decide_all({open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count)}, decisions));
      for (std::size_t k = 0; k < count; ++k)
        LEMMA_RETURN_IF_ERROR(take_in(build_.candidates[open[k]], std::move(decisions[k])));
      open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count));
      tell("candidates", end - open.size(), build_.candidates.size());
    }
    return {};
  }

  /// Takes those that follow from the rules known by now out of `open`.
  Result<void> drop_derivable(std::vector<std::size_t>& open) {
    base_when_asked_ = base_.size();
    std::vector<std::optional<std::vector<std::string>>> used(open.size());
    LEMMA_RETURN_IF_ERROR(pool_.for_each(open.size(), [&](std::size_t i) -> Result<void> {
      if (stopped()) return bad_input(std::string(interrupted));
      LEMMA_ASSIGN_OR_RETURN(used[i], derivation(build_.candidates[open[i]].candidate));
      return {};
    }));
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (used[i])
        follows(build_.candidates[open[i]], std::move(*used[i]));
      else
        left.push_back(open[i]);
    }
    open = std::move(left);
    return {};
  }

  static void follows(CandidateReport& report, std::vector<std::string> used) {
    report.fate = Fate::derived;
    report.rules = std::move(used);
  }

  /// The rules that a derivation applied; nothing if there is none.
  Result<std::optional<std::vector<std::string>>> derivation(const Substitution& rule) {
    if (base_.size() == 0) return std::nullopt;
    const std::string question = "derive " + base_digest_ + "\n" + claim_text(rule);
    if (const auto known = journal_.find(question)) return parse_names(*known);
    Derivation found = derive(rule, base_, Start::both_sides, options_.limits);
    // A candidate of which not all cases were tried does not count as shown.
    const bool all = found.derivable && found.tried == found.cases;
    LEMMA_RETURN_IF_ERROR(
        journal_.add(question, all ? fmt::format("by {}", fmt::join(found.used, " ")) : "no"));
    if (!all) return std::nullopt;
    return found.used;
  }

  Result<void> decide_all(const std::vector<std::size_t>& candidates,
                          std::vector<Decision>& decisions) {
    return pool_.for_each(candidates.size(), [&](std::size_t i) -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(decisions[i], decision(build_.candidates[candidates[i]].candidate));
      return {};
    });
  }

  /// In order of candidates: one may follow from what the one before it has brought.
  Result<void> take_in(CandidateReport& report, Decision decided) {
    report.steps = std::move(decided.steps);
    report.reason = std::move(decided.reason);
    report.reason_class = std::move(decided.reason_class);
    report.conditions = std::move(decided.conditions);
    if (decided.outcome == Decision::Outcome::unknown) report.fate = Fate::unknown;
    if (decided.outcome == Decision::Outcome::refuted) report.fate = Fate::refuted;
    if (decided.outcome != Decision::Outcome::proved) return {};
    if (base_.size() != base_when_asked_) {
      LEMMA_ASSIGN_OR_RETURN(auto used, derivation(report.candidate));
      if (used) {
        follows(report, std::move(*used));
        return {};
      }
    }
    report.fate = report.reason.empty() ? Fate::proved : Fate::conditional;
    for (const DecidedRule& rule : decided.rules) report.rules.push_back(rule.rule.name);
    add_rules(decided.rules);
    return {};
  }

  bool stopped() const { return options_.cancelled && options_.cancelled(); }
  void tell(const std::string& stage, std::size_t done, std::size_t total) const {
    if (options_.progress) options_.progress({stage, done, total, build_.rules.size()});
  }

  const verifier::AxiomSet& axioms_;
  Journal& journal_;
  const BuildOptions& options_;
  Pool pool_;
  Build build_;
  DerivationRules base_;
  std::string base_digest_;
  std::size_t base_when_asked_ = 0;
  std::set<std::string> names_;
};

}  // namespace

Result<Build> build(const std::vector<Substitution>& candidates, const verifier::AxiomSet& axioms,
                    Journal& journal, const BuildOptions& options) {
  return Builder(axioms, journal, options).run(candidates);
}

}  // namespace lemma::database
