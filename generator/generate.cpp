#include "generator/generate.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "base/version.h"
#include "generator/count.h"
#include "generator/equal_groups.h"
#include "generator/joiner.h"
#include "generator/range_file.h"
#include "system/parallel.h"

namespace lemma::generator {
namespace {

constexpr std::size_t ahead_per_thread = 8, told_at_once = 128;  // compositions

class Generator {
 public:
  Generator(const OperatorSet& set, const GenerateOptions& options)
      : set_(set),
        options_(options),
        table_(set, options.seed),
        book_(table_, generated_.report),
        memory_(book_.memory()),
        joiner_(table_, book_, generated_.report, options.threads,
                [this](std::string_view stage, std::size_t done, std::size_t all) {
                  return interrupt(stage, done, all);
                }) {}

  Result<Generated> run() {
    LEMMA_RETURN_IF_ERROR(open_journals());
    const TermTable::Options options{options_.threads,   options_.memory,   options_.range_bytes,
                                     options_.cancelled, options_.progress, options_.ranks};
    for (std::size_t cost = 1; cost < options_.most_operators; ++cost) {
      const auto first = static_cast<TermNodeId>(table_.nodes().size());
      LEMMA_RETURN_IF_ERROR(
          timed("smaller terms", [&] { return table_.add_level(cost, options); }));
      // All ranks need the rules, to see which groups of the largest terms follow from them.
      LEMMA_RETURN_IF_ERROR(timed("rules of smaller terms", [&] { return write_level(first); }));
    }
    LEMMA_RETURN_IF_ERROR(write_largest(options));
    if (!is_first()) return Generated{};
    note_uses();
    generated_.report.terms = table_.statistics();
    generated_.report.table_bytes = table_.bytes();
    generated_.report.graphs = count_graphs(table_, options_.most_operators);
    LEMMA_RETURN_IF_ERROR(timed("what follows", [&] { return joiner_.drop_derived(); }));
    drop_compositions();
    const std::uint64_t commutations = write_commutations();
    for (std::size_t i = 0; i < book_.rules().size(); ++i) {
      if (memory_.is_dropped(i) || book_.says_nothing(i)) continue;
      Substitution& rule = book_.rules()[i];
      if (rule.left.size() > 1) ++generated_.report.several_outputs;
      rule.name = fmt::format("{}_{}", set_.name, generated_.rules.size());
      generated_.rules.push_back(std::move(rule));
    }
    GenerateReport& report = generated_.report;
    report.candidates = generated_.rules.size();
    // What commutes is written without an equality of terms.
    const std::uint64_t joined = report.candidates - commutations;
    report.derived = report.equal_terms > joined ? report.equal_terms - joined : 0;
    return std::move(generated_);
  }

 private:
  bool is_first() const { return options_.ranks == nullptr || options_.ranks->is_first(); }

  /// Does a part of the work; the times of several calls for one stage are added.
  template <typename Work>
  Result<void> timed(std::string_view stage, const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t begin_of_processor = std::clock();
    LEMMA_RETURN_IF_ERROR(work());
    std::vector<StageTime>& stages = generated_.report.stages;
    auto at = std::find_if(stages.begin(), stages.end(),
                           [stage](const StageTime& time) { return time.stage == stage; });
    if (at == stages.end()) at = stages.insert(at, {std::string(stage)});
    at->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    at->processor_seconds +=
        static_cast<double>(std::clock() - begin_of_processor) / CLOCKS_PER_SEC;
    return {};
  }

  /// Opens the journals of the first rank. What became of candidates can be used for another number of operators, the
  /// others cannot.
  Result<void> open_journals() {
    if (options_.work_directory.empty()) return {};
    const std::filesystem::path folder = options_.work_directory;
    const std::string work = description_of_work();
    const std::string all =
        fmt::format("{}up to {}, joined groups left out", work, options_.most_operators);
    if (is_first()) {
      LEMMA_RETURN_IF_ERROR(book_.open_journal(folder, work));
      LEMMA_RETURN_IF_ERROR(joiner_.open_journal(folder, all));
    }
    ranges_ = RangeFiles(folder, all);
    return {};
  }

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
  std::uint64_t write_commutations() {
    const std::size_t before = generated_.rules.size();
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
    return generated_.rules.size() - before;
  }

  /// Which operators and inputs the enumeration has used.
  void note_uses() {
    GenerateReport& report = generated_.report;
    for (std::uint32_t op = 0; op < set_.operators.size(); ++op) {
      const SetOperator& set_operator = set_.operators[op];
      const std::uint64_t count = table_.statistics().applications[op];
      report.operators.push_back({set_operator.name, count, table_.classes_of(op)});
      if (count == 0)
        report.warnings.push_back(fmt::format(
            "{}: operator '{}' is never applied: it fits no inputs and no "
            "values of up to {} operators",
            place(set_, set_operator.line), set_operator.name, options_.most_operators - 1));
    }
    for (std::size_t i = 0; i < set_.inputs.size(); ++i)
      if (!table_.is_taken(i))
        report.warnings.push_back(fmt::format("{}: no operator takes input '{}'",
                                              place(set_, set_.inputs[i].line),
                                              set_.inputs[i].name));
  }

  Result<void> interrupt(std::string_view stage, std::size_t done, std::size_t all) const {
    if (options_.cancelled && options_.cancelled())
      return bad_input("the generation was cancelled");
    if (options_.progress)
      options_.progress(stage, static_cast<double>(done) / static_cast<double>(all));
    return {};
  }

  /// The new terms of a class, and the class if it has others.
  Group group_of(ClassId id, TermNodeId first) const {
    const TermClass& known = table_.classes()[id];
    Group group;
    group.type = known.type;
    if (known.representative < first) group.known = id;
    for (const TermNodeId member : table_.members(id))
      if (member >= first) group.terms.push_back(table_.nodes()[member]);
    return group;
  }

  /// The classes that nodes from `first` on have joined, in order of their first new node.
  Result<void> join_level(TermNodeId first) {
    std::vector<ClassId> wanted;
    std::vector<bool> seen(table_.classes().size());
    for (TermNodeId id = first; id < table_.nodes().size(); ++id) {
      const ClassId of = table_.nodes()[id].id;
      if (seen[of]) continue;
      seen[of] = true;
      if (joiner_.is_wanted(group_of(of, first))) wanted.push_back(of);
    }
    return joiner_.join_all({wanted.size(), [&](std::size_t i) -> Result<Group> {
                               return group_of(wanted[i], first);
                             }});
  }

  /// Rules of the terms from a node on.
  Result<void> write_level(TermNodeId first) {
    LEMMA_RETURN_IF_ERROR(join_level(first));
    return compose_outputs(first);
  }

  /// Finds groups of the largest terms together with the other ranks. The first one writes the rules of those that do
  /// not follow from rules of smaller terms.
  Result<void> write_largest(const TermTable::Options& options) {
    memory_.prepare();
    std::optional<EqualGroups> largest;
    const auto is_joined = [this](const Group& group) {
      return !is_for_compositions(group) && joiner_.is_joined(group);
    };
    const auto find = [&]() -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(largest,
                             table_.largest(options_.most_operators, options, ranges_, is_joined));
      return {};
    };
    LEMMA_RETURN_IF_ERROR(timed("largest terms", find));
    if (!is_first()) return {};
    joiner_.count_joined(table_.statistics().joined_groups, table_.statistics().joined_terms);
    return timed("rules of largest terms", [&] { return join_largest(*largest); });
  }

  /// Whether the outputs of an operator that has several are among the terms, which smaller ones equal.
  bool is_for_compositions(const Group& group) const {
    return group.known != nothing &&
           std::any_of(group.terms.begin(), group.terms.end(),
                       [this](const TermNode& term) { return outputs_of(term.op) > 1; });
  }

  Result<void> join_largest(const EqualGroups& largest) {
    LEMMA_RETURN_IF_ERROR(
        joiner_.join_all({largest.size(), [&largest](std::size_t i) { return largest.group(i); }}));
    return compose_largest(largest);
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
        if (const auto node_id = table_.find(node.op, output, node.operands))
          classes.push_back(table_.nodes()[*node_id].id);
      add_composition(node, classes, compositions);
    }
    return compose(compositions);
  }

  /// The same from the largest terms, of which only those are known that equal smaller ones.
  Result<void> compose_largest(const EqualGroups& largest) {
    std::vector<TermNode> outputs;  // in the classes that are known
    for (std::size_t i = 0; i < largest.size() && has_several_outputs(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const Group group, largest.group(i));
      if (group.known == nothing) continue;
      for (const TermNode& term : group.terms) {
        if (outputs_of(term.op) < 2) continue;
        outputs.push_back(term);
        outputs.back().id = group.known;
      }
    }
    const auto place = [](const TermNode& node) {
      return std::tie(node.op, node.operands, node.output);
    };
    std::sort(outputs.begin(), outputs.end(),
              [&](const TermNode& a, const TermNode& b) { return place(a) < place(b); });
    std::vector<Composition> compositions;
    for (std::size_t begin = 0, end = 0; begin < outputs.size(); begin = end) {
      TermNode node;
      node.op = outputs[begin].op;
      node.operands = outputs[begin].operands;
      std::vector<ClassId> classes;
      for (; end < outputs.size() && outputs[end].op == node.op &&
             outputs[end].operands == node.operands;
           ++end)
        classes.push_back(outputs[end].id);
      add_composition(node, classes, compositions);
    }
    return compose(compositions);
  }

  bool has_several_outputs() const {
    return std::any_of(set_.operators.begin(), set_.operators.end(),
                       [](const SetOperator& op) { return op.pattern.left.size() > 1; });
  }

  void add_composition(TermNode node, const std::vector<ClassId>& classes,
                       std::vector<Composition>& compositions) const {
    if (classes.size() < outputs_of(node.op)) return;
    if (!table_.uses_first_inputs(table_.inputs_of(node.operands))) return;
    Composition composition;
    composition.classes = classes;
    for (std::uint32_t output = 0; output < classes.size(); ++output) {
      node.output = static_cast<std::uint16_t>(output);
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
      return book_.rules()[a.first].inputs.size() < book_.rules()[b.first].inputs.size();
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

  bool is_known(const Composition& composition) const {
    return memory_.merges(composition.others, composition.outputs);
  }

  Result<void> compose(const std::vector<Composition>& compositions) {
    memory_.prepare();
    const auto prepare = [&](std::size_t i) -> std::optional<Candidate> {
      if (is_known(compositions[i])) return std::nullopt;
      Candidate candidate = candidate_of(compositions[i]);
      if (!saves_work(candidate)) return std::nullopt;
      if (options_.threads > 1) (void)book_.make(candidate);
      return candidate;
    };
    const auto commit = [&](std::size_t i, std::optional<Candidate> candidate) -> Result<void> {
      if (candidate && !is_known(compositions[i]))
        if (const auto rule = book_.add(std::move(*candidate)))
          compositions_.emplace_back(*rule, compositions[i]);
      if ((i + 1) % told_at_once != 0 && i + 1 < compositions.size()) return {};
      return interrupt("composing outputs", i + 1, compositions.size());
    };
    return in_order(options_.threads, compositions.size(),
                    static_cast<std::size_t>(options_.threads) * ahead_per_thread, prepare, commit);
  }

  const OperatorSet& set_;
  const GenerateOptions& options_;
  TermTable table_;
  Generated generated_;
  RuleBook book_;
  RuleMemory& memory_;
  Joiner joiner_;
  RangeFiles ranges_;
  std::vector<std::pair<std::size_t, Composition>> compositions_;  // rule, and what it is about
};

}  // namespace

std::size_t limit_of_operators(const OperatorSet& set, const GenerateOptions& options) {
  return options.most_operators > 0 ? options.most_operators : set.most_operators;
}

std::string candidates_text(const OperatorSet& set, const GenerateOptions& options,
                            const std::vector<Substitution>& rules) {
  std::string result =
      fmt::format("# Candidates of the operator set {}, up to {} operators: {}. Not proved.\n",
                  set.name, limit_of_operators(set, options), rules.size());
  for (const Substitution& rule : rules) {
    result += '\n';
    result += text(rule);
  }
  return result;
}

Result<Generated> generate(const OperatorSet& set, const GenerateOptions& options) {
  GenerateOptions complete = options;
  complete.most_operators = limit_of_operators(set, options);
  return Generator(set, complete).run();
}

}  // namespace lemma::generator
