#include "database/naming.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/sha256.h"
#include "database/normal_form.h"
#include "ir/operator.h"

namespace lemma::database {
namespace {

/// The name of an operand's position.
std::string position_name(std::size_t position) {
  constexpr std::array names = {"left", "right", "third"};
  return position < names.size() ? names[position] : fmt::format("operand{}", position);
}

/// The name of an output among those of one operation.
std::string output_name(std::size_t output) {
  constexpr std::array names = {"first", "second", "third"};
  return output < names.size() ? names[output] : fmt::format("part{}", output);
}

/// "convs_of_pad" of "conv_of_pad": what stands before the first "_" is the operator.
std::string plural(const std::string& phrase) {
  const std::size_t end = std::min(phrase.find('_'), phrase.size());
  const bool hisses = end > 0 && (phrase[end - 1] == 'x' || phrase[end - 1] == 's');
  return phrase.substr(0, end) + (hisses ? "es" : "s") + phrase.substr(end);
}

/// The phrase for one side of a rule, down to a depth.
class Phrases {
 public:
  explicit Phrases(const Substitution& rule) : rule_(rule) {}

  std::string side(const std::vector<TermId>& roots, std::size_t depth) const {
    if (outputs_of_one(roots)) return operation(roots[0], depth, roots.size() == 1);
    std::vector<std::string> phrases;
    for (const TermId root : roots) phrases.push_back(term(root, depth));
    const bool all_equal =
        std::all_of(phrases.begin(), phrases.end(),
                    [&phrases](const std::string& phrase) { return phrase == phrases[0]; });
    if (all_equal && !rule_.terms[roots[0].v].is_input) {
      const std::size_t end = std::min(phrases[0].find('_'), phrases[0].size());
      const std::string count = roots.size() == 2   ? "_pair"
                                : roots.size() == 3 ? "_triple"
                                                    : fmt::format("_group_of_{}", roots.size());
      return phrases[0].substr(0, end) + count + phrases[0].substr(end) + sharing(roots);
    }
    return joined(phrases);
  }

 private:
  static std::string joined(const std::vector<std::string>& phrases) {
    std::string result;
    for (const std::string& phrase : phrases) result += (result.empty() ? "" : "_and_") + phrase;
    return result;
  }

  bool outputs_of_one(const std::vector<TermId>& roots) const {
    const RuleTerm& first = rule_.terms[roots[0].v];
    return std::all_of(roots.begin(), roots.end(), [&](TermId root) {
      const RuleTerm& term = rule_.terms[root.v];
      return !term.is_input && term.op == first.op && term.operands == first.operands &&
             term.attributes == first.attributes &&
             (root == roots[0] || term.output != first.output);
    });
  }

  std::string term(TermId id, std::size_t depth) const {
    return rule_.terms[id.v].is_input ? "input" : operation(id, depth, true);
  }

  std::string operation(TermId id, std::size_t depth, bool says_output) const {
    const RuleTerm& term = rule_.terms[id.v];
    std::string name = lower_name(term.op);
    if (says_output && term.output_count > 1) name += "_" + output_name(term.output);
    return depth == 0 ? name : name + operands(term, depth - 1);
  }

  /// "_of_...", nothing if all operands are inputs.
  std::string operands(const RuleTerm& term, std::size_t depth) const {
    std::vector<TermId> applied;  // those that are operations
    std::size_t position = 0;     // of the last of them
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      const TermId id = term.operands[i];
      if (id.is_none() || rule_.terms[id.v].is_input) continue;
      applied.push_back(id);
      position = i;
    }
    const bool is_with_itself = term.operands.size() > 1 &&
                                std::all_of(term.operands.begin(), term.operands.end(),
                                            [&term](TermId id) { return id == term.operands[0]; });
    if (applied.empty()) return is_with_itself ? "_with_itself" : "";
    if (is_with_itself) return "_of_" + operation(applied[0], depth, true) + "_with_itself";
    std::vector<std::string> phrases;
    for (const TermId id : applied) phrases.push_back(operation(id, depth, true));
    if (applied.size() == 1) {
      const bool is_ordered =
          term.operands.size() > 1 && !lemma::record(term.op).has(OperatorFlag::commutative);
      return "_of_" + (is_ordered ? position_name(position) + "_" : "") + phrases[0] +
             (reads_again(term, applied[0]) ? "_with_its_input" : "");
    }
    const bool all_equal =
        std::all_of(phrases.begin(), phrases.end(),
                    [&phrases](const std::string& phrase) { return phrase == phrases[0]; });
    return "_of_" + (all_equal ? plural(phrases[0]) : joined(phrases)) + sharing(applied);
  }

  /// Whether an operand of the term is an input that stands below its other operand too.
  bool reads_again(const RuleTerm& term, TermId other) const {
    std::set<TermId> below;
    const std::function<void(TermId)> visit = [&](TermId id) {
      if (id.is_none() || !below.insert(id).second) return;
      for (const TermId operand : rule_.terms[id.v].operands) visit(operand);
    };
    visit(other);
    return std::any_of(term.operands.begin(), term.operands.end(),
                       [&](TermId id) { return id != other && below.contains(id); });
  }

  /// The operand that applications of one operator have in common.
  std::string sharing(const std::vector<TermId>& applied) const {
    const RuleTerm& first = rule_.terms[applied[0].v];
    for (const TermId id : applied)
      if (rule_.terms[id.v].op != first.op ||
          rule_.terms[id.v].operands.size() != first.operands.size())
        return "";
    const bool is_ordered = !lemma::record(first.op).has(OperatorFlag::commutative);
    for (std::size_t i = 0; i < first.operands.size(); ++i) {
      const TermId shared = first.operands[i];
      const bool by_all = std::all_of(applied.begin(), applied.end(), [&](TermId id) {
        const std::vector<TermId>& operands = rule_.terms[id.v].operands;
        return is_ordered ? operands[i] == shared
                          : std::find(operands.begin(), operands.end(), shared) != operands.end();
      });
      if (!by_all || shared.is_none()) continue;
      if (first.operands.size() == 1 || !is_ordered) return "_sharing_operand";
      return "_sharing_" + position_name(i);
    }
    return "";
  }

  const Substitution& rule_;
};

/// The certificate with the text of the rule under its new name in place of the old one; all else
/// speaks of no name.
std::string renamed_certificate(std::string certificate, const std::string& before,
                                const std::string& after) {
  const std::string heading = fmt::format("id {}\n{}", sha256(before), before);
  if (const std::size_t at = certificate.find(heading); at != std::string::npos)
    certificate.replace(at, heading.size(), fmt::format("id {}\n{}", sha256(after), after));
  return certificate;
}

void rename(DecidedRule& decided, const std::string& name) {
  const std::string before = text(decided.rule);
  decided.rule.name = decided.record.rule = name;
  const std::string after = text(decided.rule);
  decided.certificate = renamed_certificate(std::move(decided.certificate), before, after);
  decided.record.text = sha256(after);
  if (!decided.record.certificate.empty())
    decided.record.certificate = certificate_digest(decided.certificate);
  if (!decided.record.index.empty()) decided.record.index = index_proof_digest(decided.rule);
}

/// What tells rules about the same operators from each other most often.
std::string kind_of_shapes(const Substitution& rule) {
  const auto same = [&rule](const RuleInput& input) { return input.shape == rule.inputs[0].shape; };
  if (rule.inputs.size() > 1 && std::all_of(rule.inputs.begin(), rule.inputs.end(), same))
    return "_same_shape";
  return rule.groups.empty() ? "_fixed_rank" : rule.groups.size() > 1 ? "_broadcast" : "";
}

using Sharers = std::map<std::string, std::vector<const DecidedRule*>>;

/// Old names and new ones. The new ones differ from each other and from `taken`: what stands alone under its name has
/// it, then what stands alone with the kind of its shapes; the others have digests.
std::map<std::string, std::string> names_of(const std::vector<DecidedRule*>& rules,
                                            const std::set<std::string>& taken) {
  Sharers wanted;
  for (const DecidedRule* decided : rules)
    wanted[descriptive_name(decided->rule)].push_back(decided);
  std::map<std::string, std::string> result;
  const auto is_alone = [&taken](const std::string& name,
                                 const std::vector<const DecidedRule*>& sharers) {
    return sharers.size() == 1 && !taken.contains(name);
  };
  for (const auto& [name, sharers] : wanted) {
    if (is_alone(name, sharers)) {
      result[sharers[0]->rule.name] = name;
      continue;
    }
    Sharers by_kind;
    for (const DecidedRule* decided : sharers)
      by_kind[name + kind_of_shapes(decided->rule)].push_back(decided);
    for (const auto& [longer, same] : by_kind)
      for (const DecidedRule* decided : same)
        result[decided->rule.name] =
            longer != name && is_alone(longer, same) && !wanted.contains(longer)
                ? longer
                : fmt::format("{}_{}", name, sha256(claim_text(decided->rule)).substr(0, 10));
  }
  return result;
}

}  // namespace

std::string descriptive_name(const Substitution& rule) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 9> depths = {
      {{9, 9}, {4, 4}, {3, 3}, {3, 2}, {2, 2}, {2, 1}, {1, 1}, {1, 0}, {0, 0}}};
  const Phrases phrases(rule);
  std::string name;
  for (const auto& [left, right] : depths) {
    const std::string from = phrases.side(rule.left, left), to = phrases.side(rule.right, right);
    name = from == to ? from + "_rearranged" : from + (rule.bidirectional ? "_as_" : "_to_") + to;
    if (name.size() <= longest_name) return name;
  }
  return name.substr(0, longest_name);
}

void give_names(Build& build, const std::vector<std::string>& known) {
  std::vector<DecidedRule*> rules;
  for (BuiltRule& rule : build.rules)
    if (rule.is_shipped()) rules.push_back(&rule.proved);
  for (DecidedRule& rule : build.found_apart) rules.push_back(&rule);
  std::set<std::string> taken(known.begin(), known.end());
  for (const BuiltRule& rule : build.hand_written) taken.insert(rule.proved.rule.name);
  for (const DecidedRule& rule : build.hand_written_apart) taken.insert(rule.rule.name);
  const std::map<std::string, std::string> names = names_of(rules, taken);
  const auto rename_all = [&names](std::vector<std::string>& list) {
    for (std::string& name : list)
      if (const auto entry = names.find(name); entry != names.end()) name = entry->second;
  };
  for (DecidedRule* decided : rules) rename(*decided, names.at(decided->rule.name));
  for (auto* list : {&build.rules, &build.hand_written})
    for (BuiltRule& rule : *list) rename_all(rule.derived_from);
  for (CandidateReport& report : build.candidates) rename_all(report.rules);
  std::sort(build.rules.begin(), build.rules.end(), [](const BuiltRule& a, const BuiltRule& b) {
    return a.proved.rule.name < b.proved.rule.name;
  });
  std::sort(build.found_apart.begin(), build.found_apart.end(),
            [](const DecidedRule& a, const DecidedRule& b) { return a.rule.name < b.rule.name; });
}

}  // namespace lemma::database
