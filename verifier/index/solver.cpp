#include "verifier/index/solver.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <z3++.h>

#include "verifier/index/answer_cache.h"
#include "verifier/index/refutation.h"
#include "verifier/index/solver_process.h"

namespace lemma::verifier::index {
namespace {

using Atom = Dimension::Atom;
using AtomPointer = Dimension::AtomPointer;

std::string literal(std::int64_t value) {
  if (value >= 0) return fmt::format("{}", value);
  return fmt::format("(- {})", 0 - static_cast<std::uint64_t>(value));
}

/// A conjunction of formulas as text. Variables are named in the order in which they occur, so that
/// queries that differ in names only are one.
class Query {
 public:
  explicit Query(bool linear) : linear_(linear) {}

  std::string text(const std::vector<Formula>& facts) {
    std::vector<std::string> asserted;
    for (const Formula& fact : facts) asserted.push_back(formula(*fact));
    if (linear_) order_products();
    std::string result =
        fmt::format("(set-logic {})\n", linear_ ? "QF_LIA" : "QF_NIA") + declarations_;
    for (const std::string& fact : constraints_) result += "(assert " + fact + ")\n";
    for (const std::string& fact : asserted) result += "(assert " + fact + ")\n";
    return result;
  }
  bool has_products() const { return !products_.empty() || has_product_; }

 private:
  using Product = std::vector<std::string>;  // sorted names of variables

  std::string formula(const FormulaNode& node) {
    using Kind = FormulaNode::Kind;
    switch (node.kind) {
      case Kind::truth: return "true";
      case Kind::falsity: return "false";
      case Kind::nonnegative: return fmt::format("(<= 0 {})", value(node.value));
      case Kind::zero: return fmt::format("(= 0 {})", value(node.value));
      case Kind::element:
        return fmt::format("({} {})", node.is_negated ? "not" : "and",
                           proposition(node.proposition));
      case Kind::conjunction:
      case Kind::disjunction: break;
    }
    std::string result = node.kind == Kind::conjunction ? "(and" : "(or";
    for (const Formula& part : node.parts) result += " " + formula(*part);
    return result + ")";
  }

  std::string proposition(const std::string& text) {
    const auto [entry, is_new] =
        propositions_.try_emplace(text, fmt::format("e{}", propositions_.size()));
    if (is_new) declarations_ += fmt::format("(declare-const {} Bool)\n", entry->second);
    return entry->second;
  }

  std::string value(const Dimension& dimension) {
    std::string sum = literal(dimension.offset());
    for (const Dimension::Term& term : dimension.terms()) {
      Product names;
      for (const AtomPointer& atom : term.atoms) names.push_back(variable(*atom));
      std::sort(names.begin(), names.end());
      sum += fmt::format(" (* {} {})", literal(term.coefficient), product(names));
    }
    return dimension.is_constant() ? sum : "(+ " + sum + ")";
  }

  std::string product(const Product& names) {
    if (names.size() == 1) return names[0];
    has_product_ = true;
    if (!linear_) {
      std::string result = "(*";
      for (const std::string& name : names) result += " " + name;
      return result + ")";
    }
    const auto entry = products_.find(names);
    if (entry != products_.end()) return entry->second;
    if (names.size() > 2) product({names.begin() + 1, names.end()});  // for order_products()
    std::string name = fmt::format("p{}", products_.size());
    declare(name);
    if (std::all_of(names.begin(), names.end(),
                    [this](const std::string& n) { return naturals_.contains(n); })) {
      naturals_.insert(name);
      constraints_.push_back(fmt::format("(<= 0 {})", name));
    }
    return products_.emplace(names, std::move(name)).first->second;
  }

  void declare(const std::string& name) {
    declarations_ += fmt::format("(declare-const {} Int)\n", name);
  }

  std::string variable(const Atom& atom) {
    const std::string key = atom.kind == AtomKind::symbol
                                ? atom.symbol
                                : fmt::format("{} {} | {}", static_cast<int>(atom.kind),
                                              atom.left.text(), atom.right.text());
    const auto entry = variables_.find(key);
    if (entry != variables_.end()) return entry->second;
    if (atom.kind == AtomKind::symbol) {
      std::string name = fmt::format("x{}", variables_.size());
      declare(name);
      naturals_.insert(name);
      constraints_.push_back(fmt::format("(<= 0 {})", name));
      return variables_.emplace(key, std::move(name)).first->second;
    }
    const std::string left = value(atom.left), right = value(atom.right);
    std::string name = fmt::format("x{}", variables_.size());
    declare(name);
    variables_.emplace(key, name);
    if (atom.kind == AtomKind::floor_div)
      define_quotient(atom, name, left, right);
    else
      constraints_.push_back(fmt::format("(= {0} (ite (<= {1} {2}) {3} {4}))", name, left, right,
                                         atom.kind == AtomKind::minimum ? left : right,
                                         atom.kind == AtomKind::minimum ? right : left));
    return name;
  }

  /// right >= 1 implies right * q <= left < right * q + right.
  void define_quotient(const Atom& atom, const std::string& name, const std::string& left,
                       const std::string& right) {
    if (lower_bound(atom.left).value_or(-1) >= 0 && lower_bound(atom.right).value_or(-1) >= 0) {
      // Nothing else is said of a divisor 0: then the quotient may be any natural number.
      naturals_.insert(name);
      constraints_.push_back(fmt::format("(<= 0 {})", name));
    }
    std::string multiple = literal(0);
    if (atom.right.offset() != 0)
      multiple = fmt::format("(* {} {})", literal(atom.right.offset()), name);
    for (const Dimension::Term& term : atom.right.terms()) {
      Product names = {name};
      for (const AtomPointer& factor : term.atoms) names.push_back(variable(*factor));
      std::sort(names.begin(), names.end());
      multiple =
          fmt::format("(+ {} (* {} {}))", multiple, literal(term.coefficient), product(names));
    }
    constraints_.push_back(fmt::format("(=> (<= 1 {0}) (and (<= {1} {2}) (< {2} (+ {1} {0}))))",
                                       right, multiple, left));
  }

  /// States what is known of products c*a and c*b from the order of a and b.
  void order_products() {
    struct Part {
      std::string whole, rest;
    };
    std::map<std::string, std::vector<Part>> by_factor;
    for (const auto& [names, whole] : products_)
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!naturals_.contains(names[i]) || (i > 0 && names[i] == names[i - 1])) continue;
        Product rest = names;
        rest.erase(rest.begin() + static_cast<long>(i));
        if (rest.size() == 1)
          by_factor[names[i]].push_back({whole, rest[0]});
        else if (const auto entry = products_.find(rest); entry != products_.end())
          by_factor[names[i]].push_back({whole, entry->second});
      }
    for (auto& [factor, parts] : by_factor) {
      parts.push_back({factor, "1"});
      parts.push_back({"0", "0"});
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < parts.size(); ++j) {
          if (i == j || (i + 2 >= parts.size() && j + 2 >= parts.size())) continue;
          const Part &a = parts[i], &b = parts[j];
          constraints_.push_back(
              fmt::format("(=> (<= {} {}) (<= {} {}))", a.rest, b.rest, a.whole, b.whole));
          constraints_.push_back(fmt::format("(=> (< {} {}) (<= (+ {} {}) {}))", a.rest, b.rest,
                                             a.whole, factor, b.whole));
        }
    }
  }

  bool linear_;
  bool has_product_ = false;
  std::string declarations_;
  std::vector<std::string> constraints_;
  std::map<std::string, std::string> variables_, propositions_;
  std::map<Product, std::string> products_;
  std::set<std::string> naturals_;
};

/// Z3's core, but for products of real numbers, where it is slow: they need the strategy of their logic. To set up a
/// strategy takes longer than the core takes for most queries, and some of those for integers have limits of time.
z3::solver solver_for(const std::string& smt, z3::context& context, unsigned& resources) {
  const bool has_real_products = smt.starts_with("(set-logic QF_NRA)");
  resources = has_real_products ? 3'000'000 : 800'000;
  if (has_real_products) return {context, "QF_NRA"};
  return {context, z3::solver::simple()};
}

/// Asks Z3's older procedure for integers. Where formulas with products of integers have a model it mostly sees one at once. The
/// newer one may compare orders of products for ever there, without counting what it does against its limit.
z3::check_result ask_older_procedure(const std::string& smt) {
  constexpr unsigned resources = 100'000, older = 2;
  z3::context context;
  z3::solver solver(context, z3::solver::simple());
  z3::params parameters(context);
  parameters.set("rlimit", resources);
  parameters.set("random_seed", 0U);
  parameters.set("arith.solver", older);
  solver.set(parameters);
  solver.from_string(smt.c_str());
  return solver.check();
}

/// Z3's answer within its own count, by the procedures that it has for the logic.
bool is_refuted_by_count(const std::string& smt) {
  try {
    z3::context context;
    unsigned resources = 0;
    z3::solver solver = solver_for(smt, context, resources);
    z3::params parameters(context);
    parameters.set("rlimit", resources);
    parameters.set("random_seed", 0U);
    solver.set(parameters);
    solver.from_string(smt.c_str());
    return solver.check() == z3::unsat;
  } catch (const z3::exception&) {
    return false;
  }
}

bool ask(const std::string& smt) {
  if (!smt.starts_with("(set-logic QF_NIA)")) return is_refuted_by_count(smt);
  try {
    if (const z3::check_result answer = ask_older_procedure(smt); answer != z3::unknown)
      return answer == z3::unsat;
  } catch (const z3::exception&) {
    return false;
  }
  return is_refuted_in_process(smt, is_refuted_by_count);
}

}  // namespace

bool is_refuted(const std::string& smt) {
  constexpr std::size_t most_bytes = 256'000'000;  // of texts
  static AnswerCache answers(most_bytes);
  if (const auto known = answers.find(smt)) return *known;
  const bool answer = ask(smt);
  answers.add(smt, answer);
  return answer;
}

void answer_solver_queries(int seconds) { answer_queries(is_refuted_by_count, seconds); }

namespace {

using Symbols = std::map<std::string, int>;

void add_symbols(const Formula& formula, Symbols& symbols) {
  for (const Formula& part : formula->parts) add_symbols(part, symbols);
  if (formula->kind == FormulaNode::Kind::element) symbols[formula->proposition] = 1;
  if (formula->parts.empty()) collect_symbols(formula->value, symbols);
}

/// The facts that are connected with the goal by common symbols. Others could only help by
/// contradicting each other.
std::vector<Formula> relevant(const std::vector<Formula>& facts, const Formula& goal) {
  std::vector<Symbols> symbols(facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) add_symbols(facts[i], symbols[i]);
  Symbols reached;
  add_symbols(goal, reached);
  std::vector<char> chosen(facts.size(), 0);
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const bool touches =
          std::any_of(symbols[i].begin(), symbols[i].end(),
                      [&reached](const auto& symbol) { return reached.contains(symbol.first); });
      if (chosen[i] != 0 || !touches) continue;
      chosen[i] = 1;
      grows = true;
      reached.insert(symbols[i].begin(), symbols[i].end());
    }
  }
  std::vector<Formula> result;
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (chosen[i] != 0) result.push_back(facts[i]);
  return result;
}

// ---- Quotients --------------------------------------------------------------------------------

void add_atoms(const Formula& formula, std::map<std::string, AtomPointer>& quotients) {
  for (const Formula& part : formula->parts) add_atoms(part, quotients);
  for (const Dimension::Term& term : formula->value.terms())
    for (const AtomPointer& atom : term.atoms)
      if (atom->kind == AtomKind::floor_div)
        quotients.emplace(atom->left.text() + " / " + atom->right.text(), atom);
}

/// Adds what multiplies the quotient in products of the formula.
void add_cofactors(const Formula& formula, const Atom& quotient,
                   std::map<std::string, Dimension>& cofactors) {
  for (const Formula& part : formula->parts) add_cofactors(part, quotient, cofactors);
  for (const Dimension::Term& term : formula->value.terms()) {
    bool is_part = false;
    for (const AtomPointer& atom : term.atoms)
      is_part = is_part || (atom->kind == AtomKind::floor_div && atom->left == quotient.left &&
                            atom->right == quotient.right);
    for (const AtomPointer& atom : term.atoms)
      if (is_part && atom->kind == AtomKind::symbol)
        cofactors.emplace(atom->symbol, Dimension::symbol(atom->symbol));
  }
}

/// A fact a < b * m says floor(a / b) < m, a fact a >= b * m says floor(a / b) >= m, if b > 0; and
/// either may be multiplied by what is not negative.
std::vector<Formula> facts_of_quotients(const std::vector<Formula>& facts) {
  std::map<std::string, AtomPointer> quotients;
  for (const Formula& fact : facts) add_atoms(fact, quotients);
  std::vector<Formula> result;
  for (const auto& [text, atom] : quotients) {
    const Dimension value = floor_div(atom->left, atom->right);
    std::map<std::string, Dimension> cofactors = {{"", Dimension(1)}};
    for (const Formula& fact : facts) add_cofactors(fact, *atom, cofactors);
    for (const Formula& fact : facts) {
      if (fact->kind != FormulaNode::Kind::nonnegative) continue;
      std::vector<Dimension> derived;
      if (const auto m = exact_div(fact->value + atom->left + 1, atom->right))
        derived.push_back(*m - 1 - value);
      if (const auto m = exact_div(atom->left - fact->value, atom->right))
        derived.push_back(value - *m);
      for (const Dimension& difference : derived)
        for (const auto& [name, cofactor] : cofactors)
          result.push_back(disjunction(
              {is_nonnegative(Dimension(0) - atom->right), is_nonnegative(difference * cofactor)}));
    }
  }
  return result;
}

bool is_unsatisfiable(const Formula& whole) {
  if (is_never(whole)) return true;
  if (is_always(whole)) return false;
  Query linear(true);
  if (is_refuted(linear.text({whole}))) return true;
  return linear.has_products() && is_refuted(Query(false).text({whole}));
}

/// The goal, or each of its parts, is one of the facts.
bool is_given(const std::vector<Formula>& facts, const Formula& goal) {
  using Kind = FormulaNode::Kind;
  if (goal->kind == Kind::conjunction)
    return std::all_of(goal->parts.begin(), goal->parts.end(),
                       [&facts](const Formula& part) { return is_given(facts, part); });
  return std::any_of(facts.begin(), facts.end(), [&goal](const Formula& fact) {
    if (fact->text == goal->text) return true;
    return fact->kind == Kind::conjunction &&
           std::any_of(fact->parts.begin(), fact->parts.end(),
                       [&goal](const Formula& part) { return part->text == goal->text; });
  });
}

/// The conjuncts that are left to show.
Formula without_given(const std::vector<Formula>& facts, const Formula& goal) {
  if (goal->kind != FormulaNode::Kind::conjunction) return goal;
  std::vector<Formula> parts;
  for (const Formula& part : goal->parts)
    if (!is_given(facts, part)) parts.push_back(part);
  return conjunction(std::move(parts));
}

}  // namespace

bool entails(const std::vector<Formula>& facts, const Formula& whole) {
  if (is_always(whole) || is_given(facts, whole)) return true;
  if (std::any_of(facts.begin(), facts.end(), is_never)) return true;
  const Formula goal = without_given(facts, whole);
  if (is_refuted_by_sample(facts, goal)) return false;
  std::vector<Formula> parts;
  for (const Formula& fact : facts) {
    if (fact->kind == FormulaNode::Kind::conjunction)
      parts.insert(parts.end(), fact->parts.begin(), fact->parts.end());
    else
      parts.push_back(fact);
  }
  std::vector<Formula> all = relevant(parts, goal);
  const Formula opposite = negation(goal);
  if (opposite->kind == FormulaNode::Kind::conjunction)
    all.insert(all.end(), opposite->parts.begin(), opposite->parts.end());
  else
    all.push_back(opposite);
  const std::vector<Formula> derived = facts_of_quotients(all);
  all.insert(all.end(), derived.begin(), derived.end());
  return is_unsatisfiable(conjunction(std::move(all)));
}

bool contradicts(const std::vector<Formula>& facts, const Formula& formula) {
  return entails(facts, negation(formula));
}

}  // namespace lemma::verifier::index
