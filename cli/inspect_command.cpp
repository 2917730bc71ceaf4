#include "cli/commands.h"

#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "costmodel/graph_cost.h"
#include "frontend_onnx/import.h"
#include "ir/graph_text.h"
#include "outputs/files.h"
#include "programs/shape_option.h"
#include "report/graph_picture.h"
#include "report/model_summary.h"
#include "report/table.h"
#include "system/program.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string model, device = "cpu", picture;
  std::vector<std::string> shapes;
  bool json = false;
  bool text = false;
};

struct Inspection {
  OnnxModel model;
  OperatorCosts cost;
  ModelSummary summary;
};

Result<Inspection> inspect(const InspectArguments& arguments) {
  ImportOptions options;
  options.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(options.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(arguments.model, options));
  LEMMA_ASSIGN_OR_RETURN(const fs::path file, device_file(arguments.device));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
  OperatorCosts cost(priced_by_roofline(std::move(device)));
  ModelSummary summary = summarize(model.graph, cost);
  return Inspection{std::move(model), std::move(cost), std::move(summary)};
}

Json values_json(const std::vector<std::pair<std::string, TensorType>>& values) {
  Json list = Json::array();
  for (const auto& [name, type] : values) list.push_back({{"name", name}, {"type", text(type)}});
  return list;
}

std::vector<std::pair<std::string, TensorType>> inputs_of(const Graph& graph) {
  std::vector<std::pair<std::string, TensorType>> values;
  for (const NodeId id : graph.inputs())
    values.emplace_back(graph.input_name(graph.node(id)), graph.type(graph.node(id).output()));
  return values;
}

std::vector<std::pair<std::string, TensorType>> outputs_of(const Graph& graph) {
  std::vector<std::pair<std::string, TensorType>> values;
  for (const GraphOutput& output : graph.outputs())
    values.emplace_back(output.name, graph.type(output.value));
  return values;
}

std::string report_json(const InspectArguments& arguments, const Inspection& inspection) {
  const ModelSummary& summary = inspection.summary;
  Json operators = Json::array(), opaque = Json::array(), symbols = Json::array(),
       kernels = Json::array();
  for (const OperatorSummary& row : summary.operators)
    operators.push_back({{"name", row.name},
                         {"opaque", row.opaque},
                         {"count", row.count},
                         {"flops", row.flops},
                         {"integer_operations", row.integer_operations},
                         {"bytes", row.bytes},
                         {"cost", row.seconds}});
  for (const OpaqueSummary& row : summary.opaque)
    opaque.push_back({{"name", row.operator_name}, {"reason", row.reason}, {"count", row.count}});
  for (const SymbolSummary& row : summary.symbols)
    symbols.push_back({{"name", row.name},
                       {"source", row.source.empty() ? Json(nullptr) : Json(row.source)},
                       {"uses", row.uses}});
  for (const OwnKernelSummary& row : summary.kernels)
    kernels.push_back({{"target", row.target},
                       {"operator", row.operator_name},
                       {"origin", row.origin.empty() ? Json(nullptr) : Json(row.origin)},
                       {"count", row.count}});
  const Json report = {{"model", arguments.model},
                       {"operator_set", inspection.model.envelope.operator_set()},
                       {"ir_version", inspection.model.envelope.ir_version()},
                       {"inputs", values_json(inputs_of(inspection.model.graph))},
                       {"outputs", values_json(outputs_of(inspection.model.graph))},
                       {"operators", operators},
                       {"constant_operators", summary.constant_nodes},
                       {"opaque", opaque},
                       {"symbols", symbols},
                       {"own_kernels", kernels},
                       {"parameters", summary.total.parameters},
                       {"parameter_bytes", summary.total.parameter_bytes},
                       {"flops", summary.total.flops},
                       {"bytes", summary.total.bytes},
                       {"cost", summary.total.seconds},
                       {"device", inspection.cost.priced_device().device.name},
                       {"notes", inspection.model.envelope.notes()}};
  return report.dump(2, ' ', true, Json::error_handler_t::replace);
}

std::string values_table(const Graph& graph) {
  using enum Table::Align;
  Table table({"", "name", "type"}, {left, left, left});
  for (const auto& [name, type] : inputs_of(graph))
    table.add({"input", printable(name), text(type)});
  for (const auto& [name, type] : outputs_of(graph))
    table.add({"output", printable(name), text(type)});
  return table.text();
}

std::string operators_table(const ModelSummary& summary) {
  using enum Table::Align;
  Table table({"operator", "count", "flops", "bytes", "cost", "share"},
              {left, right, right, right, right, right});
  const double total = summary.total.seconds > 0 ? summary.total.seconds : 1;
  for (const OperatorSummary& row : summary.operators) {
    const std::string share = fmt::format("{:.1f}%", 100 * row.seconds / total);
    if (row.opaque)
      table.add({printable(row.name) + " (opaque)", fmt::format("{}", row.count), "?", "?",
                 duration_text(row.seconds), share});
    else
      table.add({row.name, fmt::format("{}", row.count), with_prefix(row.flops),
                 with_prefix(row.bytes), duration_text(row.seconds), share});
  }
  table.add({"all", fmt::format("{}", summary.total.operators), with_prefix(summary.total.flops),
             with_prefix(summary.total.bytes), duration_text(summary.total.seconds), ""});
  return table.text();
}

std::string opaque_table(const ModelSummary& summary) {
  using enum Table::Align;
  Table table({"opaque operator", "count", "reason"}, {left, right, left});
  for (const OpaqueSummary& row : summary.opaque)
    table.add({printable(row.operator_name), fmt::format("{}", row.count), printable(row.reason)});
  return table.text();
}

std::string symbols_table(const ModelSummary& summary) {
  using enum Table::Align;
  Table table({"symbol", "source", "values"}, {left, left, right});
  for (const SymbolSummary& row : summary.symbols)
    table.add({printable(row.name),
               row.source.empty() ? "found at run time" : printable(row.source),
               fmt::format("{}", row.uses)});
  return table.text();
}

std::string report_text(const InspectArguments& arguments, const Inspection& inspection) {
  const ModelSummary& summary = inspection.summary;
  std::string report =
      fmt::format("{}: operator set {}, {} parameters ({}B)\n\n", printable(arguments.model),
                  inspection.model.envelope.operator_set(),
                  with_prefix(static_cast<double>(summary.total.parameters)),
                  with_prefix(summary.total.parameter_bytes));
  report += values_table(inspection.model.graph) + "\n" + operators_table(summary);
  if (summary.constant_nodes > 0)
    report += fmt::format("{} more operators depend on weights alone\n", summary.constant_nodes);
  report +=
      fmt::format("cost: predicted for {} ({}){}\n", inspection.cost.priced_device().device.name,
                  inspection.cost.priced_device().device.source,
                  summary.symbols.empty() ? "" : ", with 16 for every symbol");
  if (!summary.opaque.empty()) report += "\n" + opaque_table(summary);
  if (!summary.symbols.empty()) report += "\n" + symbols_table(summary);
  for (const OwnKernelSummary& row : summary.kernels)
    report += printable(fmt::format("{} {} with a kernel of its own for {}{}", row.count,
                                    row.operator_name, row.target,
                                    row.origin.empty() ? "" : " from " + row.origin)) +
              "\n";
  for (const std::string& note : inspection.model.envelope.notes())
    report += printable("note: " + note) + "\n";
  return report;
}

/// Within a picture that was written here.
constexpr std::string_view picture_marker = "<!-- drawn by lemma inspect -->";

/// Draws a picture beside the source; returns why not, if there is none. The picture's name is not given: a file that was
/// not drawn here stays, and the picture gets another name.
Result<std::string> draw_svg(const fs::path& source, std::size_t nodes) {
  constexpr std::size_t most_drawn = 1500;  // dot takes for ever on larger graphs
  constexpr double most_seconds = 30;
  if (is_stream(source)) return "the source is not written to a file";
  if (nodes > most_drawn) return "the graph is too large";
  Program dot{{"dot", "-Tsvg", fs::absolute(source).string()}};
  dot.shows_errors = true;
  const auto run = run_program(dot, has_passed(most_seconds));
  if (!run) return run.error().message;
  if (run->was_stopped) return fmt::format("dot does not end within {:.0f} s", most_seconds);
  std::string picture = run->output;
  const std::size_t start = picture.find("<svg");
  if (!run->succeeded() || start == std::string::npos) return "dot has failed";
  picture.insert(start, std::string(picture_marker) + "\n");
  const fs::path wanted = fs::path(source).replace_extension(".svg");
  if (wanted == source) return "the source has its name";
  const fs::path file = free_path(wanted, picture_marker);
  if (file != wanted)
    std::cerr << printable(fmt::format("note: {} is another program's; the picture is {}",
                                       wanted.string(), file.string()))
              << "\n";
  LEMMA_RETURN_IF_ERROR(write_file_atomically(file, picture));
  return "";
}

Result<void> check_files(const InspectArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.reads(arguments.device, "--device");
  plan.writes(arguments.picture, "--dot");
  return plan.check();
}

ExitCode run_inspect(const InspectArguments& arguments) {
  if (const auto files = check_files(arguments); !files) return report_error(files.error());
  auto inspection = inspect(arguments);
  if (!inspection) {
    std::cerr << error_line(arguments.model, inspection.error().message) << "\n";
    return exit_code_of(inspection.error().kind);
  }
  const Graph& graph = inspection->model.graph;
  if (!arguments.picture.empty()) {
    auto written = write_file_atomically(arguments.picture, graph_picture(graph));
    if (!written) {
      std::cerr << error_line("", written.error().message) << "\n";
      return ExitCode::bad_input;
    }
    const auto missing = draw_svg(arguments.picture, graph.live_nodes().size());
    if (!missing) return report_error(missing.error());
    if (!missing->empty()) std::cerr << printable("note: no svg was drawn: " + *missing) << "\n";
  }
  if (arguments.json)
    std::cout << report_json(arguments, *inspection) << "\n";
  else if (arguments.text)
    std::cout << print_graph(graph);
  else
    std::cout << report_text(arguments, *inspection);
  std::cout.flush();
  return ExitCode::done;
}

}  // namespace

void add_inspect_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "inspect", "show operators, cost, types and opaque parts of an ONNX model");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command
      ->add_option("--device", arguments->device, "cpu, cuda, or the file of a device description")
      ->capture_default_str();
  auto* json = command->add_flag("--json", arguments->json, "print one JSON object");
  command->add_flag("--text", arguments->text, "print the graph in its textual form")
      ->excludes(json);
  command->add_option("--dot", arguments->picture,
                      "write a Graphviz picture to this file, and an SVG file next to it");
  command->callback([arguments, &exit_code] { exit_code = run_inspect(*arguments); });
}

}  // namespace lemma
