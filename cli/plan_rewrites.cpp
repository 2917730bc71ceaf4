#include "cli/plan_rewrites.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/printable.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "search/fold_constants.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

constexpr std::size_t most_candidates = 8;
// Graphs in which only some of the rewrites are made are judged as long as no more than these were.
constexpr std::size_t most_judged = 24, judged_at_once = 6;

/// A graph costs what its plan takes.
class PlannedCost : public GraphEvaluator {
 public:
  explicit PlannedCost(const RewriteRequest& request) : request_(request) {}

  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override {
    std::vector<Cost> costs;
    for (const Graph* graph : graphs) {
      if (request_.on_stage)
        request_.on_stage(fmt::format("planning graph {} of {}", costs.size() + 1, graphs.size()));
      LEMMA_ASSIGN_OR_RETURN(const double seconds, seconds_of(*graph));
      costs.push_back({.seconds = seconds});
    }
    if (judged_ == 0) before_ = costs.front().seconds;
    judged_ += costs.size();
    for (const Cost& cost : costs) least_ = std::min(least_, cost.seconds);
    return costs;
  }

  std::size_t affordable(const GraphCost& /*original*/) const override {
    return judged_ < most_judged ? judged_at_once : 0;
  }

  double before() const { return before_; }
  double least() const { return std::min(least_, before_); }
  std::size_t judged() const { return judged_; }

 private:
  /// Infinite where no plan fits.
  Result<double> seconds_of(const Graph& graph) const {
    LEMMA_ASSIGN_OR_RETURN(const Graph folded, fold_constants(graph, {}));
    const auto planned = plans::plan_for(folded, *request_.planner);
    if (planned) return planned->computing + planned->communicating;
    if (planned.error().kind == ErrorKind::internal) return tl::unexpected(planned.error());
    return std::numeric_limits<double>::infinity();
  }

  const RewriteRequest& request_;
  mutable double before_ = 0, least_ = std::numeric_limits<double>::infinity();
  mutable std::size_t judged_ = 0;
};

}  // namespace

std::string rewrites_text(const RewriteReport& report, const std::string& output) {
  if (report.status != OptimizeStatus::optimized)
    return fmt::format("of {} graphs, none has a plan that takes less: {} is the model{}",
                       report.judged, output,
                       report.message.empty() ? "" : " (" + report.message + ")");
  std::vector<std::string> rules;
  for (const UsedRule& rule : report.rules) rules.push_back(rule.name);
  return fmt::format(
      "{} has the plan that takes least, of {} graphs: {} beside {} of the model's own; by {}",
      output, report.judged, duration_text(report.after), duration_text(report.before),
      fmt::join(rules, ", "));
}

Result<RewriteReport> rewrite_for_plan(const RewriteRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase rules, load_rules(data_directory() / "rules"));
  const PlannedCost planned(request);
  OptimizeOptions options;
  options.reading = request.reading;
  options.time_limit_seconds = request.time_limit_seconds;
  options.search.evaluator = &planned;
  options.search.candidates = most_candidates;
  options.explanation = request.explanation;
  options.is_only_described = true;
  options.second_judge = false;
  options.keeps_original = true;
  options.on_stage = request.on_stage;
  LEMMA_ASSIGN_OR_RETURN(
      const OptimizeReport report,
      optimize_model(request.model, request.output, rules, *request.planner->costs, options));
  RewriteReport result;
  result.status = report.status;
  result.message = report.warning.empty() ? report.message : report.warning;
  result.before = planned.before();
  result.after = report.status == OptimizeStatus::optimized ? planned.least() : planned.before();
  result.judged = planned.judged();
  if (report.status == OptimizeStatus::optimized) result.rules = report.search.rules_used;
  return result;
}

}  // namespace lemma
