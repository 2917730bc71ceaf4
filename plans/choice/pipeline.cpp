#include "plans/choice/pipeline.h"

#include <algorithm>
#include <limits>

namespace lemma::choice {

namespace {

/// The layers from `begin` until before `end`, as a stage.
struct Stage {
  double seconds = 0;
  Bytes weight_bytes = 0, kept_bytes = 0;
};

class Chain {
 public:
  explicit Chain(const PipelineProblem& problem) : problem_(problem), until_(1) {
    for (const Layer& layer : problem.layers) {
      Stage next = until_.back();
      next.seconds += layer.seconds;
      next.weight_bytes += layer.weight_bytes;
      next.kept_bytes += layer.kept_bytes;
      until_.push_back(next);
    }
  }

  Stage stage(std::size_t begin, std::size_t end) const {
    const bool is_last = end == problem_.layers.size();
    return {until_[end].seconds - until_[begin].seconds +
                (is_last ? 0 : problem_.layers[end - 1].send_seconds),
            until_[end].weight_bytes - until_[begin].weight_bytes,
            until_[end].kept_bytes - until_[begin].kept_bytes};
  }

  /// `stages_to_end` counts the stage itself.
  Bytes bytes(const Stage& stage, std::size_t stages_to_end) const {
    const std::size_t kept = problem_.schedule == Schedule::all_forward_first
                                 ? problem_.microbatches
                                 : std::min(problem_.microbatches, stages_to_end);
    return stage.weight_bytes + stage.kept_bytes * kept;
  }

 private:
  const PipelineProblem& problem_;
  std::vector<Stage> until_;  // sums over the layers before
};

/// Stages of the layers from some layer to the end.
struct Ending {
  double sum = 0, slowest = 0;
  std::size_t next_layer = 0;   // that the next stage begins with
  std::size_t next_ending = 0;  // of that layer with a stage less
};

/// Without those that another is at least as good as in both; the smallest sum is first.
std::vector<Ending> least(std::vector<Ending> endings) {
  std::stable_sort(endings.begin(), endings.end(), [](const Ending& a, const Ending& b) {
    return a.sum != b.sum ? a.sum < b.sum : a.slowest < b.slowest;
  });
  std::vector<Ending> result;
  for (const Ending& ending : endings)
    if (result.empty() || ending.slowest < result.back().slowest) result.push_back(ending);
  return result;
}

}  // namespace

double pipeline_seconds(const PipelineProblem& problem, const Cut& cut) {
  const Chain chain(problem);
  double sum = 0, slowest = 0;
  for (std::size_t number = 0; number < cut.size(); ++number) {
    const std::size_t end = number + 1 < cut.size() ? cut[number + 1] : problem.layers.size();
    const Stage stage = chain.stage(cut[number], end);
    sum += stage.seconds;
    slowest = std::max(slowest, stage.seconds);
  }
  return sum + static_cast<double>(problem.microbatches - 1) * slowest;
}

Bytes pipeline_peak(const PipelineProblem& problem, const Cut& cut) {
  const Chain chain(problem);
  Bytes most = 0;
  for (std::size_t number = 0; number < cut.size(); ++number) {
    const std::size_t end = number + 1 < cut.size() ? cut[number + 1] : problem.layers.size();
    most = std::max(most, chain.bytes(chain.stage(cut[number], end), cut.size() - number));
  }
  return most;
}

double bubble_fraction(std::size_t stages, std::size_t microbatches) {
  return static_cast<double>(stages - 1) / static_cast<double>(microbatches + stages - 1);
}

PipelineOutcome best_pipeline(const PipelineProblem& problem) {
  const Chain chain(problem);
  const std::size_t count = problem.layers.size();
  PipelineOutcome best;
  best.seconds = std::numeric_limits<double>::infinity();
  // endings[stages][layer]: from the layer to the end in so many stages.
  std::vector<std::vector<std::vector<Ending>>> endings(
      1, std::vector<std::vector<Ending>>(count + 1));
  endings[0][count] = {Ending{}};
  for (std::size_t stages = 1; stages <= std::min(problem.most_stages, count); ++stages) {
    endings.emplace_back(count + 1);
    for (std::size_t layer = 0; layer < count; ++layer) {
      std::vector<Ending> all;
      for (std::size_t end = layer + 1; end <= count; ++end) {
        const std::vector<Ending>& after = endings[stages - 1][end];
        if (after.empty()) continue;
        const Stage stage = chain.stage(layer, end);
        if (problem.limit && chain.bytes(stage, stages) > *problem.limit) continue;
        for (std::size_t at = 0; at < after.size(); ++at)
          all.push_back(
              {stage.seconds + after[at].sum, std::max(stage.seconds, after[at].slowest), end, at});
      }
      endings[stages][layer] = least(std::move(all));
    }
    for (std::size_t at = 0; at < endings[stages][0].size(); ++at) {
      const Ending& ending = endings[stages][0][at];
      const double seconds =
          ending.sum + static_cast<double>(problem.microbatches - 1) * ending.slowest;
      if (!(seconds < best.seconds)) continue;
      best = {{}, seconds, 0};
      std::size_t layer = 0, place = at;
      for (std::size_t left = stages; left > 0; --left) {
        best.cut.push_back(layer);
        const Ending& taken = endings[left][layer][place];
        layer = taken.next_layer, place = taken.next_ending;
      }
    }
  }
  if (!best.cut.empty()) best.peak = pipeline_peak(problem, best.cut);
  return best;
}

}  // namespace lemma::choice
