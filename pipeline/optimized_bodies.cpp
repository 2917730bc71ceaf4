#include "pipeline/optimized_bodies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quoted.h"
#include "check/replayed_rules.h"
#include "frontend_onnx/bodies.h"
#include "ir/check.h"
#include "pipeline/chosen_rules.h"
#include "pipeline/explained_constants.h"
#include "pipeline/file_growth.h"
#include "pipeline/observed_outputs.h"
#include "pipeline/taken_branches.h"

namespace lemma {

namespace {

constexpr int deepest_body = 50;  // of bodies in bodies

class BodyOptimizer {
 public:
  BodyOptimizer(const std::filesystem::path& folder, const RuleDatabase& rules,
                const OperatorCosts& costs, const OptimizeOptions& options,
                const Deadline& deadline)
      : folder_(folder),
        rules_(rules),
        named_(rules),
        costs_(costs),
        options_(options),
        deadline_(deadline) {
    folding_ = options.search.fold;
    folding_.threads = options.threads;
    folding_.deadline = deadline.at();
  }

  /// Nothing if no body is better. `ordinary`: what the model is given is defined and finite.
  /// `observed`: outputs of the model that something around it may look at for NaN.
  std::optional<OnnxModel> run(const OnnxModel& model, const ImportOptions& reading, bool ordinary,
                               const std::vector<char>& observed, const std::string& around,
                               BodyExplanations& explanations) const {
    if (deadline_.passed() || !has_bodies(model)) return std::nullopt;
    std::map<std::string, BodyExplanations> tried;  // by place
    const BodyRewriting rewriting = {
        [&](Body body) {
          body.place = around + body.place;
          BodyExplanations& its = tried[body.place];
          return improved(std::move(body), ordinary, its);
        },
        is_judged_by_time(),
        [&](const std::string& place) { explanations += tried[around + place]; }, observed};
    auto result = with_rewritten_bodies(model, folder_, reading, rewriting);
    return result ? std::move(*result) : std::nullopt;
  }

 private:
  std::optional<BetterBody> improved(Body body, bool ordinary,
                                     BodyExplanations& explanations) const {
    if (deadline_.passed() || options_.has_been_cancelled()) return std::nullopt;
    ordinary = ordinary && body.inputs_are_ordinary;
    if (options_.on_stage) options_.on_stage("optimizing " + body.place);
    OnnxModel model = with_taken_branches(std::move(body.model), folder_, {}, folding_);
    if (const std::string inside = body.place + "; "; body_depth(inside) < deepest_body)
      if (auto nested = run(model, {}, ordinary, body.observed, inside, explanations))
        model = std::move(*nested);
    const RoundingClass worst = ordinary ? options_.rules.rounding_class : RoundingClass::bitwise;
    // Reports do not name the rules that bodies use.
    const RuleDatabase wanted =
        chosen_rules(rules_, options_, worst).selected([this](const Substitution& rule) {
          return !rules_.unproved().contains(rule.name);
        });
    auto search_result = searched(model.graph, body.observed, wanted, worst);
    if (!search_result || !search_result->improved || !holds(model.graph, *search_result, worst))
      return BetterBody{std::move(model), false, options_.cleans};
    if (!options_.explanation.empty())
      explanations += fmt::format("body {}\n{}", quote(body.place),
                                  with_constants(search_result->explanation, model.graph, named_));
    const bool cheaper =
        !options_.cleans && search_result->after.seconds < search_result->before.seconds;
    return BetterBody{{std::move(search_result->graph), model.envelope}, cheaper, options_.cleans};
  }

  /// Outputs that are observed stay what they are.
  Result<SearchResult> searched(const Graph& body, const std::vector<char>& observed,
                                const RuleDatabase& wanted, RoundingClass worst) const {
    LEMMA_ASSIGN_OR_RETURN(const Graph whole, with_observer(body, observed));
    LEMMA_ASSIGN_OR_RETURN(SearchResult search_result,
                           optimize(whole, wanted, costs_, search_options(worst)));
    LEMMA_ASSIGN_OR_RETURN(search_result.graph,
                           without_observer(search_result.graph, body.outputs().size()));
    return search_result;
  }

  static int body_depth(const std::string& place) {
    return static_cast<int>(std::count(place.begin(), place.end(), ';'));
  }

  /// Whether what no cost tells decides by how fast it is run: where weights stand.
  bool is_judged_by_time() const {
    return options_.onnx_runtime && options_.own_target() == nullptr && !options_.cleans &&
           (options_.timing.measures || options_.timing.replay);
  }

  SearchOptions search_options(RoundingClass worst) const {
    SearchOptions options = options_.search;
    options.cancelled = options_.cancelled;
    options.fold = folding_;
    options.left_out = left_out_with(options_, worst);
    options.explain = true;
    options.cleans = options_.cleans;
    if (options_.cleans) limit_growth(options, 0);
    options.time_limit_seconds = 0.3 * deadline_.remaining();
    return options;
  }

  /// Whether the result holds: what is asked of a model before it is written (docs/search.md, "How
  /// a result is checked").
  bool holds(const Graph& original, const SearchResult& search_result, RoundingClass worst) const {
    if (!check(search_result.graph, Stage::imported)) return false;
    if (!checker::check_explanation(search_result.explanation, named_.table, named_.bitwise,
                                    {{}, true}))
      return false;
    SampledCheckOptions options = options_.check;
    options.threads = options_.threads;
    options.deadline = deadline_.at();
    options.cancelled = options_.cancelled;
    options.bitwise = worst == RoundingClass::bitwise;
    const auto compared = compare_on_random_inputs(original, search_result.graph, options);
    return compared && compared->passed;
  }

  const std::filesystem::path& folder_;
  const RuleDatabase& rules_;
  ReplayedRules named_;
  const OperatorCosts& costs_;
  const OptimizeOptions& options_;
  Deadline deadline_;
  FoldOptions folding_;
};

}  // namespace

OnnxModel with_optimized_bodies(OnnxModel model, const std::filesystem::path& folder,
                                const RuleDatabase& rules, const OperatorCosts& costs,
                                const OptimizeOptions& options, const Deadline& deadline,
                                BodyExplanations& explanations) {
  if (!has_bodies(model)) return model;
  auto result = BodyOptimizer(folder, rules, costs, options, deadline)
                    .run(model, options.reading, true, {}, "", explanations);
  return result ? std::move(*result) : std::move(model);
}

}  // namespace lemma
