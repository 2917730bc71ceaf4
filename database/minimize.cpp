#include "database/minimize.h"

#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "database/normal_form.h"

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t asked_ahead = 16;

/// What is found out about one rule, given the others.
struct Answer {
  bool derivable = false;
  std::vector<std::string> from;
};

class Minimizer {
 public:
  Minimizer(std::vector<BuiltRule>& rules, const std::vector<BuiltRule>& given,
            MemoizedQueries& queries, const BuildOptions& options)
      : rules_(rules), queries_(queries), options_(options) {
    for (const BuiltRule& rule : given) {
      if (!rule.is_shipped()) continue;
      given_.push_back(rule.proved.rule.name);
      given_text_ += text(rule.proved.rule) + "\n";
      all_.add(rule.proved.rule);
    }
  }

  Result<void> run() {
    for (const BuiltRule& rule : rules_) all_.add(rule.proved.rule);
    const std::string everything = digest_of_basis();
    // What does not follow even from all others is in the basis: no order decides that.
    std::vector<MemoizedQuery> first;
    for (std::size_t i = 0; i < rules_.size(); ++i)
      first.push_back(query(i, everything, [this, i] { return all_.without(name(i)); }));
    LEMMA_ASSIGN_OR_RETURN(const auto texts, queries_.ask(std::move(first)));
    std::vector<Answer> answers;
    for (const std::string& text : texts) answers.push_back(parse(text));
    std::vector<std::size_t> order = large_ones_first();
    std::erase_if(order, [&answers](std::size_t i) { return !answers[i].derivable; });
    for (std::size_t n = 0; n < order.size(); ++n) {
      const std::size_t i = order[n];
      tell(n, order.size());
      const std::string basis = digest_of_basis();
      if (basis != everything) {
        LEMMA_ASSIGN_OR_RETURN(answers[i], ask_with_basis(order, n, basis));
      }
      if (!answers[i].derivable) continue;
      rules_[i].derived = true;
      rules_[i].derived_from = answers[i].from;
    }
    LEMMA_RETURN_IF_ERROR(give_reasons());
    return queries_.settle();
  }

 private:
  const std::string& name(std::size_t i) const { return rules_[i].proved.rule.name; }

  /// Whether rule `i` follows from the rules that `others` makes.
  MemoizedQuery query(std::size_t i, const std::string& basis,
                      std::function<DerivationRules()> others) const {
    const Substitution& rule = rules_[i].proved.rule;
    return {AnswerJournal::key("minimize " + basis + "\n" + claim_text(rule)),
            [this, &rule, others = std::move(others)] { return find_out(rule, others()); }};
  }

  std::string find_out(const Substitution& rule, const DerivationRules& base) const {
    const Derivation derivation = derive(rule, base, Start::both_sides, options_.limits);
    std::vector<std::string> from;
    if (derivation.derivable)
      from = needed_rules(rule, base, derivation, Start::both_sides, options_.limits);
    return Json({{"derivable", derivation.derivable}, {"from", from}}).dump();
  }

  static Answer parse(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    Answer answer;
    answer.derivable = json.value("derivable", false);
    answer.from = json.value("from", std::vector<std::string>{});
    return answer;
  }

  /// The answer about the rule order[n], given the basis as it is. The next ones are asked ahead: if
  /// this one does not follow, the basis is the same for them.
  Result<Answer> ask_with_basis(const std::vector<std::size_t>& order, std::size_t n,
                                const std::string& basis) {
    const auto names = std::make_shared<const std::vector<std::string>>(names_of_basis());
    std::vector<MemoizedQuery> queries;
    for (std::size_t k = n; k < std::min(order.size(), n + 1 + asked_ahead); ++k)
      queries.push_back(query(order[k], basis, [this, names, i = order[k]] {
        std::vector<std::string> others = *names;
        std::erase(others, name(i));
        return all_.only(others);
      }));
    std::vector<MemoizedQuery> now = {std::move(queries.front())};
    queries.erase(queries.begin());
    queries_.look_ahead(std::move(queries));
    LEMMA_ASSIGN_OR_RETURN(const auto texts, queries_.ask(std::move(now)));
    return parse(texts[0]);
  }

  /// Gives reasons to keep rules: whether the search finds the right side from the left alone, with
  /// the basis as it is in the end.
  Result<void> give_reasons() {
    const DerivationRules basis = all_.only(names_of_basis()).as_searched();
    const DerivationRules refinements = basis.as_refinements();
    const std::string digest = digest_of_basis();
    std::vector<std::size_t> derived;
    std::vector<MemoizedQuery> queries;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!rules_[i].derived) continue;
      const Substitution& rule = rules_[i].proved.rule;
      derived.push_back(i);
      queries.push_back({AnswerJournal::key("reach " + digest + "\n" + claim_text(rule)),
                         [this, &rule, &basis, &refinements] {
                           return reason_to_keep(rule, basis, refinements);
                         }});
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<std::string> reasons, queries_.ask(std::move(queries)));
    for (std::size_t k = 0; k < derived.size(); ++k)
      rules_[derived[k]].kept_because = std::move(reasons[k]);
    return {};
  }

  std::string reason_to_keep(const Substitution& rule, const DerivationRules& basis,
                             const DerivationRules& refinements) const {
    // The search applies refinements where their left side is defined. There it applies those of the basis too.
    if (const auto derivation = derive(rule, rule.bidirectional ? basis : refinements,
                                       Start::left_side, options_.limits);
        !derivation.derivable)
      return fmt::format("the basis does not lead from its left side to its right ({})",
                         derivation.stopped);
    if (!rule.bidirectional) return "";
    if (const auto derivation = derive(reversed(rule), basis, Start::left_side, options_.limits);
        !derivation.derivable)
      return fmt::format("the basis does not lead from its right side to its left ({})",
                         derivation.stopped);
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

  std::vector<std::string> names_of_basis() const {
    std::vector<std::string> names = given_;
    for (const BuiltRule& rule : rules_)
      if (!rule.derived) names.push_back(rule.proved.rule.name);
    return names;
  }

  std::string digest_of_basis() const {
    std::string contents = given_text_;
    for (const BuiltRule& rule : rules_)
      if (!rule.derived) contents += text(rule.proved.rule) + "\n";
    return sha256(contents);
  }

  void tell(std::size_t done, std::size_t all) const {
    if (options_.progress) options_.progress({"minimize", done, all, rules_.size()});
  }

  std::vector<BuiltRule>& rules_;
  MemoizedQueries& queries_;
  const BuildOptions& options_;
  std::vector<std::string> given_;
  std::string given_text_;
  DerivationRules all_;
};

}  // namespace

Result<void> minimize(std::vector<BuiltRule>& rules, const std::vector<BuiltRule>& given,
                      MemoizedQueries& queries, const BuildOptions& options) {
  return Minimizer(rules, given, queries, options).run();
}

}  // namespace lemma::database
