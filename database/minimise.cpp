#include "database/minimise.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/normal_form.h"
#include "database/parallel.h"
#include "ir/sha256.h"

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;

/// What is found out about one rule, given the others.
struct Answer {
  bool derivable = false;
  std::vector<std::string> from;
  std::string kept_because;
};

class Minimiser {
 public:
  Minimiser(std::vector<BuiltRule>& rules, Journal& journal, const BuildOptions& options)
      : rules_(rules), journal_(journal), options_(options), pool_(options.threads) {}

  Result<void> run() {
    for (const BuiltRule& rule : rules_) all_.add(rule.proved.rule);
    std::vector<Answer> answers(rules_.size());
    const std::string everything = digest_of_basis();
    std::size_t done = 0;
    // What does not follow even from all others is in the basis: no order decides that.
    LEMMA_RETURN_IF_ERROR(pool_.for_each(rules_.size(), [&](std::size_t i) -> Result<void> {
      const std::string& name = rules_[i].proved.rule.name;
      LEMMA_ASSIGN_OR_RETURN(answers[i], ask(i, everything, [&] { return all_.without(name); }));
      return {};
    }));
    for (const std::size_t i : large_ones_first()) {
      tell(++done);
      if (!answers[i].derivable) continue;
      const std::string basis = digest_of_basis();
      if (basis != everything) {
        LEMMA_ASSIGN_OR_RETURN(answers[i], ask(i, basis, [&] { return basis_without(i); }));
      }
      if (!answers[i].derivable) continue;
      rules_[i].derived = true;
      rules_[i].derived_from = answers[i].from;
    }
    return give_reasons();
  }

 private:
  Result<Answer> ask(std::size_t i, const std::string& basis, const auto& others) {
    if (options_.cancelled && options_.cancelled()) return bad_input(std::string(interrupted));
    const Substitution& rule = rules_[i].proved.rule;
    const std::string question = "minimise " + basis + "\n" + claim_text(rule);
    Answer answer;
    if (const auto known = journal_.find(question)) {
      const Json json = Json::parse(*known, nullptr, false);
      answer.derivable = json.value("derivable", false);
      answer.from = json.value("from", std::vector<std::string>{});
      return answer;
    }
    const DerivationRules base = others();
    const Derivation found = derive(rule, base, Start::both_sides, options_.limits);
    answer.derivable = found.derivable;
    if (found.derivable)
      answer.from = needed_rules(rule, base, found, Start::both_sides, options_.limits);
    LEMMA_RETURN_IF_ERROR(journal_.add(
        question, Json({{"derivable", answer.derivable}, {"from", answer.from}}).dump()));
    return answer;
  }

  /// With the basis as it is in the end: does the search find the right side from the left alone?
  Result<void> give_reasons() {
    std::vector<std::string> names;
    for (const BuiltRule& rule : rules_)
      if (!rule.derived) names.push_back(rule.proved.rule.name);
    const DerivationRules basis = all_.only(names);
    const std::string digest = digest_of_basis();
    return pool_.for_each(rules_.size(), [&](std::size_t i) -> Result<void> {
      if (!rules_[i].derived) return {};
      if (options_.cancelled && options_.cancelled()) return bad_input(std::string(interrupted));
      const Substitution& rule = rules_[i].proved.rule;
      const std::string question = "reach " + digest + "\n" + claim_text(rule);
      if (const auto known = journal_.find(question)) {
        rules_[i].kept_because = *known;
        return {};
      }
      rules_[i].kept_because = reason_to_keep(rule, basis);
      return journal_.add(question, rules_[i].kept_because);
    });
  }

  std::string reason_to_keep(const Substitution& rule, const DerivationRules& basis) const {
    if (const auto found = derive(rule, basis, Start::left_side, options_.limits); !found.derivable)
      return fmt::format("the basis does not lead from its left side to its right ({})",
                         found.stopped);
    if (!rule.bidirectional) return "";
    if (const auto found = derive(reversed(rule), basis, Start::left_side, options_.limits);
        !found.derivable)
      return fmt::format("the basis does not lead from its right side to its left ({})",
                         found.stopped);
    return "";
  }

  std::vector<std::size_t> large_ones_first() const {
    std::vector<std::pair<RuleSize, std::size_t>> order;
    for (std::size_t i = 0; i < rules_.size(); ++i)
      order.emplace_back(size_of(rules_[i].proved.rule), i);
    std::sort(order.rbegin(), order.rend());
    std::vector<std::size_t> result;
    for (const auto& [size, i] : order) result.push_back(i);
    return result;
  }

  DerivationRules basis_without(std::size_t i) const {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < rules_.size(); ++k)
      if (k != i && !rules_[k].derived) names.push_back(rules_[k].proved.rule.name);
    return all_.only(names);
  }

  std::string digest_of_basis() const {
    std::string contents;
    for (const BuiltRule& rule : rules_)
      if (!rule.derived) contents += text(rule.proved.rule) + "\n";
    return sha256(contents);
  }

  void tell(std::size_t done) const {
    if (options_.progress) options_.progress({"minimise", done, rules_.size(), rules_.size()});
  }

  std::vector<BuiltRule>& rules_;
  Journal& journal_;
  const BuildOptions& options_;
  Pool pool_;
  DerivationRules all_;
};

}  // namespace

Result<void> minimise(std::vector<BuiltRule>& rules, Journal& journal,
                      const BuildOptions& options) {
  return Minimiser(rules, journal, options).run();
}

}  // namespace lemma::database
