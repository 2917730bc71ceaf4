#include "database/enumerate_sets.h"

#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "database/build.h"
#include "outputs/files.h"
#include "rule_language/rule_database.h"

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The files of one set in the work folder.
struct KeptSet {
  fs::path candidates, figures;
  fs::path unfinished;  // folder of an enumeration that was interrupted
  std::string job;      // digest of what the candidates depend on
};

KeptSet kept_set(const fs::path& set, std::size_t most_operators, const fs::path& work) {
  const std::string stem = fmt::format("{}.{}", set.stem().string(), most_operators);
  const auto contents = read_text_file(set);
  return {work / (stem + ".rules"), work / (stem + ".json"), work / (stem + ".enumeration"),
          sha256(fmt::format("{} {}", most_operators, contents ? *contents : ""))};
}

/// Nothing if there are none, or of another job.
std::optional<EnumerationFigures> known_figures(const KeptSet& kept) {
  const auto text = read_text_file(kept.figures);
  if (!text) return std::nullopt;
  const Json figures = Json::parse(*text, nullptr, false);
  if (!figures.is_object() || figures.value("job", "") != kept.job) return std::nullopt;
  return EnumerationFigures{figures.value("graphs", 0.0),
                            figures.value("classes", std::uint64_t{0})};
}

/// The figures are written last: they say that the candidates are complete.
Result<EnumerationFigures> enumerate_and_keep(const EnumerationOptions& options,
                                              const fs::path& set, const KeptSet& kept,
                                              ranks::Ranks& ranks) {
  generator::GenerateOptions generation = options.generation;
  generation.ranks = &ranks;
  generation.work_directory = kept.unfinished.string();
  const fs::path draft = kept.candidates.string() + ".new";
  const auto figures = options.enumerate(set, draft, generation);
  if (!figures && generation.cancelled && generation.cancelled())
    return bad_input(std::string(interrupted));
  if (!figures || !ranks.is_first()) return figures;
  LEMMA_RETURN_IF_ERROR(rename_over(draft, kept.candidates));
  const Json text = {{"graphs", figures->graphs}, {"classes", figures->classes}, {"job", kept.job}};
  LEMMA_RETURN_IF_ERROR(write_file_atomically(kept.figures, text.dump(2) + "\n"));
  return figures;
}

}  // namespace

Result<EnumerationFigures> enumerate_set(const fs::path& set, const fs::path& candidates,
                                         const generator::GenerateOptions& options) {
  const std::unique_ptr<ranks::Ranks> alone = ranks::one_rank();
  ranks::Ranks& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  LEMMA_ASSIGN_OR_RETURN(const generator::OperatorSet parsed,
                         operator_set_of_first_rank(set, ranks));
  LEMMA_ASSIGN_OR_RETURN(const generator::Generated generated,
                         generator::generate(parsed, options));
  if (!ranks.is_first()) return EnumerationFigures{};
  LEMMA_RETURN_IF_ERROR(write_file_atomically(
      candidates, generator::candidates_text(parsed, options, generated.rules)));
  return EnumerationFigures{generated.report.graphs, generated.report.terms.classes};
}

Result<EnumeratedSets> enumerate_sets(const EnumerationOptions& options, const fs::path& work,
                                      ranks::Ranks& ranks) {
  EnumeratedSets result;
  for (const fs::path& set : options.sets) {
    const KeptSet kept = kept_set(set, options.generation.most_operators, work);
    std::optional<EnumerationFigures> figures;
    if (ranks.is_first()) figures = known_figures(kept);
    LEMMA_ASSIGN_OR_RETURN(const std::string known, ranks.broadcast(figures ? "known" : ""));
    if (known.empty()) {
      LEMMA_ASSIGN_OR_RETURN(figures, enumerate_and_keep(options, set, kept, ranks));
    }
    if (ranks.is_first()) {
      std::error_code ignored;
      fs::remove_all(kept.unfinished, ignored);  // all of it is in the candidates
      result.figures.graphs += figures->graphs;
      result.figures.classes += figures->classes;
    }
    LEMMA_ASSIGN_OR_RETURN(auto rules, read_on_first_rank(kept.candidates, ranks));
    std::move(rules.begin(), rules.end(), std::back_inserter(result.candidates));
  }
  return result;
}

namespace {

Result<std::string> text_on_first_rank(const fs::path& file, ranks::Ranks& ranks) {
  std::string contents;
  if (ranks.is_first()) {
    LEMMA_ASSIGN_OR_RETURN(contents, read_text_file(file));
  }
  return ranks.broadcast(contents);
}

}  // namespace

Result<generator::OperatorSet> operator_set_of_first_rank(const fs::path& file,
                                                          ranks::Ranks& ranks) {
  std::error_code error;
  if (ranks.is_first() && !fs::is_regular_file(file, error))
    return bad_input(fmt::format("{}: there is no such operator set", file.string()));
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, text_on_first_rank(file, ranks));
  return generator::parse_operator_set(contents, file.string());
}

Result<std::vector<Substitution>> read_on_first_rank(const fs::path& file, ranks::Ranks& ranks) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, text_on_first_rank(file, ranks));
  return parse_substitutions(contents, file.string());
}

}  // namespace lemma::database
