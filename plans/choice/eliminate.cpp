#include "plans/choice/eliminate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace lemma::choice {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Values of several variables, counted up, with the places in several tables that belong to them.
class Counter {
 public:
  Counter(const Model& model, std::vector<VariableNumber> scope) : scope_(std::move(scope)) {
    for (const VariableNumber variable : scope_) sizes_.push_back(model.values(variable));
    values_.assign(scope_.size(), 0);
  }
  void follow(const Table& table) {
    std::vector<std::size_t> strides;
    for (const VariableNumber variable : scope_) strides.push_back(table.stride_of(variable));
    strides_.push_back(std::move(strides));
    places_.push_back(0);
  }
  std::size_t place(std::size_t table) const { return places_[table]; }
  bool next() {
    for (std::size_t at = scope_.size(); at-- > 0;) {
      if (++values_[at] < sizes_[at]) {
        for (std::size_t table = 0; table < places_.size(); ++table)
          places_[table] += strides_[table][at];
        return true;
      }
      for (std::size_t table = 0; table < places_.size(); ++table)
        places_[table] -= strides_[table][at] * (sizes_[at] - 1);
      values_[at] = 0;
    }
    return false;
  }

 private:
  std::vector<VariableNumber> scope_;
  std::vector<std::size_t> sizes_;
  std::vector<StrategyNumber> values_;
  std::vector<std::vector<std::size_t>> strides_;  // by table and place in the scope
  std::vector<std::size_t> places_;
};

std::vector<std::size_t> strides_of(const Model& model, const std::vector<VariableNumber>& scope) {
  std::vector<std::size_t> strides(scope.size(), 1);
  for (std::size_t at = scope.size(); at-- > 1;)
    strides[at - 1] = strides[at] * model.values(scope[at]);
  return strides;
}

/// Tables that are eliminated together, and what their variable itself takes there.
struct Group {
  std::vector<std::uint32_t> tables;
  std::vector<VariableNumber> scope;  // without the variable
  double entries = 1;
  std::vector<double> seconds;  // of the variable
};

class Eliminator {
 public:
  Eliminator(const Model& model, const std::vector<std::vector<double>>& seconds,
             const EliminationOptions& options)
      : model_(model), options_(options) {
    result_.seconds = seconds;
    result_.inside.resize(model.variables());
    result_.outgoing.resize(model.variables());
    tables_of_.resize(model.variables());
    sizes_.resize(model.variables());
    is_done_.resize(model.variables());
  }

  Elimination run() {
    for (const Pair& pair : model_.pairs)
      add_table(
          {{pair.first, pair.second}, strides_of(model_, {pair.first, pair.second}), pair.seconds});
    for (const VariableNumber variable : options_.order) eliminate(variable);
    if (!options_.order.empty()) return std::move(result_);
    for (VariableNumber variable = 0; variable < model_.variables(); ++variable)
      sizes_[variable] = joined_size(variable), queue_.emplace(sizes_[variable], variable);
    while (!queue_.empty()) {
      const VariableNumber variable = queue_.begin()->second;
      queue_.erase(queue_.begin());
      eliminate(variable);
    }
    return std::move(result_);
  }

 private:
  void add_table(Table table) {
    const auto number = static_cast<std::uint32_t>(result_.tables.size());
    for (const VariableNumber variable : table.scope) tables_of_[variable].push_back(number);
    result_.tables.push_back(std::move(table));
  }

  std::vector<VariableNumber> joined_scope(VariableNumber variable,
                                           const std::vector<std::uint32_t>& tables) const {
    std::vector<VariableNumber> scope;
    for (const std::uint32_t table : tables)
      for (const VariableNumber other : result_.tables[table].scope)
        if (other != variable) scope.push_back(other);
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    return scope;
  }

  double entries_of(VariableNumber variable, const std::vector<VariableNumber>& scope) const {
    auto entries = static_cast<double>(model_.values(variable));
    for (const VariableNumber other : scope) entries *= static_cast<double>(model_.values(other));
    return entries;
  }

  double joined_size(VariableNumber variable) const {
    return entries_of(variable, joined_scope(variable, tables_of_[variable]));
  }

  void update(VariableNumber variable) {
    queue_.erase({sizes_[variable], variable});
    sizes_[variable] = joined_size(variable);
    queue_.emplace(sizes_[variable], variable);
  }

  std::vector<Group> groups_of(VariableNumber variable) const;
  std::vector<double> least_by_value(VariableNumber variable, const Group& group);
  Table message(VariableNumber variable, const Group& group);
  void share_out(VariableNumber variable, std::vector<Group>& groups);
  void eliminate(VariableNumber variable);

  const Model& model_;
  EliminationOptions options_;
  Elimination result_;
  std::vector<std::vector<std::uint32_t>> tables_of_;  // that are not yet inside a variable
  std::vector<double> sizes_;
  std::vector<bool> is_done_;
  std::set<std::pair<double, VariableNumber>> queue_;  // what is smallest is eliminated first
};

/// One group where that is small enough; else the largest tables first, each to the first group where it fits.
std::vector<Group> Eliminator::groups_of(VariableNumber variable) const {
  const auto limit = static_cast<double>(result_.work > options_.most_work ? options_.few_entries
                                                                           : options_.most_entries);
  const std::vector<std::uint32_t>& tables = tables_of_[variable];
  Group all{tables, joined_scope(variable, tables), 0, {}};
  all.entries = entries_of(variable, all.scope);
  if (all.entries <= limit) return {all};
  std::vector<std::uint32_t> sorted = tables;
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return result_.tables[a].seconds.size() > result_.tables[b].seconds.size();
  });
  std::vector<Group> groups;
  for (const std::uint32_t table : sorted) {
    bool is_placed = false;
    for (Group& group : groups) {
      std::vector<std::uint32_t> with = group.tables;
      with.push_back(table);
      std::vector<VariableNumber> scope = joined_scope(variable, with);
      const double entries = entries_of(variable, scope);
      if (entries > limit && scope.size() > group.scope.size()) continue;
      group = {std::move(with), std::move(scope), entries, {}};
      is_placed = true;
      break;
    }
    if (is_placed) continue;
    Group group{{table}, joined_scope(variable, {table}), 0, {}};
    group.entries = entries_of(variable, group.scope);
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Of a group, for each value of the variable: the least of all values of the others.
std::vector<double> Eliminator::least_by_value(VariableNumber variable, const Group& group) {
  Counter counter(model_, group.scope);
  std::vector<std::size_t> strides;
  for (const std::uint32_t table : group.tables) {
    counter.follow(result_.tables[table]);
    strides.push_back(result_.tables[table].stride_of(variable));
  }
  std::vector<double> least(model_.values(variable), infinite);
  result_.work += static_cast<std::uint64_t>(group.entries);
  do {
    for (std::size_t value = 0; value < least.size(); ++value) {
      double sum = group.seconds[value];
      for (std::size_t at = 0; at < group.tables.size(); ++at)
        sum += result_.tables[group.tables[at]].seconds[counter.place(at) + value * strides[at]];
      least[value] = std::min(least[value], sum);
    }
  } while (counter.next());
  return least;
}

/// Moves seconds of the variable between groups, so that all of them have the same least for each value: a better bound.
void Eliminator::share_out(VariableNumber variable, std::vector<Group>& groups) {
  std::vector<std::vector<double>> least;
  least.reserve(groups.size());
  for (const Group& group : groups) least.push_back(least_by_value(variable, group));
  for (std::size_t value = 0; value < model_.values(variable); ++value) {
    double sum = 0;
    for (const std::vector<double>& of_group : least) sum += of_group[value];
    if (std::isinf(sum)) continue;  // the value is excluded by one of them anyway
    const double mean = sum / static_cast<double>(groups.size());
    for (std::size_t at = 0; at < groups.size(); ++at)
      groups[at].seconds[value] += mean - least[at][value];
  }
}

Table Eliminator::message(VariableNumber variable, const Group& group) {
  Table table{group.scope, strides_of(model_, group.scope), {}};
  Counter counter(model_, group.scope);
  std::vector<std::size_t> strides;
  for (const std::uint32_t number : group.tables) {
    counter.follow(result_.tables[number]);
    strides.push_back(result_.tables[number].stride_of(variable));
  }
  result_.work += static_cast<std::uint64_t>(group.entries);
  do {
    double least = infinite;
    for (std::size_t value = 0; value < group.seconds.size(); ++value) {
      double sum = group.seconds[value];
      for (std::size_t at = 0; at < group.tables.size(); ++at)
        sum += result_.tables[group.tables[at]].seconds[counter.place(at) + value * strides[at]];
      least = std::min(least, sum);
    }
    table.seconds.push_back(least);
  } while (counter.next());
  return table;
}

void Eliminator::eliminate(VariableNumber variable) {
  std::vector<Group> groups = groups_of(variable);
  for (std::size_t at = 0; at < groups.size(); ++at)
    groups[at].seconds =
        at == 0 ? result_.seconds[variable] : std::vector<double>(model_.values(variable), 0.0);
  if (groups.size() > 1) {
    result_.is_exact = false;
    share_out(variable, groups);
  }
  result_.order.push_back(variable);
  result_.inside[variable] = std::move(tables_of_[variable]);
  is_done_[variable] = true;
  std::vector<VariableNumber> touched;
  for (const std::uint32_t table : result_.inside[variable])
    for (const VariableNumber other : result_.tables[table].scope) {
      if (other == variable) continue;
      std::erase(tables_of_[other], table);
      touched.push_back(other);
    }
  for (const Group& group : groups) {
    result_.outgoing[variable].push_back(static_cast<std::uint32_t>(result_.tables.size()));
    Table table = message(variable, group);
    if (table.scope.empty()) result_.bound += table.seconds.front();
    add_table(std::move(table));
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  if (!options_.order.empty()) return;
  for (const VariableNumber other : touched) update(other);
}

}  // namespace

std::size_t Table::place(const Values& values) const {
  std::size_t place = 0;
  for (std::size_t at = 0; at < scope.size(); ++at) place += values[scope[at]] * strides[at];
  return place;
}

std::size_t Table::stride_of(VariableNumber variable) const {
  const auto at = std::lower_bound(scope.begin(), scope.end(), variable);
  return at != scope.end() && *at == variable
             ? strides[static_cast<std::size_t>(at - scope.begin())]
             : 0;
}

Elimination eliminated(const Model& model, const std::vector<std::vector<double>>& seconds,
                       const EliminationOptions& options) {
  return Eliminator(model, seconds, options).run();
}

std::vector<double> increases(const Elimination& elimination, VariableNumber variable,
                              const Values& values) {
  std::vector<double> result = elimination.seconds[variable];
  for (const std::uint32_t number : elimination.inside[variable]) {
    const Table& table = elimination.tables[number];
    const std::size_t stride = table.stride_of(variable);
    const std::size_t place = table.place(values) - values[variable] * stride;
    for (std::size_t value = 0; value < result.size(); ++value)
      result[value] += table.seconds[place + value * stride];
  }
  for (const std::uint32_t number : elimination.outgoing[variable]) {
    const Table& table = elimination.tables[number];
    const double sent = table.seconds[table.place(values)];
    for (double& seconds : result) seconds -= std::isinf(sent) ? 0 : sent;
  }
  return result;
}

Values decided(const Elimination& elimination) {
  Values values(elimination.order.size());
  for (std::size_t at = elimination.order.size(); at-- > 0;) {
    const VariableNumber variable = elimination.order[at];
    const std::vector<double> added = increases(elimination, variable, values);
    values[variable] =
        static_cast<StrategyNumber>(std::min_element(added.begin(), added.end()) - added.begin());
  }
  return values;
}

}  // namespace lemma::choice
