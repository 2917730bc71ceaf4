#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <optional>

#include "cli/improvement.h"
#include "cli/memory_guard.h"
#include "cli/optimize_command.h"
#include "cli/optimize_request.h"
#include "cli/shape_option.h"
#include "frontend_onnx/import.h"
#include "search/deadline.h"

namespace lemma {

namespace {

void say_stage(const std::string& what) { std::cout << "stage " << what << "\n" << std::flush; }

std::int64_t count_opaque(const Graph& graph) {
  std::int64_t count = 0;
  for (const NodeId id : graph.live_nodes())
    count += graph.node(id).kind == NodeKind::opaque ? 1 : 0;
  return count;
}

Result<void> work(const OptimizeRequest& request, OptimizeAnswer& answer) {
  const Deadline deadline = Deadline::after(request.time_limit_seconds);
  std::optional<MemoryGuard> memory;
  if (request.memory_bytes > 0) memory.emplace(static_cast<std::size_t>(request.memory_bytes));
  say_stage("reading");
  ImportOptions import_options;
  LEMMA_ASSIGN_OR_RETURN(import_options.shapes, parse_shape_options(request.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(request.model, import_options));
  answer.opaque_operators = count_opaque(model.graph);
  return Improvement(request, model, import_options, deadline, memory ? &*memory : nullptr, answer)
      .run();
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
