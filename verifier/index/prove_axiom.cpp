#include "verifier/index/prove_axiom.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "facts/observation.h"
#include "ir/expand.h"
#include "rule_language/axis_wise.h"
#include "rule_language/operator_meaning.h"
#include "rule_language/real_parameters.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_use.h"
#include "verifier/index/comparison.h"
#include "verifier/index/composition.h"
#include "verifier/index/coverage.h"
#include "verifier/index/definedness.h"
#include "verifier/index/element_types.h"
#include "verifier/index/known.h"
#include "verifier/index/recurrences.h"
#include "verifier/index/same_bits.h"
#include "verifier/index/typing.h"
#include "verifier/prover/instances.h"

namespace lemma::verifier {
namespace {

using namespace index;
using Ranks = std::map<std::string, std::size_t>;

// ---- One case ---------------------------------------------------------------------------------

Result<Graph> side(const Substitution& rule, const std::vector<TermId>& roots,
                   const Case& rule_case) {
  return side_as_graph(rule, roots, rule_case.inputs, rule_case.bindings);
}

/// Conditions of the axiom that compare sizes, as far as they are that.
std::vector<Formula> conditions_of(const Substitution& rule, const Case& rule_case) {
  std::vector<Formula> result;
  for (const RuleCondition& condition : rule.conditions) {
    if (condition.kind == RuleCondition::Kind::predicate) continue;
    const auto a = evaluate_dimension(condition.arguments[0], rule_case.bindings);
    const auto b = evaluate_dimension(condition.arguments[1], rule_case.bindings);
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

/// The conditions that none of the divisors is 0.
std::vector<Formula> not_zero(const std::vector<Dimension>& divisors) {
  std::vector<Formula> result;
  for (const Dimension& divisor : divisors) result.push_back(negation(equal(divisor, 0)));
  return result;
}

/// Reasons against a case; nothing if it is proved.
using Objection = std::optional<std::string>;

class CaseProof {
 public:
  /// `reads_more`, if given, takes the inputs that have to be defined beyond those that are declared so.
  CaseProof(const Substitution& rule, const Case& rule_case, std::set<std::string>* reads_more,
            const IndexOptions& options)
      : rule_(rule), case_(rule_case), reads_more_(reads_more), options_(options) {}

  Objection run() {
    const auto left = side(rule_, rule_.left, case_), right = side(rule_, rule_.right, case_);
    if (!left) return "the left side is not well typed: " + left.error().message;
    if (!right) return "the right side is not well typed: " + right.error().message;
    if (Objection objection = note_composites(*left, *right)) return objection;
    if (!options_.keeps_bits)
      for (const Graph* graph : {&*left, &*right})
        if (Objection objection = check_observers(*graph)) return objection;
    if (classifies_elements(*left) || classifies_elements(*right))
      return "IsNaN and IsInf observe what is undefined here";
    if (Objection objection = run_for_type(*left, *right)) return objection;
    if (options_.proves_bits)
      if (Objection objection = check_bits(*left, *right)) return objection;
    return real_type_ == DataType::f32 ? check_element_types(*left, *right) : std::nullopt;
  }

  /// After run(): what it compared.
  IndexCase shown() const {
    IndexCase result;
    const auto given = hypotheses();
    if (!given) return result;
    for (const Formula& fact : given->facts())
      if (!is_always(fact)) result.hypotheses.push_back(fact->text);
    std::sort(result.hypotheses.begin(), result.hypotheses.end());
    try {
      const auto [left, right] = composed(*given);
      for (std::size_t i = 0; i < left.size(); ++i)
        result.outputs.push_back(
            {left[i].range->text, texts(left[i].value), texts(right[i].value)});
    } catch (const Unsupported&) {
      result.outputs.clear();
    }
    return result;
  }

 private:
  Objection run_for_type(const Graph& left, const Graph& right) {
    const Objection objection = run_expanded(left, right, false);
    // What a step does matters where one of the sides writes it out, and so has fewer recurrences, or where each has
    // a single step of its own.
    const bool single = single_steps(left) == 1 && single_steps(right) == 1 && !unfolded_;
    if (!objection || (recurrences_left_ == recurrences_right_ && !single)) return objection;
    return run_expanded(left, right, true);
  }

  static std::vector<IndexCase::Piece> texts(const Pieces& pieces) {
    std::vector<IndexCase::Piece> result;
    for (const Piece& piece : pieces)
      result.push_back({is_always(piece.guard) ? "" : piece.guard->text, piece.value.text});
    return result;
  }

  /// An operator of the claim itself asks whether a value is one of those that are undefined here. In
  /// compositions that is a way to avoid overflow.
  static bool classifies_elements(const Graph& graph) {
    return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&graph](const Node& node) {
      if (node.kind != NodeKind::operation || graph.op(node).define == nullptr) return false;
      const std::vector<TensorType> types = graph.input_types(node);
      const Definition definition =
          graph.op(node).define({types, node.attributes, node.output_count});
      return std::any_of(definition.nodes().begin(), definition.nodes().end(), is_classification);
    });
  }

  Objection run_expanded(const Graph& left, const Graph& right, bool with_steps) {
    auto a = expand_but_recurrences(left, with_steps),
         b = expand_but_recurrences(right, with_steps);
    if (!a || !b) return (a ? b : a).error().message;
    recurrences_left_ = recurrence_count(*a);
    recurrences_right_ = recurrence_count(*b);
    unfolded_ = recurrences_left_ != recurrence_count(left) ||
                recurrences_right_ != recurrence_count(right);
    try {
      auto without = without_recurrences(
          {std::move(*a), std::move(*b)},
          [this](const Graph& graph, const Graph& other) { return check_operands(graph, other); });
      if (!without) return without.error().message;
      left_ = std::move(without->left);
      right_ = std::move(without->right);
      return check();
    } catch (const Unsupported& error) {
      return std::string(error.what());
    }
  }

  /// After run_for_type(): both sides give the same bits.
  Objection check_bits(const Graph& left, const Graph& right) const {
    const auto given = hypotheses();
    if (!given) return given.error().message;
    try {
      return objection_to_bits(left, right, *given);
    } catch (const Unsupported& error) {
      return fmt::format("the bits of {} are not compared", error.what());
    }
  }

  /// Checks operands: what a recurrence of the right side is applied to refines what one of the left side is
  /// applied to, where both sides as wholes are well typed as far as composites are.
  Objection check_operands(const Graph& left, const Graph& right) const {
    CaseProof operands(rule_, case_, reads_more_, options_);
    operands.left_ = left;
    operands.right_ = right;
    operands.given_ = given_;
    return operands.check();
  }

  /// Composition drops what only the composite operators themselves demand.
  Objection note_composites(const Graph& left, const Graph& right) {
    auto given = composite_conditions(left), wanted = composite_conditions(right);
    if (!given || !wanted) return (given ? wanted : given).error().message;
    given_ = std::move(*given);
    wanted_ = std::move(*wanted);
    return std::nullopt;
  }

  /// Comparisons of what may be NaN: the proof is about numbers and undefined elements, from which no
  /// operator gives a number.
  Objection check_observers(const Graph& side) const {
    AlwaysDefined defined(side);
    for (std::size_t i = 0; i < rule_.inputs.size(); ++i)
      if (rule_.inputs[i].defined || reads_more_ != nullptr)
        defined.declare(side.node(side.inputs()[i]).output());
    if (const auto observed = observed_operand(side, defined, side.node_count()))
      return objection_to(side, *observed);
    if (reads_more_ == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < rule_.inputs.size(); ++i) {
      if (rule_.inputs[i].defined) continue;
      AlwaysDefined others(side);
      for (std::size_t k = 0; k < rule_.inputs.size(); ++k)
        if (k != i) others.declare(side.node(side.inputs()[k]).output());
      if (observed_operand(side, others, side.node_count()))
        reads_more_->insert(rule_.inputs[i].name);
    }
    return std::nullopt;
  }

  /// Checks that for each other real type that the inputs may share the types of both sides are the same. Values are
  /// those of real numbers for all of them: where the definitions are those for f32, the proof is, and elsewhere there
  /// has to be one.
  Objection check_element_types(const Graph& left32, const Graph& right32) const {
    const std::string form = form_of(left32) + form_of(right32);
    for (const DataType real : {DataType::f64, DataType::f16, DataType::bf16}) {
      Case typed = case_;
      bind_real_type(rule_, real, typed.bindings);
      for (std::size_t i = 0; i < typed.inputs.size(); ++i)
        if (rule_.inputs[i].data_type == DataType::undefined) typed.inputs[i].data_type = real;
      const auto left = side(rule_, rule_.left, typed);
      if (!left) continue;
      const auto right = side(rule_, rule_.right, typed);
      if (!right)
        return fmt::format("for {} the right side is not well typed: {}", name(real),
                           right.error().message);
      for (std::size_t i = 0; i < left->outputs().size(); ++i) {
        const DataType a = left->type(left->outputs()[i].value).data_type,
                       b = right->type(right->outputs()[i].value).data_type;
        if (a != b)
          return fmt::format("for {} output {} has the types {} and {}", name(real), i, name(a),
                             name(b));
      }
      if (form_of(*left) + form_of(*right) == form) continue;
      CaseProof proof(rule_, typed, reads_more_, options_);
      proof.real_type_ = real;
      if (const Objection objection = proof.run())
        return fmt::format("for {}: {}", name(real), *objection);
    }
    return std::nullopt;
  }

  /// Recurrences as far as it is known how many steps they take.
  static std::string form_of(const Graph& side) {
    const auto expanded = expand_but_recurrences(side, true);
    return expanded ? form_for_all_types(*expanded) : "?" + expanded.error().message;
  }

  /// What the claim supposes: the left side is well typed, and the conditions hold.
  Result<Known> hypotheses() const {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Formula> given, typing_conditions(left_));
    const auto add = [&given](const std::vector<Formula>& more) {
      given.insert(given.end(), more.begin(), more.end());
    };
    add(given_);
    add(conditions_of(rule_, case_));
    add(not_zero(shared_divisors_of(rule_, case_.bindings)));
    add(not_zero(divisors_of(rule_, rule_.left, case_.bindings)));
    return Known(given);
  }

  Objection check() const {
    const auto given = hypotheses();
    if (!given) return given.error().message;
    const Known& known = *given;
    for (const Formula& divisor : not_zero(divisors_of(rule_, rule_.right, case_.bindings)))
      if (!known.implies(divisor))
        return fmt::format("the right side divides where {} does not hold", divisor->text);
    if (Objection objection = check_right(known)) return objection;
    return check_values(known, true);
  }

  /// The outputs are equal. Where a quotient is summed up over an axis that may be empty, both cases
  /// are looked at by themselves.
  Objection check_values(const Known& known, bool may_split) const {
    const auto [left, right] = composed(known);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Objection objection = check_output(known, left[i], right[i], i);
      if (!objection) continue;
      const auto size = may_split ? open_size(known, left[i], right[i]) : std::nullopt;
      if (!size) return objection;
      for (const Formula& formula : {less(0, *size), is_zero(*size)}) {
        Known more = known;
        more.add(formula);
        if (check_values(more, false)) return objection;
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  /// The extent of a sum of what is not defined everywhere, if it may be 0.
  static std::optional<Dimension> open_size(const Known& known, const ComposedOutput& left,
                                            const ComposedOutput& right) {
    for (const ComposedOutput* side : {&left, &right})
      for (const Piece& piece : side->value)
        for (const Term& term : piece.value.terms) {
          const auto partial = [](const FactorPointer& factor) { return is_partial(*factor); };
          if (std::none_of(term.factors.begin(), term.factors.end(), partial)) continue;
          for (const Bound& variable : term.bound) {
            // Bound variables get other names when the sides are composed again.
            const bool is_free = variable.extent.text().find('_') == std::string::npos;
            if (is_free && !known.implies(less(0, variable.extent))) return variable.extent;
          }
        }
    return std::nullopt;
  }

  /// Both sides as composed where what the left side divides by is not 0: with that sums may be
  /// known not to be empty.
  ComposedSides composed(const Known& known) const {
    ComposedSides sides = composed_split(known);
    const bool divides = sides.first.size() == 1 && !sides.first[0].partial.empty();
    if (!divides) return sides;
    Known more = known;
    for (const Formula& fact : sides.first[0].nonempty) more.add(fact);
    note_sizes(more, sides.first[0]);
    return composed_split(more);
  }

  ComposedSides composed_split(const Known& known) const {
    return compose_split([&](const IndexSplits& splits) {
      return ComposedSides{compose(left_, known.facts(), splits),
                           compose(right_, known.facts(), splits)};
    });
  }

  /// The right side is defined where the left side is, and has the same types.
  Objection check_right(const Known& known) const {
    auto wanted = typing_conditions(right_);
    if (!wanted) return wanted.error().message;
    wanted->insert(wanted->end(), wanted_.begin(), wanted_.end());
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
        same = are_equal_sizes(known, (*a.shape)[axis], (*b.shape)[axis]);
      if (!same) return fmt::format("output {} has the types {} and {}", i, text(a), text(b));
    }
    return std::nullopt;
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
    // Claims are about elements that are defined on the left.
    for (const Formula& fact : left.in_range) known.add(fact);
    std::set<std::uint32_t> reads_more;
    if (Objection objection = check_definedness(known, left, right, reads_more)) return objection;
    note_sizes(known, left);
    note_inhabited(known, left.inhabited);
    if (const Objection objection = objection_to_values(known, left.value, right.value))
      return fmt::format("output {} is {}", position, *objection);
    return check_reads_more(reads_more);
  }

  Objection check_reads_more(const std::set<std::uint32_t>& reads_more) const {
    for (const std::uint32_t input : reads_more) {
      if (input >= rule_.inputs.size())
        return "the right side reads elements of a recurrence that the left side does not read";
      if (rule_.inputs[input].defined) continue;
      if (reads_more_ == nullptr)
        return fmt::format("the right side reads elements of {} that the left side does not read",
                           rule_.inputs[input].name);
      reads_more_->insert(rule_.inputs[input].name);
    }
    return std::nullopt;
  }

  const Substitution& rule_;
  const Case& case_;
  std::set<std::string>* reads_more_;
  const IndexOptions& options_;
  Graph left_, right_;  // without composite operators
  std::size_t recurrences_left_ = 0, recurrences_right_ = 0;
  bool unfolded_ = false;                // a recurrence over n + 1 steps
  DataType real_type_ = DataType::f32;   // of what has no type of its own
  std::vector<Formula> given_, wanted_;  // what those of the left and the right side demand
};

// ---- All cases --------------------------------------------------------------------------------

class AxiomProof {
 public:
  AxiomProof(const Substitution& axiom, const IndexOptions& options)
      : axiom_(axiom), options_(options) {}

  IndexProof run() {
    Objection objection = uncovered_meaning(axiom_);
    if (!objection) objection = prove(axiom_);
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
    for (const RuleGroup& group : rule.groups) names.push_back(group.name);
    for (const std::string& name : names)
      if (name.starts_with("_") || name.starts_with("axis"))
        return fmt::format("names such as '{}' are used in proofs", name);
    return std::nullopt;
  }

  Objection prove(const Substitution& rule) {
    if (Objection objection = check_names(rule)) return objection;
    if (auto compared = check_reals_are_compared(rule, count_real_parameters(rule)); !compared)
      return compared.error().message;
    const std::size_t before = proof_.cases;
    Objection objection;
    const std::vector<GivenParameters> orders = orders_of_reals(rule);
    const bool axes_are_alike = treats_axes_alike(rule) || is_proved_for_scalars(rule);
    if (axes_are_alike)
      if (Objection about_scalars = prove_scalars(rule, orders)) return about_scalars;
    const auto visited = for_each_rank(rule, [&](const Ranks& ranks) -> Result<void> {
      // Small ranks are proved all the same, where that is quick.
      const bool is_small =
          orders.size() == 1 && std::all_of(ranks.begin(), ranks.end(),
                                            [](const auto& rank) { return rank.second <= 1; });
      if (axes_are_alike && !is_small) {
        ++proof_.by_axes;
        return {};
      }
      for (const GivenParameters& given : orders) {
        LEMMA_ASSIGN_OR_RETURN(const std::optional<std::vector<Case>> cases,
                               cases_with_ranks(rule, ranks, given, {patterns, choices, 0}));
        if (!cases) return bad_input(too_many(rule, ranks));
        for (const Case& rule_case : *cases) {
          objection = prove_case(rule, rule_case);
          if (objection) return bad_input("");
        }
      }
      return {};
    });
    if (objection) return objection;
    if (!visited) return visited.error().message;
    if (proof_.cases == before) return "no choice of ranks and parameters meets the conditions";
    return std::nullopt;
  }

  static std::string too_many(const Substitution& rule, const Ranks& ranks) {
    std::string axes;
    for (const RuleGroup& group : rule.groups)
      axes += fmt::format("{}{} axes of {}", axes.empty() ? "" : ", ", ranks.at(group.name),
                          group.name);
    return fmt::format(
        "there are too many ways to broadcast or permute {}: a smaller range of axes can be proved",
        axes);
  }

  Objection prove_scalars(const Substitution& rule, const std::vector<GivenParameters>& orders) {
    Ranks scalars;
    for (const RuleGroup& group : rule.groups) scalars[group.name] = 0;
    for (const GivenParameters& given : orders) {
      const auto cases = cases_with_ranks(rule, scalars, given, {patterns, choices, 0});
      if (!cases) return cases.error().message;
      if (!*cases) return "there are too many choices of parameters";
      for (const Case& rule_case : **cases)
        if (Objection objection = prove_case(rule, rule_case)) return objection;
    }
    return std::nullopt;
  }

  Objection prove_case(const Substitution& rule, const Case& rule_case) {
    CaseProof proof(rule, rule_case, options_.assume_defined ? &proof_.reads_more : nullptr,
                    options_);
    Objection objection = proof.run();
    ++proof_.cases;
    if (objection && !rule_case.text.empty())
      objection = fmt::format("{}: {}", rule_case.text, *objection);
    return objection;
  }

  /// How many ways to broadcast and choices of parameters are gone through for one choice of ranks.
  static constexpr std::size_t patterns = 400, choices = 15'000;

  const Substitution& axiom_;
  const IndexOptions& options_;
  IndexProof proof_;
};

}  // namespace

IndexCase show_index_case(const Substitution& rule, const RuleCase& rule_case) {
  const IndexOptions options{.keeps_bits = true};
  CaseProof proof(rule, rule_case, nullptr, options);
  const Objection objection = proof.run();
  IndexCase result = objection ? IndexCase{} : proof.shown();
  if (objection) result.objection = *objection;
  return result;
}

IndexProof prove_by_index(const Substitution& axiom, const IndexOptions& options) {
  return AxiomProof(axiom, options).run();
}

}  // namespace lemma::verifier
