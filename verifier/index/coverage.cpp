#include "verifier/index/coverage.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "verifier/index/greatest.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

constexpr std::size_t most_choices = 64;

bool mentions(const Dimension& value, const std::string& name) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return symbols.contains(name);
}

/// Names that nothing given has.
DimensionBindings apart(std::vector<Bound>& bound, std::string_view prefix) {
  DimensionBindings names;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const std::string name = fmt::format("{}{}", prefix, i);
    names[bound[i].name] = Dimension::symbol(name);
    bound[i].name = name;
  }
  for (Bound& variable : bound) variable.extent = substituted(variable.extent, names);
  return names;
}

ReadElement renamed_apart(ReadElement read) {
  const DimensionBindings names = apart(read.bound, "_w");
  read.guard = substitute(read.guard, names);
  for (Dimension& index : read.indices) index = substituted(index, names);
  return read;
}

// ---- Elements ----------------------------------------------------------------------------------

/// Finds for which values of its variables a given read is the one that is wanted.
class Solver {
 public:
  Solver(const ReadElement& given, const ReadElement& wanted) : given_(given), wanted_(wanted) {
    values_ = {Dimension(0)};
    for (const Bound& variable : wanted.bound) values_.push_back(Dimension::symbol(variable.name));
    std::map<std::string, int> symbols;
    for (const Dimension& index : wanted.indices) collect_all_symbols(index, symbols);
    collect_symbols(wanted.guard, symbols);
    for (const auto& [name, count] : symbols)
      if (name.starts_with("_i")) values_.push_back(Dimension::symbol(name));
  }

  std::vector<Witness> run() {
    // Reductions that correspond to each other most often bind their variables in the same order.
    if (given_.bound.size() == wanted_.bound.size() && !given_.bound.empty()) {
      Witness same;
      for (std::size_t i = 0; i < given_.bound.size(); ++i)
        same[given_.bound[i].name] = Dimension::symbol(wanted_.bound[i].name);
      found_.push_back(std::move(same));
    }
    extend({});
    return std::move(found_);
  }

 private:
  std::vector<Bound> open_variables(const Witness& known) const {
    std::vector<Bound> open;
    for (const Bound& variable : given_.bound)
      if (!known.contains(variable.name)) open.push_back(variable);
    return open;
  }

  /// The value of one more variable: an index in which it is the only open one, and stands alone with
  /// the coefficient 1 or -1.
  bool solve_one(Witness& known) const {
    const std::vector<Bound> open = open_variables(known);
    for (std::size_t axis = 0; axis < given_.indices.size(); ++axis) {
      const Dimension index = substituted(given_.indices[axis], known);
      const Bound* only = nullptr;
      bool several = false;
      for (const Bound& variable : open)
        if (mentions(index, variable.name)) {
          several = only != nullptr;
          only = &variable;
          if (several) break;
        }
      if (only == nullptr || several) continue;
      const Dimension v = Dimension::symbol(only->name);
      for (const int sign : {1, -1}) {
        const Dimension rest = index - Dimension(sign) * v;
        if (mentions(rest, only->name)) continue;
        known[only->name] = Dimension(sign) * (wanted_.indices[axis] - rest);
        return true;
      }
    }
    return false;
  }

  void extend(Witness known) {
    while (solve_one(known)) {
    }
    const std::vector<Bound> open = open_variables(known);
    if (open.empty()) {
      found_.push_back(std::move(known));
      return;
    }
    std::vector<Dimension> values = values_;
    constexpr std::int64_t most_values = 4;
    if (const auto extent = open.front().extent.constant(); extent && *extent <= most_values)
      for (std::int64_t i = 1; i < *extent; ++i) values.emplace_back(i);
    for (const Dimension& value : values) {
      if (found_.size() >= most_choices) return;
      Witness more = known;
      more[open.front().name] = value;
      extend(std::move(more));
    }
  }

  const ReadElement& given_;
  const ReadElement& wanted_;
  std::vector<Dimension> values_;
  std::vector<Witness> found_;
};

/// The formula that the given read is the wanted one under the witness. Variables stand for natural
/// numbers.
Formula agreement(const ReadElement& given, const ReadElement& wanted, const Witness& witness) {
  std::vector<Formula> parts = {substitute(given.guard, witness)};
  for (const auto& [name, value] : witness) parts.push_back(is_nonnegative(value));
  for (std::size_t axis = 0; axis < given.indices.size(); ++axis)
    parts.push_back(equal(substituted(given.indices[axis], witness), wanted.indices[axis]));
  return conjunction(std::move(parts));
}

bool is_same(const ReadElement& a, const ReadElement& b) {
  return a.input == b.input && a.guard->text == b.guard->text && a.indices == b.indices;
}

/// Each conjunct by itself, which is easier to see than all at once.
bool all_follow(const std::vector<Formula>& facts, const Formula& formula) {
  if (formula->kind != FormulaNode::Kind::conjunction) return entails(facts, formula);
  return std::all_of(formula->parts.begin(), formula->parts.end(),
                     [&facts](const Formula& part) { return entails(facts, part); });
}

/// The conjuncts of the guard that speak of no variable that a reduction binds.
Formula free_part(const ReadElement& read) {
  const bool many = read.guard->kind == FormulaNode::Kind::conjunction;
  std::vector<Formula> parts;
  for (const Formula& part : many ? read.guard->parts : std::vector<Formula>{read.guard}) {
    std::map<std::string, int> symbols;
    collect_symbols(part, symbols);
    if (std::none_of(read.bound.begin(), read.bound.end(),
                     [&symbols](const Bound& v) { return symbols.contains(v.name); }))
      parts.push_back(part);
  }
  return conjunction(std::move(parts));
}

/// The parts of a Concat, say: one of the cases holds, and in each there is a way.
bool is_covered_by_cases(const std::vector<Formula>& facts, const std::vector<Formula>& cases,
                         const std::vector<Formula>& ways) {
  if (!entails(facts, disjunction(cases))) return false;
  return std::all_of(cases.begin(), cases.end(), [&](const Formula& formula) {
    std::vector<Formula> here = facts;
    here.push_back(formula);
    return std::any_of(ways.begin(), ways.end(),
                       [&here](const Formula& way) { return all_follow(here, way); });
  });
}

bool is_covered(const Known& known, const std::vector<ReadElement>& given,
                const ReadElement& original) {
  if (std::any_of(given.begin(), given.end(),
                  [&](const ReadElement& other) { return is_same(other, original); }))
    return true;
  const ReadElement wanted = renamed_apart(original);
  std::vector<Formula> facts = known.facts();
  facts.push_back(wanted.guard);
  std::vector<Formula> ways, cases;
  for (const ReadElement& other : given) {
    if (other.input != wanted.input) continue;
    cases.push_back(free_part(other));
    constexpr std::size_t most_ways = 6;
    const std::size_t before = ways.size();
    for (const Witness& witness : Solver(other, wanted).run()) {
      const Formula way = agreement(other, wanted, witness);
      if (is_never(way)) continue;
      if (all_follow(facts, way)) return true;
      if (ways.size() < before + most_ways) ways.push_back(way);
    }
  }
  if (contradicts(known.facts(), wanted.guard)) return true;
  if (ways.size() < 2) return false;
  return entails(facts, disjunction(ways)) || is_covered_by_cases(facts, cases, ways);
}

}  // namespace

std::set<std::uint32_t> uncovered_inputs(const Known& known, const std::vector<ReadElement>& given,
                                         const std::vector<ReadElement>& wanted) {
  std::set<std::uint32_t> result;
  std::vector<const ReadElement*> seen;
  for (const ReadElement& read : wanted) {
    if (result.contains(read.input)) continue;
    if (std::any_of(seen.begin(), seen.end(),
                    [&read](const ReadElement* other) { return is_same(*other, read); }))
      continue;
    seen.push_back(&read);
    if (!is_covered(known, given, read)) result.insert(read.input);
  }
  return result;
}

// ---- Domains -----------------------------------------------------------------------------------

namespace {

Formula is_in(const InhabitedDomain& set, const Witness& values) {
  std::vector<Formula> parts = {substitute(both(ranges(set.over), set.domain), values)};
  for (const auto& [name, value] : values) parts.push_back(is_nonnegative(value));
  return conjunction(std::move(parts));
}

/// An element of the set: a name for each of its variables.
Witness element_of(const InhabitedDomain& set, std::size_t number) {
  Witness result;
  for (std::size_t i = 0; i < set.over.size(); ++i)
    result[set.over[i].name] = Dimension::symbol(fmt::format("_s{}_{}", number, i));
  return result;
}

InhabitedDomain with(const InhabitedDomain& set, const DimensionBindings& values) {
  InhabitedDomain result = set;
  result.guard = substitute(set.guard, values);
  result.domain = substitute(set.domain, values);
  for (Bound& variable : result.over) variable.extent = substituted(variable.extent, values);
  return result;
}

/// The domain for the first values of the variables of reductions around it.
InhabitedDomain at_first(const InhabitedDomain& set) {
  DimensionBindings first;
  for (const Bound& variable : set.bound) first[variable.name] = 0;
  return with(set, first);
}

}  // namespace

void note_inhabited(Known& known, const std::vector<InhabitedDomain>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const InhabitedDomain set = at_first(given[i]);
    known.add(disjunction({negation(set.guard), is_in(set, element_of(set, i))}));
  }
}

std::vector<Witness> choices(const std::vector<Bound>& open, const std::vector<Dimension>& values,
                             std::size_t limit) {
  std::vector<Witness> result = {{}};
  for (const Bound& variable : open) {
    std::vector<Witness> more;
    for (const Witness& before : result)
      for (const Dimension& value : values) {
        if (more.size() >= limit) break;
        more.push_back(before);
        more.back()[variable.name] = value;
      }
    result = std::move(more);
  }
  return result;
}

bool are_inhabited(const Known& known, const std::vector<InhabitedDomain>& given,
                   const std::vector<InhabitedDomain>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const InhabitedDomain& original) {
    InhabitedDomain set = original;
    const DimensionBindings names = apart(set.bound, "_w");
    set = with(set, names);
    std::vector<Formula> facts = known.facts();
    facts.push_back(set.guard);
    Witness first, least;
    for (const Bound& variable : set.over) {
      first[variable.name] = 0;
      least[variable.name] = least_value(set.over, set.domain, variable);
    }
    std::vector<Formula> ways = {is_in(set, first), is_in(set, least)};
    const auto try_element = [&](const Witness& element) {
      if (element.size() != set.over.size()) return;
      Witness own;
      for (std::size_t i = 0; i < set.over.size(); ++i)
        own[set.over[i].name] = std::next(element.begin(), static_cast<std::ptrdiff_t>(i))->second;
      ways.push_back(is_in(set, own));
    };
    std::vector<Dimension> elements = {Dimension(0)};
    for (std::size_t i = 0; i < given.size(); ++i) {
      const InhabitedDomain& other = given[i];
      if (other.bound.size() == set.bound.size()) {
        DimensionBindings same;
        for (std::size_t k = 0; k < set.bound.size(); ++k)
          same[other.bound[k].name] = Dimension::symbol(set.bound[k].name);
        const InhabitedDomain here = with(other, same);
        facts.push_back(
            disjunction({negation(here.guard), is_in(here, element_of(here, given.size() + i))}));
        for (const auto& [name, value] : element_of(here, given.size() + i))
          elements.push_back(value);
        try_element(element_of(here, given.size() + i));
      }
      for (const auto& [name, value] : element_of(other, i)) elements.push_back(value);
    }
    for (const Formula& way : ways)
      if (entails(facts, way)) return true;
    if (entails(facts, disjunction(ways))) return true;
    for (const Witness& values : choices(set.over, elements, most_choices)) {
      const Formula way = is_in(set, values);
      if (is_never(way)) continue;
      if (entails(facts, way)) return true;
      ways.push_back(way);
    }
    constexpr std::size_t most_ways = 24;
    if (ways.size() > most_ways) ways.resize(most_ways);
    return entails(facts, disjunction(std::move(ways)));
  });
}

}  // namespace lemma::verifier::index
