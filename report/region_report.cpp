#include "report/region_report.h"

#include <fmt/format.h>

namespace lemma {

nlohmann::ordered_json region_json(const backend::RegionPlan& plan) {
  nlohmann::ordered_json json = {{"candidates", plan.candidates},
                                 {"calls", plan.program ? plan.program->calls.size() : 0}};
  if (plan.alone_seconds > 0) json["one_kernel_seconds"] = plan.alone_seconds;
  if (plan.cut_seconds) json["graph_seconds"] = *plan.cut_seconds;
  if (!plan.program) return json;
  std::size_t edges = 0;
  for (const backend::RegionNode& node : plan.program->nodes) edges += node.after.size();
  json["kernels"] = plan.program->regions.size();
  json["nodes"] = plan.program->nodes.size();
  json["edges"] = edges;
  json["workspaces"] = plan.program->workspaces;
  json["arena_bytes"] = plan.program->arena_bytes;
  json["weight_bytes"] = plan.program->weight_bytes;
  return json;
}

std::vector<std::string> region_lines(const backend::RegionProgram& program) {
  std::vector<std::string> lines;
  for (const backend::RegionNode& node : program.nodes) {
    if (node.kind == backend::RegionNode::Kind::call) {
      const backend::LibraryStep& step = program.calls[node.number];
      lines.push_back(fmt::format("  call {:.1f} {} '{}': {}", 1e6 * step.seconds, step.description,
                                  step.name, backend::text(step.call.problem)));
    } else if (node.kind == backend::RegionNode::Kind::region) {
      const backend::RegionStep& region = program.regions[node.number];
      lines.push_back(fmt::format("  kernel {:.1f}: {} operators in {} tasks", 1e6 * region.seconds,
                                  region.program.graph.operators.size(),
                                  region.program.task_count()));
    }
  }
  return lines;
}

}  // namespace lemma
