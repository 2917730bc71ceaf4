#include "cli/commands.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/number_check.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"
#include "verifier/index/obligations.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;

struct ObligationsArguments {
  std::string directory, file;
  bool axioms = false, json = false;
  int threads = 0;
};

Result<std::vector<Substitution>> read(const ObligationsArguments& arguments) {
  if (!arguments.file.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(arguments.file));
    return parse_substitutions(contents, arguments.file);
  }
  const std::filesystem::path rules = arguments.directory.empty()
                                          ? data_directory() / "rules"
                                          : std::filesystem::path(arguments.directory);
  return arguments.axioms ? read_substitutions(rules / "axioms", ".axioms")
                          : read_substitutions(rules / "substitutions", ".rules");
}

Json direction(const verifier::DirectionProof& proof) {
  Json result({{"proved", proof.proved}, {"defined", proof.defined}});
  if (!proof.proved) result["reason"] = proof.reason;
  return result;
}

void print_table(std::span<const Substitution> rules,
                 std::span<const verifier::Obligations> obligations) {
  using enum Table::Align;
  Table table({"rule", "written", "claim", "what holds"}, {left, left, left, left});
  std::size_t claims = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    claims += obligations[i].claim_holds ? 1 : 0;
    table.add({rules[i].name, rules[i].bidirectional ? "=" : "=>",
               obligations[i].claim_holds ? "holds" : "not proved",
               verifier::relations_text(obligations[i])});
  }
  std::cout << table.text() << fmt::format("{} of {} claims hold\n", claims, rules.size());
}

ExitCode run_obligations(const ObligationsArguments& arguments) {
  const auto rules = read(arguments);
  if (!rules) return report_error(rules.error());
  const auto obligations = verifier::obligations_of(*rules, arguments.threads);
  if (arguments.json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < rules->size(); ++i)
      list.push_back({{"rule", (*rules)[i].name},
                      {"written", (*rules)[i].bidirectional ? "=" : "=>"},
                      {"holds", obligations[i].claim_holds},
                      {"forward", direction(obligations[i].forward)},
                      {"backward", direction(obligations[i].backward)},
                      {"seconds", obligations[i].seconds}});
    std::cout << Json({{"rules", list}}).dump(2) << "\n";
  } else {
    print_table(*rules, obligations);
  }
  const bool all = std::all_of(
      obligations.begin(), obligations.end(),
      [](const verifier::Obligations& rule_obligations) { return rule_obligations.claim_holds; });
  return all ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_rules_obligations(CLI::App& rules, ExitCode& exit_code) {
  auto arguments = std::make_shared<ObligationsArguments>();
  auto* command = rules.add_subcommand(
      "obligations",
      "show which side of each rule refines the other, and which inputs must be defined");
  command->add_option("--rules", arguments->directory, "folder of axioms and rules");
  command->add_option("FILE", arguments->file, "examine the rules or axioms of this file instead");
  command->add_flag("--axioms", arguments->axioms, "examine the axioms instead of the rules");
  command->add_option("--threads", arguments->threads, "number of threads (0: all processors)")
      ->check(check_threads);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_obligations(*arguments); });
}

}  // namespace lemma
