#include "report/emission_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/tables_text.h"
#include "backend/lower/tile.h"
#include "backend/simulate/simulate.h"
#include "backend/traffic/traffic.h"
#include "report/memory_report.h"
#include "report/printable.h"
#include "report/region_report.h"
#include "report/schedule_report.h"

namespace lemma {

namespace {

/// What each operator of a program computes, in the order of the program's tables.
nlohmann::ordered_json operators_json(const backend::TaskProgram& program) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const backend::TaskOperator& op : program.graph.operators) {
    const double operations = backend::operation_count(op);
    std::uint64_t bytes = 0;
    for (const backend::BufferNumber number : op.arguments)
      bytes += program.graph.buffers[number].bytes();
    list.push_back({{"name", op.name},
                    {"description", op.description},
                    {"operations", operations},
                    {"bytes", bytes}});
  }
  return list;
}

/// Weights that units keep, in all and at most in one, how many tasks read them there, and when a run ends as planned.
nlohmann::ordered_json planned_json(const backend::TaskProgram& program) {
  std::uint64_t bytes = 0;
  for (const auto& parts : program.residents.parts)
    for (const backend::ResidentPart& part : parts) bytes += part.copied_bytes();
  std::size_t tasks = 0;
  for (const std::vector<backend::Step>& steps : program.units)
    for (const backend::Step& step : steps) tasks += program.has_residents(step.task) ? 1 : 0;
  return {{"resident_weight_bytes", bytes},
          {"resident_bytes_per_unit", program.residents.bytes},
          {"tasks_with_residents", tasks},
          {"planned_seconds", backend::simulate(program).seconds}};
}

/// Counts of one program.
Result<nlohmann::ordered_json> json_of(const backend::TaskProgram& program,
                                       std::uint64_t cache_bytes, bool lists_operators) {
  const backend::Traffic traffic = backend::planned_traffic(program);
  nlohmann::ordered_json json = {
      {"units", program.units.size()},      {"operators", program.graph.operators.size()},
      {"tasks", program.task_count()},      {"waits", backend::wait_count(program)},
      {"bytes_read", traffic.read},         {"bytes_written", traffic.written},
      {"arena_bytes", program.arena_bytes}, {"weight_bytes", program.weight_bytes}};
  if (cache_bytes > 0) {
    LEMMA_ASSIGN_OR_RETURN(const backend::Traffic simulated,
                           backend::simulated_traffic(program, {cache_bytes}));
    json["simulated_bytes_read"] = simulated.read;
    json["simulated_bytes_written"] = simulated.written;
  }
  if (program.device.multiprocessor) json.update(planned_json(program));
  if (const backend::KernelCount count = backend::kernel_count(program.graph); count.recorded > 0)
    json["kernels"] = kernel_count_json(program.graph);
  if (program.memory) json["memory"] = memory_json(*program.memory);
  if (lists_operators) json["each_operator"] = operators_json(program);
  return json;
}

/// Counts of a program with control flow; operators, tasks and waits are those of all segments.
nlohmann::ordered_json flow_json(const backend::FlowProgram& program) {
  std::size_t units = 1, operators = 0, tasks = 0, waits = 0;
  for (const backend::TaskProgram& segment : program.segments) {
    units = std::max(units, segment.units.size());
    operators += segment.graph.operators.size();
    tasks += segment.task_count();
    waits += backend::wait_count(segment);
  }
  return {{"segments", program.segments.size()},
          {"instructions", program.instructions.size()},
          {"units", units},
          {"operators", operators},
          {"tasks", tasks},
          {"waits", waits},
          {"arena_bytes", program.arena_bytes},
          {"unshared_bytes", program.unshared_bytes},
          {"weight_bytes", program.segments.front().weight_bytes}};
}

/// What is made; the model where nothing is.
const std::string& name_of(const EmissionRequest& request) {
  return request.directory.empty() ? request.model : request.directory;
}

/// A line for the whole graph, then, where nothing is written, one for each call and each kernel.
std::string region_text(const EmissionRequest& request, const backend::RegionProgram& program) {
  std::string result =
      printable(fmt::format(
          "{}: {} library calls and {} persistent kernels take {:.1f} microseconds, arena "
          "{} bytes",
          name_of(request), program.calls.size(), program.regions.size(), 1e6 * program.seconds,
          program.arena_bytes)) +
      "\n";
  if (!request.directory.empty()) return result;
  for (const std::string& line : region_lines(program)) result += printable(line) + "\n";
  return result;
}

/// The text about planned programs for multiprocessors.
std::string planned_text(const backend::TaskProgram& program) {
  if (!program.device.multiprocessor) return "";
  const nlohmann::ordered_json planned = planned_json(program);
  const std::uint64_t bytes = planned["resident_weight_bytes"];
  return fmt::format("{}, {:.1f} microseconds as planned",
                     bytes == 0 ? "" : fmt::format(", units keep {} bytes of weights", bytes),
                     1e6 * planned["planned_seconds"].get<double>());
}

}  // namespace

std::optional<std::string> refused_text(const Emission& emission) {
  if (!emission.cuda) return std::nullopt;
  const backend::CudaOptions& options = *emission.cuda;
  if (options.refused_tiles_of.empty() && options.refused_cuts_of.empty()) return std::nullopt;
  return fmt::format("not chosen, as nvcc spilled registers: {} tiles, {} cuts of operators",
                     options.refused_tiles_of.size(), options.refused_cuts_of.size());
}

Result<nlohmann::ordered_json> emission_json(const EmissionRequest& request,
                                             const Emission& emission,
                                             const EmissionFigures& figures) {
  nlohmann::ordered_json json = {{"model", request.model}, {"directory", request.directory}};
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
  const bool is_cut = emission.calls && emission.calls->program;
  for (const backend::TaskProgram& program : emission.programs) {
    if (is_cut || emission.flow) break;
    LEMMA_ASSIGN_OR_RETURN(nlohmann::ordered_json counts,
                           json_of(program, figures.cache_bytes, figures.lists_operators));
    if (emission.programs.size() == 1) {
      json.update(counts);
      continue;
    }
    nlohmann::ordered_json entry;
    for (const backend::BufferNumber number : program.graph.inputs)
      entry["inputs"][program.graph.buffers[number].name] = program.graph.buffers[number].sizes;
    entry.update(counts);
    sizes.push_back(std::move(entry));
  }
  if (emission.flow) json.update(flow_json(*emission.flow));
  if (!sizes.empty()) json["sizes"] = std::move(sizes);
  if (emission.calls) json["library_calls"] = region_json(*emission.calls);
  if (refused_text(emission))
    json["refused"] = {{"tiles", emission.cuda->refused_tiles_of.size()},
                       {"cuts", emission.cuda->refused_cuts_of.size()}};
  if (const auto lines = backend::own_kernel_lines(emission.programs); !lines.empty())
    json["own_kernels"] = lines;
  if (emission.missing_bytes > 0) json["self_check_missing_bytes"] = emission.missing_bytes;
  json["planning_seconds"] = emission.planning_seconds;
  return json;
}

std::string emission_text(const EmissionRequest& request, const Emission& emission) {
  if (emission.calls && emission.calls->program)
    return region_text(request, *emission.calls->program);
  std::string result;
  if (emission.flow) {
    const backend::FlowProgram& flow = *emission.flow;
    const nlohmann::ordered_json counts = flow_json(flow);
    result = printable(fmt::format(
                 "{}: {} segments and {} instructions, {} operators in {} tasks on {} units, {} "
                 "waits, arena {} bytes",
                 name_of(request), flow.segments.size(), flow.instructions.size(),
                 counts["operators"].get<std::size_t>(), counts["tasks"].get<std::size_t>(),
                 counts["units"].get<std::size_t>(), counts["waits"].get<std::size_t>(),
                 flow.arena_bytes)) +
             "\n";
  }
  for (const backend::TaskProgram& program : emission.programs) {
    if (emission.flow) break;
    result += printable(fmt::format(
                  "{}: {} operators in {} tasks on {} units, {} waits, arena {} bytes{}",
                  name_of(request), program.graph.operators.size(), program.task_count(),
                  program.units.size(), backend::wait_count(program), program.arena_bytes,
                  planned_text(program))) +
              "\n" + (program.memory ? memory_text(*program.memory, program.arena_bytes) : "");
  }
  for (const std::string& line : backend::own_kernel_lines(emission.programs))
    result += printable(line) + "\n";
  if (emission.missing_bytes > 0)
    result += printable(fmt::format("{}: without a self-check, whose tensors would take {} bytes "
                                    "(--most-check-memory)",
                                    name_of(request), emission.missing_bytes)) +
              "\n";
  return result;
}

}  // namespace lemma
