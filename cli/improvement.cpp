#include "cli/improvement.h"

#include <malloc.h>

#include <filesystem>
#include <iostream>
#include <new>
#include <regex>

#include <fmt/format.h>

#include "ir/check.h"
#include "ir/files.h"
#include "verifier/checker/explanation.h"

namespace lemma {

namespace {

constexpr std::size_t sets_for_second_judge = 8;
constexpr double second_judge_seconds = 10;

void say_stage(const std::string& what) { std::cout << "stage " << what << "\n" << std::flush; }

Figures figures_of(const GraphCost& cost) {
  return {cost.operators, cost.parameters, cost.flops, cost.bytes, cost.seconds};
}

/// How long writing the model may take: its weights at the speed of a slow disk.
double writing_seconds(const Graph& graph) {
  double bytes = 0;
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::constant)
      bytes += static_cast<double>(graph.constant(node).bytes().size());
  return 0.05 + bytes / 400e6;
}

/// Adds the time it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += seconds(); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

/// Rules that were proved, and the same by name for the replay of explanations.
struct Improvement::Rules {
  RuleDatabase database;
  checker::RuleTable table;
  checker::RuleNames bitwise;
};

Improvement::Improvement(const OptimizeRequest& request, const OnnxModel& model,
                         const ImportOptions& import_options, const Deadline& deadline,
                         const MemoryGuard* memory, OptimizeAnswer& answer)
    : request_(request),
      model_(model),
      import_options_(import_options),
      writing_seconds_(writing_seconds(model.graph)),
      check_deadline_(deadline.earlier_by(writing_seconds_)),
      memory_(memory),
      answer_(answer) {}

Result<void> Improvement::run() {
  answer_.second_judge = request_.second_judge ? "not asked" : "off";
  try {
    return improve();
  } catch (const std::bad_alloc&) {
    return keep("the limit on memory leaves no room for the check");
  }
}

Result<void> Improvement::improve() {
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request_.device_file));
  const OperatorCosts costs(roofline_target(std::move(device)));
  answer_.before = answer_.after = figures_of(cost_of(model_.graph, costs));
  answer_.status = "unchanged";
  answer_.strategy = request_.strategy;
  if (request_.strategy == "none") return write_original();
  const auto worst = rounding_class_named(request_.rounding_class);
  if (!worst) return bad_input(unknown_rounding_class(request_.rounding_class));
  if (request_.second_judge) judge_.emplace();
  LEMMA_ASSIGN_OR_RETURN(RuleDatabase database, load_rules(request_.rules_directory));
  Rules rules{std::move(database), {}, {}};
  for (std::size_t i = 0; i < rules.database.substitutions().size(); ++i) {
    const Substitution& rule = rules.database.substitutions()[i];
    rules.table.emplace(rule.name, &rule);
    if (rules.database.rounding()[i] == RoundingClass::bitwise) rules.bitwise.insert(rule.name);
  }

  say_stage("computing the original");
  const double before = check_deadline_.remaining();
  // The result has to be computed too, which should not take longer.
  const Deadline first_deadline = check_deadline_.within(0.45 * before);
  const auto reference = SampledReference::compute(model_.graph, check_options(first_deadline));
  const double taken = before - check_deadline_.remaining();
  answer_.check_seconds += taken;
  check_seconds_ = 1.3 * taken;
  if (!reference)
    return keep(first_deadline.passed() ? "the time limit leaves no room for the check"
                                        : "the check is impossible: " + reference.error().message);

  std::vector<RoundingClass> classes = {*worst};
  if (*worst != RoundingClass::bitwise) classes.push_back(RoundingClass::bitwise);
  for (const RoundingClass one : classes) {
    LEMMA_ASSIGN_OR_RETURN(const Outcome outcome, attempt(rules, one, *reference, costs));
    if (outcome == Outcome::written) return {};
    if (!impossible_.empty()) return keep(impossible_);
    if (outcome == Outcome::no_better) break;
  }
  if (!answer_.warning.empty()) {
    answer_.status = "mismatch";
    answer_.message = answer_.warning;
    answer_.after = answer_.before;
    answer_.rules_used.clear();
  }
  return write_original();
}

Result<Improvement::Outcome> Improvement::attempt(const Rules& rules, RoundingClass worst,
                                                  const SampledReference& reference,
                                                  const OperatorCosts& costs) {
  auto found = search(rules, worst, costs);
  if (!found && found.error().kind != ErrorKind::internal)
    return tl::unexpected(std::move(found.error()));
  std::string objection;
  if (!found) {
    objection = found.error().message;
  } else {
    take_figures(*found);
    if (!found->note.empty()) {
      impossible_ = found->note;
      return Outcome::no_better;
    }
    if (!found->improved) {
      if (checker::check_explanation(found->explanation, rules.table, rules.bitwise))
        explanation_of_original_ = std::move(found->explanation);
      return Outcome::no_better;
    }
    malloc_trim(0);  // what the search has used is for the check
    const Stopwatch checking(answer_.check_seconds);
    OnnxModel result{found->graph, model_.envelope};
    LEMMA_ASSIGN_OR_RETURN(StagedModel staged,
                           StagedModel::write(result, request_.output, export_options()));
    LEMMA_ASSIGN_OR_RETURN(objection, objection_to(rules, *found, reference, staged));
    if (!impossible_.empty()) return Outcome::refused;
    if (objection.empty()) {
      answer_.status = "optimized";
      LEMMA_RETURN_IF_ERROR(publish(staged, found->explanation));
      return Outcome::written;
    }
  }
  answer_.warning =
      fmt::format("a result of rules up to {} was refused: {}", name(worst), objection);
  return Outcome::refused;
}

Result<SearchResult> Improvement::search(const Rules& rules, RoundingClass worst,
                                         const OperatorCosts& costs) const {
  LEMMA_ASSIGN_OR_RETURN(SearchOptions options, search_options());
  options.bitwise_rules = rules.bitwise;
  return optimize(model_.graph, wanted_rules(rules, worst), costs, options);
}

std::vector<Substitution> Improvement::wanted_rules(const Rules& rules, RoundingClass worst) const {
  std::vector<Substitution> wanted = rules.database.up_to(worst);
  if (request_.only_rules.empty()) return wanted;
  const std::regex expression(request_.only_rules);
  std::erase_if(wanted, [&expression](const Substitution& rule) {
    return !std::regex_search(rule.name, expression);
  });
  return wanted;
}

Result<SearchOptions> Improvement::search_options() const {
  SearchOptions options;
  const auto strategy = strategy_named(request_.strategy);
  if (!strategy) return bad_input(fmt::format("no strategy is '{}'", request_.strategy));
  options.strategy = *strategy;
  if (request_.node_limit > 0) options.node_limit = static_cast<std::size_t>(request_.node_limit);
  if (request_.iterations > 0) options.iterations = static_cast<std::size_t>(request_.iterations);
  options.alpha = request_.alpha;
  options.budget = static_cast<std::size_t>(request_.budget);
  options.exact_extraction_seconds = request_.exact_extraction_seconds;
  options.fold.threads = request_.threads;
  options.on_stage = say_stage;
  options.explain = true;
  const Deadline end = check_deadline_.earlier_by(check_seconds_);
  options.fold.deadline = end.at();
  // Folding reads weights and writes others.
  const double folding = std::min(0.25 * end.remaining(), 0.5 + 4 * writing_seconds_);
  // The explanation is made after the search and replayed.
  options.time_limit_seconds = 0.8 * end.earlier_by(folding).remaining();
  // Figures of e-graphs leave out what the process needs beside them.
  if (memory_ != nullptr) options.memory_limit_bytes = memory_->available_bytes() / 10 * 6;
  return options;
}

void Improvement::take_figures(const SearchResult& found) {
  answer_.after = figures_of(found.after);
  answer_.strategy = name(found.strategy);
  answer_.stop_reason = found.stop_reason;
  answer_.egraph_nodes = static_cast<std::int64_t>(found.egraph_nodes);
  answer_.rules_considered = static_cast<std::int64_t>(found.rules_considered);
  answer_.rounds = static_cast<std::int64_t>(found.rounds);
  answer_.passes = static_cast<std::int64_t>(found.passes);
  answer_.parts = static_cast<std::int64_t>(found.parts);
  answer_.graphs = static_cast<std::int64_t>(found.graphs);
  answer_.search_seconds += found.seconds;
  answer_.rules_used.clear();
  for (const UsedRule& rule : found.rules_used)
    answer_.rules_used.push_back({rule.name, static_cast<std::int64_t>(rule.count)});
  if (!found.extraction) return;
  answer_.extraction_bounded = true;
  answer_.extraction_cost = found.extraction->cost;
  answer_.extraction_lower_bound = found.extraction->lower_bound;
  answer_.extraction_optimal = found.extraction->optimal;
}

Result<std::string> Improvement::objection_to(const Rules& rules, const SearchResult& found,
                                              const SampledReference& reference,
                                              StagedModel& staged) {
  if (auto formed = check(found.graph, Stage::imported); !formed) return formed.error().message;
  say_stage("replaying the explanation");
  if (auto holds = checker::check_explanation(found.explanation, rules.table, rules.bitwise);
      !holds)
    return "its explanation does not hold: " + holds.error().message;
  say_stage("reading back what was written");
  const auto read = staged.read_back(found.graph, import_options_);
  if (!read) return "the file does not hold it: " + read.error().message;
  say_stage("comparing with the original");
  auto checked = reference.compare(read->graph, check_options(check_deadline_));
  if (!checked) {
    impossible_ = check_deadline_.passed()
                      ? "the time limit leaves no room for the check"
                      : "the check of the result is impossible: " + checked.error().message;
    return "";
  }
  answer_.samples_compared = checked->samples;
  answer_.adversarial_compared = checked->adversarial;
  answer_.max_error = checked->max_error;
  answer_.smallest_passing_scale = checked->smallest_passing_scale;
  if (!checked->passed) return "it differs from its original: " + checked->difference;
  return judge_ ? objection_of_second_judge(reference, staged) : "";
}

std::string Improvement::objection_of_second_judge(const SampledReference& reference,
                                                   const StagedModel& staged) {
  say_stage("asking ONNX Runtime");
  JudgeQuestion question;
  question.original = std::filesystem::absolute(request_.model);
  question.result = std::filesystem::absolute(staged.file());
  question.sets =
      reference.inputs_for_second_judge(sets_for_second_judge, check_options(check_deadline_));
  question.tolerance = tolerance_for(model_.graph, check_options(check_deadline_));
  question.threads = request_.threads;
  question.scratch_folder = staged.folder();
  question.time_limit_seconds = std::min(second_judge_seconds, check_deadline_.remaining());
  const JudgeAnswer answer = judge_->ask(question);
  answer_.second_judge = name(answer.verdict);
  answer_.second_judge_sets = answer.sets;
  if (answer.verdict != JudgeVerdict::agrees) answer_.second_judge_message = answer.message;
  return answer.verdict == JudgeVerdict::differs
             ? "ONNX Runtime computes something else: " + answer.message
             : "";
}

SampledCheckOptions Improvement::check_options(const Deadline& deadline) const {
  SampledCheckOptions options;
  options.samples = request_.check.samples;
  if (request_.check.relative_tolerance >= 0)
    options.relative_tolerance = request_.check.relative_tolerance;
  if (request_.check.absolute_tolerance >= 0)
    options.absolute_tolerance = request_.check.absolute_tolerance;
  options.seed = request_.check.seed;
  options.threads = request_.threads;
  options.deadline = deadline.at();
  options.bitwise = request_.rounding_class == name(RoundingClass::bitwise);
  return options;
}

ExportOptions Improvement::export_options() const {
  ExportOptions options;
  if (request_.external_data) options.external_data = ExternalData::always;
  return options;
}

Result<void> Improvement::keep(const std::string& why) {
  answer_.status = "unchanged";
  answer_.message = "kept as it was: " + why;
  explanation_of_original_.clear();
  answer_.after = answer_.before;
  answer_.rules_used.clear();
  return write_original();
}

Result<void> Improvement::write_original() {
  say_stage("writing");
  LEMMA_ASSIGN_OR_RETURN(StagedModel staged,
                         StagedModel::write(model_, request_.output, export_options()));
  if (auto read = staged.read_back(model_.graph, import_options_); !read)
    return with_context(request_.output + ": it does not hold the model", std::move(read.error()));
  return publish(staged, explanation_of_original_);
}

Result<void> Improvement::publish(StagedModel& staged, const std::string& explanation) {
  LEMMA_RETURN_IF_ERROR(staged.publish());
  if (request_.explanation.empty()) return {};
  if (!explanation.empty()) return write_file_atomically(request_.explanation, explanation);
  // One that is there from before would speak of another model.
  std::error_code ignored;
  std::filesystem::remove(request_.explanation, ignored);
  return {};
}

}  // namespace lemma
