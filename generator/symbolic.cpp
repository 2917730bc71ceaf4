#include "generator/symbolic.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "generator/equations.h"
#include "generator/free_factors.h"
#include "rule_language/substitution_analysis.h"
#include "rule_language/substitution_use.h"

namespace lemma::generator {
namespace {

using Kind = RuleExpression::Kind;

/// Sizes of inputs that are made equal.
using Merges = std::vector<std::pair<std::string, std::string>>;

std::string input_symbol(std::uint32_t input, std::size_t axis) {
  return fmt::format("{}.{}", input, axis);
}

/// What becomes of the choices that the set makes with `where`.
enum class ChosenSizes {
  free,     // any sizes, each for itself
  equal,    // any sizes; those with one value are one variable (OperatorSet::has_free_factors)
  as_they,  // are in the enumeration
};

/// Infers shapes and attributes of a candidate with symbolic sizes.
class Symbols {
 public:
  Symbols(const TermTable& table, const Candidate& candidate, ChosenSizes chosen, Choices& choices)
      : table_(table), candidate_(candidate), chosen_(chosen), choices_(choices) {}

  /// `order` holds all terms, operands first: what is known early helps with what comes later.
  bool solve(const Merges& merges, const std::vector<std::uint32_t>& order) {
    for (const auto& [a, b] : merges)
      if (!equations_.unify(Dimension::symbol(a), Dimension::symbol(b))) return false;
    shapes_.resize(candidate_.terms.size());
    for (const std::uint32_t i : order)
      if (!add_term(i)) return false;
    for (std::size_t i = 0; i < candidate_.left.size(); ++i) {
      const Shape &left = shapes_[candidate_.left[i]], &right = shapes_[candidate_.right[i]];
      if (left.size() != right.size()) return false;
      for (std::size_t axis = 0; axis < left.size(); ++axis)
        if (!equations_.unify(left[axis], right[axis])) return false;
    }
    return true;
  }

  Shape shape(std::uint32_t term) const { return resolved(shapes_[term]); }

  /// Values of the variables of an operator's description, for the application of a term.
  RuleBindings bindings(std::uint32_t term) const {
    RuleBindings result = applications_.at(key_of(candidate_.terms[term]));
    for (auto& [name, value] : result.dimensions) value = equations_.resolve(value);
    for (auto& [name, value] : result.groups) value = resolved(value);
    for (auto& [name, value] : result.parameters)
      value = equations_.resolve(std::get<Dimension>(value));
    return result;
  }

  const Substitution& pattern(std::uint32_t op) const {
    const SetOperator& known = table_.set().operators[op];
    return chosen_ == ChosenSizes::as_they ? known.enumerated : known.pattern;
  }

 private:
  using ApplicationKey = std::array<std::uint32_t, 4>;
  static ApplicationKey key_of(const CandidateTerm& term) {
    return {term.op, term.operands[0], term.operands[1], term.operands[2]};
  }

  Shape resolved(const Shape& shape) const {
    Shape result;
    for (const Dimension& size : shape) result.push_back(equations_.resolve(size));
    return result;
  }

  bool add_term(std::uint32_t i) {
    const CandidateTerm& term = candidate_.terms[i];
    if (term.op == nothing) {
      for (std::size_t axis = 0; axis < table_.types()[term.type].size(); ++axis)
        shapes_[i].push_back(Dimension::symbol(input_symbol(term.input, axis)));
      return true;
    }
    if (!applications_.contains(key_of(term)) && !unify_operands(term)) return false;
    return infer(i);
  }

  bool unify_operands(const CandidateTerm& term) {
    const Substitution& rule = pattern(term.op);
    RuleBindings& bound = applications_[key_of(term)];
    const std::string prefix = fmt::format("?{}.", applications_.size());
    for (const std::string& name : dimension_names(rule))
      bound.dimensions[name] = Dimension::symbol(prefix + name);
    for (const RuleParameter& parameter : rule.parameters)
      bound.parameters[parameter.name] = Dimension::symbol(prefix + parameter.name);
    postponed_.clear();
    for (std::size_t k = 0; k < rule.inputs.size(); ++k)
      if (!unify_shape(rule.inputs[k].shape, shapes_[term.operands[k]], bound)) return false;
    if (chosen_ == ChosenSizes::equal) join_chosen(term.op, prefix);
    // What could not be solved may be so now that more is known.
    for (const auto& [a, b] : postponed_)
      if (!equations_.unify(a, b)) return false;
    return true;
  }

  /// Choices that nothing else says the value of: those that are equal in the enumeration become one variable.
  void join_chosen(std::uint32_t op, const std::string& prefix) {
    for (const auto& [name, value] : table_.set().operators[op].chosen) {
      const Dimension symbol = equations_.resolve(Dimension::symbol(prefix + name));
      if (symbol.as_symbol() && symbol.as_symbol()->starts_with("?"))
        equations_.assign(*symbol.as_symbol(), Dimension::symbol(fmt::format("chosen.{}", value)));
    }
  }

  static std::set<std::string> dimension_names(const Substitution& rule) {
    std::set<std::string> names;
    for (const RuleInput& input : rule.inputs)
      for (const RuleExpression& size : input.shape)
        detail::for_each_expression(size, [&names](const RuleExpression& e) {
          if (e.kind == Kind::variable) names.insert(e.name);
        });
    for (const RuleParameter& parameter : rule.parameters) names.erase(parameter.name);
    return names;
  }

  bool unify_shape(const std::vector<RuleExpression>& items, const Shape& shape,
                   RuleBindings& bound) {
    std::size_t axis = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::size_t after = items.size() - i - 1;
      if (items[i].kind == Kind::splice) {
        if (shape.size() < axis + after) return false;
        const std::size_t end = shape.size() - after;
        if (!unify_group(items[i].name,
                         Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis),
                               shape.begin() + static_cast<std::ptrdiff_t>(end)),
                         bound))
          return false;
        axis = end;
        continue;
      }
      if (axis >= shape.size()) return false;
      const auto wanted = evaluate_dimension(items[i], bound);
      if (!wanted || !unify_sizes(*wanted, shape[axis++])) return false;
    }
    return axis == shape.size();
  }

  bool unify_group(const std::string& name, const Shape& sizes, RuleBindings& bound) {
    const auto [known, is_new] = bound.groups.try_emplace(name, sizes);
    if (is_new) return true;
    if (known->second.size() != sizes.size()) return false;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (!equations_.unify(known->second[i], sizes[i])) return false;
    return true;
  }

  /// A product with an open factor that meets a product: each factor that it may be. Nothing if it is none.
  std::optional<bool> unify_products(const Dimension& a, const Dimension& b) {
    if (!table_.set().has_free_factors || a == b) return std::nullopt;
    const std::optional<OpenFactor> open = open_factor_of(a);
    const std::vector<std::pair<Dimension, Dimension>> factors = factors_of(b);
    if (!open || factors.empty()) return std::nullopt;
    const auto& [factor, rest] = factors[choices_.choose(factors.size())];
    equations_.assign(open->symbol, factor);
    return unify_sizes(open->rest, rest);
  }

  /// A sum of two open sizes that meets a sum: each way to divide its terms in two parts.
  bool unify_sizes(const Dimension& wanted, const Dimension& given) {
    const Dimension a = equations_.resolve(wanted), b = equations_.resolve(given);
    if (const auto unified = unify_products(a, b)) return *unified;
    const auto is_open = [](const Dimension::Term& term) {
      return term.coefficient == 1 && term.atoms.size() == 1 &&
             term.atoms[0]->kind == AtomKind::symbol && term.atoms[0]->symbol.starts_with("?");
    };
    const auto& open = a.terms();
    const auto& parts = b.terms();
    if (open.size() != 2 || !is_open(open[0]) || !is_open(open[1]) || parts.size() < 2 ||
        parts.size() > 5 || a == b) {
      if (!equations_.unify(a, b)) postponed_.emplace_back(a, b);
      return true;
    }
    const std::size_t way = choices_.choose((std::size_t{1} << parts.size()) - 2) + 1;
    Dimension first;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if ((way >> i) % 2 == 1) first = first + dimension_of(parts[i]);
    equations_.assign(open[0].atoms[0]->symbol, first);
    return equations_.unify(a, b);
  }

  static Dimension dimension_of(const Dimension::Term& term) {
    Dimension result = term.coefficient;
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (atom->kind != AtomKind::symbol) return Dimension::invalid();
      result = result * Dimension::symbol(atom->symbol);
    }
    return result;
  }

  bool infer(std::uint32_t i) {
    const CandidateTerm& term = candidate_.terms[i];
    const Substitution& rule = pattern(term.op);
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::size_t k = 0; k < rule.inputs.size(); ++k) {
      auto input = graph.add_input(fmt::format("{}", k),
                                   {DataType::f32, resolved(shapes_[term.operands[k]])});
      if (!input) return false;
      inputs.push_back(*input);
    }
    const auto outputs = instantiate(rule, rule.left, inputs, bindings(i), graph);
    if (!outputs) return false;
    shapes_[i] = *graph.type((*outputs)[term.output]).shape;
    return has_sizes(shapes_[i]);
  }

  const TermTable& table_;
  const Candidate& candidate_;
  ChosenSizes chosen_;
  Choices& choices_;
  Equations equations_;
  std::vector<Shape> shapes_;
  std::map<ApplicationKey, RuleBindings> applications_;
  std::vector<std::pair<Dimension, Dimension>> postponed_;
};

/// Writes a candidate with known sizes as a rule.
class RuleWriter {
 public:
  RuleWriter(const TermTable& table, const Candidate& candidate, const Symbols& symbols,
             bool is_directed)
      : table_(table), candidate_(candidate), symbols_(symbols), is_directed_(is_directed) {}

  Result<Substitution> write(const std::string& name) {
    rule_.name = name;
    terms_.resize(candidate_.terms.size());
    for (std::uint32_t i = 0; i < candidate_.terms.size(); ++i) add_input(i);
    for (std::uint32_t i = 0; i < candidate_.terms.size(); ++i)
      LEMMA_RETURN_IF_ERROR(add_operator(i));
    for (const std::uint32_t root : candidate_.left) rule_.left.push_back(terms_[root]);
    for (const std::uint32_t root : candidate_.right) rule_.right.push_back(terms_[root]);
    for (const auto& [symbol, variable] : names_) {
      if (in_shapes_.contains(symbol)) continue;
      RuleParameter parameter;
      parameter.name = variable;
      parameter.range = RuleParameter::Range::dimension;
      rule_.parameters.push_back(std::move(parameter));
    }
    return in_directions();
  }

 private:
  /// The rule as the claim in both directions, or in the one in which all variables are bound.
  Result<Substitution> in_directions() {
    detail::number_terms(rule_);
    if (is_directed_) {
      if (table_.set().has_free_factors) declare_free_parameters(rule_);
      LEMMA_RETURN_IF_ERROR(detail::check_substitution(rule_));
      return std::move(rule_);
    }
    rule_.bidirectional = !is_input(rule_.left) && !is_input(rule_.right);
    if (rule_.bidirectional && detail::check_substitution(rule_)) return std::move(rule_);
    rule_.bidirectional = false;
    if (is_input(rule_.left) || (!detail::check_substitution(rule_) && !frees_what_is_open())) {
      std::swap(rule_.left, rule_.right);
      detail::number_terms(rule_);
      (void)frees_what_is_open();
    }
    LEMMA_RETURN_IF_ERROR(detail::check_substitution(rule_));
    if (is_input(rule_.left)) return bad_input("the left side is an input");
    return std::move(rule_);
  }

  bool frees_what_is_open() {
    return table_.set().has_free_factors && declare_free_parameters(rule_);
  }

  bool is_input(const std::vector<TermId>& roots) const {
    return std::any_of(roots.begin(), roots.end(),
                       [this](TermId root) { return rule_.terms[root.v].is_input; });
  }

  RuleExpression size(const Dimension& dimension, bool in_shape) {
    std::map<std::string, int> symbols;
    collect_symbols(dimension, symbols);
    DimensionBindings renamed;
    for (const auto& [symbol, count] : symbols) {
      if (in_shape) in_shapes_.insert(symbol);
      const auto name = names_.try_emplace(symbol, fmt::format("n{}", names_.size())).first;
      renamed[symbol] = Dimension::symbol(name->second);
    }
    auto expression = parse_rule_expression(substitute(dimension, renamed).text());
    if (expression) return std::move(*expression);
    failed_ = true;
    return {};
  }

  void add_input(std::uint32_t i) {
    const CandidateTerm& term = candidate_.terms[i];
    if (term.op != nothing) return;
    const SetInput& known = table_.set().inputs[term.input];
    RuleInput input;
    input.name = known.name;
    input.weight = known.weight;
    for (const Dimension& extent : symbols_.shape(i)) input.shape.push_back(size(extent, true));
    RuleTerm rule_term;
    rule_term.is_input = true;
    rule_term.input = static_cast<std::uint32_t>(rule_.inputs.size());
    rule_.inputs.push_back(std::move(input));
    terms_[i] = add(std::move(rule_term));
  }

  TermId add(RuleTerm term) {
    rule_.terms.push_back(std::move(term));
    return {static_cast<std::uint32_t>(rule_.terms.size() - 1)};
  }

  /// Copies what the operator of the set stands for.
  Result<void> add_operator(std::uint32_t i) {
    const CandidateTerm& term = candidate_.terms[i];
    if (term.op == nothing) return {};
    const Substitution& pattern = symbols_.pattern(term.op);
    bindings_ = symbols_.bindings(i);
    std::vector<TermId> copies(pattern.terms.size());
    for (std::uint32_t k = 0; k < pattern.terms.size(); ++k) {
      RuleTerm copy = pattern.terms[k];
      if (copy.is_input) {
        copies[k] = terms_[term.operands[copy.input]];
        continue;
      }
      for (TermId& operand : copy.operands)
        if (!operand.is_none()) operand = copies[operand.v];
      for (auto& [attribute, expression] : copy.attributes) put_values(expression);
      copies[k] = add(std::move(copy));
    }
    terms_[i] = copies[pattern.left[term.output].v];
    if (failed_) return unsupported("a size that cannot be written");
    return {};
  }

  void put_values(RuleExpression& expression) {
    if (expression.kind == Kind::variable) {
      put_value(expression);
      return;
    }
    if (expression.kind == Kind::call && expression.name == "len") {
      const auto group = bindings_.groups.find(expression.arguments[0].name);
      if (group != bindings_.groups.end()) {
        expression = {};
        expression.literal = static_cast<std::int64_t>(group->second.size());
        return;
      }
    }
    std::vector<RuleExpression> arguments;
    for (RuleExpression& argument : expression.arguments) {
      if (argument.kind != Kind::splice) {
        put_values(argument);
        arguments.push_back(std::move(argument));
        continue;
      }
      for (const Dimension& extent : bindings_.groups.at(argument.name))
        arguments.push_back(size(extent, false));
    }
    expression.arguments = std::move(arguments);
  }

  void put_value(RuleExpression& expression) {
    if (const auto entry = bindings_.dimensions.find(expression.name);
        entry != bindings_.dimensions.end())
      expression = size(entry->second, false);
    else if (const auto parameter = bindings_.parameters.find(expression.name);
             parameter != bindings_.parameters.end())
      expression = size(std::get<Dimension>(parameter->second), false);
  }

  const TermTable& table_;
  const Candidate& candidate_;
  const Symbols& symbols_;
  Substitution rule_;
  std::vector<TermId> terms_;
  RuleBindings bindings_;  // of the operator that is being copied
  std::map<std::string, std::string> names_;
  std::set<std::string> in_shapes_;
  bool failed_ = false;
  bool is_directed_;  // the left side is that of the candidate
};

/// Pairs of axes of inputs that had one size.
Merges equal_sizes(const TermTable& table, const Candidate& candidate) {
  std::vector<std::pair<std::string, std::int64_t>> axes;
  for (const CandidateTerm& term : candidate.terms) {
    if (term.op != nothing) continue;
    const std::vector<std::int64_t>& sizes = table.types()[term.type];
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      axes.emplace_back(input_symbol(term.input, axis), sizes[axis]);
  }
  Merges result;
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t j = i + 1; j < axes.size(); ++j)
      if (axes[i].second == axes[j].second) result.emplace_back(axes[i].first, axes[j].first);
  return result;
}

/// Whether a size of the rule is a difference.
bool subtracts(const Substitution& rule) {
  bool result = false;
  const auto look = [&result](const RuleExpression& expression) {
    detail::for_each_expression(expression, [&result](const RuleExpression& e) {
      result = result || e.kind == Kind::subtract;
    });
  };
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& size : input.shape) look(size);
  for (const RuleTerm& term : rule.terms)
    for (const auto& [attribute, value] : term.attributes) look(value);
  return result;
}

class RuleMaker {
 public:
  RuleMaker(const TermTable& table, const Candidate& candidate, const std::string& name,
            const RuleJudge& judge, bool is_directed)
      : table_(table),
        candidate_(candidate),
        name_(name),
        judge_(judge),
        is_directed_(is_directed) {}

  tl::expected<SymbolicRule, SymbolicFailure> make() {
    if (auto open = open_input()) return tl::unexpected(SymbolicFailure{false, std::move(*open)});
    const Merges pairs = equal_sizes(table_, candidate_);
    for (const bool may_subtract : {false, true}) {
      if (may_subtract && !subtracted_) break;
      may_subtract_ = may_subtract;
      if (table_.set().has_free_factors) {
        attempt_with_factors();
        if (most_variables_ > 0) return std::move(best_);
      } else if (attempt(Generality::free, {})) {
        return std::move(result_);
      }
      for (const auto& pair : pairs)
        if (attempt(Generality::equal_sizes, {pair})) return std::move(result_);
      if (attempt(Generality::as_enumerated, {})) return std::move(result_);
      if (attempt(Generality::all_equal, pairs)) return std::move(result_);
    }
    return tl::unexpected(failure_);
  }

 private:
  /// Why no choice of sizes makes a rule, if each side has an input that the other one has not.
  std::optional<std::string> open_input() const {
    const std::vector<std::uint32_t> left = inputs_of(candidate_, candidate_.left),
                                     right = inputs_of(candidate_, candidate_.right);
    const bool is_bound = std::includes(left.begin(), left.end(), right.begin(), right.end()) ||
                          std::includes(right.begin(), right.end(), left.begin(), left.end());
    if (is_bound) return std::nullopt;
    return "each side has an input that does not occur on the other one";
  }

  /// A product can meet another one in several ways, some of which make sizes equal that need not be: all are
  /// tried, and the rule with the most variables is taken.
  void attempt_with_factors() {
    for (const Generality generality : {Generality::free, Generality::equal_sizes})
      for (const auto* first : {&candidate_.left, &candidate_.right}) {
        const std::vector<std::uint32_t> order = terms_from(*first);
        Choices choices;
        for (int tries = 0; tries < 32; ++tries) {
          if (attempt_once(generality, {}, order, choices)) keep_if_better();
          if (!choices.next()) break;
        }
      }
  }

  void keep_if_better() {
    const std::size_t variables = variable_names(result_.rule).size() + 1;
    if (variables <= most_variables_) return;
    most_variables_ = variables;
    best_ = result_;
  }

  bool attempt(Generality generality, const Merges& merges) {
    for (const auto* first : {&candidate_.left, &candidate_.right})
      if (attempt(generality, merges, terms_from(*first))) return true;
    return false;
  }

  /// All terms, those of one side first.
  std::vector<std::uint32_t> terms_from(const std::vector<std::uint32_t>& side) const {
    std::vector<std::uint32_t> order = below(candidate_, side);
    for (std::uint32_t i = 0; i < candidate_.terms.size(); ++i)
      if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
    return order;
  }

  bool attempt(Generality generality, const Merges& merges,
               const std::vector<std::uint32_t>& order) {
    Choices choices;
    for (int tries = 0; tries < 32; ++tries) {
      if (attempt_once(generality, merges, order, choices)) return true;
      if (!choices.next()) return false;
    }
    return false;
  }

  bool attempt_once(Generality generality, const Merges& merges,
                    const std::vector<std::uint32_t>& order, Choices& choices) {
    Symbols symbols(table_, candidate_, chosen_sizes(generality), choices);
    if (!symbols.solve(merges, order)) {
      if (failure_.reason.empty()) failure_.reason = "its sizes cannot be unified";
      return false;
    }
    result_.generality = generality;
    return holds(symbols);
  }

  ChosenSizes chosen_sizes(Generality generality) const {
    if (generality == Generality::free) return ChosenSizes::free;
    if (generality >= Generality::as_enumerated) return ChosenSizes::as_they;
    return table_.set().has_free_factors ? ChosenSizes::equal : ChosenSizes::free;
  }

  bool holds(const Symbols& symbols) {
    auto rule = RuleWriter(table_, candidate_, symbols, is_directed_).write(name_);
    if (!rule) {
      if (failure_.reason.empty()) failure_.reason = rule.error().message;
      return false;
    }
    if (!may_subtract_ && subtracts(*rule)) {
      subtracted_ = true;
      return false;
    }
    if (is_accepted(*rule)) return true;
    return table_.set().has_free_factors && !rule->parameters.empty() &&
           is_accepted(with_positive_parameters(std::move(*rule)));
  }

  bool is_accepted(Substitution rule) {
    std::string written = text(rule);
    if (std::find(tried_.begin(), tried_.end(), written) != tried_.end()) return false;
    CheckResult check = judge_(rule);
    tried_.push_back(std::move(written));
    if (check.backward) {
      rule.bidirectional = false;
      check = judge_(rule);
    }
    if (check.instances == 0) {
      if (failure_.reason.empty()) failure_.reason = "no other sizes could be evaluated";
      return false;
    }
    if (!check.counterexample.empty()) {
      failure_ = {true, check.counterexample};
      return false;
    }
    result_.rule = std::move(rule);
    return true;
  }

  const TermTable& table_;
  const Candidate& candidate_;
  std::string name_;
  const RuleJudge& judge_;
  bool is_directed_;
  SymbolicRule result_, best_;
  std::size_t most_variables_ = 0;  // of the best one, and one more; 0: there is none
  SymbolicFailure failure_;
  std::vector<std::string> tried_;
  /// Sizes that are differences fit few tensors; without them there may be a rule that says more.
  bool may_subtract_ = false, subtracted_ = false;
};

}  // namespace

tl::expected<SymbolicRule, SymbolicFailure> make_rule(const TermTable& table,
                                                      const Candidate& candidate,
                                                      const std::string& name) {
  const RuleJudge judge = [](const Substitution& rule) { return check_at_other_sizes(rule, 1); };
  return RuleMaker(table, candidate, name, judge, false).make();
}

tl::expected<SymbolicRule, SymbolicFailure> make_directed_rule(const TermTable& table,
                                                               const Candidate& candidate,
                                                               const std::string& name,
                                                               const RuleJudge& judge) {
  return RuleMaker(table, candidate, name, judge, true).make();
}

}  // namespace lemma::generator
