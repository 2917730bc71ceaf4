#include "database/build.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "database/compose.h"
#include "database/minimize.h"
#include "database/naming.h"
#include "database/normal_form.h"
#include "database/queries.h"
#include "system/parallel.h"

namespace lemma::database {

/// Raised whenever the same query may have another answer.
constexpr int build_version = 11;

std::string_view name(CandidateOutcome outcome) {
  switch (outcome) {
    case CandidateOutcome::proved: return "proved";
    case CandidateOutcome::derived: return "derived";
    case CandidateOutcome::conditional: return "conditional";
    case CandidateOutcome::refuted: return "refuted";
    case CandidateOutcome::unknown: return "unknown";
  }
  return "?";
}

std::size_t Build::count(CandidateOutcome outcome) const {
  return static_cast<std::size_t>(std::count_if(
      candidates.begin(), candidates.end(),
      [outcome](const CandidateReport& report) { return report.outcome == outcome; }));
}

RuleCounts Build::count_rules() const {
  RuleCounts counts;
  for (const BuiltRule& rule : rules)
    ++(!rule.derived       ? counts.basis
       : rule.is_shipped() ? counts.derived_and_kept
                           : counts.derived_and_left_out);
  counts.one_proof = found_apart.size() + hand_written_apart.size();
  counts.hand_written = hand_written.size() + hand_written_apart.size();
  return counts;
}

std::vector<std::string> Build::hand_written_but_not_needed() const {
  std::vector<std::string> names;
  for (const BuiltRule& rule : hand_written)
    if (!rule.is_shipped()) names.push_back(rule.proved.rule.name);
  return names;
}

std::string job_text(const verifier::AxiomSet& axioms, const DerivationLimits& limits) {
  std::string result = fmt::format("build {} proofs {} {} limits {} {} {} {}\n", build_version,
                                   proof_version, index_proof_version, limits.nodes,
                                   limits.iterations, limits.matches, limits.cases);
  for (const Substitution& axiom : axioms.axioms()) result += text(axiom) + "\n";
  return result;
}

namespace {

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
/// They decide which rules are known when, and must not depend on the number of threads and ranks.
constexpr std::size_t window = 96, decided_together = 8;
/// Candidates for each worker that may be decided ahead. Of the next ones one in five will have become
/// derivable when its turn comes; of later ones more.
constexpr std::size_t ahead_per_worker = 4;

class Builder {
 public:
  Builder(const verifier::AxiomSet& axioms, AnswerJournal& journal, const BuildOptions& options)
      : axioms_(axioms),
        options_(options),
        own_rank_(options.ranks == nullptr ? ranks::one_rank() : nullptr),
        queries_(journal, options.ranks == nullptr ? *own_rank_ : *options.ranks, options.threads,
                 options.cancelled) {}

  Result<Build> run(const std::vector<Substitution>& given) {
    LEMMA_RETURN_IF_ERROR(queries_.share_journal());
    add_known();
    LEMMA_RETURN_IF_ERROR(prove_hand_written());
    LEMMA_RETURN_IF_ERROR(add_commutativity(commutative_operators(given)));
    collect(given);
    for (std::size_t begin = 0; begin < build_.candidates.size(); begin += window)
      LEMMA_RETURN_IF_ERROR(work_off(begin, std::min(build_.candidates.size(), begin + window)));
    LEMMA_RETURN_IF_ERROR(compose());
    std::sort(build_.rules.begin(), build_.rules.end(), [](const BuiltRule& a, const BuiltRule& b) {
      return a.proved.rule.name < b.proved.rule.name;
    });
    std::sort(build_.found_apart.begin(), build_.found_apart.end(),
              [](const DecidedRule& a, const DecidedRule& b) { return a.rule.name < b.rule.name; });
    const std::vector<BuiltRule> known = known_rules();
    LEMMA_RETURN_IF_ERROR(minimize(build_.rules, known, queries_, options_));
    std::vector<BuiltRule> basis = build_.rules;
    basis.insert(basis.end(), known.begin(), known.end());
    LEMMA_RETURN_IF_ERROR(minimize(build_.hand_written, basis, queries_, options_));
    give_names(build_, options_.known_names);
    return std::move(build_);
  }

 private:
  /// What becomes of a candidate by itself. It does not depend on the rules known by now, so that it
  /// can be asked ahead.
  MemoizedQuery decision(const Substitution& candidate) const {
    return {AnswerJournal::key("decide\n" + claim_text(candidate)),
            [this, &candidate] { return to_text(decide(candidate, axioms_)); }};
  }

  /// Decisions about candidates, and about others ahead. The candidates outlive this.
  Result<std::vector<Decision>> decisions(const std::vector<const Substitution*>& wanted) {
    std::vector<MemoizedQuery> queries;
    for (const Substitution* candidate : wanted) queries.push_back(decision(*candidate));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> answers,
                           queries_.ask(std::move(queries)));
    return parse_all(answers);
  }

  /// `is_narrow`: a candidate that follows from them may still become a more general rule, so that none is dropped for it.
  void add_rules(std::vector<DecidedRule>& rules, bool is_narrow = false) {
    for (DecidedRule& rule : rules) {
      if (!names_.insert(rule.rule.name).second) continue;
      if (!rule.reason.empty()) {
        build_.found_apart.push_back(std::move(rule));
        continue;
      }
      if (!is_narrow) add_to_base(rule.rule);
      build_.rules.push_back({std::move(rule), {}, false, ""});
    }
  }

  void add_to_base(const Substitution& rule) {
    base_.add(rule);
    base_digest_ = sha256(base_digest_ + "\n" + text(rule));
  }

  void add_known() {
    names_.insert(options_.known_names.begin(), options_.known_names.end());
    for (const Substitution& rule : options_.known) add_to_base(rule);
  }

  /// Nothing of them is written.
  std::vector<BuiltRule> known_rules() const {
    std::vector<BuiltRule> result;
    for (const Substitution& rule : options_.known)
      result.push_back({{rule, {}, "", ""}, {}, false, ""});
    return result;
  }

  Result<void> add_commutativity(const std::vector<Substitution>& rules) {
    std::vector<const Substitution*> all, wanted;
    for (const Substitution& rule : rules) all.push_back(&rule);
    LEMMA_ASSIGN_OR_RETURN(const auto used, derivations(all));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!used[i]) wanted.push_back(all[i]);
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decided, decisions(wanted));
    for (Decision& decision : decided)
      if (decision.outcome == Decision::Outcome::proved) add_rules(decision.rules);
    return {};
  }

  /// Proofs of rules as they are.
  Result<std::vector<Decision>> proofs(const std::vector<Substitution>& rules) {
    std::vector<MemoizedQuery> queries;
    for (const Substitution& rule : rules)
      queries.push_back({AnswerJournal::key("prove\n" + text(rule)),
                         [this, &rule] { return to_text(decide_as_it_is(rule, axioms_)); }});
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> answers,
                           queries_.ask(std::move(queries)));
    return parse_all(answers);
  }

  static Result<std::vector<Decision>> parse_all(const std::vector<std::string>& answers) {
    std::vector<Decision> result;
    for (const std::string& answer : answers) {
      LEMMA_ASSIGN_OR_RETURN(Decision decided, parse_decision(answer));
      result.push_back(std::move(decided));
    }
    return result;
  }

  /// Before everything else, so that one that cannot be proved is known at once.
  Result<void> prove_hand_written() {
    tell("rules written by hand", 0, options_.hand_written.size());
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decided, proofs(options_.hand_written));
    for (std::size_t i = 0; i < decided.size(); ++i) {
      const Substitution& rule = options_.hand_written[i];
      if (decided[i].rules.empty())
        return bad_input(fmt::format("rule {}, written by hand, is not proved: {}", rule.name,
                                     decided[i].reason));
      names_.insert(rule.name);
      DecidedRule& proved = decided[i].rules[0];
      if (proved.reason.empty())
        build_.hand_written.push_back({std::move(proved), {}, false, ""});
      else
        build_.hand_written_apart.push_back(std::move(proved));
    }
    return {};
  }

  /// Rules with several outputs, from those with one.
  Result<void> compose() {
    std::vector<Substitution> rules;
    for (const BuiltRule& rule : build_.rules) rules.push_back(rule.proved.rule);
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decisions, proofs(several_outputs(rules)));
    for (Decision& decided : decisions) {
      if (decided.rules.empty() || !names_.insert(decided.rules[0].rule.name).second) continue;
      DecidedRule& rule = decided.rules[0];
      if (rule.reason.empty())
        build_.rules.push_back({std::move(rule), {}, false, ""});
      else
        build_.found_apart.push_back(std::move(rule));
    }
    return {};
  }

  /// Each claim once, small ones first.
  void collect(const std::vector<Substitution>& given) {
    build_.given = given.size();
    std::vector<std::optional<Substitution>> normal(given.size());
    parallel_for(given.size(), options_.threads,
                 [&](std::size_t i) { normal[i] = normal_form(given[i]); });
    std::vector<std::pair<RuleSize, std::string>> order;
    std::map<std::string, Substitution> by_text;
    for (std::optional<Substitution>& normalized : normal) {
      if (!normalized) {
        ++build_.trivial;
        continue;
      }
      std::string claim = claim_text(*normalized);
      const RuleSize size = size_of(*normalized);
      if (by_text.emplace(claim, std::move(*normalized)).second)
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
      std::vector<const Substitution*> together;
      std::vector<MemoizedQuery> ahead;
      for (const std::size_t i : open) {
        const Substitution& candidate = build_.candidates[i].candidate;
        if (together.size() < count)
          together.push_back(&candidate);
        else if (ahead.size() < ahead_per_worker * queries_.workers())
          ahead.push_back(decision(candidate));
      }
      queries_.look_ahead(std::move(ahead));
      LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decided, decisions(together));
      for (std::size_t k = 0; k < count; ++k)
        LEMMA_RETURN_IF_ERROR(take_in(build_.candidates[open[k]], std::move(decided[k])));
      open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count));
      tell("candidates", end - open.size(), build_.candidates.size());
    }
    return {};
  }

  /// Takes those that follow from the rules known by now out of `open`.
  Result<void> drop_derivable(std::vector<std::size_t>& open) {
    base_when_asked_ = base_.size();
    std::vector<const Substitution*> candidates;
    for (const std::size_t i : open) candidates.push_back(&build_.candidates[i].candidate);
    LEMMA_ASSIGN_OR_RETURN(auto used, derivations(candidates));
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
    report.outcome = CandidateOutcome::derived;
    report.rules = std::move(used);
  }

  /// For each rule the rules that a derivation applied; nothing if there is none.
  Result<std::vector<std::optional<std::vector<std::string>>>> derivations(
      const std::vector<const Substitution*>& rules) {
    std::vector<std::optional<std::vector<std::string>>> result(rules.size());
    if (base_.size() == 0) return result;
    std::vector<MemoizedQuery> queries;
    for (const Substitution* rule : rules)
      queries.push_back({AnswerJournal::key("derive " + base_digest_ + "\n" + claim_text(*rule)),
                         [this, rule] { return derivation(*rule); }});
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> answers,
                           queries_.ask(std::move(queries)));
    for (std::size_t i = 0; i < rules.size(); ++i) result[i] = parse_names(answers[i]);
    return result;
  }

  std::string derivation(const Substitution& rule) const {
    const Derivation attempt = derive(rule, base_, Start::both_sides, options_.limits);
    // A candidate of which not all cases were tried does not count as shown.
    const bool all = attempt.derivable && attempt.tried == attempt.cases;
    return all ? fmt::format("by {}", fmt::join(attempt.used, " ")) : "no";
  }

  /// Takes in what was decided, in order of candidates: one may follow from what the one before it
  /// has brought.
  Result<void> take_in(CandidateReport& report, Decision decided) {
    report.steps = std::move(decided.steps);
    report.reason = std::move(decided.reason);
    report.reason_class = std::move(decided.reason_class);
    report.conditions = std::move(decided.conditions);
    if (decided.outcome == Decision::Outcome::unknown) report.outcome = CandidateOutcome::unknown;
    if (decided.outcome == Decision::Outcome::refuted) report.outcome = CandidateOutcome::refuted;
    if (decided.outcome != Decision::Outcome::proved) return {};
    if (base_.size() != base_when_asked_) {
      LEMMA_ASSIGN_OR_RETURN(auto used, derivations({&report.candidate}));
      if (used[0]) {
        follows(report, std::move(*used[0]));
        return {};
      }
    }
    report.outcome =
        report.reason.empty() ? CandidateOutcome::proved : CandidateOutcome::conditional;
    for (const DecidedRule& rule : decided.rules) report.rules.push_back(rule.rule.name);
    add_rules(decided.rules, decided.is_narrow);
    return {};
  }

  void tell(const std::string& stage, std::size_t done, std::size_t total) const {
    if (options_.progress) options_.progress({stage, done, total, build_.rules.size()});
  }

  const verifier::AxiomSet& axioms_;
  const BuildOptions& options_;
  Build build_;
  DerivationRules base_;
  std::string base_digest_;
  std::size_t base_when_asked_ = 0;
  std::set<std::string> names_;
  std::unique_ptr<ranks::Ranks> own_rank_;
  MemoizedQueries queries_;  // the last: what is found out refers to the others
};

}  // namespace

Result<Build> build(const std::vector<Substitution>& candidates, const verifier::AxiomSet& axioms,
                    AnswerJournal& journal, const BuildOptions& options) {
  return Builder(axioms, journal, options).run(candidates);
}

}  // namespace lemma::database
