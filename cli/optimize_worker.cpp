#include <malloc.h>
#include <sys/prctl.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "cli/atomic_file.h"
#include "cli/memory_guard.h"
#include "cli/optimize_command.h"
#include "cli/optimize_request.h"
#include "cli/shape_option.h"
#include "costmodel/roofline.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "ir/rule_database.h"
#include "search/deadline.h"
#include "search/optimize.h"
#include "search/sampled_check.h"

namespace lemma {

namespace {

void say_stage(const std::string& what) { std::cout << "stage " << what << "\n" << std::flush; }

Figures figures_of(const GraphCost& cost) {
  return {cost.operators, cost.parameters, cost.flops, cost.bytes, cost.seconds};
}

std::int64_t count_opaque(const Graph& graph) {
  std::int64_t count = 0;
  for (const NodeId id : graph.live_nodes())
    count += graph.node(id).kind == NodeKind::opaque ? 1 : 0;
  return count;
}

/// How long writing the model may take: its weights at the speed of a slow disk.
double writing_seconds(const Graph& graph) {
  double bytes = 0;
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::constant)
      bytes += static_cast<double>(graph.constant(node).bytes().size());
  return 0.05 + bytes / 400e6;
}

/// From a graph to a cheaper one that has been compared with it, within the limits. The time is
/// divided thus: the original is computed for the check first, which tells how long the check of the
/// result will take; that and the time for writing are kept back, and the rest is for the search.
class Improvement {
 public:
  Improvement(const OptimizeRequest& request, const Graph& original, const Deadline& deadline,
              const MemoryGuard* memory, OptimizeAnswer& answer)
      : request_(request),
        original_(original),
        writing_seconds_(writing_seconds(original)),
        check_deadline_(deadline.earlier_by(writing_seconds_)),
        memory_(memory),
        answer_(answer) {}

  /// The graph to write. A candidate that cannot be checked is not used.
  Result<Graph> run() {
    LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request_.device_file));
    const RooflineModel model(std::move(device), {});
    answer_.before = answer_.after = figures_of(cost_of(original_, model));
    answer_.status = "unchanged";
    answer_.strategy = request_.strategy;
    if (request_.strategy == "none") return original_;
    try {
      return search_and_check(model);
    } catch (const std::bad_alloc&) {
      return kept("the limit on memory leaves no room for the check");
    }
  }

  std::string& explanation() { return explanation_; }

 private:
  Graph kept(const std::string& why) {
    answer_.status = "unchanged";
    answer_.message = "kept as it was: " + why;
    answer_.after = answer_.before;
    explanation_.clear();
    return original_;
  }

  SampledCheckOptions check_options(const Deadline& deadline) const {
    return {request_.check.samples,
            request_.check.relative_tolerance,
            request_.check.absolute_tolerance,
            request_.check.seed,
            request_.threads,
            deadline.at()};
  }

  Result<Graph> search_and_check(const RooflineModel& model) {
    LEMMA_ASSIGN_OR_RETURN(const RuleDatabase rules, load_rules(request_.rules_directory));
    const auto worst = rounding_class_named(request_.rounding_class);
    if (!worst)
      return bad_input(fmt::format("no class of rounding is '{}'", request_.rounding_class));
    say_stage("computing the original");
    const double before = check_deadline_.remaining();
    // The result has to be computed too, which should not take longer.
    const Deadline first_deadline = check_deadline_.within(0.45 * before);
    const auto reference = SampledReference::compute(original_, check_options(first_deadline));
    if (!reference)
      return kept(first_deadline.passed()
                      ? "the time limit leaves no room for the check"
                      : "the check is impossible: " + reference.error().message);
    check_seconds_ = 1.3 * (before - check_deadline_.remaining());
    LEMMA_ASSIGN_OR_RETURN(SearchOptions options, search_options());
    LEMMA_ASSIGN_OR_RETURN(SearchResult found,
                           optimize(original_, wanted_rules(rules.up_to(*worst)), model, options));
    take_figures(found);
    explanation_ = std::move(found.explanation);
    if (!found.improved) return std::move(found.graph);
    malloc_trim(0);  // what the search has used is for the check
    LEMMA_ASSIGN_OR_RETURN(const bool good, check(*reference, found));
    return good ? std::move(found.graph) : original_;
  }

  std::vector<Substitution> wanted_rules(std::vector<Substitution> rules) const {
    if (request_.only_rules.empty()) return rules;
    const std::regex wanted(request_.only_rules);
    std::erase_if(rules, [&wanted](const Substitution& rule) {
      return !std::regex_search(rule.name, wanted);
    });
    return rules;
  }

  Result<SearchOptions> search_options() const {
    SearchOptions options;
    const auto strategy = strategy_named(request_.strategy);
    if (!strategy) return bad_input(fmt::format("no strategy is '{}'", request_.strategy));
    options.strategy = *strategy;
    if (request_.node_limit > 0) options.node_limit = static_cast<std::size_t>(request_.node_limit);
    if (request_.iterations > 0) options.iterations = static_cast<std::size_t>(request_.iterations);
    options.alpha = request_.alpha;
    options.budget = static_cast<std::size_t>(request_.budget);
    options.exact_extraction_seconds = request_.exact_extraction_seconds;
    options.fold.threads = request_.threads;
    options.on_stage = say_stage;
    options.explain = !request_.explanation.empty();
    const Deadline end = check_deadline_.earlier_by(check_seconds_);
    options.fold.deadline = end.at();
    // Folding reads weights and writes others; an explanation takes a part of what the search does.
    options.time_limit_seconds = end.earlier_by(writing_seconds_ / 2).remaining();
    if (options.explain) options.time_limit_seconds *= 0.8;
    // Figures of e-graphs leave out what the process needs beside them.
    if (memory_ != nullptr) options.memory_limit_bytes = memory_->available_bytes() / 10 * 6;
    return options;
  }

  void take_figures(const SearchResult& found) {
    answer_.after = figures_of(found.after);
    answer_.strategy = name(found.strategy);
    answer_.stop_reason = found.stop_reason;
    answer_.egraph_nodes = static_cast<std::int64_t>(found.egraph_nodes);
    answer_.rules_considered = static_cast<std::int64_t>(found.rules_considered);
    answer_.rounds = static_cast<std::int64_t>(found.rounds);
    answer_.passes = static_cast<std::int64_t>(found.passes);
    answer_.parts = static_cast<std::int64_t>(found.parts);
    answer_.graphs = static_cast<std::int64_t>(found.graphs);
    answer_.search_seconds = found.seconds;
    for (const UsedRule& rule : found.rules_used)
      answer_.rules_used.push_back({rule.name, static_cast<std::int64_t>(rule.count)});
    if (!found.extraction) return;
    answer_.extraction_bounded = true;
    answer_.extraction_cost = found.extraction->cost;
    answer_.extraction_lower_bound = found.extraction->lower_bound;
    answer_.extraction_optimal = found.extraction->optimal;
  }

  /// Whether the graph found may be used.
  Result<bool> check(const SampledReference& reference, const SearchResult& found) {
    say_stage("comparing with the original");
    auto well_formed = lemma::check(found.graph, Stage::imported);
    if (!well_formed) return fail(ErrorKind::internal, well_formed.error().message);
    auto checked = reference.compare(found.graph, check_options(check_deadline_));
    if (!checked) {
      kept(check_deadline_.passed()
               ? "the time limit leaves no room for the check"
               : "the check of the result is impossible: " + checked.error().message);
      answer_.rules_used.clear();
      return false;
    }
    answer_.samples_compared = checked->samples;
    answer_.max_error = checked->max_error;
    answer_.smallest_passing_scale = checked->smallest_passing_scale;
    answer_.status = checked->passed ? "optimized" : "mismatch";
    if (!checked->passed)
      answer_.message = "the optimized model differs from its original: " + checked->difference;
    return checked->passed;
  }

  const OptimizeRequest& request_;
  const Graph& original_;
  double writing_seconds_;
  Deadline check_deadline_;
  const MemoryGuard* memory_;
  OptimizeAnswer& answer_;
  double check_seconds_ = 0;
  std::string explanation_;
};

Result<void> work(const OptimizeRequest& request, OptimizeAnswer& answer) {
  const Deadline deadline = Deadline::after(request.time_limit_seconds);
  std::optional<MemoryGuard> memory;
  if (request.memory_bytes > 0) memory.emplace(static_cast<std::size_t>(request.memory_bytes));
  say_stage("reading");
  ImportOptions import_options;
  LEMMA_ASSIGN_OR_RETURN(import_options.shapes, parse_shape_options(request.shapes));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(request.model, import_options));
  answer.opaque_operators = count_opaque(model.graph);
  Improvement improvement(request, model.graph, deadline, memory ? &*memory : nullptr, answer);
  LEMMA_ASSIGN_OR_RETURN(Graph improved, improvement.run());
  if (answer.status == "mismatch") return {};
  say_stage("writing");
  // A folder that cannot be made shows when the file is written, with the reason.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(request.output).parent_path(), ignored);
  model.graph = std::move(improved);
  ExportOptions export_options;
  if (request.external_data) export_options.external_data = ExternalData::always;
  LEMMA_RETURN_IF_ERROR(export_model(model, request.output, export_options));
  if (request.explanation.empty()) return {};
  if (!improvement.explanation().empty())
    return write_file_atomically(request.explanation, improvement.explanation());
  // One that is there from before would speak of another model.
  std::filesystem::remove(request.explanation, ignored);
  return {};
}

ExitCode run_worker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an orphan would work for nobody
  std::string line;
  std::getline(std::cin, line);
  const auto request = parse_request(line);
  if (!request) return ExitCode::internal_fault;
  OptimizeAnswer answer;
  answer.model = request->model;
  auto done = work(*request, answer);
  if (!done) {
    answer.status = "failed";
    answer.error_kind = static_cast<int>(done.error().kind);
    answer.message = done.error().message;
  }
  std::cout << to_json(answer) << "\n" << std::flush;
  // The answer is out: tearing down large graphs and mappings would only cost time.
  std::_Exit(static_cast<int>(ExitCode::done));
}

}  // namespace

void add_optimize_worker_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("optimize-worker", "");
  command->group("");  // hidden: it speaks the protocol of optimize_request.h
  command->callback([&exit_code] { exit_code = run_worker(); });
}

}  // namespace lemma
