#include "search/explanation.h"

#include <fmt/format.h>

#include "facts/cut.h"
#include "ir/graph_text.h"
#include "ir/rebuild.h"
#include "rule_language/digests.h"
#include "rule_language/explanation_scope.h"

namespace lemma {
namespace {

using Pair = Derivation::Pair;

/// An output before, at the stages on the way, and after.
struct OutputChain {
  std::string name;
  std::vector<ValueId> values;
};

class ExplanationWriter {
 public:
  ExplanationWriter(const Derivation& derivation, const std::set<std::uint32_t>& steps)
      : derivation_(derivation), terms_(derivation.terms()), steps_(steps) {}

  Result<std::string> write(const Graph& original, const std::vector<OutputChain>& chains) {
    LEMMA_ASSIGN_OR_RETURN(const Graph printed, terms_spoken_of(original.name(), chains));
    GraphTextOptions whole;
    whole.dead_nodes = true;
    std::string result = "lemma explanation 2\n" + print_graph(printed, whole);
    result += rule_lines();
    for (const auto& [value, facts] : derivation_.input_facts())
      if (!places_[value.v].is_none())
        result += fmt::format("given %{}: {}\n", places_[value.v].v, text(facts));
    for (const std::uint32_t step : steps_) result += step_line(derivation_.uses()[step]);
    const auto leave_out = [&result](std::string_view what) {
      result += fmt::format("outside {}\n", what);
    };
    leave_out(outside_reading);
    if (has_opaque_nodes(original)) leave_out(outside_opaque);
    leave_out(outside_folding);
    leave_out(outside_writing);
    return result + "end\n";
  }

 private:
  /// A graph of their own; fills in where each term is in it.
  Result<Graph> terms_spoken_of(const std::string& name, const std::vector<OutputChain>& chains) {
    std::vector<char> needed(terms_.node_count(), 0);
    const auto need = [&](ValueId value) { needed[terms_.producer(value).v] = 1; };
    for (const OutputChain& chain : chains)
      for (const ValueId value : chain.values) need(value);
    for (const std::uint32_t step : steps_)
      for (const ValueId value : derivation_.uses()[step].use.inputs) need(value);
    for (std::size_t i = needed.size(); i-- > 0;)
      if (needed[i] != 0)
        for (const ValueId operand : terms_.nodes()[i].inputs)
          if (!operand.is_none()) need(operand);
    Graph printed;
    places_.assign(terms_.value_count(), ValueId::none());
    for (std::uint32_t i = 0; i < needed.size(); ++i)
      if (needed[i] != 0)
        LEMMA_RETURN_IF_ERROR(copy_node(terms_, terms_.node({i}), printed, places_));
    for (const OutputChain& chain : chains)
      for (std::size_t i = 0; i < chain.values.size(); ++i) {
        const std::string place = i == 0                         ? "before"
                                  : i + 1 == chain.values.size() ? "after"
                                                                 : fmt::format("stage {}", i);
        LEMMA_RETURN_IF_ERROR(
            printed.add_output(place + " " + chain.name, places_[chain.values[i].v]));
      }
    printed.set_name(name);
    return printed;
  }

  std::string rule_lines() const {
    std::map<std::string, const Substitution*> used;
    for (const std::uint32_t step : steps_) {
      const Derivation::Use& use = derivation_.uses()[step];
      if (!use.is_of_copies()) used[use.use.substitution->name] = use.use.substitution;
    }
    Digests digests;
    std::string result;
    for (const auto& [name, rule] : used)
      result += fmt::format("rule {} {}\n", name, digests.of_substitution(*rule));
    return result;
  }

  std::string step_line(const Derivation::Use& step) const {
    if (step.is_of_copies())
      return fmt::format("copies %{} %{}\n", places_[step.use.inputs[0].v].v,
                         places_[step.use.inputs[1].v].v);
    const Substitution& rule = *step.use.substitution;
    std::string values;
    const auto add = [&values](const std::string& name, const std::string& value) {
      values += fmt::format("{}{}={}", values.empty() ? "" : ", ", name, value);
    };
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
      add(rule.inputs[i].name, fmt::format("%{}", places_[step.use.inputs[i].v].v));
    const RuleBindings& bindings = step.use.bindings;
    for (const std::string& name : variable_names(rule)) {
      if (const auto entry = bindings.groups.find(name); entry != bindings.groups.end())
        add(name, text(entry->second));
      else if (const auto value = bindings.parameters.find(name);
               value != bindings.parameters.end())
        add(name, text(value->second));
      else if (const auto size = bindings.dimensions.find(name); size != bindings.dimensions.end())
        add(name, size->second.text());
    }
    return fmt::format("{} {} {}: {}\n", step.refinement ? "refine" : "step", rule.name,
                       step.backward ? "backward" : "forward", values);
  }

  const Derivation& derivation_;
  const Graph& terms_;
  const std::set<std::uint32_t>& steps_;
  std::vector<ValueId> places_;  // by value of the terms
};

}  // namespace

Result<std::string> explain(const Graph& original, std::span<const Graph> stages,
                            const Graph& chosen, Derivation& derivation) {
  std::vector<const Graph*> graphs = {&original};
  for (const Graph& stage : stages) graphs.push_back(&stage);
  graphs.push_back(&chosen);
  std::vector<OutputChain> chains;
  std::set<std::uint32_t> steps;
  for (std::size_t i = 1; i < graphs.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Pair> pairs,
                           derivation.pairs(*graphs[i - 1], *graphs[i]));
    if (chains.empty())
      for (const Pair& pair : pairs) chains.push_back({pair.name, {pair.before}});
    if (pairs.size() != chains.size()) return internal_error("outputs are lost on the way");
    for (std::size_t k = 0; k < pairs.size(); ++k) chains[k].values.push_back(pairs[k].after);
    LEMMA_ASSIGN_OR_RETURN(const std::set<std::uint32_t> needed, derivation.reasons(pairs));
    steps.insert(needed.begin(), needed.end());
  }
  return ExplanationWriter(derivation, steps).write(original, chains);
}

}  // namespace lemma
