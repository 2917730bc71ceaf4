#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/plan_program.h"
#include "frontend_onnx/import.h"
#include "outputs/files.h"
#include "plans/placement/placement_text.h"
#include "plans/relations/verification.h"
#include "programs/shape_option.h"
#include "report/table.h"

namespace lemma {

namespace {

std::string value_name(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind == NodeKind::input) return graph.input_name(node);
  return graph.suggested_name(value);
}

/// What each value of the program is.
std::string values_text(const Graph& single, const plans::Program& program,
                        const plans::Relations& relations) {
  using Align = Table::Align;
  Table table({"value", "operator", "is", "placed", "claims"},
              {Align::left, Align::left, Align::left, Align::left, Align::left});
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    if (node.kind == NodeKind::constant) continue;
    const std::string op = node.kind == NodeKind::input ? std::string("input")
                                                        : std::string(program.graph.op(node).name);
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const ValueId value = node.output(i);
      const auto& relation = relations.of[value.v];
      std::vector<std::string> claims;
      if (relation)
        for (const std::size_t claim : relation->claims)
          claims.push_back(fmt::format("step_{}", claim));
      table.add({value_name(program.graph, value), op,
                 relation ? value_name(single, relation->single) : "-",
                 relation ? plans::place_text(single, program, *relation) : "-",
                 fmt::format("{}", fmt::join(claims, " "))});
    }
  }
  return table.text();
}

}  // namespace

std::size_t proved_claims(const plans::Relations& relations) {
  std::size_t count = 0;
  for (const plans::AskedClaim& claim : relations.claims) count += claim.is_proved ? 1 : 0;
  return count;
}

std::string claims_text(const plans::Relations& relations) {
  std::string text =
      "# Claims that a verification of a plan rests on. `lemma rules verify` proves them again.\n";
  for (const plans::AskedClaim& claim : relations.claims)
    if (claim.is_proved) text += "\n" + claim.rule;
  return text;
}

std::vector<std::string> verdict_lines(const plans::Verification& verification) {
  std::vector<std::string> lines = {fmt::format(
      "{}: {} of {} values of the program are values of the single-device model, by {} claims",
      plans::name(verification.verdict), verification.related, verification.values,
      proved_claims(verification.relations))};
  if (verification.for_defined_inputs > 0)
    lines.emplace_back("some claims hold where no element is undefined (docs/semantics.md)");
  if (verification.divergence) {
    lines.push_back(
        fmt::format("the first value that is none of them: {}", verification.divergence->where));
    for (const std::string& operand : verification.divergence->operands)
      lines.push_back(fmt::format("  reads {}", operand));
  }
  if (!verification.counterexample.empty())
    lines.push_back(fmt::format("they differ: {}", verification.counterexample));
  if (!verification.reason.empty())
    lines.push_back(fmt::format("not compared on samples: {}", verification.reason));
  return lines;
}

namespace {

Result<ExitCode> verify(const PlanArguments& arguments) {
  FilePlan plan;
  add_program_files(plan, arguments);
  plan.writes(arguments.claims, "--claims");
  LEMMA_RETURN_IF_ERROR(plan.check());
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel single, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, single));
  const plans::Program& program = any.program();
  const plans::Verification verification = plans::verify(single.graph, program);
  if (!arguments.claims.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.claims, claims_text(verification.relations)));
  if (arguments.lists_values)
    std::cout << values_text(single.graph, program, verification.relations) << "\n";
  for (const std::string& line : verdict_lines(verification)) std::cout << printable(line) << "\n";
  switch (verification.verdict) {
    case plans::Verdict::proved: return ExitCode::done;
    case plans::Verdict::refuted: return ExitCode::check_failed;
    case plans::Verdict::unknown: break;
  }
  return ExitCode::some_models_failed;
}

void add_verify(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "verify",
      "prove that the models of ranks, or a plan, compute what a single-device model computes");
  auto arguments = std::make_shared<PlanArguments>();
  add_program_options(*command, *arguments);
  command->add_option("--claims", arguments->claims,
                      "file for the claims that were proved, as rules");
  command->add_flag("--values", arguments->lists_values,
                    "list what each value of the program is, and how it is placed");
  command->callback([arguments, &exit_code] {
    const auto code = verify(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace

void add_plan_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("plan", "programs over many devices");
  command->require_subcommand(1);
  add_plan_calibrate(*command, exit_code);
  add_plan_make(*command, exit_code);
  add_verify(*command, exit_code);
  add_plan_collective(*command, exit_code);
  add_plan_export(*command, exit_code);
  add_plan_emit(*command, exit_code);
  add_plan_run(*command, exit_code);
  add_plan_replay(*command, exit_code);
  add_plan_report(*command, exit_code);
  add_plan_simulate(*command, exit_code);
  add_plan_topology(*command, exit_code);
}

}  // namespace lemma
