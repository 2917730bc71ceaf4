#include <sys/prctl.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "cli/atomic_file.h"
#include "cli/optimize_command.h"
#include "cli/optimize_request.h"
#include "cli/shape_option.h"
#include "costmodel/roofline.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "ir/rule_database.h"
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

/// The search, and the result compared with the original. Fills in the answer; returns the graph to
/// write. A candidate that cannot be checked is not used.
Result<Graph> improve(const OptimizeRequest& request, const Graph& original, OptimizeAnswer& answer,
                      std::string& explanation) {
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request.device_file));
  const RooflineModel model(std::move(device), {});
  if (request.strategy == "none") {
    answer.before = answer.after = figures_of(cost_of(original, model));
    answer.status = "unchanged";
    return original;
  }
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase rules, load_rules(request.rules_directory));
  const auto worst = rounding_class_named(request.rounding_class);
  if (!worst) return bad_input(fmt::format("no class of rounding is '{}'", request.rounding_class));
  const std::vector<Substitution> allowed = rules.up_to(*worst);
  SearchOptions options;
  const auto strategy = strategy_named(request.strategy);
  if (!strategy) return bad_input(fmt::format("no strategy is '{}'", request.strategy));
  options.strategy = *strategy;
  options.time_limit_seconds = request.time_limit_seconds;
  if (request.node_limit > 0) options.node_limit = static_cast<std::size_t>(request.node_limit);
  if (request.iterations > 0) options.iterations = static_cast<std::size_t>(request.iterations);
  options.exact_extraction_seconds = request.exact_extraction_seconds;
  options.fold.threads = request.threads;
  options.on_stage = say_stage;
  options.explain = !request.explanation.empty();
  LEMMA_ASSIGN_OR_RETURN(SearchResult found, optimize(original, allowed, model, options));
  answer.before = figures_of(found.before);
  answer.after = figures_of(found.after);
  answer.stop_reason = found.stop_reason;
  answer.egraph_nodes = static_cast<std::int64_t>(found.egraph_nodes);
  if (found.extraction) {
    answer.extraction_bounded = true;
    answer.extraction_cost = found.extraction->cost;
    answer.extraction_lower_bound = found.extraction->lower_bound;
    answer.extraction_optimal = found.extraction->optimal;
  }
  answer.status = "unchanged";
  if (!found.improved) return found.graph;

  say_stage("comparing with the original");
  auto well_formed = check(found.graph, Stage::imported);
  if (!well_formed) return fail(ErrorKind::internal, well_formed.error().message);
  auto checked = compare_on_random_inputs(
      original, found.graph,
      {request.check.samples, request.check.relative_tolerance, request.check.absolute_tolerance,
       request.check.seed, request.threads});
  if (!checked) {
    answer.message = "kept as it was: the check is impossible: " + checked.error().message;
    answer.after = answer.before;
    return original;
  }
  answer.samples_compared = checked->samples;
  answer.max_error = checked->max_error;
  answer.smallest_passing_scale = checked->smallest_passing_scale;
  if (!checked->passed) {
    answer.status = "mismatch";
    answer.message = "the optimized model differs from its original: " + checked->difference;
    return original;
  }
  answer.status = "optimized";
  explanation = std::move(found.explanation);
  for (const UsedRule& rule : found.rules_used)
    answer.rules_used.push_back({rule.name, static_cast<std::int64_t>(rule.count)});
  return std::move(found.graph);
}

Result<void> work(const OptimizeRequest& request, OptimizeAnswer& answer) {
  say_stage("reading");
  ImportOptions import_options;
  LEMMA_ASSIGN_OR_RETURN(import_options.shapes, parse_shape_options(request.shapes));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(request.model, import_options));
  answer.opaque_operators = count_opaque(model.graph);
  std::string explanation;
  LEMMA_ASSIGN_OR_RETURN(Graph improved, improve(request, model.graph, answer, explanation));
  if (answer.status == "mismatch") return {};
  say_stage("writing");
  // A folder that cannot be made shows when the file is written, with the reason.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(request.output).parent_path(), ignored);
  model.graph = std::move(improved);
  ExportOptions export_options;
  if (request.external_data) export_options.external_data = ExternalData::always;
  LEMMA_RETURN_IF_ERROR(export_model(model, request.output, export_options));
  if (explanation.empty()) return {};
  return write_file_atomically(request.explanation, explanation);
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
