#include "egraph/exact/integer_program.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/number_text.h"
#include "egraph/exact/closures.h"
#include "egraph/exact/reducer.h"
#include "egraph/exact/small_costs.h"
#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma::exact {

namespace {

using Cycle = std::vector<std::uint32_t>;  // classes, each needing the next

// Variables: x for each node that is chosen, y for each class that is. In the LP text format.
class Encoding {
 public:
  Encoding(const Problem& problem, const SmallCosts& costs)
      : problem_(problem), costs_(costs), nodes_of_(problem.nodes_by_class()) {
    for (std::uint32_t id = 0; id < problem.class_count; ++id) add_class(id);
    for (const std::uint32_t root : problem.roots) row(fmt::format("y{} = 1", root));
    add_implications();
    if (problem.has_negative_costs()) add_support();
    ban_short_cycles();
  }

  void ban(const Cycle& cycle) {
    std::string sum;
    for (std::size_t i = 0; i < cycle.size(); ++i)
      sum += needing(cycle[i], cycle[(i + 1) % cycle.size()]);
    row(fmt::format("{} <= {}", sum, cycle.size() - 1));
  }

  std::string text() const {
    std::string objective, terms, names;
    for (std::uint32_t i = 0; i < problem_.nodes.size(); ++i) {
      if (costs_.of_node[i] != 0)
        terms += fmt::format(" {} {} x{}\n", costs_.of_node[i] < 0 ? "-" : "+",
                             std::abs(costs_.of_node[i]), i);
      names += fmt::format(" x{}\n", i);
    }
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) names += fmt::format(" y{}\n", id);
    return fmt::format("Minimize\n obj: {}\nSubject To\n{}Binaries\n{}End\n",
                       terms.empty() ? " 0 x0" : terms, rows_, names);
  }

 private:
  void row(const std::string& text) { rows_ += fmt::format(" c{}: {}\n", row_count_++, text); }

  /// The nodes of a class that need another class, as a sum.
  std::string needing(std::uint32_t id, std::uint32_t child) const {
    std::string sum;
    for (const std::uint32_t number : nodes_of_[id]) {
      const auto& children = problem_.nodes[number].children;
      if (std::find(children.begin(), children.end(), child) != children.end())
        sum += fmt::format(" + x{}", number);
    }
    return sum;
  }

  void add_class(std::uint32_t id) {
    std::string sum;
    std::vector<std::uint32_t> children;
    for (const std::uint32_t number : nodes_of_[id]) {
      sum += fmt::format(" + x{}", number);
      const auto& more = problem_.nodes[number].children;
      children.insert(children.end(), more.begin(), more.end());
    }
    row(fmt::format("{} - y{} = 0", sum, id));
    // One of the nodes is chosen, so those that need the same class count as one.
    std::sort(children.begin(), children.end());
    children.erase(std::unique(children.begin(), children.end()), children.end());
    for (const std::uint32_t child : children)
      row(fmt::format("{} - y{} <= 0", needing(id, child), child));
  }

  /// Classes that all nodes of a class need at last: the relaxation does not see that.
  void add_implications() {
    if (problem_.class_count > 8000) return;
    const auto needed = needed_classes(problem_, nodes_of_, postorder(problem_, nodes_of_));
    BitMatrix further(1, problem_.class_count), below(1, problem_.class_count);
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) {
      // By class that is needed, the nodes that need it in the end.
      std::map<std::uint32_t, std::vector<std::uint32_t>> by_target;
      for (const std::uint32_t number : nodes_of_[id]) {
        std::fill(below[0].begin(), below[0].end(), 0);
        for (const std::uint32_t child : problem_.nodes[number].children)
          add_bits(below[0], needed[child]);
        for_each_bit(below[0], [&](std::uint32_t target) {
          if (target < problem_.class_count) by_target[target].push_back(number);
        });
      }
      // Not where another target with the same nodes, or more, needs it anyway.
      for (const auto& [target, numbers] : by_target) {
        if (numbers.size() < 2) continue;
        bool implied = false;
        for (const auto& [other, more] : by_target)
          if (other != target && more.size() >= numbers.size() && test_bit(needed[other], target) &&
              std::includes(more.begin(), more.end(), numbers.begin(), numbers.end())) {
            implied = true;
            break;
          }
        if (implied) continue;
        std::string sum;
        for (const std::uint32_t number : numbers) sum += fmt::format(" + x{}", number);
        row(fmt::format("{} - y{} <= 0", sum, target));
      }
    }
  }

  /// What costs less than nothing must be needed by something.
  void add_support() {
    std::vector<std::string> users(problem_.class_count);
    for (std::uint32_t i = 0; i < problem_.nodes.size(); ++i)
      for (const std::uint32_t child : std::set<std::uint32_t>(problem_.nodes[i].children.begin(),
                                                               problem_.nodes[i].children.end()))
        users[child] += fmt::format(" - x{}", i);
    std::vector<char> is_root(problem_.class_count, 0);
    for (const std::uint32_t root : problem_.roots) is_root[root] = 1;
    for (std::uint32_t id = 0; id < problem_.class_count; ++id)
      if (is_root[id] == 0) row(fmt::format("y{}{} <= 0", id, users[id]));
  }

  void ban_short_cycles() {
    const auto component = components(problem_, nodes_of_);
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) {
      std::vector<std::uint32_t> children;
      for (const std::uint32_t number : nodes_of_[id])
        for (const std::uint32_t child : problem_.nodes[number].children)
          if (child > id && component[child] == component[id]) children.push_back(child);
      std::sort(children.begin(), children.end());
      children.erase(std::unique(children.begin(), children.end()), children.end());
      for (const std::uint32_t child : children)
        if (!needing(child, id).empty()) ban({id, child});
    }
  }

  const Problem& problem_;
  const SmallCosts& costs_;
  std::vector<std::vector<std::uint32_t>> nodes_of_;
  std::string rows_;
  std::size_t row_count_ = 0;
};

/// Cycles of a choice, each class in at most one: those that the roots reach, and where costs may be
/// negative all others too, since what is on a cycle seems to be needed by something.
std::vector<Cycle> cycles_of(const Problem& problem, const std::vector<std::uint32_t>& choice) {
  enum class Mark : char { unseen, open, closed };
  struct Frame {
    std::uint32_t id;
    std::size_t next;
  };
  std::vector<Mark> marks(problem.class_count, Mark::unseen);
  std::vector<Cycle> cycles;
  std::vector<Frame> path;
  std::vector<std::uint32_t> starts = problem.roots;
  if (problem.has_negative_costs())
    for (std::uint32_t id = 0; id < problem.class_count; ++id) starts.push_back(id);
  for (const std::uint32_t root : starts) {
    if (marks[root] != Mark::unseen) continue;
    marks[root] = Mark::open;
    path.push_back({root, 0});
    while (!path.empty()) {
      Frame& frame = path.back();
      const std::uint32_t number = choice[frame.id];
      if (number == none || frame.next == problem.nodes[number].children.size()) {
        marks[frame.id] = Mark::closed;
        path.pop_back();
        continue;
      }
      const std::uint32_t child = problem.nodes[number].children[frame.next++];
      if (marks[child] == Mark::unseen) {
        marks[child] = Mark::open;
        path.push_back({child, 0});
      } else if (marks[child] == Mark::open) {
        Cycle cycle;
        for (std::size_t i = path.size(); i-- > 0;) {
          cycle.push_back(path[i].id);
          if (path[i].id == child) break;
        }
        std::reverse(cycle.begin(), cycle.end());
        cycles.push_back(std::move(cycle));
      }
    }
  }
  return cycles;
}

struct Answer {
  bool optimal = false, infeasible = false;
  std::optional<double> lower_bound;
  std::vector<std::uint32_t> choice;  // empty if there is no solution
};

/// 0 where there is none.
double number_after(std::string_view line, std::size_t position) {
  line.remove_prefix(position);
  return take_number<double>(line).value_or(0);
}

Answer read_answer(const Problem& problem, const ProgramRun& run,
                   const std::filesystem::path& solution) {
  Answer answer;
  std::stringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Result - Optimal solution found")) answer.optimal = true;
    if (line.starts_with("Problem is infeasible") ||
        line.starts_with("Pre-processing says infeasible") ||  // all variables are bounded
        line.starts_with("Result - Problem proven infeasible") ||
        line.starts_with("Result - Linear relaxation infeasible"))
      answer.infeasible = true;
    const auto read = [&](std::string_view heading) {
      if (line.starts_with(heading)) answer.lower_bound = number_after(line, heading.size());
    };
    read("Lower bound:");
    const auto best_possible = line.find("best possible ");
    if (best_possible != std::string::npos && line.find("Cbc0010I") != std::string::npos)
      answer.lower_bound = number_after(line, best_possible + 14);
  }
  std::ifstream file(solution);
  std::string line;
  if (!std::getline(file, line) || line.find("nfeasible") != std::string::npos) return answer;
  answer.choice.assign(problem.class_count, none);
  std::vector<double> value(problem.class_count, 0.5);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string index, name, amount_text;
    if (!(words >> index >> name >> amount_text) || !name.starts_with('x')) continue;
    const auto number = number_of<std::uint32_t>(std::string_view(name).substr(1));
    const auto amount = number_of<double>(amount_text);
    if (!number || !amount || *number >= problem.nodes.size()) continue;
    const std::uint32_t owner = problem.nodes[*number].owner;
    if (*amount <= value[owner]) continue;
    value[owner] = *amount;
    answer.choice[owner] = *number;
  }
  return answer;
}

}  // namespace

bool integer_programs_available() { return !find_program("cbc").empty(); }

Outcome solve_by_integer_program(const Problem& problem, Cost upper_bound, const Limit& limit) {
  Outcome outcome;
  const std::string program = find_program("cbc");
  const auto costs = small_costs(problem, 24);
  const TemporaryDirectory directory;
  if (program.empty() || !costs || !directory.good()) return outcome;
  Encoding encoding(problem, *costs);
  const double most = static_cast<double>(upper_bound) / static_cast<double>(costs->unit);
  while (!limit.reached()) {
    {
      std::ofstream file(directory.path() / "input.lp");
      file << encoding.text();
    }
    const auto solution = directory.path() / "solution";
    std::error_code ignored;
    std::filesystem::remove(solution, ignored);
    const double seconds = std::clamp(limit.seconds_left() - 0.5, 0.1, 1e6);
    const auto run =
        run_program({{program, "input.lp", "sec", fmt::format("{:.1f}", seconds), "timeMode",
                      "elapsed", "cutoff", fmt::format("{:.3f}", most - 0.5), "ratioGap", "0",
                      "allowableGap", "0", "solve", "solution", "solution"},
                     directory.path()},
                    [&limit] { return limit.reached(); });
    if (!run) break;
    const Answer answer = read_answer(problem, *run, solution);
    if (answer.infeasible) {
      outcome.proved = !outcome.best;
      outcome.lower_bound = upper_bound;
      break;
    }
    if (answer.lower_bound) {
      const double rounded = std::ceil(*answer.lower_bound - 1e-4);
      const Cost bound = std::min(upper_bound, static_cast<Cost>(rounded) * costs->unit);
      outcome.lower_bound = std::max(outcome.lower_bound.value_or(bound), bound);
    }
    if (answer.choice.empty()) break;
    const auto cycles = cycles_of(problem, answer.choice);
    for (const Cycle& cycle : cycles) encoding.ban(cycle);
    auto found = finished_selection(problem, answer.choice);
    if (found && found->cost < upper_bound && (!outcome.best || found->cost < outcome.best->cost))
      outcome.best = std::move(found);
    if (!cycles.empty()) continue;
    if (answer.optimal && outcome.best) {
      outcome.proved = true;
      outcome.lower_bound = outcome.best->cost;
    }
    break;
  }
  return outcome;
}

}  // namespace lemma::exact
