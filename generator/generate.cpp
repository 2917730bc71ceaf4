#include "generator/generate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "generator/count.h"
#include "generator/derivation.h"
#include "generator/joining.h"
#include "generator/rule_cache.h"
#include "ir/version.h"

namespace lemma::generator {
namespace {

constexpr std::size_t most_examples = 1000;
constexpr std::size_t groups_at_once = 128;  // the result depends on it
constexpr std::size_t most_parts = 4;        // of a group that a term is compared with

/// A rule that was written to join a term to its group.
struct Connection {
  std::size_t group = 0;
  std::size_t term = 0, other = 0;  // of the group
  std::size_t rule = 0;
};

class Generator {
 public:
  Generator(const OperatorSet& set, const GenerateOptions& options)
      : set_(set),
        options_(options),
        table_(set, options.seed),
        memory_(table_),
        arena_(options.threads) {}

  Result<Generated> run() {
    if (!options_.work_directory.empty())
      LEMMA_RETURN_IF_ERROR(cache_.open(options_.work_directory, description_of_work()));
    TermTable::Options options{options_.threads, options_.memory, options_.cancelled,
                               options_.progress};
    for (std::size_t cost = 1; cost < options_.most_operators; ++cost) {
      const auto first = static_cast<TermNodeId>(table_.nodes().size());
      LEMMA_RETURN_IF_ERROR(table_.add_level(cost, options));
      LEMMA_RETURN_IF_ERROR(join_level(first));
      LEMMA_RETURN_IF_ERROR(compose_outputs(first));
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<EqualTerms> largest,
                           table_.largest(options_.most_operators, options));
    LEMMA_RETURN_IF_ERROR(join_largest(largest));
    LEMMA_RETURN_IF_ERROR(compose_largest(largest));
    generated_.report.terms = table_.statistics();
    generated_.report.graphs = count_graphs(table_, options_.most_operators);
    LEMMA_RETURN_IF_ERROR(drop_derived());
    drop_compositions();
    write_commutations();
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (memory_.is_dropped(i) || says_nothing_[i] != 0) continue;
      if (rules_[i].left.size() > 1) ++generated_.report.several_outputs;
      rules_[i].name = fmt::format("{}_{}", set_.name, generated_.rules.size());
      generated_.rules.push_back(std::move(rules_[i]));
    }
    GenerateReport& report = generated_.report;
    report.candidates = generated_.rules.size();
    report.derived = report.equal_terms - report.candidates;
    return std::move(generated_);
  }

 private:
  /// What a journal must have been written for.
  std::string description_of_work() const {
    std::string result =
        fmt::format("{} seed {} largest {}\n", version(), options_.seed, set_.largest_value);
    for (const SetInput& input : set_.inputs)
      result += fmt::format("{} {} {}\n", input.name, input.weight, fmt::join(input.sizes, "x"));
    for (const SetOperator& op : set_.operators) result += text(op.pattern) + text(op.enumerated);
    return result;
  }

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
    if (options_.cancelled != nullptr && options_.cancelled->load())
      return bad_input("the generation was cancelled");
    if (options_.progress)
      options_.progress(stage, static_cast<double>(done) / static_cast<double>(all));
    return {};
  }

  /// The classes that nodes from `first` on have joined, in order of their first new node.
  Result<void> join_level(TermNodeId first) {
    std::vector<Group> groups;
    std::vector<char> seen(table_.classes().size());
    for (TermNodeId id = first; id < table_.nodes().size(); ++id) {
      const ClassId of = table_.nodes()[id].id;
      if (seen[of] != 0) continue;
      seen[of] = 1;
      const TermClass& known = table_.classes()[of];
      Group group;
      group.type = known.type;
      if (known.representative < first) group.known = of;
      for (const TermNodeId member : known.members)
        if (member >= first) group.terms.push_back(table_.nodes()[member]);
      groups.push_back(std::move(group));
    }
    return join_all(std::move(groups));
  }

  Result<void> join_largest(const std::vector<EqualTerms>& largest) {
    std::vector<Group> groups;
    for (const EqualTerms& equal : largest)
      groups.push_back({equal.known, equal.type, equal.terms});
    return join_all(std::move(groups));
  }

  /// Several terms, one of which uses the first ones of inputs that can be exchanged.
  bool is_wanted(const Group& group) const {
    const auto is_first = [this](const TermNode& term) {
      return table_.uses_first_inputs(table_.inputs_of(term.operands));
    };
    return group.terms.size() + (group.known == nothing ? 0 : 1) >= 2 &&
           std::any_of(group.terms.begin(), group.terms.end(), is_first);
  }

  /// Joins the terms of each group by rules. Groups are taken in batches: what the rules known at
  /// its beginning say is found in parallel, and so are the rules that will probably be wanted; the
  /// rest is done in order.
  Result<void> join_all(std::vector<Group> groups) {
    std::erase_if(groups, [this](const Group& group) { return !is_wanted(group); });
    memory_.prepare();
    for (std::size_t begin = 0; begin < groups.size(); begin += groups_at_once) {
      const std::size_t end = std::min(groups.size(), begin + groups_at_once);
      const std::size_t known_rules = memory_.size();
      std::vector<std::optional<Joining>> joinings(end - begin);
      for_each_in_parallel(end - begin, [&](std::size_t n) {
        joinings[n].emplace(groups[begin + n]);
        apply_rules(groups[begin + n], 0, *joinings[n]);
      });
      prepare_rules(std::span(groups).subspan(begin, end - begin), joinings);
      for (std::size_t i = begin; i < end; ++i) join(groups[i], known_rules, *joinings[i - begin]);
      LEMMA_RETURN_IF_ERROR(interrupt("joining", end, groups.size()));
    }
    return {};
  }

  /// With several threads: the first rule that each group asks for.
  void prepare_rules(std::span<const Group> groups,
                     const std::vector<std::optional<Joining>>& joinings) {
    if (options_.threads == 1) return;
    std::vector<Candidate> candidates;
    for (std::size_t n = 0; n < groups.size(); ++n)
      for (std::size_t i = 0; i < groups[n].terms.size(); ++i) {
        if (joinings[n]->are_joined(i, groups[n].base())) continue;
        candidates.push_back(candidate_of(groups[n], i, groups[n].base()));
        break;
      }
    prepare_rules(std::move(candidates));
  }

  void prepare_rules(std::vector<Candidate> candidates) {
    if (options_.threads == 1) return;
    std::vector<std::string> names;
    std::vector<const Candidate*> open;
    for (const Candidate& candidate : candidates) {
      std::string name = describe(candidate);
      if (cache_.find(name) != nullptr ||
          std::find(names.begin(), names.end(), name) != names.end())
        continue;
      names.push_back(std::move(name));
      open.push_back(&candidate);
    }
    std::vector<std::optional<RuleCache::Made>> made(open.size());
    for_each_in_parallel(open.size(),
                         [&](std::size_t i) { made[i] = make_rule(table_, *open[i], "rule"); });
    for (std::size_t i = 0; i < open.size(); ++i) cache_.add(names[i], std::move(*made[i]));
  }

  template <typename Body>
  void for_each_in_parallel(std::size_t count, const Body& body) {
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
  }

  /// A term that no rule joins to another is compared with one of each part that has been found:
  /// with the base, and with those that turned out to be equal for the enumerated sizes only.
  void join(const Group& group, std::size_t known_rules, Joining& joining) {
    ++generated_.report.groups;
    generated_.report.equal_terms += group.terms.size();
    apply_rules(group, known_rules, joining);
    std::vector<std::size_t> parts = {group.base()};
    std::vector<Connection> written;
    for (std::size_t i = 0; i < group.terms.size(); ++i) {
      const auto is_joined = [&](std::size_t part) { return joining.are_joined(i, part); };
      if (std::any_of(parts.begin(), parts.end(), is_joined)) continue;
      bool found = false;
      for (std::size_t n = 0; n < parts.size() && n < most_parts && !found; ++n) {
        const std::size_t rule = memory_.size();
        emit(candidate_of(group, i, parts[n]));
        found = memory_.size() > rule;
        if (!found) continue;
        written.push_back({groups_.size(), i, parts[n], rule});
        joining.join(i, parts[n], rule);
        apply_rules(group, rule, joining);
      }
      if (!found) parts.push_back(i);
    }
    if (written.empty()) return;
    connections_.insert(connections_.end(), written.begin(), written.end());
    groups_.push_back(group);
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
    for (std::size_t begin = 0; begin < order.size(); begin += groups_at_once) {
      const std::size_t end = std::min(order.size(), begin + groups_at_once);
      std::vector<std::optional<std::vector<std::size_t>>> ways(end - begin);
      for_each_in_parallel(end - begin, [&](std::size_t n) {
        if (needed[order[begin + n].rule] == 0) ways[n] = way_without(order[begin + n]);
      });
      for (std::size_t i = begin; i < end; ++i) drop(order[i], std::move(ways[i - begin]), needed);
      LEMMA_RETURN_IF_ERROR(interrupt("dropping what follows", end, order.size()));
    }
    return {};
  }

  /// The rules by which two terms are joined without the one that was written for them.
  std::optional<std::vector<std::size_t>> way_without(const Connection& connection) const {
    const Group& group = groups_[connection.group];
    Joining joining(group);
    for (std::size_t i = 0; i < group.terms.size(); ++i) {
      apply_rules(group, i, 0, connection.rule, joining);
      if (joining.are_joined(connection.term, connection.other))
        return joining.between(connection.term, connection.other);
    }
    return std::nullopt;
  }

  void drop(const Connection& connection, std::optional<std::vector<std::size_t>> way,
            std::vector<char>& needed) {
    if (!way || needed[connection.rule] != 0) return;
    const auto is_gone = [this](std::size_t rule) { return memory_.is_dropped(rule); };
    if (std::any_of(way->begin(), way->end(), is_gone)) way = way_without(connection);
    if (!way) return;
    memory_.drop(connection.rule);
    for (const std::size_t rule : *way) needed[rule] = 1;
  }

  void apply_rules(const Group& group, std::size_t first_rule, Joining& joining) const {
    for (std::size_t i = 0; i < group.terms.size(); ++i)
      apply_rules(group, i, first_rule, no_rule, joining);
  }

  void apply_rules(const Group& group, std::size_t i, std::size_t first_rule, std::size_t left_out,
                   Joining& joining) const {
    memory_.apply(group.terms[i], first_rule, left_out,
                  [&](const TermNode& equal, std::optional<TermNodeId> kept, std::size_t rule) {
                    if (const auto other = joining.find(equal))
                      joining.join(i, *other, rule);
                    else if (kept && table_.nodes()[*kept].id == group.known)
                      joining.join(i, group.known_number(), rule);
                  });
  }

  /// That two terms of a group are equal.
  Candidate candidate_of(const Group& group, std::size_t i, std::size_t other) const {
    CandidateBuilder builder(table_);
    const std::uint32_t left = builder.add(group.terms[i], group.type);
    const std::uint32_t right = other == group.known_number()
                                    ? builder.add_class(group.known)
                                    : builder.add(group.terms[other], group.type);
    return with_first_names(table_, builder.take({left}, {right}));
  }

  /// Makes the rule of a candidate and adds it, if it is one.
  void emit(Candidate candidate) {
    const std::string description = describe(candidate);
    if (failed_.contains(description)) return;
    if (cache_.find(description) == nullptr)
      cache_.add(description, make_rule(table_, candidate, "rule"));
    const RuleCache::Made& made = *cache_.find(description);
    GenerateReport& report = generated_.report;
    if (!made) {
      ++(made.error().refuted ? report.refuted : report.not_written);
      if (report.examples.size() < most_examples)
        report.examples.push_back({description, made.error().reason});
      failed_.insert(description);
      return;
    }
    const bool says_nothing = made->rule.left == made->rule.right;
    if (!says_nothing) ++report.by_generality[static_cast<std::size_t>(made->generality)];
    memory_.add(std::move(candidate), made->rule);
    rules_.push_back(made->rule);
    says_nothing_.push_back(says_nothing ? 1 : 0);
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

  /// An operator whose outputs are of classes that have terms without it.
  struct Composition {
    std::vector<TermNode> outputs, others;
    std::vector<ClassId> classes;
  };

  /// Rules with several outputs from the operators that nodes from `first` on stand for.
  Result<void> compose_outputs(TermNodeId first) {
    std::vector<Composition> compositions;
    for (TermNodeId id = first; id < table_.nodes().size(); ++id) {
      const TermNode& node = table_.nodes()[id];
      if (node.output != 0 || outputs_of(node.op) < 2) continue;
      std::vector<ClassId> classes;
      for (std::uint32_t output = 0; output < outputs_of(node.op); ++output)
        if (const auto found = table_.find(node.op, output, node.operands))
          classes.push_back(table_.nodes()[*found].id);
      add_composition(node, classes, compositions);
    }
    return compose(compositions);
  }

  /// The same from the largest terms, of which only those are known that equal smaller ones.
  Result<void> compose_largest(const std::vector<EqualTerms>& largest) {
    std::map<std::pair<std::uint32_t, Operands>, std::map<std::uint32_t, ClassId>> found;
    for (const EqualTerms& group : largest) {
      if (group.known == nothing) continue;
      for (const TermNode& term : group.terms)
        if (outputs_of(term.op) > 1) found[{term.op, term.operands}][term.output] = group.known;
    }
    std::vector<Composition> compositions;
    for (const auto& [application, by_output] : found) {
      TermNode node;
      node.op = application.first;
      node.operands = application.second;
      std::vector<ClassId> classes;
      for (const auto& [output, id] : by_output) classes.push_back(id);
      add_composition(node, classes, compositions);
    }
    return compose(compositions);
  }

  void add_composition(TermNode node, const std::vector<ClassId>& classes,
                       std::vector<Composition>& compositions) const {
    if (classes.size() < outputs_of(node.op)) return;
    if (!table_.uses_first_inputs(table_.inputs_of(node.operands))) return;
    Composition composition;
    composition.classes = classes;
    for (std::uint32_t output = 0; output < classes.size(); ++output) {
      node.output = output;
      composition.outputs.push_back(node);
      composition.others.push_back(
          table_.nodes()[table_.classes()[classes[output]].representative]);
      const std::uint32_t op = composition.others.back().op;
      if (op == nothing || op == node.op) return;
    }
    // The same term twice would be a left side that is found wherever the term is.
    std::vector<ClassId> different = classes;
    std::sort(different.begin(), different.end());
    if (std::adjacent_find(different.begin(), different.end()) != different.end()) return;
    compositions.push_back(std::move(composition));
  }

  /// How many operators compute something, beside moving elements.
  std::size_t computing(const Candidate& candidate, const std::vector<std::uint32_t>& roots) const {
    std::size_t count = 0;
    for (const std::uint32_t i : below(candidate, roots)) {
      if (candidate.terms[i].op == nothing) continue;
      const Substitution& pattern = set_.operators[candidate.terms[i].op].pattern;
      count += std::any_of(pattern.terms.begin(), pattern.terms.end(), [](const RuleTerm& term) {
        return !term.is_input && !term.operands.empty() && !record(term.op).has(data_movement);
      });
    }
    return count;
  }

  /// Whether one side computes less: otherwise the outputs are the same work done in other places,
  /// about which the rules with one output have said all.
  bool saves_work(const Candidate& candidate) const {
    return computing(candidate, candidate.right) < computing(candidate, candidate.left);
  }

  /// Drops rules with several outputs that others stand for.
  void drop_compositions() {
    std::stable_sort(compositions_.begin(), compositions_.end(), [&](const auto& a, const auto& b) {
      return rules_[a.first].inputs.size() < rules_[b.first].inputs.size();
    });
    for (const auto& [rule, composition] : compositions_)
      if (memory_.merges(composition.others, composition.outputs, rule)) memory_.drop(rule);
  }

  Candidate candidate_of(const Composition& composition) const {
    CandidateBuilder builder(table_);
    std::vector<std::uint32_t> left, right;
    for (std::size_t i = 0; i < composition.outputs.size(); ++i) {
      const std::uint32_t type = table_.classes()[composition.classes[i]].type;
      left.push_back(builder.add(composition.others[i], type));
      right.push_back(builder.add(composition.outputs[i], type));
    }
    return with_first_names(table_, builder.take(left, right));
  }

  Result<void> compose(const std::vector<Composition>& compositions) {
    memory_.prepare();
    for (std::size_t begin = 0; begin < compositions.size(); begin += groups_at_once) {
      const std::size_t end = std::min(compositions.size(), begin + groups_at_once);
      std::vector<char> known(end - begin);
      for_each_in_parallel(end - begin, [&](std::size_t n) {
        const Composition& composition = compositions[begin + n];
        known[n] = memory_.merges(composition.others, composition.outputs) ? 1 : 0;
      });
      std::vector<Candidate> candidates;
      for (std::size_t i = begin; i < end; ++i) {
        if (known[i - begin] != 0) continue;
        Candidate candidate = candidate_of(compositions[i]);
        known[i - begin] = saves_work(candidate) ? 0 : 1;
        if (known[i - begin] == 0) candidates.push_back(std::move(candidate));
      }
      prepare_rules(std::move(candidates));
      for (std::size_t i = begin; i < end; ++i) {
        if (known[i - begin] != 0 ||
            memory_.merges(compositions[i].others, compositions[i].outputs))
          continue;
        const std::size_t rule = memory_.size();
        emit(candidate_of(compositions[i]));
        if (memory_.size() > rule) compositions_.emplace_back(rule, compositions[i]);
      }
      LEMMA_RETURN_IF_ERROR(interrupt("composing outputs", end, compositions.size()));
    }
    return {};
  }

  const OperatorSet& set_;
  const GenerateOptions& options_;
  TermTable table_;
  RuleMemory memory_;
  std::vector<Substitution> rules_;  // in the order of the memory
  std::vector<char> says_nothing_;   // by rule: operators of the set that stand for the same
  std::vector<Group> groups_;        // in which rules were written
  std::vector<Connection> connections_;
  std::vector<std::pair<std::size_t, Composition>> compositions_;  // rule, and what it is about
  RuleCache cache_;
  tbb::task_arena arena_;
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
