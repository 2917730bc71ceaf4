#include "backend/fuse/stitch.h"

#include <algorithm>
#include <map>

#include "backend/fuse/group_graph.h"
#include "backend/fuse/pattern.h"

namespace lemma::backend {

namespace {

std::vector<std::size_t> merged(const std::vector<std::size_t>& a,
                                const std::vector<std::size_t>& b) {
  std::vector<std::size_t> result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

/// The patterns that begin with each computation, the best first.
class Exploration {
 public:
  Exploration(const DeltaEvaluator& evaluator, std::size_t kept)
      : evaluator_(evaluator),
        kept_(kept),
        separate_(evaluator),
        best_(evaluator.readers().size()) {}

  std::vector<std::vector<Pattern>> run() {
    for (std::size_t i = best_.size(); i-- > 0;) explore(i);
    return std::move(best_);
  }

 private:
  /// Explores the patterns of a computation: with patterns of one reader, then of one more at a time (the
  /// approximation of section 5.2 in pairs).
  void explore(std::size_t computation) {
    std::vector<Pattern> patterns;
    std::vector<Pattern> partial = {evaluator_.alone(computation)};
    for (const std::size_t reader : evaluator_.readers()[computation]) {
      std::vector<Pattern> extended = partial;
      for (const Pattern& pattern : partial) {
        add(extended, merged(pattern.group.members, {reader}));
        for (const Pattern& after : best_[reader])
          add(extended, merged(pattern.group.members, after.group.members));
      }
      keep_best(extended);
      partial = std::move(extended);
    }
    for (Pattern& pattern : partial)
      if (pattern.group.members.size() > 1) patterns.push_back(std::move(pattern));
    if (auto attention = evaluator_.pattern_of_attention(computation);
        attention && attention->gain > 0 && separate_.can_join(attention->group.members))
      patterns.push_back(std::move(*attention));
    if (auto tiles = evaluator_.pattern_of_tiles(computation);
        tiles && tiles->gain > 0 && separate_.can_join(tiles->group.members))
      patterns.push_back(std::move(*tiles));
    best_[computation] = std::move(patterns);
  }

  void add(std::vector<Pattern>& to, std::vector<std::size_t> members) {
    if (std::any_of(to.begin(), to.end(), [&members](const Pattern& pattern) {
          return pattern.group.members == members;
        }))
      return;
    auto made = evaluator_.pattern(std::move(members));
    if (made && made->gain > 0 && separate_.can_join(made->group.members))
      to.push_back(std::move(*made));
  }

  /// The computation alone stays: others are made of it.
  void keep_best(std::vector<Pattern>& patterns) const {
    std::stable_sort(patterns.begin() + 1, patterns.end(),
                     [](const Pattern& a, const Pattern& b) { return a.gain > b.gain; });
    if (patterns.size() > kept_ + 1) patterns.resize(kept_ + 1, patterns.front());
  }

  const DeltaEvaluator& evaluator_;
  std::size_t kept_;
  GroupGraph separate_;  // of single computations
  std::vector<std::vector<Pattern>> best_;
};

/// Groupings of all computations from patterns without common members.
class Beam {
 public:
  Beam(const DeltaEvaluator& evaluator, const std::vector<std::vector<Pattern>>& patterns,
       std::size_t width)
      : patterns_(patterns), width_(width), states_{GroupGraph(evaluator)} {}

  std::vector<GroupGraph> run() {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (!patterns_[i].empty()) extend(i);
    return std::move(states_);
  }

 private:
  struct Step {
    double gain = 0;
    std::size_t state = 0;
    const Pattern* pattern = nullptr;  // or nothing is added
  };

  void extend(std::size_t computation) {
    std::vector<Step> steps;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      steps.push_back({states_[state].gain(), state, nullptr});
      for (const Pattern& pattern : patterns_[computation])
        if (is_free(states_[state], pattern) && states_[state].can_join(pattern.group.members))
          steps.push_back({states_[state].gain() + pattern.gain, state, &pattern});
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.gain > b.gain; });
    if (steps.size() > width_) steps.resize(width_);
    std::vector<std::size_t> last_use(states_.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) last_use[steps[i].state] = i;
    std::vector<GroupGraph> next;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      GroupGraph& state = states_[step.state];
      next.push_back(last_use[step.state] == i ? std::move(state) : state);
      if (step.pattern != nullptr) next.back().join(*step.pattern);
    }
    states_ = std::move(next);
  }

  static bool is_free(const GroupGraph& state, const Pattern& pattern) {
    return std::all_of(pattern.group.members.begin(), pattern.group.members.end(),
                       [&state](std::size_t member) {
                         return state.group(state.group_of(member)).group.members.size() == 1;
                       });
  }

  const std::vector<std::vector<Pattern>>& patterns_;
  std::size_t width_;
  std::vector<GroupGraph> states_;
};

/// Joins two groups if that pays.
bool try_join(GroupGraph& graph, const DeltaEvaluator& evaluator, std::size_t a, std::size_t b) {
  const Pattern &first = graph.group(a), &second = graph.group(b);
  auto joined = evaluator.pattern(merged(first.group.members, second.group.members));
  if (!joined || joined->gain <= first.gain + second.gain || !graph.can_join(joined->group.members))
    return false;
  graph.join(std::move(*joined));
  return true;
}

/// Groups that hand results to each other, in order, until none is joined any more.
void join_neighbours(GroupGraph& graph, const DeltaEvaluator& evaluator) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t number = 0; number < graph.count(); ++number) {
      bool joined = graph.is_group(number);
      while (joined) {
        joined = false;
        if (!graph.is_group(number)) break;
        for (const std::size_t other : graph.neighbours(number))
          if (try_join(graph, evaluator, number, other)) {
            joined = changed = true;
            break;
          }
      }
    }
  }
}

/// Independent groups of small computations: those as far from the inputs, in order (remote fusion, section 5.4).
void join_independent(GroupGraph& graph, const DeltaEvaluator& evaluator) {
  const std::size_t count = evaluator.readers().size();
  std::map<std::size_t, std::vector<std::size_t>> levels;
  for (std::size_t i = 0; i < count; ++i)
    if (evaluator.is_small(i)) levels[evaluator.depths()[i]].push_back(i);
  constexpr std::size_t most_tries = 4;  // groups further on in the level
  for (const auto& [level, members] : levels)
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::size_t tries = 0;
      for (std::size_t j = i + 1; j < members.size() && tries < most_tries; ++j) {
        const std::size_t a = graph.group_of(members[i]), b = graph.group_of(members[j]);
        if (a != b && !try_join(graph, evaluator, a, b)) ++tries;
      }
    }
}

bool same_groups(const std::vector<Group>& a, const std::vector<Group>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Group& x, const Group& y) {
    return x.members == y.members && x.points == y.points && x.stitching == y.stitching;
  });
}

/// Plans of patterns that the evaluator has, in the order of the beam.
std::vector<StitchPlan> plans_of(const DeltaEvaluator& evaluator, const StitchOptions& options) {
  std::vector<StitchPlan> plans;
  const auto patterns = Exploration(evaluator, options.patterns_per_vertex).run();
  for (GroupGraph& state : Beam(evaluator, patterns, options.beam_width).run()) {
    join_neighbours(state, evaluator);
    if (evaluator.packs()) join_independent(state, evaluator);
    plans.push_back({state.ordered(), state.seconds()});
  }
  return plans;
}

}  // namespace

Result<std::vector<StitchPlan>> stitch_plans(const ComputationGraph& graph,
                                             const VirtualDevice& device,
                                             const StitchOptions& options) {
  std::vector<StitchPlan> plans;
  LEMMA_ASSIGN_OR_RETURN(const DeltaEvaluator evaluator,
                         DeltaEvaluator::make(graph, device, options));
  if (options.packing || options.warp || options.block) {
    plans = plans_of(evaluator, options);
    // The evaluator takes the waits of operators that run beside each other for gained. Their schedules tell which is better.
    if (evaluator.has_times() && options.packing)
      for (StitchPlan& plan : plans_of(evaluator.without_packing(), options))
        plans.push_back(std::move(plan));
    std::stable_sort(plans.begin(), plans.end(), [](const StitchPlan& a, const StitchPlan& b) {
      return a.seconds < b.seconds;
    });
  }
  const GroupGraph separate(evaluator);
  plans.push_back({separate.ordered(), separate.seconds()});
  // Joins may have made beams of different beginnings the same.
  std::vector<StitchPlan> different;
  for (auto plan = plans.begin(); plan != plans.end(); ++plan)
    if (std::none_of(std::next(plan), plans.end(), [&plan](const StitchPlan& later) {
          return same_groups(plan->groups, later.groups);
        }))
      different.push_back(std::move(*plan));
  return different;
}

}  // namespace lemma::backend
