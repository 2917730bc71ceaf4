#include "generator/agreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/random.h"
#include "rule_language/substitution_use.h"

namespace lemma::generator {
namespace {

// ---- Terms ------------------------------------------------------------------------------------

class Agreement {
 public:
  Agreement(const TermTable& table, const AgreementOptions& options)
      : table_(table), options_(options) {}

  std::vector<PartialCandidate> find() const {
    std::vector<PartialCandidate> result;
    for (const TermNode& node : table_.nodes()) {
      if (!is_target(node)) continue;
      std::vector<PartialCandidate> own = partners(node);
      std::move(own.begin(), own.end(), std::back_inserter(result));
    }
    return result;
  }

 private:
  bool is_target(const TermNode& node) const {
    if (node.op == nothing || node.output != 0 || node.cost != 1) return false;
    const SetOperator& op = table_.set().operators[node.op];
    const auto& names = options_.targets;
    const bool is_named = names.empty()
                              ? takes_images_and_weights(op)
                              : std::find(names.begin(), names.end(), op.name) != names.end();
    return is_named && op.pattern.left.size() == 1 &&
           table_.uses_first_inputs(table_.inputs_of(node.operands));
  }

  static bool takes_images_and_weights(const SetOperator& op) {
    const auto is_weight = [](const RuleInput& input) { return input.weight; };
    return std::any_of(op.pattern.inputs.begin(), op.pattern.inputs.end(), is_weight) &&
           !std::all_of(op.pattern.inputs.begin(), op.pattern.inputs.end(), is_weight);
  }

  /// Classes of the target's type over its inputs, of which a part equals it.
  std::vector<PartialCandidate> partners(const TermNode& target) const {
    const TermClass& own = table_.classes()[target.id];
    std::vector<PartialCandidate> result;
    for (ClassId id = 0; id < table_.classes().size(); ++id) {
      const TermClass& other = table_.classes()[id];
      if (id == target.id || other.type != own.type || other.inputs != own.inputs) continue;
      PartialCandidate partial;
      partial.agrees = table_.agreement(target.id, id);
      partial.share = static_cast<double>(std::count(partial.agrees.begin(), partial.agrees.end(),
                                                     static_cast<char>(1))) /
                      static_cast<double>(partial.agrees.size());
      if (partial.share < options_.least_share || partial.share >= 1) continue;
      partial.target = table_.set().operators[target.op].name;
      partial.sizes = table_.types()[own.type];
      partial.operators = other.cost;
      CandidateBuilder builder(table_);
      const std::uint32_t left = builder.add(target, own.type), right = builder.add_class(id);
      partial.candidate = builder.take({left}, {right});
      result.push_back(std::move(partial));
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
      return a.share != b.share ? a.share > b.share : a.operators < b.operators;
    });
    return result;
  }

  const TermTable& table_;
  const AgreementOptions& options_;
};

// ---- Other sizes ------------------------------------------------------------------------------

constexpr std::int64_t most_elements = 4096;  // of a value
constexpr std::size_t attempts_for_each = 40;

/// A small number for each variable of a rule, of which one is larger.
RuleBindings sizes_of(const Substitution& rule, std::uint64_t seed) {
  std::uint64_t counter = 0;
  const auto word = [&] { return interpreter::random_word(seed, 3, counter++); };
  RuleBindings result;
  const std::vector<std::string> names = variable_names(rule);
  const std::size_t large = names.empty() ? 0 : word() % names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_parameter =
        std::any_of(rule.parameters.begin(), rule.parameters.end(),
                    [&](const RuleParameter& p) { return p.name == names[i]; });
    auto size = static_cast<std::int64_t>(word() % (is_parameter ? 3 : 5));
    if (!is_parameter) ++size;
    if (i == large) size += 3 + static_cast<std::int64_t>(word() % 3);
    if (is_parameter)
      result.parameters[names[i]] = Dimension(size);
    else
      result.dimensions[names[i]] = size;
  }
  return result;
}

bool is_small(const Graph& graph) {
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    const Dimension count = element_count(*graph.type({v}).shape);
    if (!count.is_constant() || count.offset() > most_elements || count.is(0)) return false;
  }
  return true;
}

std::vector<std::vector<long double>> contents_of(const Tape& tape, std::uint64_t seed) {
  std::vector<std::vector<long double>> result;
  std::uint64_t counter = 0;
  for (const std::uint32_t size : tape.operand_sizes) {
    std::vector<long double>& values = result.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint64_t word = interpreter::random_word(seed, 4, counter++);
      const long double magnitude = static_cast<long double>(1 + word % 40) / 16;
      values.push_back((word >> 32U) % 2 == 0 ? magnitude : -magnitude);
    }
  }
  return result;
}

/// What came of one choice of sizes.
struct Trial {
  std::optional<SizedMask> mask;
  bool is_wrong =
      false;  // the right side is not well typed where the left side is, or has another type
};

Trial tried(const Substitution& rule, std::uint64_t seed) {
  const RuleBindings bindings = sizes_of(rule, seed);
  Graph graph;
  const auto inputs = add_rule_inputs(rule, bindings, graph);
  if (!inputs || !conditions_hold(rule, bindings)) return {};
  const auto left = instantiate(rule, rule.left, *inputs, bindings, graph);
  if (!left || !is_small(graph)) return {};
  const auto right = instantiate(rule, rule.right, *inputs, bindings, graph);
  if (!right || graph.type((*left)[0]) != graph.type((*right)[0])) return {std::nullopt, true};
  if (!is_small(graph)) return {};
  (void)graph.add_output("left", (*left)[0]);
  (void)graph.add_output("right", (*right)[0]);
  const auto tape = make_tape(graph);
  if (!tape) return {};
  SizedMask mask;
  mask.shape = *constant_sizes(*graph.type((*left)[0]).shape);
  mask.agrees.assign(tape->outputs[0].size(), 1);
  constexpr std::uint64_t rounds = 3;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto outputs = run_once(*tape, contents_of(*tape, seed * rounds + round));
    for (std::size_t i = 0; i < mask.agrees.size(); ++i)
      if (outputs[0][i] != outputs[1][i]) mask.agrees[i] = 0;
  }
  for (const auto& [name, size] : bindings.dimensions) mask.sizes[name] = size;
  for (const auto& [name, size] : bindings.parameters) mask.sizes[name] = std::get<Dimension>(size);
  return {std::move(mask), false};
}

}  // namespace

Result<void> find_partial_terms(
    const OperatorSet& set, const AgreementOptions& options,
    const std::function<void(const TermTable&, const PartialTerms&)>& use) {
  for (const std::string& name : options.targets)
    if (std::none_of(set.operators.begin(), set.operators.end(),
                     [&name](const SetOperator& op) { return op.name == name; }))
      return bad_input(fmt::format("the set '{}' has no operator '{}'", set.name, name));
  TermTable table(set, options.seed);
  GenerateOptions limits;
  limits.most_operators = options.most_operators;
  TermTable::Options levels;
  levels.threads = options.threads;
  for (std::size_t cost = 1; cost <= limit_of_operators(set, limits); ++cost)
    LEMMA_RETURN_IF_ERROR(table.add_level(cost, levels));
  PartialTerms terms;
  terms.candidates = Agreement(table, options).find();
  terms.statistics = table.statistics();
  use(table, terms);
  return {};
}

std::vector<SizedMask> masks_of(const Substitution& rule, std::size_t wanted, std::uint64_t seed) {
  std::vector<SizedMask> result;
  for (std::size_t i = 0; i < wanted * attempts_for_each && result.size() < wanted; ++i) {
    Trial trial = tried(rule, seed * 1000 + i);
    if (trial.is_wrong) return {};
    if (trial.mask) result.push_back(std::move(*trial.mask));
  }
  return result;
}

}  // namespace lemma::generator
