#include "verifier/exchange/formulas.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/operator.h"
#include "verifier/checker/replay.h"

namespace lemma::exchange {
namespace {

// ---- Problems ---------------------------------------------------------------------------------

class ProblemBuilder {
 public:
  ProblemBuilder(const checker::Certificate& certificate, std::size_t chain)
      : certificate_(certificate), chain_(chain) {
    problem_.name = fmt::format("{}.{}", certificate.rule.name, chain + 1);
  }

  Result<Problem> run(const RuleCase& rule_case) {
    checker::Replay replay(certificate_.terms, rule_case, DataType::f32);
    LEMMA_RETURN_IF_ERROR(replay.run(certificate_.chains[chain_]));
    std::set<std::string> seen;
    for (const SubstitutionUse& use : replay.uses()) {
      LEMMA_ASSIGN_OR_RETURN(Formula formula, axiom(replay.graph(), use));
      if (seen.insert(formula.comment).second) problem_.assumptions.push_back(std::move(formula));
    }
    add_goal(replay);
    return std::move(problem_);
  }

 private:
  std::string type_name(const TensorType& type) {
    const auto [where, inserted] = types_.try_emplace(text(type), types_.size() + 1);
    const std::string name = fmt::format("t{}", where->second);
    if (inserted) {
      problem_.predicates.push_back(name);
      problem_.comments.push_back(fmt::format("{}: of type {}", name, text(type)));
    }
    return name;
  }

  std::string function_name(const Graph& graph, const Node& node, std::uint32_t output) {
    std::vector<std::string> types;
    for (const ValueId input : node.inputs)
      types.push_back(input.is_none() ? "nothing" : text(graph.type(input)));
    const std::string meaning =
        fmt::format("output {} of {} of {}{}({})", output, node.output_count, record(node.op).name,
                    text(node.attributes), fmt::join(types, ", "));
    const auto [where, inserted] = functions_.try_emplace(meaning, functions_.size() + 1);
    const std::string name = fmt::format("f{}", where->second);
    if (!inserted) return name;
    problem_.comments.push_back(fmt::format("{}: {}", name, meaning));
    problem_.functions.emplace_back(name, node.inputs.size());
    type_of_result(graph, node, output, name);
    return name;
  }

  void type_of_result(const Graph& graph, const Node& node, std::uint32_t output,
                      const std::string& name) {
    Formula formula;
    FormulaTerm result{name, {}};
    for (const ValueId input : node.inputs) {
      const std::string variable =
          input.is_none() ? absent() : fmt::format("V{}", formula.variables.size() + 1);
      if (!input.is_none()) formula.variables.emplace_back(variable, type_name(graph.type(input)));
      result.operands.push_back(formula.terms.size());
      formula.terms.push_back({variable, {}});
    }
    formula.terms.push_back(std::move(result));
    formula.predicate = type_name(graph.type(node.output(output)));
    formula.comment = fmt::format("the type of {}", name);
    problem_.assumptions.push_back(std::move(formula));
  }

  /// Stands where an operator has no operand.
  std::string absent() {
    if (!has_absent_) problem_.functions.emplace_back("absent", 0);
    has_absent_ = true;
    return "absent";
  }

  /// All values of the graph as terms, by number of the value; nodes come after their operands.
  std::vector<std::size_t> add_terms(const Graph& graph, const std::vector<std::string>& inputs,
                                     Formula& formula) {
    std::vector<std::size_t> place(graph.value_count(), 0);
    std::size_t next_input = 0;
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node({i});
      for (std::uint32_t output = 0; output < node.output_count; ++output) {
        FormulaTerm term;
        if (node.kind == NodeKind::operation) {
          term.head = function_name(graph, node, output);
          for (const ValueId input : node.inputs) {
            if (input.is_none()) {
              term.operands.push_back(formula.terms.size());
              formula.terms.push_back({absent(), {}});
            } else {
              term.operands.push_back(place[input.v]);
            }
          }
        } else {
          term.head = inputs.at(next_input++);
        }
        place[node.output(output).v] = formula.terms.size();
        formula.terms.push_back(std::move(term));
      }
    }
    return place;
  }

  /// The axiom for all tensors of the types at which it is used.
  Result<Formula> axiom(const Graph& where, const SubstitutionUse& use) {
    Graph graph;
    Formula formula;
    SubstitutionUse general = use;
    std::vector<std::string> names;
    std::string types;
    for (std::size_t i = 0; i < use.inputs.size(); ++i) {
      const TensorType& type = where.type(use.inputs[i]);
      LEMMA_ASSIGN_OR_RETURN(general.inputs[i],
                             graph.add_input(use.substitution->inputs[i].name, type));
      names.push_back(fmt::format("V{}", i + 1));
      formula.variables.emplace_back(names.back(), type_name(type));
      types += fmt::format(" {}", text(type));
    }
    LEMMA_ASSIGN_OR_RETURN(const Sides sides, sides_of(graph, general));
    const auto place = add_terms(graph, names, formula);
    for (std::size_t i = 0; i < sides.left.size(); ++i)
      formula.equal.emplace_back(place[sides.left[i].v], place[sides.right[i].v]);
    std::string values;
    for (const FormulaTerm& term : formula.terms)
      values += fmt::format(" {}({})", term.head, fmt::join(term.operands, ","));
    formula.comment = fmt::format("{} at{};{}", use.substitution->name, types, values);
    return formula;
  }

  void add_goal(checker::Replay& replay) {
    const Graph& graph = replay.graph();
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node({i});
      if (node.kind == NodeKind::operation) continue;
      names.push_back(fmt::format("c{}", names.size() + 1));
      problem_.functions.emplace_back(names.back(), 0);
      problem_.assumptions.push_back({{},
                                      {{names.back(), {}}},
                                      {},
                                      type_name(graph.type(node.output())),
                                      fmt::format("an input of the rule: {}", names.back())});
    }
    const auto place = add_terms(graph, names, problem_.goal);
    const Sides& sides = replay.sides();
    for (std::size_t i = 0; i < sides.left.size(); ++i)
      problem_.goal.equal.emplace_back(place[sides.left[i].v], place[sides.right[i].v]);
  }

  const checker::Certificate& certificate_;
  std::size_t chain_;
  Problem problem_;
  std::map<std::string, std::size_t> types_, functions_;
  bool has_absent_ = false;
};

// ---- Text -------------------------------------------------------------------------------------

enum class Style { tptp, smtlib };

/// The terms of a formula as texts; each after its operands.
std::vector<std::string> term_texts(const Formula& formula, Style style) {
  std::vector<std::string> texts;
  for (const FormulaTerm& term : formula.terms) {
    std::vector<std::string> operands;
    for (const std::size_t operand : term.operands) operands.push_back(texts[operand]);
    if (operands.empty())
      texts.push_back(term.head);
    else if (style == Style::tptp)
      texts.push_back(fmt::format("{}({})", term.head, fmt::join(operands, ", ")));
    else
      texts.push_back(fmt::format("({} {})", term.head, fmt::join(operands, " ")));
  }
  return texts;
}

std::string tptp_body(const Formula& formula) {
  const auto texts = term_texts(formula, Style::tptp);
  std::vector<std::string> claims;
  for (const auto& [left, right] : formula.equal)
    claims.push_back(fmt::format("{} = {}", texts[left], texts[right]));
  if (!formula.predicate.empty())
    claims.push_back(fmt::format("{}({})", formula.predicate, texts.back()));
  const std::string claim = fmt::format("({})", fmt::join(claims, " & "));
  if (formula.variables.empty()) return claim;
  std::vector<std::string> names, guards;
  for (const auto& [name, guard] : formula.variables) {
    names.push_back(name);
    guards.push_back(fmt::format("{}({})", guard, name));
  }
  return fmt::format("![{}]: (({}) => {})", fmt::join(names, ", "), fmt::join(guards, " & "),
                     claim);
}

std::string smtlib_body(const Formula& formula) {
  const auto texts = term_texts(formula, Style::smtlib);
  std::string claims;
  for (const auto& [left, right] : formula.equal)
    claims += fmt::format(" (= {} {})", texts[left], texts[right]);
  if (!formula.predicate.empty())
    claims += fmt::format(" ({} {})", formula.predicate, texts.back());
  const std::string claim = fmt::format("(and true{})", claims);
  if (formula.variables.empty()) return claim;
  std::string names, guards;
  for (const auto& [name, guard] : formula.variables) {
    names += fmt::format("({} Tensor)", name);
    guards += fmt::format(" ({} {})", guard, name);
  }
  return fmt::format("(forall ({}) (=> (and true{}) {}))", names, guards, claim);
}

std::string comment_lines(const Problem& problem, std::string_view mark) {
  std::string result = fmt::format("{} {}\n", mark, problem.name);
  for (const std::string& comment : problem.comments)
    result += fmt::format("{} {}\n", mark, comment);
  return result;
}

}  // namespace

Result<std::vector<Problem>> problems_of(const checker::Certificate& certificate) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(certificate.rule));
  if (cases.size() != certificate.case_count)
    return bad_input("the cases are not those that the rule demands");
  std::vector<Problem> result;
  for (std::size_t chain = 0; chain < certificate.chains.size(); ++chain)
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (certificate.chain_of(i) != chain) continue;
      LEMMA_ASSIGN_OR_RETURN(Problem problem, ProblemBuilder(certificate, chain).run(cases[i]));
      result.push_back(std::move(problem));
      break;
    }
  return result;
}

std::string tptp(const Problem& problem) {
  std::string result = comment_lines(problem, "%");
  for (std::size_t i = 0; i < problem.assumptions.size(); ++i) {
    const Formula& assumption = problem.assumptions[i];
    result += fmt::format("% {}\nfof(a{}, axiom, {}).\n", assumption.comment, i + 1,
                          tptp_body(assumption));
  }
  return result + fmt::format("fof(goal, conjecture, {}).\n", tptp_body(problem.goal));
}

std::string smtlib(const Problem& problem) {
  std::string result = comment_lines(problem, ";");
  result += "(set-logic UF)\n(set-info :status unsat)\n(declare-sort Tensor 0)\n";
  for (const std::string& name : problem.predicates)
    result += fmt::format("(declare-fun {} (Tensor) Bool)\n", name);
  for (const auto& [name, count] : problem.functions) {
    std::string domain;
    for (std::size_t i = 0; i < count; ++i) domain += i == 0 ? "Tensor" : " Tensor";
    result += fmt::format("(declare-fun {} ({}) Tensor)\n", name, domain);
  }
  for (const Formula& assumption : problem.assumptions)
    result += fmt::format("; {}\n(assert {})\n", assumption.comment, smtlib_body(assumption));
  return result + fmt::format("(assert (not {}))\n(check-sat)\n", smtlib_body(problem.goal));
}

}  // namespace lemma::exchange
