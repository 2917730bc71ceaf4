#pragma once
// Which of the graphs that a search found is the best with the moves between layouts that a runtime makes for it.

#include <optional>
#include <vector>

#include "search/blocked_layout.h"
#include "search/candidate.h"

namespace lemma {

/// A candidate that costs least with moves between layouts, and what others cost with them. Where there is no time to
/// find that out, none is preferred. `seconds`, of each function: that one graph may take.
class LayoutChoice {
 public:
  LayoutChoice(const RuleSet& layouts, const OperatorCosts& costs)
      : layouts_(layouts), costs_(costs) {}

  /// No rule about layouts has a place in the graph.
  bool is_needless() const { return layouts_.compiled.empty(); }
  const RuleSet& layouts() const { return layouts_; }
  void forget() {
    found_.reset();
    bound_.reset();
  }

  /// Whether a round has found a graph that costs less than all before it, and less than the original.
  Result<bool> improves(const Round& round, const Graph& original, double seconds);
  /// What the round found.
  void keep(Candidate candidate, double seconds_laid_out);
  /// Adds it to the candidates if it costs less than each of them.
  Result<void> join(std::vector<Candidate>& candidates, double seconds);

  /// Of the original, the best by the sum over operators, and what was kept. True: the last one.
  Result<bool> choose(const Candidate& original, Candidate& best, double seconds);

 private:
  Result<std::optional<double>> price(const Graph& graph, double seconds) const {
    return seconds_laid_out(graph, layouts_, costs_, seconds);
  }

  const RuleSet& layouts_;
  const OperatorCosts& costs_;
  std::optional<Candidate> found_;
  std::optional<double> bound_;  // what the next one has to cost less than
};

}  // namespace lemma
