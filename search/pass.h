#pragma once
// What the passes of a search take and give (search/schedule.h says which there are).

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "search/candidate.h"
#include "search/layout_choice.h"
#include "search/optimize.h"
#include "search/rule_sets.h"

namespace lemma {

/// Operators of a graph below which little is searched: all that there is to find is found soon.
inline constexpr std::size_t few_operators = 10;

/// How far the e-graphs of the whole graph came.
enum class WholeEGraph {
  none,      // there was none
  cut_off,   // the last one met a limit, or others were tried because one had
  complete,  // the last one met no limit but that of iterations
};

/// What says whether the best is used in place of the original.
enum class Preference {
  by_cost,   // the sum over operators
  original,  // the evaluator: nothing is better
  best,      // the evaluator, or the moves between layouts: the best is
};

/// What a pass is given and what it gives: graphs that refine the original, and how they were found.
struct Candidates {
  Candidate start;       // the original without what changes nothing
  Candidate best;        // the cheapest as a sum, until one is chosen
  CandidateList others;  // for the evaluator
  LaidOutCandidate laid_out;
  WholeEGraph whole = WholeEGraph::none;
  Preference preference = Preference::by_cost;
  SearchFigures figures;
};

/// Says what is being done, and since when.
class SearchProgress {
 public:
  explicit SearchProgress(const SearchOptions& options) : options_(options) {}

  /// Since the search began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  void begin(std::string step) {
    step_ = std::move(step);
    if (options_.on_stage) options_.on_stage(step_);
  }
  void show(const Graph& graph) const {
    if (options_.on_graph) options_.on_graph(step_, graph);
  }

 private:
  const SearchOptions& options_;
  std::string step_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// What all passes read.
struct SearchContext {
  const Graph& graph;  // the original
  const OperatorCosts& costs;
  const SearchOptions& options;
  const RuleSets& rules;
  SearchProgress& progress;
  Deadline deadline;      // of the pass that is run
  std::size_t operators;  // of the original
  double memory_share =
      1;  // limits are lowered that turned out to be too much for the memory there is

  bool has_time() const { return !deadline.passed() && !options.is_cancelled(); }
  std::function<bool()> interrupted() const {
    return [end = deadline, &given = options] { return end.passed() || given.is_cancelled(); };
  }
  std::size_t scaled(std::size_t limit) const;
  Candidate original(const Candidates& all) const {
    return {graph, all.figures.before, {}, {}, {}};
  }
  /// What a graph costs with moves between layouts.
  LayoutPrice layout_price() const;
  /// The time that one step of finding the best layout may take.
  double layout_seconds() const { return 0.1 * deadline.remaining(); }
};

/// A graph that a pass made of a candidate, and why.
struct Successor {
  Graph graph;
  std::optional<Derivation> derivation;
  std::map<std::string, std::size_t> rules_used;
  std::vector<Graph> stages;
};

/// Remembers that a graph of the cost was there, if it is cheaper than all before it.
void note_cheaper_graph(SearchFigures& figures, CheaperGraph graph);

/// Makes the graph the candidate; false, and nothing is changed, if it is no cheaper as a whole.
Result<bool> replace(const SearchContext& context, Candidates& all, Candidate& candidate,
                     Successor successor);

}  // namespace lemma
