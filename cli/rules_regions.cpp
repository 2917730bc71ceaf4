#include "cli/commands.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/file_plan.h"
#include "cli/rank_job.h"
#include "outputs/files.h"
#include "partial/find.h"
#include "targets/data_files.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;

struct RegionArguments {
  std::string set, output, record;
  generator::AgreementOptions options;
};

Json region_json(const partial::FoundRegion& found) {
  Json boxes = Json::array();
  for (const partial::ProvedBox& box : found.correction.boxes)
    boxes.push_back(
        {{"box", partial::text(box.box)}, {"claim", text(box.claim)}, {"cases", box.proof.cases}});
  return {{"rule", found.correction.rule.name},
          {"target", found.target},
          {"operators", found.operators},
          {"share", found.share},
          {"partial", text(found.claim)},
          {"boxes", boxes},
          {"corrected", text(found.correction.rule)}};
}

Json record_of(const generator::OperatorSet& set, const partial::FoundRegions& regions) {
  Json result = {{"set", set.name},
                 {"terms", regions.statistics.evaluated},
                 {"partial_terms", regions.partial_terms},
                 {"rules", regions.found.size()},
                 {"found", Json::array()},
                 {"open", Json::array()}};
  for (const partial::FoundRegion& found : regions.found)
    result["found"].push_back(region_json(found));
  for (const partial::OpenRegion& open : regions.open)
    result["open"].push_back(
        {{"target", open.target}, {"partial", open.claim}, {"reason", open.reason}});
  return result;
}

std::string rules_text(const partial::FoundRegions& regions) {
  std::string result;
  for (const partial::FoundRegion& found : regions.found) {
    for (const partial::ProvedBox& box : found.correction.boxes)
      result +=
          fmt::format("# {} equals the other term on {}.\n", found.target, partial::text(box.box));
    result += text(found.correction.rule) + "\n";
  }
  return result;
}

Result<std::string> run(const RegionArguments& arguments) {
  FilePlan plan;
  plan.reads(operator_set_file(arguments.set), "--set");
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.record, "--record");
  LEMMA_RETURN_IF_ERROR(plan.check());
  LEMMA_ASSIGN_OR_RETURN(const generator::OperatorSet set,
                         generator::read_operator_set(operator_set_file(arguments.set)));
  LEMMA_ASSIGN_OR_RETURN(const partial::FoundRegions regions,
                         partial::find_regions(set, arguments.options));
  LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, rules_text(regions)));
  if (!arguments.record.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.record, record_of(set, regions).dump(1) + "\n"));
  std::string told;
  for (const partial::FoundRegion& found : regions.found)
    told += fmt::format("{} in {:.1f} s\n", found.correction.rule.name, found.seconds);
  return told + fmt::format(
                    "{} terms, {} equal a target in part, {} have a region that is proved for all "
                    "sizes; {:.1f} "
                    "s\n",
                    regions.statistics.evaluated, regions.partial_terms, regions.found.size(),
                    regions.seconds);
}

}  // namespace

void add_rules_regions(CLI::App& rules_command, ExitCode& exit_code) {
  auto* command =
      rules_command.add_subcommand("regions",
                                   "find terms that equal an operator of a set on a part of its "
                                   "output, and write rules that correct them");
  auto arguments = std::make_shared<RegionArguments>();
  command->add_option("--set", arguments->set, "name of a shipped operator set, or a file")
      ->required();
  command->add_option(
      "--operator", arguments->options.targets,
      "operator of the set to look for (may be repeated; otherwise those with a weight)");
  command
      ->add_option("--least-share", arguments->options.least_share,
                   "share of the elements that has to agree")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--max-ops", arguments->options.most_operators,
                   "largest number of operators in a term (default: the limit of the set)")
      ->check(CLI::Range(1, 4));
  command->add_option("-o,--output", arguments->output, "file for the rules")->required();
  command->add_option("--record", arguments->record,
                      "file for a JSON record: regions, claims, and what has no proof");
  command->add_option("--threads", arguments->options.threads, "number of threads")
      ->check(CLI::Range(1, 1024));
  command->add_option("--seed", arguments->options.seed, "seed for the contents of inputs");
  command->callback([arguments, &exit_code] {
    exit_code = run_on_ranks([&arguments](ranks::Ranks& ranks) -> Result<std::string> {
      if (!ranks.is_first()) return std::string();
      return run(*arguments);
    });
  });
}

}  // namespace lemma
