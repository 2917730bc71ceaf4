#include "generator/generate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "generator/derivation.h"

namespace lemma::generator {
namespace {

constexpr std::size_t most_examples = 1000;

/// Terms of one value, some of which rules have joined already.
struct Group {
  ClassId known = nothing;  // smaller terms
  std::uint32_t type = 0;
  std::vector<TermNode> terms;
  std::vector<std::optional<TermNodeId>> kept;
};

/// A rule that was written to join a term to its group.
struct Connection {
  std::size_t group = 0;
  std::size_t term = 0;
  std::size_t rule = 0;
};

class Generator {
 public:
  Generator(const OperatorSet& set, const GenerateOptions& options)
      : set_(set), options_(options), table_(set, options.seed), memory_(table_) {}

  Result<Generated> run() {
    TermTable::Options options{options_.threads, options_.memory, options_.work_directory,
                               options_.cancelled, options_.progress};
    for (std::size_t cost = 1; cost < options_.most_operators; ++cost) {
      const auto first = static_cast<TermNodeId>(table_.nodes().size());
      LEMMA_RETURN_IF_ERROR(table_.add_level(cost, options));
      LEMMA_RETURN_IF_ERROR(join_level(first));
      LEMMA_RETURN_IF_ERROR(compose_outputs(first));
    }
    std::vector<EqualTerms> largest;
    LEMMA_RETURN_IF_ERROR(
        table_.visit_largest(options_.most_operators, options,
                             [&](EqualTerms terms) { largest.push_back(std::move(terms)); }));
    for (std::size_t i = 0; i < largest.size(); ++i) {
      LEMMA_RETURN_IF_ERROR(join(group_of(largest[i])));
      LEMMA_RETURN_IF_ERROR(interrupt("joining", i, largest.size()));
    }
    LEMMA_RETURN_IF_ERROR(compose_largest(largest));
    generated_.report.terms = table_.statistics();
    LEMMA_RETURN_IF_ERROR(drop_derived());
    write_commutations();
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (memory_.is_dropped(i) || says_nothing_[i] != 0) continue;
      rules_[i].name = fmt::format("{}_{}", set_.name, generated_.rules.size());
      generated_.rules.push_back(std::move(rules_[i]));
    }
    GenerateReport& report = generated_.report;
    report.candidates = generated_.rules.size();
    report.derived = report.equal_terms - report.candidates;
    return std::move(generated_);
  }

 private:
  /// Terms that differ in the order of operands are enumerated once; that they are equal is said
  /// here.
  void write_commutations() {
    for (const SetOperator& op : set_.operators) {
      if (!op.commutative) continue;
      Substitution rule = op.pattern;
      rule.name = fmt::format("{}_{}", set_.name, generated_.rules.size());
      RuleTerm exchanged = rule.terms[rule.left[0].v];
      std::swap(exchanged.operands[0], exchanged.operands[1]);
      rule.terms.push_back(std::move(exchanged));
      rule.right = {{static_cast<std::uint32_t>(rule.terms.size() - 1)}};
      rule.bidirectional = false;
      generated_.rules.push_back(std::move(rule));
    }
  }

  Result<void> interrupt(std::string_view stage, std::size_t done, std::size_t all) const {
    if (done % 256 != 0) return {};
    if (options_.cancelled != nullptr && options_.cancelled->load())
      return bad_input("the generation was cancelled");
    if (options_.progress)
      options_.progress(stage, static_cast<double>(done) / static_cast<double>(all));
    return {};
  }

  /// The classes that nodes from `first` on have joined, in order of their first new node.
  Result<void> join_level(TermNodeId first) {
    std::vector<char> seen(table_.classes().size());
    for (TermNodeId id = first; id < table_.nodes().size(); ++id) {
      const ClassId of = table_.nodes()[id].id;
      if (seen[of] != 0) continue;
      seen[of] = 1;
      Group group;
      const TermClass& known = table_.classes()[of];
      group.type = known.type;
      if (known.representative < first) group.known = of;
      for (const TermNodeId member : known.members) {
        if (member < first) continue;
        group.terms.push_back(table_.nodes()[member]);
        group.kept.push_back(member);
      }
      LEMMA_RETURN_IF_ERROR(join(group));
      LEMMA_RETURN_IF_ERROR(interrupt("joining", id - first, table_.nodes().size() - first));
    }
    return {};
  }

  static Group group_of(const EqualTerms& terms) {
    Group group;
    group.known = terms.known;
    group.terms = terms.terms;
    group.kept.resize(group.terms.size());
    group.type = terms.type;
    return group;
  }

  /// Joins the terms of a group by rules.
  Result<void> join(const Group& group) {
    const std::size_t count = group.terms.size() + (group.known == nothing ? 0 : 1);
    const bool is_first =
        std::any_of(group.terms.begin(), group.terms.end(), [this](const TermNode& term) {
          return table_.uses_first_inputs(table_.inputs_of(term.operands));
        });
    if (count < 2 || !is_first) return {};
    ++generated_.report.groups;
    generated_.report.equal_terms += group.terms.size();
    Joining joining(group);
    for (std::size_t i = 0; i < group.terms.size(); ++i) apply(group, i, 0, joining);
    const std::size_t base = base_of(group);
    std::vector<Connection> written;
    for (std::size_t i = 0; i < group.terms.size(); ++i) {
      if (joining.root(i) == joining.root(base)) continue;
      const std::size_t rules_before = memory_.size();
      LEMMA_RETURN_IF_ERROR(connect(group, i, base));
      joining.join(i, base, rules_before);
      if (memory_.size() == rules_before) continue;
      written.push_back({groups_.size(), i, rules_before});
      for (std::size_t k = 0; k < group.terms.size(); ++k) apply(group, k, rules_before, joining);
    }
    if (written.empty()) return {};
    connections_.insert(connections_.end(), written.begin(), written.end());
    groups_.push_back(group);
    return {};
  }

  /// The number of the term that others are compared with.
  static std::size_t base_of(const Group& group) {
    return group.known == nothing ? 0 : group.terms.size();
  }

  /// Drops rules that follow from others: the largest first, of those of one size the ones with the
  /// fewest inputs. What another one was dropped for stays.
  Result<void> drop_derived() {
    std::vector<Connection> order = connections_;
    const auto rank = [this](const Connection& connection) {
      const Substitution& rule = rules_[connection.rule];
      return std::tuple(-static_cast<std::ptrdiff_t>(rule.terms.size() - rule.inputs.size()),
                        rule.inputs.size(), connection.rule);
    };
    std::sort(order.begin(), order.end(),
              [&](const Connection& a, const Connection& b) { return rank(a) < rank(b); });
    std::vector<char> needed(memory_.size());
    for (std::size_t n = 0; n < order.size(); ++n) {
      LEMMA_RETURN_IF_ERROR(interrupt("dropping what follows", n, order.size()));
      const Connection& connection = order[n];
      if (needed[connection.rule] != 0) continue;
      memory_.drop(connection.rule);
      const Group& group = groups_[connection.group];
      Joining joining(group);
      const std::size_t base = base_of(group);
      bool derived = false;
      for (std::size_t i = 0; i < group.terms.size() && !derived; ++i) {
        apply(group, i, 0, joining);
        derived = joining.root(connection.term) == joining.root(base);
      }
      if (!derived) {
        memory_.restore(connection.rule);
        continue;
      }
      ++generated_.report.derived;
      for (const std::size_t rule : joining.between(connection.term, base)) needed[rule] = 1;
    }
    return {};
  }

  /// Which terms of a group are joined; the last one stands for the known class.
  class Joining {
   public:
    explicit Joining(const Group& group)
        : parents_(group.terms.size() + 1), edges_(group.terms.size() + 1) {
      std::iota(parents_.begin(), parents_.end(), std::size_t{0});
      for (std::size_t i = 0; i < group.terms.size(); ++i) numbers_[key(group.terms[i])] = i;
    }
    std::size_t root(std::size_t i) const {
      while (parents_[i] != i) i = parents_[i];
      return i;
    }
    void join(std::size_t a, std::size_t b, std::size_t rule) {
      parents_[root(a)] = root(b);
      edges_[a].emplace_back(b, rule);
      edges_[b].emplace_back(a, rule);
    }
    /// The rules that lead from one term to another.
    std::vector<std::size_t> between(std::size_t from, std::size_t to) const {
      constexpr std::size_t unseen = static_cast<std::size_t>(-1);
      std::vector<std::size_t> before(edges_.size(), unseen), by(edges_.size()), reached = {from};
      before[from] = from;
      for (std::size_t n = 0; n < reached.size(); ++n) {
        for (const auto& [next, rule] : edges_[reached[n]]) {
          if (before[next] != unseen) continue;
          before[next] = reached[n];
          by[next] = rule;
          reached.push_back(next);
        }
      }
      std::vector<std::size_t> rules;
      for (std::size_t at = to; before[at] != unseen && at != from; at = before[at])
        rules.push_back(by[at]);
      return rules;
    }
    std::optional<std::size_t> find(const TermNode& node) const {
      const auto found = numbers_.find(key(node));
      if (found == numbers_.end()) return std::nullopt;
      return found->second;
    }

   private:
    using Key = std::array<std::uint32_t, 5>;
    static Key key(const TermNode& node) {
      return {node.op, node.output, node.operands[0], node.operands[1], node.operands[2]};
    }
    std::vector<std::size_t> parents_;
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> edges_;  // other term, rule
    absl::flat_hash_map<Key, std::size_t> numbers_;
  };

  void apply(const Group& group, std::size_t i, std::size_t first_rule, Joining& joining) {
    memory_.apply(group.terms[i], first_rule,
                  [&](const TermNode& equal, std::optional<TermNodeId> kept, std::size_t rule) {
                    if (const auto other = joining.find(equal))
                      join_derived(joining, i, *other, rule);
                    else if (kept && table_.nodes()[*kept].id == group.known)
                      join_derived(joining, i, group.terms.size(), rule);
                  });
  }

  static void join_derived(Joining& joining, std::size_t a, std::size_t b, std::size_t rule) {
    if (joining.root(a) != joining.root(b)) joining.join(a, b, rule);
  }

  /// Writes the rule that two terms of a group are equal.
  Result<void> connect(const Group& group, std::size_t i, std::size_t base) {
    CandidateBuilder builder(table_);
    const std::uint32_t left = builder.add(group.terms[i], group.type);
    const std::uint32_t right = base == group.terms.size()
                                    ? builder.add_class(group.known)
                                    : builder.add(group.terms[base], group.type);
    return emit(builder.take({left}, {right}));
  }

  Result<void> emit(Candidate candidate) {
    candidate = with_first_names(table_, std::move(candidate));
    std::string description = describe(candidate);
    if (failed_.contains(description)) return {};
    const std::string name = fmt::format("{}_{}", set_.name, rules_.size());
    auto made = make_rule(table_, candidate, name);
    GenerateReport& report = generated_.report;
    if (!made) {
      ++(made.error().refuted ? report.refuted : report.not_written);
      if (report.examples.size() < most_examples)
        report.examples.push_back({description, made.error().reason});
      failed_.insert(std::move(description));
      return {};
    }
    const bool says_nothing = made->rule.left == made->rule.right;
    if (!says_nothing) ++report.by_generality[static_cast<std::size_t>(made->generality)];
    if (!says_nothing && candidate.left.size() > 1) ++report.several_outputs;
    memory_.add(std::move(candidate), made->rule);
    rules_.push_back(std::move(made->rule));
    says_nothing_.push_back(says_nothing ? 1 : 0);
    return {};
  }

  std::string describe(const Candidate& candidate) const {
    std::vector<std::string> texts;
    for (const CandidateTerm& term : candidate.terms) {
      if (term.op == nothing) {
        texts.push_back(set_.inputs[term.input].name);
        continue;
      }
      std::string operands;
      for (const std::uint32_t operand : term.operands)
        if (operand != no_term) operands += (operands.empty() ? "" : ", ") + texts[operand];
      const bool several = set_.operators[term.op].pattern.left.size() > 1;
      texts.push_back(fmt::format("{}({}){}", set_.operators[term.op].name, operands,
                                  several ? fmt::format("#{}", term.output) : ""));
    }
    std::string result;
    for (std::size_t i = 0; i < candidate.left.size(); ++i)
      result += fmt::format("{}{} = {}", i == 0 ? "" : " & ", texts[candidate.left[i]],
                            texts[candidate.right[i]]);
    return result;
  }

  std::size_t outputs_of(std::uint32_t op) const { return set_.operators[op].pattern.left.size(); }

  /// Rules with several outputs from the operators that nodes from `first` on stand for.
  Result<void> compose_outputs(TermNodeId first) {
    for (TermNodeId id = first; id < table_.nodes().size(); ++id) {
      const TermNode& node = table_.nodes()[id];
      if (node.output != 0 || outputs_of(node.op) < 2) continue;
      std::vector<ClassId> classes;
      for (std::uint32_t output = 0; output < outputs_of(node.op); ++output)
        if (const auto found = table_.find(node.op, output, node.operands))
          classes.push_back(table_.nodes()[*found].id);
      LEMMA_RETURN_IF_ERROR(compose(node, classes));
    }
    return {};
  }

  /// The same from the largest terms, of which only those are known that equal smaller ones.
  Result<void> compose_largest(const std::vector<EqualTerms>& largest) {
    std::map<std::pair<std::uint32_t, Operands>, std::map<std::uint32_t, ClassId>> found;
    for (const EqualTerms& group : largest) {
      if (group.known == nothing) continue;
      for (const TermNode& term : group.terms)
        if (outputs_of(term.op) > 1) found[{term.op, term.operands}][term.output] = group.known;
    }
    for (const auto& [application, by_output] : found) {
      TermNode node;
      node.op = application.first;
      node.operands = application.second;
      std::vector<ClassId> classes;
      for (const auto& [output, id] : by_output) classes.push_back(id);
      LEMMA_RETURN_IF_ERROR(compose(node, classes));
    }
    return {};
  }

  /// The outputs of an operator, of the given classes, from terms that do without it.
  Result<void> compose(TermNode node, const std::vector<ClassId>& classes) {
    if (classes.size() < outputs_of(node.op)) return {};
    if (!table_.uses_first_inputs(table_.inputs_of(node.operands))) return {};
    std::vector<TermNode> outputs, others;
    for (std::uint32_t output = 0; output < classes.size(); ++output) {
      node.output = output;
      outputs.push_back(node);
      others.push_back(table_.nodes()[table_.classes()[classes[output]].representative]);
      if (others.back().op == nothing || others.back().op == node.op) return {};
    }
    if (memory_.merges(others, outputs)) return {};
    CandidateBuilder builder(table_);
    std::vector<std::uint32_t> left, right;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::uint32_t type = table_.classes()[classes[i]].type;
      left.push_back(builder.add(others[i], type));
      right.push_back(builder.add(outputs[i], type));
    }
    return emit(builder.take(left, right));
  }

  const OperatorSet& set_;
  const GenerateOptions& options_;
  TermTable table_;
  RuleMemory memory_;
  std::vector<Substitution> rules_;  // in the order of the memory
  std::vector<char> says_nothing_;   // by rule: operators of the set that stand for the same
  std::vector<Group> groups_;        // in which rules were written
  std::vector<Connection> connections_;
  absl::flat_hash_set<std::string> failed_;  // candidates that are no rules
  Generated generated_;
};

}  // namespace

Result<Generated> generate(const OperatorSet& set, const GenerateOptions& options) {
  if (options.most_operators < 1 || options.most_operators > most_operators)
    return bad_input(fmt::format("from 1 to {} operators can be enumerated, not {}", most_operators,
                                 options.most_operators));
  return Generator(set, options).run();
}

}  // namespace lemma::generator
