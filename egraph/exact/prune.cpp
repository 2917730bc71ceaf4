// Rules of the reducer that look at the whole problem: what classes need, and what stands above
// them.

#include <algorithm>

#include "egraph/exact/closures.h"
#include "egraph/exact/reducer.h"
#include "egraph/exact/start.h"

namespace lemma::exact {

namespace {

/// Rows of bits for more classes than this would take too much memory.
constexpr std::size_t most_classes = 24000;

using Rows = BitMatrix;

/// The facts about a problem that pruning uses.
struct Facts {
  std::vector<std::vector<std::uint32_t>> nodes_of;
  Rows needed;    // by class: what is chosen with it
  Rows above;     // by class: itself and what every path from a root goes through
  Rows together;  // by class: what is chosen with it, with what stands above it, and with the roots
  std::vector<Cost> least;          // by class: cost of its cheapest node
  std::vector<Cost> together_cost;  // by class: sum of least over `together`, without the class
};

/// Nothing if the limit is reached first.
std::optional<Facts> gather(const Problem& problem, const Limit& limit) {
  Facts facts;
  facts.nodes_of = problem.nodes_by_class();
  const auto order = postorder(problem, facts.nodes_of);
  auto needed = needed_classes(problem, facts.nodes_of, order, limit);
  if (!needed) return std::nullopt;
  facts.needed = std::move(*needed);
  const auto dominator = immediate_dominators(problem, facts.nodes_of, order);
  facts.above = Rows(problem.class_count, problem.class_count);
  facts.together = Rows(problem.class_count, problem.class_count);
  facts.least.assign(problem.class_count, 0);
  facts.together_cost.assign(problem.class_count, 0);
  for (const std::uint32_t id : order) {
    facts.least[id] = problem.nodes[facts.nodes_of[id][0]].cost;
    for (const std::uint32_t number : facts.nodes_of[id])
      facts.least[id] = std::min(facts.least[id], problem.nodes[number].cost);
  }
  Rows forced(1, problem.class_count);
  for (const std::uint32_t root : problem.roots) add_bits(forced[0], facts.needed[root]);
  // A dominator comes later in a postorder.
  for (std::size_t i = order.size(); i-- > 0;) {
    if (limit.reached()) return std::nullopt;
    const std::uint32_t id = order[i];
    set_bit(facts.above[id], id);
    add_bits(facts.together[id], facts.needed[id]);
    if (dominator[id] != none) {
      add_bits(facts.above[id], facts.above[dominator[id]]);
      add_bits(facts.together[id], facts.together[dominator[id]]);
    } else {
      add_bits(facts.together[id], forced[0]);
    }
    for_each_bit(facts.together[id], [&](std::uint32_t other) {
      if (other != id && other < problem.class_count) facts.together_cost[id] += facts.least[other];
    });
  }
  return facts;
}

/// The node's own needs as a row.
void needs_of(const Facts& facts, const Node& node, Rows::Row row) {
  std::fill(row.begin(), row.end(), 0);
  for (const std::uint32_t child : node.children) add_bits(row, facts.needed[child]);
}

/// At least what a selection costs that has this node.
Cost bound_with(const Facts& facts, const Node& node, Rows::ConstRow needs) {
  Cost bound = facts.together_cost[node.owner] + node.cost;
  const Rows::ConstRow known = facts.together[node.owner];
  for (std::size_t i = 0; i < needs.size(); ++i)
    for (Rows::Word word = needs[i] & ~known[i]; word != 0; word &= word - 1)
      bound += facts.least[i * 64 + static_cast<std::size_t>(std::countr_zero(word))];
  return bound;
}

/// One cheap selection for each class.
struct Substitutes {
  std::vector<std::uint32_t> choice;     // by class
  std::vector<std::uint32_t> component;  // by class
  Rows below;                            // by class: what its selection needs, itself included
};

Substitutes find_substitutes(const Problem& problem, const Facts& facts, const Limit& limit) {
  Substitutes result{cheap_choice(problem, limit), components(problem, facts.nodes_of),
                     Rows(problem.class_count, problem.class_count)};
  Problem chosen;  // only what is chosen
  chosen.class_count = problem.class_count;
  std::vector<std::vector<std::uint32_t>> nodes_of(problem.class_count);
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    chosen.roots.push_back(id);
    if (result.choice[id] == none) continue;
    nodes_of[id].push_back(static_cast<std::uint32_t>(chosen.nodes.size()));
    chosen.nodes.push_back(problem.nodes[result.choice[id]]);
  }
  for (const std::uint32_t id : postorder(chosen, nodes_of)) {
    set_bit(result.below[id], id);
    for (const std::uint32_t number : nodes_of[id])
      for (const std::uint32_t child : chosen.nodes[number].children)
        add_bits(result.below[id], result.below[child]);
  }
  return result;
}

/// Whether `better` can always stand in for `node`: all that it needs beyond what is chosen with
/// `node` anyway costs, chosen anew, no more than is saved. What it needs lies in components further
/// down, so it cannot come to need itself.
bool stands_in(const Problem& problem, const Facts& facts, const Substitutes& substitutes,
               const Node& better, const Node& node, Rows::ConstRow needs) {
  Cost left = node.cost - better.cost;
  if (left < 0) return false;
  const Rows::ConstRow known = facts.together[node.owner];
  for (const std::uint32_t child : better.children) {
    if (test_bit(needs, child)) continue;
    if (substitutes.component[child] == substitutes.component[node.owner]) return false;
    if (test_bit(known, child)) continue;
    if (substitutes.choice[child] == none) return false;
    const Rows::ConstRow below = substitutes.below[child];
    for (std::size_t i = 0; i < below.size(); ++i)
      for (Rows::Word word = below[i] & ~needs[i] & ~known[i]; word != 0; word &= word - 1) {
        const std::size_t id = i * 64 + static_cast<std::size_t>(std::countr_zero(word));
        if (substitutes.component[id] == substitutes.component[node.owner]) return false;
        // What two children share is counted twice: that errs on the safe side.
        left -= problem.nodes[substitutes.choice[id]].cost;
        if (left < 0) return false;
      }
  }
  return true;
}

}  // namespace

bool Reducer::prune(std::optional<Cost> upper_bound, const Limit& limit) {
  const Problem problem = this->problem();
  if (problem.class_count > most_classes || problem.roots.empty()) return false;
  std::vector<std::uint32_t> node_number, class_number;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i] != 0) node_number.push_back(i);
  for (std::uint32_t id = 0; id < class_alive_.size(); ++id)
    if (class_alive_[id] != 0) class_number.push_back(id);
  const auto gathered = gather(problem, limit);
  if (!gathered) return false;
  const Facts& facts = *gathered;
  const Substitutes substitutes = find_substitutes(problem, facts, limit);
  Rows needs(1, problem.class_count);
  std::vector<char> removed(problem.nodes.size(), 0);
  const auto remove = [&](std::uint32_t number) {
    removed[number] = 1;
    kill_node(node_number[number]);
  };
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    if (limit.reached()) break;
    const Node& node = problem.nodes[i];
    needs_of(facts, node, needs[0]);
    const bool circular = intersect(needs[0], facts.above[node.owner]);
    if (circular || (monotone_ && upper_bound &&
                     fixed_cost_ + bound_with(facts, node, needs[0]) >= *upper_bound)) {
      remove(i);
      continue;
    }
    // Another node that needs no more, all told, and costs no more.
    if (monotone_)
      for (const std::uint32_t other : facts.nodes_of[node.owner]) {
        const Node& better = problem.nodes[other];
        if (other == i || removed[other] != 0 || better.cost > node.cost) continue;
        if (std::all_of(better.children.begin(), better.children.end(),
                        [&](std::uint32_t child) { return test_bit(needs[0], child); }) ||
            stands_in(problem, facts, substitutes, better, node, needs[0])) {
          remove(i);
          break;
        }
      }
    if (removed[i] != 0) continue;
    // Children that another child needs anyway.
    for (const std::uint32_t child : node.children)
      for (const std::uint32_t sibling : node.children)
        if (sibling != child && test_bit(facts.needed[sibling], child) &&
            !test_bit(facts.needed[child], sibling)) {
          remove_child(node_number[i], class_number[child]);
          break;
        }
  }
  for (const std::uint32_t root : problem.roots)
    for_each_bit(facts.needed[root], [&](std::uint32_t id) {
      if (id < problem.class_count) make_root(class_number[id]);
    });
  return changed_;
}

/// Needing a root costs nothing more. The edge still matters if it may be part of a cycle.
bool Reducer::separate_forced() {
  const Problem problem = this->problem();
  const auto component = components(problem, problem.nodes_by_class());
  std::vector<std::uint32_t> number_of(class_alive_.size(), none);
  std::uint32_t next = 0;
  for (std::uint32_t id = 0; id < class_alive_.size(); ++id)
    if (class_alive_[id] != 0) number_of[id] = next++;
  for (std::uint32_t id = 0; id < class_alive_.size(); ++id) {
    if (is_root_[id] == 0) continue;
    for (const std::uint32_t user : std::vector(live_users(id)))
      if (component[number_of[nodes_[user].owner]] != component[number_of[id]])
        remove_child(user, id);
  }
  return changed_;
}

}  // namespace lemma::exact
