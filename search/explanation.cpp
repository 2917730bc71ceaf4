#include "search/explanation.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/digests.h"
#include "ir/graph_text.h"
#include "ir/substitution_use.h"
#include "search/congruence.h"

namespace lemma {
namespace {

/// Larger constants stand as inputs: what holds for all values holds for these.
constexpr std::size_t largest_constant = 64;

class Explainer {
 public:
  Explainer(const EGraph& egraph, std::span<const Substitution> rules,
            std::span<const CompiledRule> compiled)
      : egraph_(egraph), compiled_(compiled), congruence_(terms_) {
    for (const Substitution& rule : rules) rule_by_name_[rule.name] = &rule;
  }

  Result<std::string> explain(const Graph& original, const Graph& chosen,
                              std::span<const Application> log) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> before, copy_outputs(original));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> after, copy_outputs(chosen));
    LEMMA_RETURN_IF_ERROR(add_founding_terms());
    for (std::uint32_t i = 0; i < log.size(); ++i) add_equations(log[i], i);
    std::set<std::uint32_t> steps;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!congruence_.equal(before[i], after[i]))
        return internal_error(fmt::format("nothing says why the output '{}' is the same",
                                          original.outputs()[i].name));
      for (const std::uint32_t step : congruence_.reasons(before[i], after[i])) steps.insert(step);
    }
    return write(original, before, after, log, steps);
  }

 private:
  Result<ValueId> constant(const Constant& contents) {
    if (contents.bytes().size() <= largest_constant) return terms_.add_constant(contents);
    auto& alike = constants_[contents.hash()];
    for (const auto& [known, value] : alike)
      if (*known == contents) return value;
    LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                           terms_.add_input(fmt::format("constant {} digest {:016x}",
                                                        constant_count_++, contents.digest()),
                                            contents.type()));
    alike.emplace_back(&contents, value);
    return value;
  }

  Result<ValueId> input(const std::string& name, const TensorType& type) {
    const auto known = inputs_.find(name);
    if (known != inputs_.end()) return known->second;
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, terms_.add_input("input " + name, type));
    return inputs_[name] = value;
  }

  static Error opaque_refused() {
    return {ErrorKind::unsupported,
            "graphs with operators that are opaque cannot be explained yet"};
  }

  /// The outputs of a graph as terms.
  Result<std::vector<ValueId>> copy_outputs(const Graph& graph) {
    std::vector<ValueId> values(graph.value_count());
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      switch (node.kind) {
        case NodeKind::input: {
          LEMMA_ASSIGN_OR_RETURN(values[node.output().v],
                                 input(graph.input_name(node), graph.type(node.output())));
          break;
        }
        case NodeKind::constant: {
          LEMMA_ASSIGN_OR_RETURN(values[node.output().v], constant(graph.constant(node)));
          break;
        }
        case NodeKind::opaque: return tl::unexpected(opaque_refused());
        case NodeKind::operation: {
          std::vector<ValueId> operands;
          for (const ValueId operand : node.inputs)
            operands.push_back(operand.is_none() ? operand : values[operand.v]);
          LEMMA_ASSIGN_OR_RETURN(
              const NodeId added,
              terms_.add_operation(node.op, operands, node.attributes, node.output_count));
          for (std::uint32_t k = 0; k < node.output_count; ++k)
            values[node.output(k).v] = terms_.node(added).output(k);
        }
      }
    }
    std::vector<ValueId> result;
    for (const GraphOutput& output : graph.outputs()) result.push_back(values[output.value.v]);
    return result;
  }

  /// The term of each number of the e-graph.
  Result<void> add_founding_terms() {
    values_.resize(egraph_.id_count());
    std::vector<NodeId> tuples(egraph_.id_count());
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      const ENode& node = egraph_.node({i});
      std::vector<ValueId> operands;
      if (node.kind == ENodeKind::operation)
        for (const ClassId child : egraph_.founding_children({i}))
          operands.push_back(child.is_none() ? ValueId::none() : values_[child.v]);
      switch (node.kind) {
        case ENodeKind::input: {
          LEMMA_ASSIGN_OR_RETURN(values_[i],
                                 input(egraph_.input_name(node), egraph_.type(ClassId{i})));
          break;
        }
        case ENodeKind::constant: {
          LEMMA_ASSIGN_OR_RETURN(values_[i], constant(egraph_.constant(node)));
          break;
        }
        case ENodeKind::opaque: return tl::unexpected(opaque_refused());
        case ENodeKind::projection:
          values_[i] =
              terms_.node(tuples[egraph_.founding_children({i})[0].v]).output(node.payload);
          break;
        case ENodeKind::operation: {
          LEMMA_ASSIGN_OR_RETURN(
              tuples[i],
              terms_.add_operation(node.op, operands, egraph_.attributes(node), node.output_count));
          values_[i] = terms_.node(tuples[i]).output();
        }
      }
    }
    return {};
  }

  const Substitution& rule_of(const Application& application) const {
    return *rule_by_name_.at(compiled_[application.rule].rule.name);
  }

  SubstitutionUse use_of(const Application& application) const {
    SubstitutionUse use{&rule_of(application), {}, application.bindings};
    for (const ClassId id : application.inputs) use.inputs.push_back(values_[id.v]);
    return use;
  }

  /// A use that the checker would refuse is left out: then it is no reason for anything.
  void add_equations(const Application& application, std::uint32_t number) {
    const auto sides = sides_of(terms_, use_of(application));
    if (!sides) return;
    for (std::size_t k = 0; k < sides->left.size(); ++k)
      congruence_.merge(sides->left[k], sides->right[k], number);
  }

  /// The terms that are spoken of, in a graph of their own, and the steps.
  Result<std::string> write(const Graph& original, const std::vector<ValueId>& before,
                            const std::vector<ValueId>& after, std::span<const Application> log,
                            const std::set<std::uint32_t>& steps) {
    std::vector<char> needed(terms_.node_count(), 0);
    const auto need = [&](ValueId value) { needed[terms_.producer(value).v] = 1; };
    for (const ValueId value : before) need(value);
    for (const ValueId value : after) need(value);
    for (const std::uint32_t step : steps)
      for (const ClassId id : log[step].inputs) need(values_[id.v]);
    for (const NodeId id : terms_.inputs()) needed[id.v] = 1;
    for (std::size_t i = needed.size(); i-- > 0;)
      if (needed[i] != 0)
        for (const ValueId operand : terms_.nodes()[i].inputs)
          if (!operand.is_none()) need(operand);
    Graph printed;
    std::vector<ValueId> places(terms_.value_count());
    for (std::uint32_t i = 0; i < needed.size(); ++i) {
      if (needed[i] == 0) continue;
      LEMMA_RETURN_IF_ERROR(copy_node(terms_.node({i}), printed, places));
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string& name = original.outputs()[i].name;
      LEMMA_RETURN_IF_ERROR(printed.add_output("before " + name, places[before[i].v]));
      LEMMA_RETURN_IF_ERROR(printed.add_output("after " + name, places[after[i].v]));
    }
    printed.set_name(original.name());
    GraphTextOptions whole;
    whole.dead_nodes = true;
    std::string result = "lemma explanation 1\n" + print_graph(printed, whole);
    result += rule_lines(log, steps);
    for (const std::uint32_t step : steps) result += step_line(log[step], places);
    result +=
        "outside reading: that \"before\" is what the model file says\n"
        "outside folding: what depends on constants alone is computed and kept as its value\n"
        "outside writing: that the written file says what \"after\" does\n";
    return result + "end\n";
  }

  Result<void> copy_node(const Node& node, Graph& printed, std::vector<ValueId>& places) const {
    const ValueId first = node.output();
    if (node.kind == NodeKind::input) {
      LEMMA_ASSIGN_OR_RETURN(places[first.v],
                             printed.add_input(terms_.input_name(node), terms_.type(first)));
      return {};
    }
    if (node.kind == NodeKind::constant) {
      places[first.v] = printed.add_constant(terms_.constant(node));
      return {};
    }
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs)
      operands.push_back(operand.is_none() ? operand : places[operand.v]);
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId added,
        printed.add_operation(node.op, std::move(operands), node.attributes, node.output_count));
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      places[node.output(k).v] = printed.node(added).output(k);
    return {};
  }

  std::string rule_lines(std::span<const Application> log,
                         const std::set<std::uint32_t>& steps) const {
    std::map<std::string, const Substitution*> used;
    for (const std::uint32_t step : steps) used[rule_of(log[step]).name] = &rule_of(log[step]);
    Digests digests;
    std::string result;
    for (const auto& [name, rule] : used)
      result += fmt::format("rule {} {}\n", name, digests.of_substitution(*rule));
    return result;
  }

  std::string step_line(const Application& application, const std::vector<ValueId>& places) const {
    const Substitution& rule = rule_of(application);
    std::string values;
    const auto add = [&values](const std::string& name, const std::string& value) {
      values += fmt::format("{}{}={}", values.empty() ? "" : ", ", name, value);
    };
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
      add(rule.inputs[i].name, fmt::format("%{}", places[values_[application.inputs[i].v].v].v));
    const RuleBindings& bindings = application.bindings;
    for (const std::string& name : variable_names(rule)) {
      if (const auto found = bindings.groups.find(name); found != bindings.groups.end())
        add(name, text(found->second));
      else if (const auto value = bindings.parameters.find(name);
               value != bindings.parameters.end())
        add(name, text(value->second));
      else if (const auto size = bindings.dimensions.find(name); size != bindings.dimensions.end())
        add(name, size->second.text());
    }
    return fmt::format("step {} {}: {}\n", rule.name,
                       compiled_[application.rule].backward ? "backward" : "forward", values);
  }

  const EGraph& egraph_;
  std::span<const CompiledRule> compiled_;
  std::map<std::string, const Substitution*> rule_by_name_;
  Graph terms_;
  Congruence congruence_;
  std::vector<ValueId> values_;  // by number of the e-graph
  std::map<std::string, ValueId> inputs_;
  std::map<std::size_t, std::vector<std::pair<const Constant*, ValueId>>> constants_;  // by hash
  std::size_t constant_count_ = 0;
};

}  // namespace

Result<std::string> explain(const Graph& original, const Graph& chosen, const EGraph& egraph,
                            std::span<const Substitution> rules,
                            std::span<const CompiledRule> compiled,
                            std::span<const Application> log) {
  return Explainer(egraph, rules, compiled).explain(original, chosen, log);
}

}  // namespace lemma
