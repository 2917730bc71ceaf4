#include "training/spell.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "differentiate/gradient_records.h"
#include "ir/rebuild.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_use.h"

namespace lemma::training {

namespace {

/// The gradient that a rule spells; null: it is another kind of rule.
const RuleTerm* spelled_term(const Substitution& rule) {
  if (rule.left.size() != 1) return nullptr;
  const RuleTerm& term = rule.terms[rule.left[0].v];
  if (term.is_input || !differentiate::is_gradient(record(term.op))) return nullptr;
  const bool on_inputs = std::all_of(
      term.operands.begin(), term.operands.end(),
      [&rule](TermId operand) { return operand.is_none() || rule.terms[operand.v].is_input; });
  return on_inputs ? &term : nullptr;
}

class Speller {
 public:
  Speller(std::span<const Substitution> rules, std::set<std::string>* used) : used_(used) {
    for (const Substitution& rule : rules)
      if (const RuleTerm* term = spelled_term(rule)) by_operator_[term->op].push_back(&rule);
  }

  Result<std::vector<ValueId>> operator()(Graph& target, const Node& node,
                                          const std::vector<ValueId>& inputs) {
    if (!differentiate::is_gradient(record(node.op)))
      return add_copy(target, node, node.attributes, inputs);
    any_ = true;
    if (const auto rules = by_operator_.find(node.op); rules != by_operator_.end())
      for (const Substitution* rule : rules->second)
        if (const auto use = match(target, *rule, node, inputs)) {
          if (used_ != nullptr) used_->insert(rule->name);
          return instantiate(*rule, rule->right, use->inputs, use->bindings, target);
        }
    return composed(target, node, inputs);
  }

  /// Whether there was a gradient since this was asked.
  bool take_any() { return std::exchange(any_, false); }

 private:
  static std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<TensorType> result;
    for (const ValueId value : values)
      result.push_back(value.is_none() ? TensorType{} : graph.type(value));
    return result;
  }

  static std::optional<SubstitutionUse> match(const Graph& graph, const Substitution& rule,
                                              const Node& node,
                                              const std::vector<ValueId>& inputs) {
    const RuleTerm& term = *spelled_term(rule);
    if (term.operands.size() != inputs.size()) return std::nullopt;
    SubstitutionUse use{&rule, std::vector<ValueId>(rule.inputs.size(), ValueId::none()), {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (term.operands[i].is_none() != inputs[i].is_none()) return std::nullopt;
      if (inputs[i].is_none()) continue;
      ValueId& value = use.inputs[rule.terms[term.operands[i].v].input];
      if (!value.is_none() && value != inputs[i]) return std::nullopt;
      value = inputs[i];
    }
    const std::vector<TensorType> types = types_of(graph, inputs);
    std::vector<const TensorType*> input_types;
    for (const ValueId input : use.inputs) {
      if (input.is_none()) return std::nullopt;
      input_types.push_back(&graph.type(input));
    }
    const std::vector<MatchedNode> nodes = {{rule.left[0], &node.attributes, types}};
    if (!bind_variables(rule, input_types, nodes, use.bindings)) return std::nullopt;
    if (!check_guards(graph, use)) return std::nullopt;
    return use;
  }

  static Result<std::vector<ValueId>> composed(Graph& target, const Node& node,
                                               const std::vector<ValueId>& inputs) {
    const OperatorRecord& op = record(node.op);
    const std::vector<TensorType> types = types_of(target, inputs);
    if (op.compose == nullptr) {
      std::string operands;
      for (const TensorType& type : types) operands += " " + text(type);
      return unsupported(fmt::format("{}{} of{} has no spelling in operators of ONNX", op.name,
                                     text(node.attributes), operands));
    }
    auto outputs = op.compose(target, {types, node.attributes, node.output_count}, inputs);
    if (!outputs) return with_context(op.name, std::move(outputs.error()));
    return outputs;
  }

  std::map<OperatorId, std::vector<const Substitution*>> by_operator_;
  std::set<std::string>* used_;
  bool any_ = false;
};

}  // namespace

Result<std::vector<Substitution>> spellings_without_proof(const std::filesystem::path& directory) {
  const std::filesystem::path sampled = directory / "gradients" / "sampled.rules";
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(sampled));
  return parse_substitutions(text, sampled.string());
}

Result<std::vector<Substitution>> spelling_rules(const std::filesystem::path& directory) {
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase proved, load_rules(directory / "gradients"));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<OneProofRule> proved_once,
                         load_one_proof_rules(directory / "gradients"));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> others, spellings_without_proof(directory));
  std::vector<Substitution> result(proved.substitutions().begin(), proved.substitutions().end());
  for (const OneProofRule& other : proved_once) result.push_back(other.rule);
  std::move(others.begin(), others.end(), std::back_inserter(result));
  return result;
}

Result<Graph> spelled_gradients(const Graph& graph, std::span<const Substitution> rules,
                                std::set<std::string>* used) {
  // Gradients of compositions are gradients of simpler operators; the limit only stops a cycle among rules.
  constexpr int limit = 64;
  Speller speller(rules, used);
  Graph current = graph;
  for (int round = 0; round < limit; ++round) {
    LEMMA_ASSIGN_OR_RETURN(
        current, rebuild(
                     current, [](const Graph& source, ValueId value) { return source.type(value); },
                     [&speller](Graph& target, const Node& node, std::vector<ValueId> inputs) {
                       return speller(target, node, inputs);
                     }));
    if (!speller.take_any()) return current;
  }
  return internal_error("spellings of gradients are spelled by one another without end");
}

}  // namespace lemma::training
