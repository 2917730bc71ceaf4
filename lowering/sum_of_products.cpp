#include "lowering/sum_of_products.h"

namespace lemma::lowering {

using Kind = ExpressionKind;

namespace {

bool is_zero(const Term& term) {
  return (term.kind == Kind::real_constant || term.kind == Kind::integer_constant) &&
         term.bits == 0;
}

void add_conditions(const TermGraph& graph, TermNumber condition,
                    std::vector<TermNumber>& conditions) {
  const Term& term = graph.term(condition);
  if (term.kind != Kind::logical_and) return conditions.push_back(condition);
  for (const TermNumber operand : term.operands) add_conditions(graph, operand, conditions);
}

}  // namespace

std::vector<TermNumber> conditions_of(const TermGraph& graph, TermNumber condition) {
  std::vector<TermNumber> conditions;
  add_conditions(graph, condition, conditions);
  return conditions;
}

std::vector<TermNumber> factors_of(const TermGraph& graph, TermNumber id) {
  std::vector<TermNumber> factors, pending = {id};
  while (!pending.empty()) {
    const TermNumber next = pending.back();
    pending.pop_back();
    const Term& term = graph.term(next);
    if (term.kind == Kind::multiply)
      pending.insert(pending.end(), {term.operands[1], term.operands[0]});
    else
      factors.push_back(next);
  }
  return factors;
}

std::optional<std::array<TermNumber, 2>> summed_product(const TermGraph& graph, const Term& sum) {
  if (sum.kind != Kind::sum) return std::nullopt;
  const Term& body = graph.term(sum.operands[0]);
  if (body.kind != Kind::multiply) return std::nullopt;
  return std::array{body.operands[0], body.operands[1]};
}

std::optional<SumOfProducts> sum_of_products(const TermGraph& graph, TermNumber id) {
  const Term& sum = graph.term(id);
  if (sum.kind != Kind::sum) return std::nullopt;
  SumOfProducts result;
  TermNumber body = sum.operands[0];
  while (graph.term(body).kind == Kind::select &&
         is_zero(graph.term(graph.term(body).operands[2]))) {
    add_conditions(graph, graph.term(body).operands[0], result.guards);
    body = graph.term(body).operands[1];
  }
  result.factors = factors_of(graph, body);
  return result;
}

}  // namespace lemma::lowering
