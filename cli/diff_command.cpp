#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "frontend_onnx/file_facts.h"
#include "frontend_onnx/import.h"
#include "outputs/files.h"
#include "report/difference_page.h"
#include "report/graph_difference.h"
#include "report/table.h"
#include "report/web_page.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

struct DiffArguments {
  std::string before, after, page;
  bool json = false;
};

/// A name or a kind of thing, and what both files have of it; empty: nothing.
struct Row {
  std::string what, before, after;
};

struct Section {
  std::string title;
  std::vector<Row> rows;
};

/// What the two maps do not have in common, by name.
std::vector<Row> differing(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& after) {
  std::map<std::string, Row> rows;
  for (const auto& [what, value] : before) rows[what].before = value;
  for (const auto& [what, value] : after) rows[what].after = value;
  std::vector<Row> result;
  for (auto& [what, row] : rows)
    if (row.before != row.after) result.push_back({what, row.before, row.after});
  return result;
}

std::map<std::string, std::string> interface_of(const Graph& graph) {
  std::map<std::string, std::string> result;
  std::size_t position = 0;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    result["input " + graph.input_name(node)] =
        fmt::format("{}, number {}", text(graph.type(node.output())), ++position);
  }
  position = 0;
  for (const GraphOutput& output : graph.outputs())
    result["output " + output.name] =
        fmt::format("{}, number {}", text(graph.type(output.value)), ++position);
  return result;
}

/// Constants that have names. What their elements are is told by a digest.
std::map<std::string, std::string> constants_of(const Graph& graph) {
  std::map<std::string, std::string> result;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::constant || graph.suggested_name(node.output()).empty()) continue;
    const Constant& constant = graph.constant(node);
    result[graph.suggested_name(node.output())] =
        fmt::format("{} {:016x}", text(constant.type()), constant.digest());
  }
  return result;
}

struct Differences {
  std::vector<Section> sections;  // those with rows
  GraphDifference graphs;

  bool any() const { return !sections.empty() || !graphs.same_program; }
};

std::vector<Row> operator_rows(const GraphDifference& graphs) {
  std::vector<Row> rows;
  for (const auto& [name, counts] : graphs.operators)
    rows.push_back({name, fmt::format("{}", counts.first), fmt::format("{}", counts.second)});
  return rows;
}

/// Where a place is: the name of the value that its last node gives.
std::string where(const Graph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return "";
  const Node& last = graph.node(nodes.back());
  const std::string& name = graph.suggested_name(last.output());
  return fmt::format("{}{}", operator_name(graph, last), name.empty() ? "" : " '" + name + "'");
}

std::vector<Row> place_rows(const OnnxModel& before, const OnnxModel& after,
                            const GraphDifference& graphs) {
  std::vector<Row> rows;
  for (const ChangedPlace& place : graphs.places)
    rows.push_back(
        {place.text, where(before.graph, place.before), where(after.graph, place.after)});
  return rows;
}

Differences differences(const OnnxModel& before, const OnnxModel& after) {
  Differences result;
  result.graphs = difference(before.graph, after.graph);
  const auto add = [&result](const std::string& title, std::vector<Row> rows) {
    if (!rows.empty()) result.sections.push_back({title, std::move(rows)});
  };
  add("file", differing(file_facts(before), file_facts(after)));
  add("interface", differing(interface_of(before.graph), interface_of(after.graph)));
  add("initializers", differing(constants_of(before.graph), constants_of(after.graph)));
  add("operators", operator_rows(result.graphs));
  add("places", place_rows(before, after, result.graphs));
  return result;
}

std::string tables(const Differences& differences, const SideNames& names) {
  std::string out;
  for (const Section& section : differences.sections) {
    Table table({section.title, names.before, names.after},
                {Table::Align::left, Table::Align::left, Table::Align::left});
    for (const Row& row : section.rows)
      table.add({printable(row.what), row.before.empty() ? "-" : printable(row.before),
                 row.after.empty() ? "-" : printable(row.after)});
    out += (out.empty() ? "" : "\n") + table.text();
  }
  return out;
}

std::string json_text(const Differences& differences) {
  Json sections = Json::object();
  for (const Section& section : differences.sections)
    for (const Row& row : section.rows)
      sections[section.title].push_back({{"what", row.what},
                                         {"before", row.before.empty() ? Json() : Json(row.before)},
                                         {"after", row.after.empty() ? Json() : Json(row.after)}});
  return Json({{"equal", !differences.any()},
               {"same_program", differences.graphs.same_program},
               {"differences", sections}})
      .dump(2, ' ', true, Json::error_handler_t::replace);
}

std::string html_tables(const Differences& differences, const SideNames& names) {
  std::string out;
  for (const Section& section : differences.sections) {
    out += fmt::format(
        "<h2>{}</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"word\"></th><th "
        "class=\"word\">{}</th>"
        "<th class=\"word\">{}</th></tr></thead><tbody>\n",
        html_escaped(section.title), html_escaped(names.before), html_escaped(names.after));
    for (const Row& row : section.rows)
      out += fmt::format(
          "<tr><td class=\"word\">{}</td><td class=\"word\">{}</td><td "
          "class=\"word\">{}</td></tr>\n",
          html_escaped(row.what), html_escaped(row.before), html_escaped(row.after));
    out += "</tbody></table></div>\n";
  }
  return out;
}

std::string page_of(const OnnxModel& before, const OnnxModel& after, const Differences& differences,
                    const SideNames& names) {
  WebPage page;
  page.title = fmt::format("Lemma: {} and {}", names.before, names.after);
  page.heading = fmt::format("{} and {}", names.before, names.after);
  if (!differences.any()) page.body = "<p>They do not differ.</p>\n";
  page.body += html_tables(differences, names);
  if (!differences.graphs.places.empty())
    page.body += "<h2>Places in pictures</h2>\n" +
                 changed_places(before.graph, after.graph, differences.graphs, names);
  const std::string whole = whole_graphs(before.graph, after.graph, differences.graphs, names);
  page.body += whole.empty() ? "<p class=\"quiet\">The graphs are too large for one picture.</p>\n"
                             : "<h2>Both graphs</h2>\n" + whole;
  return text(page);
}

/// The names of the files, with their folders where the names alone are equal.
SideNames side_names(const DiffArguments& arguments) {
  const std::filesystem::path before = arguments.before, after = arguments.after;
  if (before.filename() != after.filename())
    return {before.filename().string(), after.filename().string()};
  return {before.string(), after.string()};
}

Result<bool> show_differences(const DiffArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.before, "the first model");
  read_model(plan, arguments.after, "the second model");
  plan.writes(arguments.page, "--html");
  LEMMA_RETURN_IF_ERROR(plan.check());
  ImportOptions reading;
  reading.takes_branches = false;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel before, import_model(arguments.before, reading));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel after, import_model(arguments.after, reading));
  const Differences all_differences = differences(before, after);
  const SideNames names = side_names(arguments);
  if (!arguments.page.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.page, page_of(before, after, all_differences, names)));
  if (arguments.json)
    std::cout << json_text(all_differences) << "\n";
  else
    std::cout << tables(all_differences, names);
  if (!arguments.json && all_differences.sections.empty() && all_differences.any())
    std::cout << "they differ in how the same operators are connected\n";
  return !all_differences.any();
}

}  // namespace

void add_diff_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("diff", "show what differs between two ONNX models");
  auto arguments = std::make_shared<DiffArguments>();
  command->add_option("before", arguments->before, "ONNX file")->required();
  command->add_option("after", arguments->after, "ONNX file")->required();
  command->add_option("--html", arguments->page, "write a page with pictures of both graphs");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] {
    const auto equal = show_differences(*arguments);
    if (!equal)
      exit_code = report_error(equal.error());
    else
      exit_code = *equal ? ExitCode::done : ExitCode::check_failed;
  });
}

}  // namespace lemma
