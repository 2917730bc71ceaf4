#include "cli/commands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "egraph/exact/egraph_json.h"
#include "egraph/exact/extract.h"
#include "egraph/exact/validate.h"
#include "outputs/files.h"

namespace lemma {

namespace {

struct ExtractArguments {
  std::string file, output;
  double time_limit = 60;
  bool no_programs = false;
  bool json = false;
};

std::string json_text(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string json_list(const std::vector<std::string>& values) {
  std::string result;
  for (const std::string& value : values) result += (result.empty() ? "" : ", ") + json_text(value);
  return "[" + result + "]";
}

Result<std::string> read_file(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) return bad_input("this is a folder");
  std::ifstream file(name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) return bad_input("cannot be read");
  return std::move(text).str();
}

/// The chosen node of each class that is in use.
std::string choices_json(const exact::EGraphDocument& document, const exact::Selection& selection) {
  std::string choices;
  for (std::size_t id = 0; id < selection.node_of.size(); ++id)
    if (selection.node_of[id] != exact::none)
      choices += fmt::format("{}  {}: {}", choices.empty() ? "" : ",\n",
                             json_text(document.class_names[id]),
                             json_text(document.node_names[selection.node_of[id]]));
  return fmt::format("{{\"cost\": {}, \"choices\": {{\n{}\n}}}}\n",
                     document.scale.text(selection.cost), choices);
}

// Costs are printed with all their digits, which a double does not have.
std::string report_json(const ExtractArguments& arguments, const exact::EGraphDocument& document,
                        const exact::Extraction& extraction, double seconds) {
  const exact::Problem& problem = document.problem;
  return fmt::format(
      "{{\"egraph\": {}, \"classes\": {}, \"nodes\": {}, \"roots\": {}, \"absent_roots\": {}, "
      "\"cost\": {}, \"lower_bound\": {}, \"optimal\": {}, \"valid\": true, \"seconds\": {:.3f}, "
      "\"method\": {}, \"remaining_classes\": {}, \"remaining_nodes\": {}, "
      "\"rounded_costs\": {}}}",
      json_text(arguments.file), problem.class_count, problem.nodes.size(), problem.roots.size(),
      json_list(document.absent_roots), document.scale.text(extraction.selection.cost),
      document.scale.text(extraction.lower_bound), extraction.optimal, seconds,
      json_text(extraction.method), extraction.remaining_classes, extraction.remaining_nodes,
      document.scale.rounded);
}

std::string report_text(const ExtractArguments& arguments, const exact::EGraphDocument& document,
                        const exact::Extraction& extraction, double seconds) {
  const exact::CostScale& scale = document.scale;
  std::string report = fmt::format("{}: {} nodes in {} classes, {} roots\n",
                                   printable(arguments.file), document.problem.nodes.size(),
                                   document.problem.class_count, document.problem.roots.size());
  report += fmt::format("cost {}", scale.text(extraction.selection.cost));
  if (extraction.optimal)
    report += fmt::format(", proved optimal by {}", extraction.method);
  else
    report += fmt::format(", not proved optimal: at least {}", scale.text(extraction.lower_bound));
  return report + fmt::format(", in {:.2f} s\n", seconds);
}

void print_notes(const exact::EGraphDocument& document) {
  const exact::CostScale& scale = document.scale;
  if (!document.absent_roots.empty())
    std::cerr << fmt::format("note: {} of the roots are in no class and were left out\n",
                             document.absent_roots.size());
  if (document.never_chosen > 0)
    std::cerr << fmt::format("note: {} nodes of cost 10^18 or more are never chosen\n",
                             document.never_chosen);
  if (scale.rounded > 0)
    std::cerr << fmt::format("note: {} costs were rounded to {} digits after the point\n",
                             scale.rounded, scale.digits);
}

Result<void> extract_file(const ExtractArguments& arguments) {
  FilePlan plan;
  plan.reads(arguments.file, "the input");
  plan.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(plan.check());
  const auto start = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.file));
  LEMMA_ASSIGN_OR_RETURN(const exact::EGraphDocument document, exact::read_egraph_json(text));
  exact::ExtractOptions options;
  const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - start;
  options.time_limit_seconds = std::max(0.0, arguments.time_limit - reading.count());
  options.use_programs = !arguments.no_programs;
  LEMMA_ASSIGN_OR_RETURN(const exact::Extraction extraction,
                         exact::extract(document.problem, options));
  LEMMA_RETURN_IF_ERROR(exact::validate(document.problem, extraction.selection));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!arguments.output.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.output, choices_json(document, extraction.selection)));
  print_notes(document);
  std::cout << (arguments.json ? report_json(arguments, document, extraction, seconds) + "\n"
                               : report_text(arguments, document, extraction, seconds))
            << std::flush;
  return {};
}

ExitCode run_extract(const ExtractArguments& arguments) {
  const auto done = extract_file(arguments);
  if (done) return ExitCode::done;
  std::cerr << error_line(arguments.file, done.error().message) << "\n";
  return exit_code_of(done.error().kind);
}

}  // namespace

void add_extract_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "extract",
      "extract the cheapest graph from an e-graph in JSON, with a proof of optimality or a bound");
  auto arguments = std::make_shared<ExtractArguments>();
  command->add_option("egraph", arguments->file, "e-graph in the format of egraph-serialize")
      ->required();
  command->add_option("--time-limit", arguments->time_limit, "seconds, with reading the file")
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "write the chosen nodes, as JSON");
  command->add_flag("--no-programs", arguments->no_programs, "do not use the program clasp");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_extract(*arguments); });
}

}  // namespace lemma
