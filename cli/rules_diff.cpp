#include "cli/commands.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "database/derivation.h"
#include "outputs/files.h"
#include "report/printable.h"
#include "report/rules_difference.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"
#include "targets/data_files.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct DiffArguments {
  std::vector<std::string> databases;
  std::string output;
  bool json = false;
  int threads = 0;
};

/// All that a database proves, once or twice, with its records compared.
Result<std::vector<Substitution>> proved_rules(const std::string& place) {
  const fs::path folder = rules_folder(place);
  LEMMA_ASSIGN_OR_RETURN(const RuleDatabase database, load_rules(folder));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<OneProofRule> apart, load_one_proof_rules(folder));
  std::vector<Substitution> rules(database.substitutions().begin(), database.substitutions().end());
  for (const OneProofRule& rule : apart) rules.push_back(rule.rule);
  return rules;
}

/// The rules that do not follow from those of the other database within the limits of `lemma rules minimize`.
OnlyIn only_in(const std::string& name, const std::vector<Substitution>& rules,
               const std::vector<Substitution>& others, int threads) {
  OnlyIn result{name, rules.size(), {}};
  const database::DerivationRules basis(others);
  std::vector<char> follows(rules.size());
  parallel_for(rules.size(), threads, [&](std::size_t i) {
    const database::Derivation derivation =
        database::derive(rules[i], basis, database::Start::both_sides, {});
    follows[i] = derivation.derivable ? 1 : 0;
  });
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (follows[i] == 0) result.missing.push_back(rules[i]);
  return result;
}

std::string answer(const std::vector<OnlyIn>& sides, bool json) {
  Json all = Json::array();
  std::string lines;
  for (const OnlyIn& side : sides) {
    Json names = Json::array();
    for (const Substitution& rule : side.missing) names.push_back(rule.name);
    for (const Substitution& rule : side.missing)
      lines += printable(fmt::format("only {}: {}", side.database, rule.name)) + "\n";
    all.push_back({{"database", side.database}, {"rules", side.rules}, {"only", names}});
  }
  for (const OnlyIn& side : sides)
    lines += fmt::format("{}: {} of {} rules do not follow from the other database\n",
                         side.database, side.missing.size(), side.rules);
  return json ? Json({{"databases", all}}).dump(2) + "\n" : lines;
}

Result<std::string> compare(const DiffArguments& arguments) {
  FilePlan plan;
  for (const std::string& place : arguments.databases)
    plan.reads_below(rules_folder(place), "the rules");
  plan.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(plan.check());
  LEMMA_ASSIGN_OR_RETURN(const auto first, proved_rules(arguments.databases[0]));
  LEMMA_ASSIGN_OR_RETURN(const auto second, proved_rules(arguments.databases[1]));
  const std::vector<OnlyIn> sides = {
      only_in(arguments.databases[0], first, second, arguments.threads),
      only_in(arguments.databases[1], second, first, arguments.threads)};
  if (!arguments.output.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, rules_difference_page(sides)));
  return answer(sides, arguments.json);
}

}  // namespace

void add_rules_diff(CLI::App& rules_command, ExitCode& exit_code) {
  auto* command = rules_command.add_subcommand(
      "diff", "show what each of two rule databases proves that does not follow from the other");
  auto arguments = std::make_shared<DiffArguments>();
  command->add_option("DATABASES", arguments->databases, "two folders of rules, or shipped")
      ->required()
      ->expected(2)
      ->check(check_rules_folder);
  command->add_option("-o,--output", arguments->output,
                      "a page with pictures of these rules (HTML)");
  command->add_option("--threads", arguments->threads, "number of threads (0: all processors)")
      ->check(check_threads);
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &exit_code] {
    const auto lines = compare(*arguments);
    if (lines) std::cout << *lines;
    exit_code = lines ? ExitCode::done : report_error(lines.error());
  });
}

}  // namespace lemma
