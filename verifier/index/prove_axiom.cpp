#include "verifier/index/prove_axiom.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ir/expand.h"
#include "ir/rule_cases.h"
#include "ir/rule_database.h"
#include "ir/run_time_conditions.h"
#include "verifier/index/composition.h"
#include "verifier/index/definedness.h"
#include "verifier/index/equality.h"
#include "verifier/index/known.h"
#include "verifier/index/solver.h"
#include "verifier/index/typing.h"
#include "verifier/prover/instances.h"

namespace lemma::verifier {
namespace {

using namespace index;
using Ranks = std::map<std::string, std::size_t>;

// ---- Real parameters --------------------------------------------------------------------------

/// All orders of the real parameters and 0: parameters take multiples of parameter_unit, such that
/// no multiple between two of them is left out.
std::vector<GivenParameters> orders_of_reals(const Substitution& rule) {
  std::vector<std::string> names;
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range == RuleParameter::Range::real) names.push_back(parameter.name);
  const int count = static_cast<int>(names.size());
  std::vector<int> ranks(names.size(), -count);
  std::vector<GivenParameters> result;
  while (true) {
    bool gapless = true;
    for (const int rank : ranks) {
      const int closer = rank > 0 ? rank - 1 : rank + 1;  // to 0
      gapless = gapless && (rank == 0 || closer == 0 ||
                            std::find(ranks.begin(), ranks.end(), closer) != ranks.end());
    }
    if (gapless) {
      GivenParameters given;
      for (std::size_t i = 0; i < names.size(); ++i)
        given[names[i]] = AttributeValue(ranks[i] * parameter_unit);
      result.push_back(std::move(given));
    }
    std::size_t digit = 0;
    for (; digit < ranks.size(); ++digit) {
      if (ranks[digit] < count) {
        ++ranks[digit];
        break;
      }
      ranks[digit] = -count;
    }
    if (digit == ranks.size()) return result;
  }
}

bool mentions_real(const RuleExpression& expression, const Substitution& rule) {
  if (expression.kind == RuleExpression::Kind::variable)
    return std::any_of(rule.parameters.begin(), rule.parameters.end(), [&](const auto& parameter) {
      return parameter.name == expression.name && parameter.range == RuleParameter::Range::real;
    });
  return std::any_of(expression.arguments.begin(), expression.arguments.end(),
                     [&rule](const RuleExpression& e) { return mentions_real(e, rule); });
}

/// Maxima and minima of real parameters and 0: all that their order decides.
bool is_ordered(const RuleExpression& expression, const Substitution& rule) {
  using Kind = RuleExpression::Kind;
  if (expression.kind == Kind::variable) return mentions_real(expression, rule);
  if (expression.kind == Kind::literal) {
    const auto* value = std::get_if<double>(&expression.literal);
    return value != nullptr && *value == 0;
  }
  const bool compares = expression.kind == Kind::call &&
                        (expression.name == "real_max" || expression.name == "real_min");
  return compares && std::all_of(expression.arguments.begin(), expression.arguments.end(),
                                 [&rule](const RuleExpression& e) { return is_ordered(e, rule); });
}

/// No number that could be mistaken for a parameter, nothing computed from a parameter's value.
bool reals_are_parameters(const RuleExpression& expression, const Substitution& rule) {
  if (const auto* value = std::get_if<double>(&expression.literal))
    return *value == 0 || std::remainder(*value, parameter_unit) != 0;
  return !mentions_real(expression, rule) || is_ordered(expression, rule);
}

// ---- One case ---------------------------------------------------------------------------------

Result<Graph> side(const Substitution& rule, const std::vector<TermId>& roots, const Case& one) {
  return side_as_graph(rule, roots, one.inputs, one.bindings);
}

/// Conditions of the axiom that compare sizes, as far as they are that.
std::vector<Formula> conditions_of(const Substitution& rule, const Case& one) {
  std::vector<Formula> result;
  for (const RuleCondition& condition : rule.conditions) {
    if (condition.kind == RuleCondition::Kind::predicate) continue;
    const auto a = evaluate_dimension(condition.arguments[0], one.bindings);
    const auto b = evaluate_dimension(condition.arguments[1], one.bindings);
    if (!a || !b) continue;
    switch (condition.kind) {
      case RuleCondition::Kind::equal: result.push_back(equal(*a, *b)); break;
      case RuleCondition::Kind::not_equal: result.push_back(negation(equal(*a, *b))); break;
      case RuleCondition::Kind::less: result.push_back(less(*a, *b)); break;
      case RuleCondition::Kind::less_equal: result.push_back(less_equal(*a, *b)); break;
      case RuleCondition::Kind::predicate: break;
    }
  }
  return result;
}

/// Reasons against a case; nothing if it is proved.
using Objection = std::optional<std::string>;

class CaseProof {
 public:
  CaseProof(const Substitution& rule, const Case& one) : rule_(rule), case_(one) {}

  Objection run() {
    const auto left = side(rule_, rule_.left, case_), right = side(rule_, rule_.right, case_);
    if (!left) return "the left side is not well typed: " + left.error().message;
    if (!right) return "the right side is not well typed: " + right.error().message;
    if (Objection objection = check_composites(*right)) return objection;
    auto a = expand_composites(*left), b = expand_composites(*right);
    if (!a || !b) return (a ? b : a).error().message;
    left_ = std::move(*a);
    right_ = std::move(*b);
    try {
      return check();
    } catch (const Unsupported& error) {
      return std::string(error.what());
    }
  }

 private:
  /// Composition drops what only the composite operator itself demands: nothing where its shape
  /// rule took nothing for granted.
  static Objection check_composites(const Graph& right) {
    for (const Node& node : right.nodes())
      if (node.kind == NodeKind::operation && right.op(node).compose != nullptr &&
          right.op(node).name != "BatchNormalization" &&  // compares all sizes
          !run_time_conditions(right, node).zero.empty())
        return fmt::format("it is not written down when {} is well typed", right.op(node).name);
    return std::nullopt;
  }

  Objection check() {
    auto given = typing_conditions(left_);
    if (!given) return given.error().message;
    const std::vector<Formula> conditions = conditions_of(rule_, case_);
    given->insert(given->end(), conditions.begin(), conditions.end());
    const Known known(std::move(*given));
    if (Objection objection = check_right(known)) return objection;
    const auto left = compose(left_, known.facts()), right = compose(right_, known.facts());
    for (std::size_t i = 0; i < left.size(); ++i)
      if (Objection objection = check_output(known, left[i], right[i], i)) return objection;
    return std::nullopt;
  }

  /// The right side is defined where the left side is, and has the same types.
  Objection check_right(const Known& known) const {
    const auto wanted = typing_conditions(right_);
    if (!wanted) return wanted.error().message;
    for (const Formula& condition : *wanted)
      if (!known.implies(condition))
        return fmt::format("the right side is defined only where {}", condition->text);
    for (const Graph* graph : {&left_, &right_})
      for (std::uint32_t id = 0; id < graph->node_count(); ++id) {
        if (graph->node({id}).kind != NodeKind::operation) continue;
        if (auto checked = check_reads(*graph, {id}); !checked) return checked.error().message;
      }
    for (std::size_t i = 0; i < left_.outputs().size(); ++i) {
      const TensorType &a = left_.type(left_.outputs()[i].value),
                       &b = right_.type(right_.outputs()[i].value);
      if (a == b) continue;
      bool same = a.data_type == b.data_type && a.shape->size() == b.shape->size();
      for (std::size_t axis = 0; same && axis < a.shape->size(); ++axis)
        same = known.implies(equal((*a.shape)[axis], (*b.shape)[axis]));
      if (!same) return fmt::format("output {} has the types {} and {}", i, text(a), text(b));
    }
    return std::nullopt;
  }

  static bool same_text(const Pieces& a, const Pieces& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
      return x.guard->text == y.guard->text && x.value.text == y.value.text;
    });
  }

  Objection check_output(Known known, const ComposedOutput& left, const ComposedOutput& right,
                         std::size_t position) const {
    known.add(left.range);
    for (const ComposedOutput* side : {&left, &right})
      for (const Formula& fact : side->nonempty) known.add(fact);
    for (const ComposedOutput* side : {&left, &right})
      for (const Formula& obligation : side->obligations)
        if (!known.implies(obligation))
          return fmt::format("a divisor may not be positive: {}", obligation->text);
    if (Objection objection = check_definedness(known, left, right)) return objection;
    if (same_text(left.value, right.value)) return std::nullopt;
    for (const Piece& a : left.value)
      for (const Piece& b : right.value) {
        std::vector<Formula> facts = known.facts();
        const Formula guard = both(a.guard, b.guard);
        if (!is_always(guard) && contradicts(facts, guard)) continue;
        facts.push_back(guard);
        if (are_equal(a.value, b.value, facts)) continue;
        return fmt::format(
            "output {} is not seen to be equal where {}\n    left:  {}\n    right: {}", position,
            facts.back()->text, without_empty_terms(a.value, facts).text,
            without_empty_terms(b.value, facts).text);
      }
    return std::nullopt;
  }

  const Substitution& rule_;
  const Case& case_;
  Graph left_, right_;  // without composite operators
};

/// The definitions of all operations and the types of their outputs, as text.
std::string definitions_of(const Graph& graph) {
  std::string result;
  const auto expanded = expand_composites(graph);
  if (!expanded) return result;
  for (const Node& node : expanded->nodes()) {
    if (node.kind != NodeKind::operation) continue;
    const std::vector<TensorType> types = expanded->input_types(node);
    result += text(expanded->op(node).define({types, node.attributes, node.output_count})) + "\n";
    for (const TensorType& type : expanded->output_types(node)) result += text(type) + "\n";
  }
  return result;
}

// ---- All cases --------------------------------------------------------------------------------

class AxiomProof {
 public:
  explicit AxiomProof(const Substitution& axiom) : axiom_(axiom) {}

  IndexProof run() {
    Objection objection = prove(axiom_);
    if (!objection && axiom_.bidirectional) objection = prove(reversed(axiom_));
    proof_.proved = !objection;
    if (objection) proof_.reason = std::move(*objection);
    return std::move(proof_);
  }

 private:
  /// Names of variables that the proof makes up itself.
  static Objection check_names(const Substitution& rule) {
    std::vector<std::string> names;
    std::vector<const RuleExpression*> open;
    for (const RuleInput& input : rule.inputs)
      for (const RuleExpression& item : input.shape) open.push_back(&item);
    while (!open.empty()) {
      const RuleExpression& expression = *open.back();
      open.pop_back();
      names.push_back(expression.name);
      for (const RuleExpression& argument : expression.arguments) open.push_back(&argument);
    }
    for (const RuleParameter& parameter : rule.parameters) names.push_back(parameter.name);
    for (const std::string& name : names)
      if (name.starts_with("_") || name.starts_with("axis"))
        return fmt::format("names such as '{}' are used in proofs", name);
    return std::nullopt;
  }

  Objection prove(const Substitution& rule) {
    if (Objection objection = check_names(rule)) return objection;
    for (const RuleTerm& term : rule.terms)
      for (const auto& [name, value] : term.attributes)
        if (!reals_are_parameters(value, rule))
          return fmt::format("attribute {} computes with a real parameter", name);
    const std::size_t before = proof_.cases;
    Objection objection;
    const std::vector<GivenParameters> orders = orders_of_reals(rule);
    const auto visited = for_each_rank(rule, [&](const Ranks& ranks) -> Result<void> {
      bool uniform = false;
      for (const GivenParameters& given : orders) {
        LEMMA_ASSIGN_OR_RETURN(std::optional<std::vector<Case>> cases,
                               cases_with_ranks(rule, ranks, given, {patterns, choices, 0}));
        if (!cases) {
          uniform = true;
          LEMMA_ASSIGN_OR_RETURN(cases, some_cases(rule, ranks, given));
        }
        for (const Case& one : *cases) {
          objection = prove_case(rule, one);
          if (objection) return bad_input("");
        }
      }
      proof_.by_uniformity += uniform ? 1 : 0;
      return {};
    });
    if (objection) return objection;
    if (!visited) return visited.error().message;
    if (proof_.cases == before) return "no choice of ranks and parameters meets the conditions";
    return std::nullopt;
  }

  /// A few of the cases where there are too many: two ways to broadcast, two permutations; and where
  /// sizes have too many terms, lists that are 0 but for two axes.
  static Result<std::vector<Case>> some_cases(const Substitution& rule, const Ranks& ranks,
                                              const GivenParameters& given) {
    std::vector<Case> result;
    for (const bool variant : {false, true})
      for (const bool sparse : {false, true}) {
        GivenParameters some = given;
        for (const RuleParameter& parameter : rule.parameters) {
          using Range = RuleParameter::Range;
          const bool chosen = parameter.range == Range::permutation ||
                              (sparse && parameter.range == Range::dimensions);
          if (!chosen) continue;
          RuleBindings lengths;
          for (const auto& [name, rank] : ranks) lengths.groups[name] = Shape(rank);
          LEMMA_ASSIGN_OR_RETURN(const Dimension length,
                                 evaluate_dimension(parameter.bounds[0], lengths));
          const auto count = static_cast<std::size_t>(length.offset());
          if (parameter.range == Range::permutation)
            some[parameter.name] = some_permutation(count, variant);
          else
            some[parameter.name] = sparse_list(parameter.name, count, variant);
        }
        LEMMA_ASSIGN_OR_RETURN(auto cases,
                               cases_with_ranks(rule, ranks, some, {patterns, choices, 2}));
        if (!cases) continue;
        std::move(cases->begin(), cases->end(), std::back_inserter(result));
        if (some == given) return result;
        break;
      }
    return result;
  }

  static Integers some_permutation(std::size_t count, bool rotated) {
    Integers order(count);
    std::iota(order.begin(), order.end(), 0);
    if (rotated && count > 0)
      std::rotate(order.begin(), order.begin() + 1, order.end());
    else
      std::reverse(order.begin(), order.end());
    return order;
  }

  /// Two elements for each axis, those before first, as pads have them.
  static Shape sparse_list(const std::string& name, std::size_t count, bool at_the_end) {
    Shape result(count);
    const std::size_t axes = count / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t axis = axes == 0 ? 0 : i % axes;
      if (at_the_end ? axis + 2 >= axes : axis < 2)
        result[i] = Dimension::symbol(fmt::format("{}.{}", name, i));
    }
    return result;
  }

  Objection prove_case(const Substitution& rule, const Case& one) {
    CaseProof proof(rule, one);
    Objection objection = proof.run();
    ++proof_.cases;
    if (objection && !one.text.empty()) objection = fmt::format("{}: {}", one.text, *objection);
    return objection;
  }

  /// How many ways to broadcast and choices of parameters are gone through for one choice of ranks.
  static constexpr std::size_t patterns = 50, choices = 720;

  const Substitution& axiom_;
  IndexProof proof_;
};

}  // namespace

IndexProof prove_by_index(const Substitution& axiom) { return AxiomProof(axiom).run(); }

std::uint64_t definitions_digest(const Substitution& axiom) {
  std::string all;
  for (const std::size_t more : {1, 2}) {
    Ranks ranks;
    for (const RuleGroup& group : axiom.groups)
      ranks[group.name] = std::min(group.minimum + more, group.maximum);
    constexpr std::size_t digested = 4;
    const auto cases =
        cases_with_ranks(axiom, ranks, orders_of_reals(axiom)[0], {digested, 1000, digested});
    if (!cases || !*cases) continue;
    for (std::size_t i = 0; i < std::min(digested, (*cases)->size()); ++i)
      for (const auto* roots : {&axiom.left, &axiom.right})
        if (const auto graph = side(axiom, *roots, (**cases)[i])) all += definitions_of(*graph);
  }
  return text_digest(all);
}

}  // namespace lemma::verifier
