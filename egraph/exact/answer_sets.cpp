#include "egraph/exact/answer_sets.h"

#include <algorithm>
#include <fstream>
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

// Clasp's input in the aspif format: atoms are numbers from 1.
class Encoding {
 public:
  Encoding(const Problem& problem, const SmallCosts& costs)
      : problem_(problem),
        costs_(costs),
        nodes_of_(problem.nodes_by_class()),
        component_(components(problem, nodes_of_)) {}

  std::string text() {
    text_ = "asp 1 0 0\n";
    for (const std::uint32_t root : problem_.roots) rule(needed(root), {});
    for (std::uint32_t id = 0; id < problem_.class_count; ++id)
      if (!nodes_of_[id].empty()) add_class(id);
    for (std::uint32_t i = 0; i < problem_.nodes.size(); ++i)
      for (const std::uint32_t child : problem_.nodes[i].children) {
        if (child == problem_.nodes[i].owner)
          forbid({chosen(i)});
        else
          rule(needed(child), {chosen(i)});
      }
    add_implications();
    add_acyclicity();
    add_objective();
    for (std::uint32_t i = 0; i < problem_.nodes.size(); ++i)
      text_ += fmt::format("4 {} n{} 1 {}\n", std::to_string(i).size() + 1, i, chosen(i));
    text_ += "0\n";
    return std::move(text_);
  }

 private:
  using Literals = std::vector<std::int64_t>;

  std::int64_t chosen(std::uint32_t number) const { return 1 + number; }
  std::int64_t needed(std::uint32_t id) const {
    return 1 + static_cast<std::int64_t>(problem_.nodes.size()) + id;
  }
  std::int64_t done(std::uint32_t id) const { return needed(id) + problem_.class_count; }

  static std::string list(const Literals& literals) {
    std::string result = std::to_string(literals.size());
    for (const std::int64_t literal : literals) result += " " + std::to_string(literal);
    return result;
  }
  void rule(std::int64_t head, const Literals& body) {
    text_ += fmt::format("1 0 1 {} 0 {}\n", head, list(body));
  }
  void forbid(const Literals& body) { text_ += fmt::format("1 0 0 0 {}\n", list(body)); }

  void add_class(std::uint32_t id) {
    Literals heads, none_chosen = {needed(id)};
    for (const std::uint32_t number : nodes_of_[id]) {
      heads.push_back(chosen(number));
      none_chosen.push_back(-chosen(number));
    }
    if (heads.size() == 1) {
      rule(heads[0], {needed(id)});
      return;
    }
    text_ += fmt::format("1 1 {} 0 1 {}\n", list(heads), needed(id));
    forbid(none_chosen);
    text_ += fmt::format("1 0 0 1 2 {}", heads.size());
    for (const std::int64_t head : heads) text_ += fmt::format(" {} 1", head);
    text_ += "\n";
  }

  /// Follows from the rest, but unit propagation would not see it.
  void add_implications() {
    if (problem_.class_count > 8000) return;
    const BitMatrix needed_with =
        *needed_classes(problem_, nodes_of_, postorder(problem_, nodes_of_));
    BitMatrix implied(1, problem_.class_count);
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) {
      std::fill(implied[0].begin(), implied[0].end(), 0);
      if (nodes_of_[id].size() < 2) continue;
      std::vector<std::uint32_t> direct;
      for_each_bit(needed_with[id], [&](std::uint32_t other) {
        if (other < problem_.class_count && other != id) direct.push_back(other);
      });
      for (const std::uint32_t other : direct)
        for_each_bit(needed_with[other], [&](std::uint32_t further) {
          if (further != other) set_bit(implied[0], further);
        });
      for (const std::uint32_t other : direct)
        if (!test_bit(implied[0], other)) forbid({needed(id), -needed(other)});
    }
  }

  /// Adds acyclicity where there are cycles.
  void add_acyclicity() {
    std::vector<std::uint32_t> size(problem_.class_count, 0);
    for (const std::uint32_t component : component_) ++size[component];
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) {
      if (size[component_[id]] < 2) continue;
      for (const std::uint32_t number : nodes_of_[id]) {
        Literals body = {chosen(number)};
        for (const std::uint32_t child : problem_.nodes[number].children)
          if (component_[child] == component_[id]) body.push_back(done(child));
        rule(done(id), body);
      }
      forbid({needed(id), -done(id)});
    }
  }

  /// Adds the objective. What all nodes of a class cost is put on the class: that makes for better
  /// cores.
  void add_objective() {
    std::string terms;
    std::size_t count = 0;
    const auto add = [&](std::int64_t literal, std::int64_t weight) {
      if (weight == 0) return;
      terms += fmt::format(" {} {}", literal, weight);
      ++count;
    };
    for (std::uint32_t id = 0; id < problem_.class_count; ++id) {
      if (nodes_of_[id].empty()) continue;
      std::int64_t least = costs_.of_node[nodes_of_[id][0]];
      for (const std::uint32_t number : nodes_of_[id])
        least = std::min(least, costs_.of_node[number]);
      add(needed(id), least);
      for (const std::uint32_t number : nodes_of_[id])
        add(chosen(number), costs_.of_node[number] - least);
    }
    text_ += fmt::format("2 0 {}{}\n", count, terms);
  }

  const Problem& problem_;
  const SmallCosts& costs_;
  std::vector<std::vector<std::uint32_t>> nodes_of_;
  std::vector<std::uint32_t> component_;
  std::string text_;
};

struct Answers {
  std::vector<std::uint32_t> last;  // nodes of the last answer
  bool optimum_found = false, unsatisfiable = false;
  std::optional<std::int64_t> lower_bound;
};

Answers read_answers(const std::string& output) {
  Answers answers;
  std::stringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("OPTIMUM FOUND")) answers.optimum_found = true;
    if (line.starts_with("UNSATISFIABLE")) answers.unsatisfiable = true;
    const auto progression = line.find("Progression : [");
    if (progression != std::string::npos) {
      std::string_view rest = line;
      rest.remove_prefix(progression + 15);
      const std::int64_t bound = take_number<std::int64_t>(rest).value_or(0);
      answers.lower_bound = std::max(answers.lower_bound.value_or(bound), bound);
    }
    // The line after "Answer: NUMBER" names the nodes.
    if (!line.starts_with("Answer:")) continue;
    std::string names;
    std::getline(lines, names);
    answers.last.clear();
    std::stringstream words(names);
    for (std::string word; words >> word;)
      if (const auto node = word.starts_with('n')
                                ? number_of<std::uint32_t>(std::string_view(word).substr(1))
                                : std::nullopt)
        answers.last.push_back(*node);
  }
  return answers;
}

}  // namespace

bool answer_sets_available() { return !find_program("clasp").empty(); }

Outcome solve_by_answer_sets(const Problem& problem, Cost upper_bound, const Limit& limit) {
  Outcome outcome;
  const std::string program = find_program("clasp");
  const SmallCosts costs = rounded_costs(problem, 30);
  const TemporaryDirectory directory;
  if (program.empty() || !directory.good()) return outcome;
  {
    std::ofstream file(directory.path() / "input");
    file << Encoding(problem, costs).text();
  }
  // Better than the bound by 1 at least.
  const auto most = static_cast<std::int64_t>(divide_down(upper_bound - 1, costs.unit));
  // clasp ends by itself even if this process is gone.
  const long seconds = std::clamp(static_cast<long>(limit.seconds_left()) + 2, 1L, 1000000L);
  const auto run = run_program(
      {{program, "input", "--opt-strategy=usc,oll,stratify", fmt::format("--opt-mode=opt,{}", most),
        "--configuration=trendy", "-V3", "--outf=0", fmt::format("--time-limit={}", seconds)},
       directory.path()},
      [&limit] { return limit.reached(); });
  if (!run) return outcome;
  const Answers answers = read_answers(run->output);
  std::optional<Selection> last;
  if (!answers.last.empty()) {
    std::vector<std::uint32_t> choice(problem.class_count, none);
    for (const std::uint32_t number : answers.last)
      if (number < problem.nodes.size()) choice[problem.nodes[number].owner] = number;
    last = finished_selection(problem, choice);
  }
  if (answers.unsatisfiable) {
    outcome.proved = true;
    outcome.lower_bound = upper_bound;
  } else if (answers.optimum_found && last) {
    Cost bound = 0;
    for (const std::uint32_t number : last->node_of)
      if (number != none) bound += costs.of_node[number] * costs.unit;
    outcome.lower_bound = std::min(upper_bound, bound);
    outcome.proved = last->cost == bound && bound < upper_bound;
  } else if (answers.lower_bound) {
    outcome.lower_bound = std::min(upper_bound, *answers.lower_bound * costs.unit);
  }
  if (last && last->cost < upper_bound) outcome.best = std::move(last);
  return outcome;
}

}  // namespace lemma::exact
