#include "report/proof_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "verifier/checker/replay.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;

/// A line of the form "name = Op{...}(...) : type".
struct TermLine {
  std::string name, operation, type;
};

/// Terms by name: inputs by theirs, what operators make t1, t2, ... in the order of first mention.
class Names {
 public:
  explicit Names(const Graph& graph) : graph_(graph) {}

  std::string of(ValueId value) {
    if (value.is_none()) return "_";
    const NodeId producer = graph_.producer(value);
    const Node& node = graph_.node(producer);
    if (node.kind == NodeKind::input) return graph_.input_name(node);
    const auto [where, inserted] = numbers_.try_emplace(producer, numbers_.size() + 1);
    return node.output_count > 1 ? fmt::format("t{}#{}", where->second, graph_.output_index(value))
                                 : fmt::format("t{}", where->second);
  }

  std::string of(const std::vector<ValueId>& values) {
    std::string result;
    for (const ValueId value : values) result += (result.empty() ? "" : " & ") + of(value);
    return result;
  }

  /// Lines for the nodes below the roots: all, or those that had none yet.
  std::vector<TermLine> lines(const std::vector<ValueId>& roots, bool all) {
    std::set<NodeId> needed;
    for (const ValueId root : roots) needed.insert(graph_.producer(root));
    std::vector<NodeId> order;
    while (!needed.empty()) {  // inputs of a node have smaller ids
      const NodeId id = *needed.rbegin();
      needed.erase(id);
      order.push_back(id);
      for (const ValueId input : graph_.node(id).inputs)
        if (!input.is_none()) needed.insert(graph_.producer(input));
    }
    std::vector<TermLine> result;
    for (std::size_t i = order.size(); i-- > 0;)
      if (graph_.node(order[i]).kind == NodeKind::operation &&
          (shown_.insert(order[i]).second || all))
        result.push_back(line(order[i]));
    return result;
  }

 private:
  TermLine line(NodeId id) {
    const Node& node = graph_.node(id);
    std::string operands, types;
    for (const ValueId input : node.inputs) operands += (operands.empty() ? "" : ", ") + of(input);
    for (const TensorType& type : graph_.output_types(node))
      types += (types.empty() ? "" : " & ") + text(type);
    std::string name = of(node.output());
    name = name.substr(0, name.find('#'));
    return {std::move(name),
            fmt::format("{}{}({})", graph_.op(node).name, text(node.attributes), operands),
            std::move(types)};
  }

  const Graph& graph_;
  std::map<NodeId, std::size_t> numbers_;
  std::set<NodeId> shown_;
};

std::string aligned(const std::vector<TermLine>& lines) {
  std::size_t names = 0, operations = 0;
  for (const TermLine& line : lines) {
    names = std::max(names, line.name.size());
    operations = std::max(operations, std::min<std::size_t>(line.operation.size(), 70));
  }
  std::string result;
  for (const TermLine& line : lines)
    result += fmt::format("    {:<{}} = {:<{}} : {}\n", line.name, names, line.operation,
                          operations, line.type);
  return result;
}

/// One step, once it is applied.
struct StepReport {
  std::string axiom, direction, position, claim;
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<TermLine> terms;  // that are new
  std::string outputs;          // of the tuple
};

struct CaseReport {
  std::string claim;
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<TermLine> left, right;
  std::string left_outputs, right_outputs;
  std::vector<StepReport> steps;
};

/// The equation of an axiom, and what it names with `let`.
std::string claim_of(const Substitution& axiom) {
  const std::string whole = text(axiom);
  const std::size_t end = whole.size() - 1, let = whole.find("\n  let ");
  std::size_t begin = std::min(let, whole.rfind('\n', end - 1)) + 3;
  std::string result;
  while (begin < end) {
    const std::size_t next = std::min(whole.find('\n', begin), end);
    result += (result.empty() ? "" : "; ") + whole.substr(begin, next - begin);
    begin = next + 3;
  }
  return result;
}

StepReport report_step(const checker::Step& step, checker::Replay& replay, Names& names) {
  const SubstitutionUse& use = replay.uses().back();
  StepReport result;
  result.axiom = step.axiom->name;
  result.direction = step.backward ? "right to left" : "left to right";
  result.position = text(step.position);
  result.claim = claim_of(*step.axiom);
  result.terms = names.lines(replay.state(), false);
  for (std::size_t i = 0; i < use.inputs.size(); ++i)
    result.values.emplace_back(step.axiom->inputs[i].name, names.of(use.inputs[i]));
  for (const std::string& name : variable_names(*step.axiom)) {
    const auto& groups = use.bindings.groups;
    const auto& sizes = use.bindings.dimensions;
    const std::string value = groups.contains(name)  ? text(groups.find(name)->second)
                              : sizes.contains(name) ? sizes.find(name)->second.text()
                                                     : text(use.bindings.parameters.at(name));
    result.values.emplace_back(name, value);
  }
  result.outputs = names.of(replay.state());
  return result;
}

Result<CaseReport> report_case(const checker::Certificate& certificate, const RuleCase& rule_case,
                               const checker::Chain& chain) {
  checker::Replay replay(certificate.terms, rule_case, DataType::f32);
  LEMMA_RETURN_IF_ERROR(replay.begin());
  CaseReport result;
  result.claim = checker::claim(rule_case, replay.graph(), replay.sides().left);
  for (std::size_t i = 0; i < rule_case.inputs.size(); ++i)
    result.inputs.emplace_back(certificate.rule.inputs[i].name, text(rule_case.inputs[i]));
  Names names(replay.graph());
  result.left = names.lines(replay.sides().left, true);
  result.left_outputs = names.of(replay.sides().left);
  for (const checker::Step& step : chain) {
    LEMMA_RETURN_IF_ERROR(replay.apply(step));
    result.steps.push_back(report_step(step, replay, names));
  }
  if (replay.state() != replay.sides().right)
    return bad_input("the last step does not arrive at the right side");
  result.right = names.lines(replay.sides().right, true);
  result.right_outputs = names.of(replay.sides().right);
  return result;
}

std::string items(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string result;
  for (const auto& [name, value] : values)
    result += fmt::format("{}{} = {}", result.empty() ? "" : ", ", name, value);
  return result;
}

std::string graph_text(std::string_view title, const std::vector<TermLine>& lines,
                       const std::string& outputs) {
  return fmt::format("  {}\n{}    outputs {}\n", title, aligned(lines), outputs);
}

Json terms_json(const std::vector<TermLine>& lines) {
  Json result = Json::array();
  for (const TermLine& line : lines)
    result.push_back({{"name", line.name}, {"operation", line.operation}, {"type", line.type}});
  return result;
}

Json object(const std::vector<std::pair<std::string, std::string>>& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values) result[name] = value;
  return result;
}

}  // namespace

Result<std::string> case_text(const checker::Certificate& certificate,
                              const std::vector<RuleCase>& cases, std::size_t index) {
  const std::size_t chain = certificate.chain_of(index);
  LEMMA_ASSIGN_OR_RETURN(const CaseReport report,
                         report_case(certificate, cases.at(index), certificate.chains[chain]));
  std::string result = fmt::format("{}  (case {} of {}, chain {})\n", report.claim, index + 1,
                                   cases.size(), chain + 1);
  result += "  inputs\n";
  for (const auto& [name, type] : report.inputs) result += fmt::format("    {} : {}\n", name, type);
  result += graph_text("left side", report.left, report.left_outputs);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepReport& step = report.steps[i];
    result += fmt::format("  step {}: {}, {}, at {}\n    by {}\n    with {}\n", i + 1, step.axiom,
                          step.direction, step.position, step.claim, items(step.values));
    result += fmt::format("{}    outputs {}\n", aligned(step.terms), step.outputs);
  }
  return result + graph_text("right side, as arrived at", report.right, report.right_outputs);
}

Result<Json> case_json(const checker::Certificate& certificate, const std::vector<RuleCase>& cases,
                       std::size_t index) {
  const std::size_t chain = certificate.chain_of(index);
  LEMMA_ASSIGN_OR_RETURN(const CaseReport report,
                         report_case(certificate, cases.at(index), certificate.chains[chain]));
  Json steps = Json::array();
  for (const StepReport& step : report.steps)
    steps.push_back({{"axiom", step.axiom},
                     {"direction", step.direction},
                     {"position", step.position},
                     {"values", object(step.values)},
                     {"new_terms", terms_json(step.terms)},
                     {"outputs", step.outputs}});
  return Json({{"claim", report.claim},
               {"chain", chain + 1},
               {"inputs", object(report.inputs)},
               {"left", terms_json(report.left)},
               {"left_outputs", report.left_outputs},
               {"steps", steps},
               {"right", terms_json(report.right)},
               {"right_outputs", report.right_outputs}});
}

}  // namespace lemma
