#include "pipeline/optimized_bodies.h"

#include <optional>
#include <utility>

#include "frontend_onnx/bodies.h"
#include "ir/check.h"
#include "pipeline/chosen_rules.h"
#include "pipeline/file_growth.h"
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
  std::optional<OnnxModel> run(const OnnxModel& model, const ImportOptions& reading, bool ordinary,
                               int depth) const {
    if (depth == deepest_body || deadline_.passed() || !has_bodies(model)) return std::nullopt;
    const BodyRewriting rewriting = {
        [&](Body body) { return improved(std::move(body), ordinary, depth); }, is_judged_by_time()};
    auto result = with_rewritten_bodies(model, folder_, reading, rewriting);
    return result ? std::move(*result) : std::nullopt;
  }

 private:
  std::optional<BetterBody> improved(Body body, bool ordinary, int depth) const {
    if (deadline_.passed()) return std::nullopt;
    ordinary = ordinary && body.inputs_are_ordinary;
    if (options_.on_stage) options_.on_stage("optimizing " + body.place);
    OnnxModel model = with_taken_branches(std::move(body.model), folder_, {}, folding_);
    if (auto nested = run(model, {}, ordinary, depth + 1)) model = std::move(*nested);
    const RoundingClass worst = ordinary ? options_.rules.rounding_class : RoundingClass::bitwise;
    const std::vector<Substitution> wanted = chosen_rules(rules_, options_, worst);
    auto found = optimize(model.graph, wanted, costs_, search_options(worst));
    if (!found || !found->improved || !holds(model.graph, *found, worst))
      return BetterBody{std::move(model), false, options_.cleans};
    const bool cheaper = !options_.cleans && found->after.seconds < found->before.seconds;
    return BetterBody{{std::move(found->graph), model.envelope}, cheaper, options_.cleans};
  }

  /// Whether what no cost tells decides by how fast it is run: where weights stand.
  bool is_judged_by_time() const {
    return options_.onnx_runtime && !options_.target && !options_.cleans &&
           (options_.timing.measures || options_.timing.replay);
  }

  SearchOptions search_options(RoundingClass worst) const {
    SearchOptions options = options_.search;
    options.fold = folding_;
    options.left_out = left_out_with(options_, worst);
    options.bitwise_rules = named_.bitwise;
    options.explain = true;
    options.cleans = options_.cleans;
    if (options_.cleans) limit_growth(options, 0);
    options.time_limit_seconds = 0.3 * deadline_.remaining();
    return options;
  }

  /// What is asked of a model before it is written (docs/search.md, "How a result is checked").
  bool holds(const Graph& original, const SearchResult& found, RoundingClass worst) const {
    if (!check(found.graph, Stage::imported)) return false;
    if (!checker::check_explanation(found.explanation, named_.table, named_.bitwise)) return false;
    SampledCheckOptions options = options_.check;
    options.threads = options_.threads;
    options.deadline = deadline_.at();
    options.bitwise = worst == RoundingClass::bitwise;
    const auto compared = compare_on_random_inputs(original, found.graph, options);
    return compared && compared->passed;
  }

  const std::filesystem::path& folder_;
  const RuleDatabase& rules_;
  RuleNamesAndTexts named_;
  const OperatorCosts& costs_;
  const OptimizeOptions& options_;
  Deadline deadline_;
  FoldOptions folding_;
};

}  // namespace

OnnxModel with_optimized_bodies(OnnxModel model, const std::filesystem::path& folder,
                                const RuleDatabase& rules, const OperatorCosts& costs,
                                const OptimizeOptions& options, const Deadline& deadline) {
  if (!has_bodies(model)) return model;
  auto result =
      BodyOptimizer(folder, rules, costs, options, deadline).run(model, options.reading, true, 0);
  return result ? std::move(*result) : std::move(model);
}

}  // namespace lemma
