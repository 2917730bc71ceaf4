#include "cli/commands.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/child_process.h"
#include "cli/data_directory.h"
#include "cli/error_line.h"
#include "cli/rank_job.h"
#include "cli/resource_use.h"
#include "cli/rules_generate.h"
#include "database/build.h"
#include "database/normal_form.h"
#include "database/write.h"
#include "ir/files.h"
#include "ir/sha256.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"
#include "verifier/verify_database.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;
using database::Build;
using database::CandidateOutcome;
namespace fs = std::filesystem;

struct BuildArguments {
  std::vector<std::string> sets, candidates;
  std::string name, output, work, directory, hand_written;
  int max_operators = 0;  // 0: what the set says
  std::uint64_t memory = 0;
  bool json = false;
  database::BuildOptions options;
};

// ---- Interruption, progress, figures --------------------------------------------------------------

volatile std::sig_atomic_t interruption = 0;
void note_interruption(int /*signal*/) { interruption = 1; }

/// The first SIGINT or SIGTERM asks the job to end, the second ends it.
void listen_for_interruption() {
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// At most a line every two seconds, on standard error.
class ProgressLines {
 public:
  void operator()(const database::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (progress.stage != stage_) {
      stage_ = progress.stage;
      begin_ = last_ = now;
      first_ = progress.done;
    }
    if (now - last_ < std::chrono::seconds(2)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = static_cast<double>(progress.done - first_) / seconds;
    const double rest = static_cast<double>(progress.total - progress.done) / rate;
    const std::string to_go = rate > 0 ? fmt::format(", about {:.0f} s to go", rest) : "";
    std::cerr << fmt::format("{}: {} of {}, {:.1f} a second, {} rules{}\n", progress.stage,
                             progress.done, progress.total, rate, progress.rules, to_go);
  }

 private:
  std::string stage_;
  std::chrono::steady_clock::time_point begin_, last_;
  std::size_t first_ = 0;
};

// ---- Candidates -----------------------------------------------------------------------------------

struct Candidates {
  std::vector<Substitution> rules;
  Json enumerations = Json::array();  // what `rules generate --json` printed, for each set
};

Result<std::vector<Substitution>> read_candidates(const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  return parse_substitutions(contents, file.string());
}

ChildRequest enumeration_of(const BuildArguments& arguments, const std::string& set,
                            const fs::path& file, const fs::path& work) {
  ChildRequest request;
  request.arguments = {"rules",       "generate", "--set",       set,      "-o",
                       file.string(), "--work",   work.string(), "--json", "--ends-with-parent"};
  const auto add = [&request](const std::string& option, const std::string& value) {
    request.arguments.push_back(option);
    request.arguments.push_back(value);
  };
  if (arguments.max_operators > 0) add("--max-ops", fmt::format("{}", arguments.max_operators));
  if (arguments.memory > 0) add("--memory", fmt::format("{}", arguments.memory));
  add("--threads", fmt::format("{}", count_of_threads(arguments.options.threads)));
  return request;
}

/// Runs `lemma rules generate` in a process of its own, so that its memory is given back; returns
/// what it printed.
Result<Json> enumerate_in_child(const ChildRequest& request, const std::string& set) {
  std::string output;
  ChildOutcome ended;
  const bool all = run_children(
      {request}, 1, [&output](std::size_t, const std::string& line) { output += line + "\n"; },
      [&ended](std::size_t, const ChildOutcome& outcome) { ended = outcome; });
  if (!all) return bad_input(std::string(database::interrupted));
  if (ended.exit_status != 0)
    return bad_input(fmt::format("the enumeration of set '{}' failed", set));
  Json figures = Json::parse(output, nullptr, false);
  return figures.is_object() ? figures : Json::object();
}

/// What has been enumerated, and is in the work folder.
struct Enumerated {
  fs::path rules, figures;
  fs::path work;    // of an enumeration that is not finished
  std::string job;  // digest of what it depends on
  Json known;       // the figures; null if there are none, or of another job
};

Enumerated look_for(const BuildArguments& arguments, const fs::path& directory,
                    const std::string& set) {
  const std::string stem =
      fmt::format("{}.{}", fs::path(set).stem().string(), arguments.max_operators);
  Enumerated result;
  result.rules = fs::path(arguments.work) / (stem + ".rules");
  result.figures = fs::path(arguments.work) / (stem + ".json");
  result.work = fs::path(arguments.work) / (stem + ".enumeration");
  auto contents = read_text_file(directory / "operator_sets" / (set + ".set"));
  if (!contents) contents = read_text_file(set);
  result.job =
      sha256(fmt::format("{} {} {}", set, arguments.max_operators, contents ? *contents : ""));
  if (const auto known = read_text_file(result.figures))
    result.known = Json::parse(*known, nullptr, false);
  if (!result.known.is_object() || result.known.value("job", "") != result.job)
    result.known = Json();
  return result;
}

/// One process: in a process of its own. Several ranks: by all of them, in this process.
Result<void> enumerate_set(const BuildArguments& arguments, const std::string& set,
                           ranks::Ranks& ranks, Enumerated& place) {
  const fs::path draft = place.rules.string() + ".new";
  if (ranks.size() == 1) {
    LEMMA_ASSIGN_OR_RETURN(
        place.known, enumerate_in_child(enumeration_of(arguments, set, draft, place.work), set));
  } else {
    generator::GenerateOptions options;
    options.threads = count_of_threads(arguments.options.threads);
    if (arguments.max_operators > 0)
      options.most_operators = static_cast<std::size_t>(arguments.max_operators);
    if (arguments.memory > 0) options.memory = arguments.memory;
    options.work_directory = place.work.string();
    if (!ranks.is_first()) return {};
    LEMMA_ASSIGN_OR_RETURN(const Enumeration found, enumerate(set, options));
    LEMMA_RETURN_IF_ERROR(write_file_atomically(draft, found.rules));
    place.known = Json::parse(found.figures);
  }
  if (!ranks.is_first()) return {};
  place.known["job"] = place.job;
  std::error_code error;
  fs::rename(draft, place.rules, error);
  if (error) return bad_input(fmt::format("{}: {}", place.rules.string(), error.message()));
  LEMMA_RETURN_IF_ERROR(write_file_atomically(place.figures, place.known.dump(2) + "\n"));
  fs::remove_all(place.work, error);  // all of it is in the candidates
  return {};
}

/// A file of the first rank, on all.
Result<std::vector<Substitution>> share_candidates(const fs::path& file, ranks::Ranks& ranks) {
  std::string contents;
  if (ranks.is_first()) {
    LEMMA_ASSIGN_OR_RETURN(contents, read_text_file(file));
  }
  LEMMA_ASSIGN_OR_RETURN(contents, ranks.broadcast(contents));
  return parse_substitutions(contents, file.string());
}

/// What was enumerated before is used again, as long as the set, its text and the limit are the same.
Result<Candidates> all_candidates(const BuildArguments& arguments, const fs::path& directory,
                                  ranks::Ranks& ranks) {
  Candidates result;
  const auto add = [&](const fs::path& file) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, share_candidates(file, ranks));
    std::move(rules.begin(), rules.end(), std::back_inserter(result.rules));
    return {};
  };
  for (const std::string& set : arguments.sets) {
    Enumerated place = look_for(arguments, directory, set);
    LEMMA_ASSIGN_OR_RETURN(const std::string known,
                           ranks.broadcast(place.known.is_null() ? "no" : "yes"));
    if (known == "no") LEMMA_RETURN_IF_ERROR(enumerate_set(arguments, set, ranks, place));
    LEMMA_RETURN_IF_ERROR(add(place.rules));
    result.enumerations.push_back(std::move(place.known));
  }
  for (const std::string& file : arguments.candidates) LEMMA_RETURN_IF_ERROR(add(file));
  return result;
}

// ---- Rules written by hand ---------------------------------------------------------------------------

/// Files with rules of a folder, but for those that this job writes, so that it may be its own folder;
/// and of the folder one_proof beside it.
std::vector<fs::path> hand_written_files(const BuildArguments& arguments) {
  std::vector<fs::path> files;
  std::error_code error;
  if (arguments.hand_written.empty()) return files;
  const fs::path hand_written = fs::absolute(arguments.hand_written).lexically_normal();
  const fs::path parent = hand_written.has_filename() ? hand_written.parent_path()
                                                      : hand_written.parent_path().parent_path();
  for (const fs::path& folder : {fs::path(arguments.hand_written), parent / "one_proof"})
    for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
      const std::string stem = i->path().stem().string();
      if (i->path().extension() == ".rules" && !database::is_found_file(stem, arguments.name))
        files.push_back(i->path());
    }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<Substitution>> share_hand_written(const std::vector<fs::path>& files,
                                                     ranks::Ranks& ranks) {
  std::vector<Substitution> result;
  LEMMA_ASSIGN_OR_RETURN(const std::string count, ranks.broadcast(fmt::format("{}", files.size())));
  for (std::size_t i = 0; i < std::stoul(count); ++i) {
    LEMMA_ASSIGN_OR_RETURN(auto rules,
                           share_candidates(i < files.size() ? files[i] : fs::path(), ranks));
    std::move(rules.begin(), rules.end(), std::back_inserter(result));
  }
  return result;
}

// ---- The job ----------------------------------------------------------------------------------------

struct Built {
  Build build;
  Json enumerations;
};

/// All ranks must start from the same.
Result<void> check_agreement(const std::string& job, ranks::Ranks& ranks) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, ranks.gather(sha256(job)));
  for (std::size_t rank = 1; rank < jobs.size(); ++rank)
    if (jobs[rank] != jobs[0])
      return bad_input(fmt::format("the axioms of rank {} are not those of the first rank", rank));
  return {};
}

Result<Built> run_job(const BuildArguments& arguments, const fs::path& directory,
                      ranks::Ranks& ranks) {
  std::error_code error;
  if (ranks.is_first()) fs::create_directories(arguments.work, error);
  if (error) return bad_input(fmt::format("cannot make '{}': {}", arguments.work, error.message()));
  LEMMA_ASSIGN_OR_RETURN(Candidates candidates, all_candidates(arguments, directory, ranks));
  listen_for_interruption();
  verifier::Objections objections;  // one rank looks for them with its threads
  if (ranks.size() > 1)
    objections = [&ranks](const std::vector<Substitution>& axioms) {
      return ranks.divide(axioms.size(),
                          [&axioms](std::size_t i) { return verifier::objection_to(axioms[i]); });
    };
  LEMMA_ASSIGN_OR_RETURN(const verifier::LoadedAxioms axioms,
                         verifier::load_axioms(directory, arguments.options.threads, objections));
  const std::string job = database::job_text(axioms.set, arguments.options.limits);
  LEMMA_RETURN_IF_ERROR(check_agreement(job, ranks));
  database::BuildOptions options = arguments.options;
  options.ranks = &ranks;
  options.cancelled = [] { return interruption != 0; };
  const std::vector<fs::path> hand_written = hand_written_files(arguments);
  LEMMA_ASSIGN_OR_RETURN(options.hand_written, share_hand_written(hand_written, ranks));
  database::AnswerJournal journal;
  ProgressLines lines;
  if (ranks.is_first()) {
    for (const auto& [axiom, reason] : axioms.refused)
      std::cerr << fmt::format("lemma: axiom {} is refused: {}\n", axiom, reason);
    LEMMA_ASSIGN_OR_RETURN(journal,
                           database::AnswerJournal::open(
                               fs::path(arguments.work) / (arguments.name + ".journal"), job));
    if (journal.answers() > 0)
      std::cerr << fmt::format("going on: {} answers are in the journal\n", journal.answers());
    options.progress = [&lines](const database::Progress& progress) { lines(progress); };
  }
  Built built;
  built.enumerations = std::move(candidates.enumerations);
  LEMMA_ASSIGN_OR_RETURN(built.build,
                         database::build(candidates.rules, axioms.set, journal, options));
  if (ranks.is_first())
    LEMMA_RETURN_IF_ERROR(database::write_database(arguments.output, arguments.name, built.build,
                                                   {directory, hand_written, axioms.records}));
  return built;
}

struct Usage {
  std::size_t ranks = 1;
  double processor_seconds = 0;  // of all ranks
  long peak_bytes = 0;           // of the rank with most
};
Result<Usage> usage_of_all(ranks::Ranks& ranks) {
  const ResourceUse use = resource_use_with_children();
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                         ranks.gather(Json({use.processor_seconds, use.peak_memory_bytes}).dump()));
  Usage usage{ranks.size()};
  for (const std::string& text : all) {
    const Json one = Json::parse(text);
    usage.processor_seconds += one[0].get<double>();
    usage.peak_bytes = std::max(usage.peak_bytes, one[1].get<long>());
  }
  return usage;
}

Json figures(const Built& built, const Usage& usage) {
  const Build& build = built.build;
  std::size_t basis = 0, kept = 0;
  for (const database::BuiltRule& rule : build.rules) {
    basis += rule.derived ? 0 : 1;
    kept += rule.derived && !rule.kept_because.empty() ? 1 : 0;
  }
  const auto not_needed =
      std::count_if(build.hand_written.begin(), build.hand_written.end(),
                    [](const database::BuiltRule& rule) { return !rule.is_shipped(); });
  const auto enumerated = [&built](const char* key) {
    double total = 0;
    for (const Json& one : built.enumerations)
      if (one.contains(key) && one[key].is_number()) total += one[key].get<double>();
    return static_cast<std::uint64_t>(total);
  };
  const std::size_t directly = build.count(CandidateOutcome::proved),
                    derived = build.count(CandidateOutcome::derived),
                    conditional = build.count(CandidateOutcome::conditional);
  return Json({{"graphs", enumerated("graphs")},
               {"classes", enumerated("classes")},
               {"candidates", build.candidates.size()},
               {"candidates_given", build.given},
               {"trivial", build.trivial},
               {"repeated", build.repeated},
               {"proved", directly + derived + conditional},
               {"proved_directly", directly},
               {"proved_from_rules_before", derived},
               {"proved_under_conditions", conditional},
               {"refuted", build.count(CandidateOutcome::refuted)},
               {"unknown", build.count(CandidateOutcome::unknown)},
               {"rules", basis + kept},
               {"basis", basis},
               {"derived_and_kept", kept},
               {"derived_and_left_out", build.rules.size() - basis - kept},
               {"one_proof", build.found_apart.size() + build.hand_written_apart.size()},
               {"hand_written", build.hand_written.size() + build.hand_written_apart.size()},
               {"hand_written_but_not_needed", not_needed},
               {"ranks", usage.ranks},
               {"cpu_seconds", usage.processor_seconds},
               {"peak_rss_bytes", usage.peak_bytes}});
}

std::string to_text(const Json& totals, bool json) {
  if (json) return totals.dump(2) + "\n";
  std::string result;
  for (const auto& [key, value] : totals.items()) {
    std::string words = key;
    std::replace(words.begin(), words.end(), '_', ' ');
    result += fmt::format("{:<28}{}\n", words, value.dump());
  }
  return result;
}

/// "taso_cnn"
std::string default_name(const BuildArguments& arguments) {
  std::string name;
  for (const auto* list : {&arguments.sets, &arguments.candidates})
    for (const std::string& one : *list)
      name += (name.empty() ? "" : "_") + fs::path(one).stem().string();
  return name;
}

ExitCode run_build(BuildArguments arguments) {
  if (arguments.sets.empty() && arguments.candidates.empty() && !speaks_for_all())
    return ExitCode::bad_input;
  if (arguments.sets.empty() && arguments.candidates.empty())
    return report_error({ErrorKind::bad_input, "--set or --candidates is needed"});
  if (arguments.name.empty()) arguments.name = default_name(arguments);
  if (arguments.work.empty()) arguments.work = arguments.output + ".work";
  const fs::path directory =
      arguments.directory.empty() ? data_directory() / "rules" : fs::path(arguments.directory);
  return run_on_ranks([&](ranks::Ranks& ranks) -> Result<std::string> {
    Result<Built> built;
    with_threads(arguments.options.threads, [&] { built = run_job(arguments, directory, ranks); });
    if (!built) return tl::unexpected<Error>(std::move(built.error()));
    LEMMA_ASSIGN_OR_RETURN(const Usage usage, usage_of_all(ranks));
    return to_text(figures(*built, usage), arguments.json);
  });
}

// ---- minimize ---------------------------------------------------------------------------------------

struct MinimizeArguments {
  std::string rules, basis, start = "both", output;
  bool json = false;
  int threads = 0;
  database::DerivationLimits limits;
};

/// A file of rules, or the rules of a folder like rules/.
Result<std::vector<Substitution>> rules_at(const std::string& place) {
  if (!fs::is_directory(place)) return read_candidates(place);
  return read_substitutions(fs::path(place) / "substitutions", ".rules");
}

struct DerivedRule {
  database::Derivation found;
  std::vector<std::string> from;
};

Result<std::vector<DerivedRule>> derive_all(const MinimizeArguments& arguments,
                                            const std::vector<Substitution>& rules,
                                            const std::vector<Substitution>& basis) {
  const auto start =
      arguments.start == "left" ? database::Start::left_side : database::Start::both_sides;
  std::vector<DerivedRule> result(rules.size());
  const database::DerivationRules prepared(basis);
  LEMMA_RETURN_IF_ERROR(
      parallel_try(rules.size(), arguments.threads, [&](std::size_t i) -> Result<void> {
        if (interruption != 0) return bad_input(std::string(database::interrupted));
        result[i].found = database::derive(rules[i], prepared, start, arguments.limits);
        if (result[i].found.derivable)
          result[i].from =
              database::needed_rules(rules[i], prepared, result[i].found, start, arguments.limits);
        return {};
      }));
  return result;
}

/// Without --basis: large rules first, each from the others that are left.
Result<std::vector<DerivedRule>> minimize_among(const MinimizeArguments& arguments,
                                                const std::vector<Substitution>& rules) {
  std::vector<std::pair<database::RuleSize, std::size_t>> order;
  for (std::size_t i = 0; i < rules.size(); ++i) order.emplace_back(database::size_of(rules[i]), i);
  std::sort(order.rbegin(), order.rend());
  std::vector<DerivedRule> result(rules.size());
  for (const auto& [size, i] : order) {
    std::vector<Substitution> others;
    for (std::size_t k = 0; k < rules.size(); ++k)
      if (k != i && !result[k].found.derivable) others.push_back(rules[k]);
    LEMMA_ASSIGN_OR_RETURN(auto one, derive_all(arguments, {rules[i]}, others));
    result[i] = std::move(one[0]);
  }
  return result;
}

ExitCode run_minimize(const MinimizeArguments& arguments) {
  const auto rules = rules_at(arguments.rules);
  if (!rules) return report_error(rules.error());
  listen_for_interruption();
  Result<std::vector<DerivedRule>> derived = std::vector<DerivedRule>{};
  if (arguments.basis.empty()) {
    derived = minimize_among(arguments, *rules);
  } else {
    const auto basis = rules_at(arguments.basis);
    if (!basis) return report_error(basis.error());
    derived = derive_all(arguments, *rules, *basis);
  }
  if (!derived) return report_error(derived.error());
  std::string lines;
  Json list = Json::array();
  std::size_t count = 0, partly = 0;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const DerivedRule& one = (*derived)[i];
    const std::string& name = (*rules)[i].name;
    count += one.found.derivable ? 1 : 0;
    partly += one.found.derivable && one.found.tried < one.found.cases ? 1 : 0;
    list.push_back({{"rule", name},
                    {"derivable", one.found.derivable},
                    {"from", one.from},
                    {"cases", one.found.cases},
                    {"cases_tried", one.found.tried},
                    {"stopped", one.found.stopped}});
    if (one.found.derivable)
      lines += fmt::format("{} from {}: {} of {} cases\n", name, fmt::join(one.from, ", "),
                           one.found.tried, one.found.cases);
    else
      lines += fmt::format("{}: not derived: {}\n", name, one.found.stopped);
  }
  if (!arguments.output.empty())
    if (const auto written = write_file_atomically(arguments.output, lines); !written)
      return report_error(written.error());
  if (arguments.json)
    std::cout << Json({{"rules", list}, {"derivable", count}, {"not_all_cases", partly}}).dump(2)
              << "\n";
  else
    std::cout << (arguments.output.empty() ? lines : "")
              << fmt::format("{} of {} rules follow from {}\n", count, rules->size(),
                             arguments.basis.empty() ? "the others" : arguments.basis);
  return ExitCode::done;
}

void add_minimize(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<MinimizeArguments>();
  auto* minimize = rules_command.add_subcommand(
      "minimize", "which rules follow from others, by bounded saturation");
  minimize->add_option("RULES", arguments->rules, "file of rules, or folder like rules/")
      ->required();
  minimize->add_option("--basis", arguments->basis,
                       "rules to derive from, instead of the others among RULES");
  minimize
      ->add_option("--start", arguments->start,
                   "both: put both sides into the e-graph; left: find the right one")
      ->check(CLI::IsMember({"both", "left"}));
  minimize->add_option("--nodes", arguments->limits.nodes, "limit of the e-graph");
  minimize->add_option("--iterations", arguments->limits.iterations, "limit of the saturation");
  minimize->add_option("--cases", arguments->limits.cases, "cases of a rule that are tried");
  minimize->add_option("--threads", arguments->threads, "0: all processors")
      ->check(CLI::NonNegativeNumber);
  minimize->add_option("-o,--output", arguments->output, "write the lines to a file");
  minimize->add_flag("--json", arguments->json, "print one JSON object");
  minimize->callback([arguments, &exit_code] { exit_code = run_minimize(*arguments); });
}

}  // namespace

void add_rules_build(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<BuildArguments>();
  auto* build = rules_command.add_subcommand(
      "build", "enumerate, prune, verify, generalize and minimize: makes a rule database");
  build->add_option("--set", arguments->sets,
                    "operator set to enumerate; more than one may be given");
  build
      ->add_option("--max-ops", arguments->max_operators,
                   "largest number of operators in a term, instead of the sets' limits")
      ->check(CLI::PositiveNumber);
  build->add_option("--candidates", arguments->candidates,
                    "file of candidates, instead of enumerating or beside it");
  build->add_option("--name", arguments->name,
                    "name of the files of found rules (default: the names of the sets)");
  build->add_option("-o,--output", arguments->output, "folder for the database")->required();
  build->add_option(
      "--work", arguments->work,
      "folder for the journal, from which an interrupted job resumes (default: OUTPUT.work)");
  build
      ->add_option("--hand-written", arguments->hand_written,
                   "folder with rules written by hand, which become part of the database")
      ->check(CLI::ExistingDirectory);
  build->add_option("--rules", arguments->directory, "folder with the axioms to prove from");
  build->add_option("--threads", arguments->options.threads, "0: all processors")
      ->check(CLI::NonNegativeNumber);
  build->add_option("--memory", arguments->memory, "bytes that the enumeration may use")
      ->transform(CLI::AsSizeValue(false));
  build->add_flag("--json", arguments->json, "print one JSON object with the totals");
  build->callback([arguments, &exit_code] { exit_code = run_build(*arguments); });
  add_minimize(rules_command, exit_code);
}

}  // namespace lemma
