#include "database/build_database.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/sha256.h"
#include "database/write.h"
#include "outputs/files.h"
#include "outputs/folder_update.h"
#include "system/parallel.h"
#include "verifier/verify_database.h"

namespace lemma::database {
namespace {

namespace fs = std::filesystem;

class Job {
 public:
  explicit Job(const DatabaseOptions& options)
      : options_(options),
        own_rank_(options.build.ranks == nullptr ? ranks::one_rank() : nullptr),
        ranks_(own_rank_ ? *own_rank_ : *options.build.ranks) {}

  /// The steps, in order.
  Result<DatabaseReport> run() {
    const std::vector<fs::path> hand_written = hand_written_files();
    LEMMA_RETURN_IF_ERROR(check_places(hand_written));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> candidates, collect_candidates());
    LEMMA_ASSIGN_OR_RETURN(const verifier::LoadedAxioms axioms, load_axioms());
    const std::string job = job_text(axioms.set, options_.build.limits);
    LEMMA_RETURN_IF_ERROR(check_agreement(job));
    BuildOptions build_options = options_.build;
    build_options.ranks = &ranks_;
    if (!ranks_.is_first()) build_options.progress = nullptr;
    LEMMA_ASSIGN_OR_RETURN(build_options.hand_written, read_hand_written(hand_written));
    LEMMA_RETURN_IF_ERROR(read_known(build_options));
    LEMMA_ASSIGN_OR_RETURN(AnswerJournal journal, open_journal(job));
    LEMMA_ASSIGN_OR_RETURN(report_.build, build(candidates, axioms.set, journal, build_options));
    if (ranks_.is_first())
      LEMMA_RETURN_IF_ERROR(write_database(options_.folders.output, options_.name, report_.build,
                                           {options_.folders.rules, hand_written, axioms.records}));
    return std::move(report_);
  }

 private:
  /// Before anything is computed. All ranks hear what the first one finds.
  Result<void> check_places(const std::vector<fs::path>& hand_written) {
    Result<void> places;
    if (ranks_.is_first()) {
      places = check_output(options_.folders.output, options_.name, hand_written);
      if (places) places = make_folder(options_.folders.work);
      // What cannot be written is known before hours of proofs.
      if (places) places = can_be_updated(options_.folders.output);
    }
    LEMMA_ASSIGN_OR_RETURN(const std::string problem,
                           ranks_.broadcast(places ? "" : places.error().message));
    if (!problem.empty()) return bad_input(problem);
    return {};
  }

  /// The rules of the databases that are built upon, with their records compared; those of the first rank count.
  Result<void> read_known(BuildOptions& build_options) {
    std::string names, rules;
    Result<void> read;
    if (ranks_.is_first()) read = append_known(names, rules);
    LEMMA_ASSIGN_OR_RETURN(const std::string problem,
                           ranks_.broadcast(read ? "" : read.error().message));
    if (!problem.empty()) return bad_input(problem);
    LEMMA_ASSIGN_OR_RETURN(names, ranks_.broadcast(names));
    LEMMA_ASSIGN_OR_RETURN(rules, ranks_.broadcast(rules));
    LEMMA_ASSIGN_OR_RETURN(build_options.known, parse_substitutions(rules, "--over"));
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = names.find('\n', at);
      build_options.known_names.push_back(names.substr(at, end - at));
      at = end + 1;
    }
    return {};
  }

  /// A rule that stands in several databases counts once.
  Result<void> append_known(std::string& names, std::string& rules) const {
    std::set<std::string> texts;
    for (const fs::path& folder : options_.folders.over) {
      LEMMA_ASSIGN_OR_RETURN(const RuleDatabase database, load_rules(folder));
      LEMMA_ASSIGN_OR_RETURN(const auto apart, load_one_proof_rules(folder));
      for (const Substitution& rule : database.substitutions()) {
        names += rule.name + "\n";
        if (texts.insert(text(rule)).second) rules += text(rule) + "\n";
      }
      for (const OneProofRule& rule : apart) names += rule.rule.name + "\n";
    }
    return {};
  }

  static Result<void> can_be_updated(const fs::path& folder) {
    LEMMA_ASSIGN_OR_RETURN(const FolderUpdate update, FolderUpdate::begin(folder));
    (void)update;
    return {};
  }

  Result<std::vector<Substitution>> collect_candidates() {
    EnumerationOptions enumeration = options_.enumeration;
    enumeration.generation.threads = count_of_threads(options_.build.threads);
    enumeration.generation.cancelled = options_.build.cancelled;
    LEMMA_ASSIGN_OR_RETURN(EnumeratedSets sets,
                           enumerate_sets(enumeration, options_.folders.work, ranks_));
    report_.enumeration = sets.figures;
    LEMMA_ASSIGN_OR_RETURN(auto more, read_all(options_.candidates));
    std::move(more.begin(), more.end(), std::back_inserter(sets.candidates));
    return std::move(sets.candidates);
  }

  Result<std::vector<Substitution>> read_all(const std::vector<fs::path>& files) {
    std::vector<Substitution> result;
    for (const fs::path& file : files) {
      LEMMA_ASSIGN_OR_RETURN(auto rules, read_on_first_rank(file, ranks_));
      std::move(rules.begin(), rules.end(), std::back_inserter(result));
    }
    return result;
  }

  /// Several ranks share the search for counterexamples; one rank uses its threads.
  Result<verifier::LoadedAxioms> load_axioms() {
    verifier::Objections objections;
    if (ranks_.size() > 1)
      objections = [this](const std::vector<Substitution>& axioms) {
        return ranks_.divide(
            axioms.size(), [&axioms](std::size_t i) { return verifier::objection_to(axioms[i]); });
      };
    LEMMA_ASSIGN_OR_RETURN(
        verifier::LoadedAxioms axioms,
        verifier::load_axioms(options_.folders.rules, options_.build.threads, objections));
    if (ranks_.is_first() && options_.on_refused_axiom)
      for (const auto& [axiom, reason] : axioms.refused) options_.on_refused_axiom(axiom, reason);
    return axioms;
  }

  /// All ranks must start from the same.
  Result<void> check_agreement(const std::string& job) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, ranks_.gather(sha256(job)));
    for (std::size_t rank = 1; rank < jobs.size(); ++rank)
      if (jobs[rank] != jobs[0])
        return bad_input(
            fmt::format("the axioms of rank {} are not those of the first rank", rank));
    return {};
  }

  /// Files with rules of the folder and of a folder one_proof beside it, but for those that this job
  /// writes, so that it may be its own folder.
  std::vector<fs::path> hand_written_files() const {
    const fs::path& folder = options_.folders.hand_written;
    std::vector<fs::path> files;
    std::error_code error;
    if (folder.empty()) return files;
    const fs::path whole = fs::absolute(folder).lexically_normal();
    const fs::path parent =
        whole.has_filename() ? whole.parent_path() : whole.parent_path().parent_path();
    for (const fs::path& directory : {folder, parent / "one_proof"})
      for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error))
        if (i->path().extension() == ".rules" &&
            !is_found_file(i->path().stem().string(), options_.name))
          files.push_back(i->path());
    std::sort(files.begin(), files.end());
    return files;
  }

  /// The folder of the first rank counts.
  Result<std::vector<Substitution>> read_hand_written(std::vector<fs::path> files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string count,
                           ranks_.broadcast(fmt::format("{}", files.size())));
    files.resize(std::stoul(count));
    return read_all(files);
  }

  Result<AnswerJournal> open_journal(const std::string& job) {
    if (!ranks_.is_first()) return AnswerJournal();
    LEMMA_ASSIGN_OR_RETURN(
        AnswerJournal journal,
        AnswerJournal::open(options_.folders.work / (options_.name + ".journal"), job));
    if (journal.answers() > 0 && options_.on_resumed) options_.on_resumed(journal.answers());
    return journal;
  }

  const DatabaseOptions& options_;
  std::unique_ptr<ranks::Ranks> own_rank_;
  ranks::Ranks& ranks_;
  DatabaseReport report_;
};

}  // namespace

Result<DatabaseReport> build_database(const DatabaseOptions& options) {
  Result<DatabaseReport> report;
  with_threads(options.build.threads, [&] { report = Job(options).run(); });
  return report;
}

}  // namespace lemma::database
