// Without arguments: the version. With PREFIX: whether a false rule is refused. With PREFIX MODEL OUTPUT: optimizes a model, and with PREFIX FOLDER:
// builds a rule database, as programs that use the library do (docs/library.md).

#include <iostream>

#include "all_headers.h"
#include "ir/graph.h"

namespace {

int optimize(const std::filesystem::path& data, const char* model, const char* output) {
  const auto rules = lemma::load_rules(data / "rules");
  auto device = lemma::load_device(data / "devices" / "cpu.json");
  if (!rules || !device) return 1;
  const lemma::OperatorCosts costs(lemma::priced_by_roofline(std::move(*device)));
  const auto report = lemma::optimize_model(model, output, *rules, costs, {});
  if (!report) {
    std::cerr << report.error().message << "\n";
    return 1;
  }
  std::cout << lemma::name(report->status) << " " << report->before.operators << " "
            << report->after.operators << " " << report->check.comparison.samples << "\n";
  return 0;
}

/// The type tells what is proved.
bool tells_rules_without_proof(const std::filesystem::path& data) {
  auto rules = lemma::parse_substitutions("rule no_sign\n  a : [A..]\n  Neg(a) => a\n", "text");
  return rules && !lemma::verifier::prove_rules(*rules, data / "rules", 1) &&
         lemma::RuleDatabase::without_proof(*rules).unproved().contains("no_sign");
}

int build_database(const std::filesystem::path& data, const std::filesystem::path& folder) {
  lemma::database::DatabaseOptions options;
  options.name = "small";
  options.folders = {.rules = data / "rules",
                     .hand_written = {},
                     .work = folder / "work",
                     .output = folder / "rules"};
  options.enumeration.sets = {data / "rules/operator_sets/small.set"};
  options.enumeration.generation.most_operators = 1;
  const auto report = lemma::database::build_database(options);
  if (!report) {
    std::cerr << report.error().message << "\n";
    return 1;
  }
  const auto rules = lemma::load_rules(folder / "rules");
  if (!rules) return 1;
  std::cout << report->enumeration.graphs << " " << report->build.candidates.size() << " "
            << rules->substitutions().size() << "\n";
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::filesystem::path data =
      std::filesystem::path(count > 1 ? words[1] : "") / "share/lemma";
  if (count == 2) return tells_rules_without_proof(data) ? 0 : 1;
  if (count == 4) return optimize(data, words[2], words[3]);
  if (count == 3) return build_database(data, words[2]);
  static_assert(LEMMA_VERSION_NUMBER ==
                LEMMA_VERSION_MAJOR * 10000 + LEMMA_VERSION_MINOR * 100 + LEMMA_VERSION_PATCH);
  if (lemma::version() != LEMMA_VERSION || outside::Graph().nodes != 3) return 1;
  std::cout << "Lemma " << lemma::version() << "\n";
}
