#include "backend/tune/tune_operator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "backend/compile/passes.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/schedule_file.h"
#include "backend/lower/computation_key.h"
#include "backend/tune/loop_candidates.h"
#include "backend/tune/loop_model.h"
#include "backend/tune/timed_plan.h"
#include "check/rounding_spread.h"
#include "profiler/model_timing.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int rounds_of_a_trial = 7, rounds_of_a_decision = 16, sessions_of_a_decision = 2;
constexpr double clearly = 0.98;        // a schedule that gains less is not kept
constexpr double part_for_plans = 0.2;  // of the time
constexpr std::size_t most_plans = 600, most_first_trials = 14, most_later_trials = 16;
constexpr std::size_t most_decisions = 3;  // of the best schedules

/// A plan that may be timed. `family`: of which computation and layout, whose plans share what the model is wrong by.
struct Candidate {
  SchedulePlan plan;
  std::size_t family = 0;
  std::optional<double> ratio = {};  // of its time to that of the first plan; 0: it has no program
};

class OperatorTuner {
 public:
  OperatorTuner(const SingleOperator& op, const std::string& name, const ProgramBuilder& builder,
                ProfileDatabase& database, const TuneOptions& options)
      : op_(op),
        name_(name),
        builder_(builder),
        database_(database),
        options_(options),
        target_(schedule_identity(builder, options.threads)) {}

  Result<TuneOutcome> run() {
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, program_graph(op_.graph));
    LEMMA_ASSIGN_OR_RETURN(computations_, lowered(graph, {}));
    LEMMA_ASSIGN_OR_RETURN(SchedulePlan usual, plan_schedules(computations_, {}, options_.threads));
    seen_.insert(usual.digest);
    candidates_.push_back({std::move(usual), 0, 1.0});
    LEMMA_RETURN_IF_ERROR(read_database());
    if (options_.only_checks) {
      LEMMA_RETURN_IF_ERROR(check_records());
      return std::move(outcome_);
    }
    for (std::size_t i = 0; i < computations_.computations.size() && !is_over(); ++i) {
      LEMMA_RETURN_IF_ERROR(search_layouts_and_blocks(i));
      LEMMA_RETURN_IF_ERROR(search_neighbours(i));
    }
    outcome_.is_complete = !is_over();
    outcome_.planned = candidates_.size();
    if (options_.is_over()) {
      outcome_.note = "interrupted";
      return std::move(outcome_);
    }
    LEMMA_RETURN_IF_ERROR(decide());
    return std::move(outcome_);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_over() const { return seconds() > options_.seconds || options_.is_over(); }
  /// A first batch is timed however little time there is.
  bool has_no_time() const {
    return outcome_.timed + outcome_.known == 0 ? options_.is_over() : is_over();
  }

  Result<void> read_database() {
    LEMMA_ASSIGN_OR_RETURN(const auto trials, database_.trials(target_, name_));
    for (const ScheduleTrial& trial : trials) known_[trial.schedules] = trial.ratio;
    LEMMA_ASSIGN_OR_RETURN(const LoopSchedules all, schedules_in(database_, target_));
    for (const Computation& computation : computations_.computations)
      if (const auto found = all.find(computation_key(computation, computations_.buffers));
          found != all.end())
        recorded_.insert(*found);
    return {};
  }

  /// The best schedules so far with another one for a computation.
  LoopSchedules with(std::size_t computation, const LoopSchedule& schedule) const {
    LoopSchedules result = candidates_[best_].plan.schedules;
    const std::string key =
        computation_key(computations_.computations[computation], computations_.buffers);
    result.erase(key);
    if (!schedule.is_default()) result.emplace(key, schedule);
    return result;
  }

  LoopSchedule schedule_of(std::size_t computation) const {
    const LoopSchedules& schedules = candidates_[best_].plan.schedules;
    const auto found = schedules.find(
        computation_key(computations_.computations[computation], computations_.buffers));
    return found == schedules.end() ? LoopSchedule{} : found->second;
  }

  /// The number of the candidate; nothing for one whose source is that of another one, or which cannot be planned.
  std::optional<std::size_t> add(LoopSchedules schedules, std::size_t family) {
    auto plan = plan_schedules(computations_, std::move(schedules), options_.threads);
    if (!plan || !seen_.insert(plan->digest).second) return std::nullopt;
    candidates_.push_back({std::move(*plan), family});
    return candidates_.size() - 1;
  }

  Result<void> search_layouts_and_blocks(std::size_t computation) {
    const double begin = seconds();
    std::vector<LoopSchedule> layouts;
    std::vector<std::size_t> pool;
    const std::size_t first_family = ++families_;
    for (const LoopSchedule& layout : layout_candidates(computations_.computations[computation])) {
      if (layout.is_default()) {
        layouts.push_back(layout);
        continue;
      }
      const auto added = add(with(computation, layout), first_family + layouts.size());
      if (!added) continue;
      pool.push_back(*added);
      layouts.push_back(layout);
    }
    const std::vector<LoopSchedule> blocks = block_candidates(vector_registers().count);
    // All blocks of one layout after the other: where there is no time for all, the first layouts are those without change.
    for (std::size_t i = 0; i < layouts.size(); ++i)
      for (const LoopSchedule& block : blocks) {
        if (seconds() - begin > part_for_plans * options_.seconds || options_.is_over() ||
            pool.size() >= most_plans)
          break;
        if (const auto added = add(with(computation, merged(layouts[i], block)), first_family + i))
          pool.push_back(*added);
      }
    families_ = first_family + layouts.size();
    return time_pool(std::move(pool), most_first_trials);
  }

  /// Changes one field after the other of the best, as long as that gains.
  Result<void> search_neighbours(std::size_t computation) {
    std::size_t timed = 0;
    while (!is_over() && timed < most_later_trials) {
      const std::size_t before = best_;
      std::vector<std::size_t> pool;
      for (const LoopSchedule& neighbour : neighbours(schedule_of(computation)))
        if (const auto added = add(with(computation, neighbour), ++families_))
          pool.push_back(*added);
      timed += pool.size();
      LEMMA_RETURN_IF_ERROR(time_pool(std::move(pool), most_later_trials));
      if (best_ == before) break;
    }
    return {};
  }

  /// What the time of a candidate is expected to be, relative to that of the first plan: as modelled, times what the model was
  /// wrong by for its family. Families of which nothing is known are a bit more promising than they seem.
  double expected(const Candidate& candidate) const {
    constexpr double curiosity = 0.9;
    const double modelled = candidate.plan.cycles / candidates_.front().plan.cycles;
    const auto error = errors_.find(candidate.family);
    return error == errors_.end() ? curiosity * modelled : modelled * error->second;
  }

  /// Times the most promising candidates, as many at once as there are compilers.
  Result<void> time_pool(std::vector<std::size_t> pool, std::size_t most) {
    const std::size_t at_a_time = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t done = 0; done < most && !pool.empty() && !has_no_time();) {
      const std::size_t count = std::min({at_a_time, most - done, pool.size()});
      std::partial_sort(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count), pool.end(),
                        [this](std::size_t a, std::size_t b) {
                          return std::pair(expected(candidates_[a]), a) <
                                 std::pair(expected(candidates_[b]), b);
                        });
      const std::vector<std::size_t> batch(pool.begin(),
                                           pool.begin() + static_cast<std::ptrdiff_t>(count));
      pool.erase(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count));
      LEMMA_RETURN_IF_ERROR(time_batch(batch));
      done += count;
    }
    return {};
  }

  Result<void> time_batch(const std::vector<std::size_t>& batch) {
    std::vector<std::size_t> unknown;
    std::vector<fs::path> folders;
    for (const std::size_t number : batch) {
      const auto known = known_.find(text(candidates_[number].plan.schedules));
      if (known != known_.end()) {
        ++outcome_.known;
        take(number, known->second);
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(folders.emplace_back(),
                             builder_.write(candidates_[number].plan.program));
      unknown.push_back(number);
    }
    if (unknown.empty()) return {};
    const auto built = build_usual();
    if (options_.is_over()) return {};  // which ends compilers
    LEMMA_RETURN_IF_ERROR(built);
    // One that does not compile has no time; the others go on.
    (void)builder_.build_all(folders, options_.is_over, 0);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      if (options_.is_over()) return {};
      LEMMA_RETURN_IF_ERROR(time_one(unknown[i], folders[i]));
    }
    return {};
  }

  Result<void> build_usual() {
    if (!usual_.empty()) return {};
    LEMMA_ASSIGN_OR_RETURN(const fs::path folder, builder_.write(candidates_.front().plan.program));
    LEMMA_RETURN_IF_ERROR(builder_.build(folder, options_.is_over, 0));
    usual_ = folder;
    return {};
  }

  Result<void> time_one(std::size_t number, const fs::path& folder) {
    const SchedulePlan* const plans[] = {&candidates_.front().plan, &candidates_[number].plan};
    const fs::path folders[] = {usual_, folder};
    LEMMA_ASSIGN_OR_RETURN(const bool is_right, is_right_in(candidates_[number].plan, folder));
    const auto times = time_plans(plans, folders, op_, options_.threads, 1, rounds_of_a_trial);
    if (options_.is_over()) return {};
    const double ratio = times && is_right ? time_ratio((*times)[0], (*times)[1]).median : 0;
    LEMMA_RETURN_IF_ERROR(database_.put(
        target_, name_, ScheduleTrial{text(candidates_[number].plan.schedules), ratio},
        options_.date));
    ++outcome_.timed;
    take(number, ratio);
    return {};
  }

  void take(std::size_t number, double ratio) {
    Candidate& candidate = candidates_[number];
    candidate.ratio = ratio;
    if (ratio > 0) {
      const double modelled = candidate.plan.cycles / candidates_.front().plan.cycles;
      errors_[candidate.family] = ratio / modelled;
      if (ratio < *candidates_[best_].ratio) best_ = number;
    }
    if (options_.on_progress)
      options_.on_progress({outcome_.timed + outcome_.known, seconds(), *candidates_[best_].ratio,
                            text(candidates_[best_].plan.schedules)});
  }

  /// Keeps the best candidate that is faster than the program without schedules, and than that of the records, in paired runs
  /// of new instances, and right.
  Result<void> decide() {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < candidates_.size(); ++i)
      if (candidates_[i].ratio.value_or(0) > 0 && *candidates_[i].ratio < clearly)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return std::pair(*candidates_[a].ratio, a) < std::pair(*candidates_[b].ratio, b);
    });
    if (order.size() > most_decisions) order.resize(most_decisions);
    for (const std::size_t number : order) {
      LEMMA_ASSIGN_OR_RETURN(const bool is_kept, keep(candidates_[number].plan));
      if (is_kept) return {};
    }
    return say_what_is_recorded();
  }

  /// Times what is recorded again. Records that are not faster any more are removed.
  Result<void> check_records() {
    outcome_.is_complete = true;
    outcome_.planned = 1;
    if (recorded_.empty()) {
      outcome_.note = "nothing is recorded";
      return {};
    }
    LEMMA_ASSIGN_OR_RETURN(const SchedulePlan plan,
                           plan_schedules(computations_, recorded_, options_.threads));
    LEMMA_RETURN_IF_ERROR(build_usual());
    LEMMA_ASSIGN_OR_RETURN(const fs::path folder, builder_.write(plan.program));
    LEMMA_RETURN_IF_ERROR(builder_.build(folder, options_.is_over, 0));
    const SchedulePlan* const plans[] = {&candidates_.front().plan, &plan};
    const fs::path folders[] = {usual_, folder};
    LEMMA_ASSIGN_OR_RETURN(const auto times,
                           time_plans(plans, folders, op_, options_.threads, sessions_of_a_decision,
                                      rounds_of_a_decision));
    LEMMA_ASSIGN_OR_RETURN(const bool is_right, is_right_in(plan, folder, true));
    outcome_.seconds_before = median(times[0]);
    outcome_.seconds = median(times[1]);
    list(recorded_);
    outcome_.is_recorded = is_right && time_ratio(times[0], times[1]).median < 1;
    if (outcome_.is_recorded) return {};
    if (is_right) outcome_.note = "not faster any more: the record is removed";
    std::vector<std::string> keys;
    for (const auto& [key, schedule] : recorded_) keys.push_back(key);
    return database_.remove_schedules(target_, keys);
  }

  /// Without a faster candidate: what earlier runs have recorded stays.
  Result<void> say_what_is_recorded() {
    outcome_.is_recorded = !recorded_.empty();
    if (!outcome_.is_recorded) outcome_.note = "nothing was faster";
    LEMMA_ASSIGN_OR_RETURN(const auto records, database_.schedules(target_));
    for (const ScheduleRecord& record : records) {
      if (!recorded_.contains(record.key)) continue;
      outcome_.seconds_before = record.seconds_before;
      outcome_.seconds = record.seconds;
    }
    list(recorded_);
    return {};
  }

  void list(const LoopSchedules& schedules) {
    outcome_.schedules.clear();
    for (const auto& [key, schedule] : schedules)
      for (const Computation& computation : computations_.computations)
        if (computation_key(computation, computations_.buffers) == key) {
          outcome_.schedules.push_back({key, computation.description, text(schedule)});
          break;
        }
  }

  Result<bool> keep(const SchedulePlan& plan) {
    if (text(plan.schedules) == text(recorded_)) {
      LEMMA_RETURN_IF_ERROR(say_what_is_recorded());
      return true;
    }
    LEMMA_RETURN_IF_ERROR(build_usual());
    std::vector<const SchedulePlan*> plans = {&candidates_.front().plan, &plan};
    LEMMA_ASSIGN_OR_RETURN(const fs::path folder, builder_.write(plan.program));
    LEMMA_RETURN_IF_ERROR(builder_.build(folder, options_.is_over, 0));
    std::vector<fs::path> folders = {usual_, folder};
    std::optional<SchedulePlan> recorded;
    if (!recorded_.empty()) {
      LEMMA_ASSIGN_OR_RETURN(recorded, plan_schedules(computations_, recorded_, options_.threads));
      LEMMA_ASSIGN_OR_RETURN(folders.emplace_back(), builder_.write(recorded->program));
      LEMMA_RETURN_IF_ERROR(builder_.build(folders.back(), options_.is_over, 0));
      plans.push_back(&*recorded);
    }
    LEMMA_ASSIGN_OR_RETURN(const auto times,
                           time_plans(plans, folders, op_, options_.threads, sessions_of_a_decision,
                                      rounds_of_a_decision));
    for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) {
      if (other >= times.size()) continue;
      const TimeRatio ratio = time_ratio(times[other], times[1]);
      if (ratio.median > clearly || ratio.upper_bound >= 1) return false;
    }
    LEMMA_ASSIGN_OR_RETURN(const bool is_right, is_right_in(plan, folder, true));
    if (!is_right) return false;
    LEMMA_RETURN_IF_ERROR(
        record(plan, median(times[0]), median(times[1]), static_cast<int>(times[0].size())));
    return true;
  }

  /// Whether the outputs are those of the program without schedules, or of the interpreter but for what rounding moves them by.
  Result<bool> has_usual_outputs(const PlanInstance& instance) {
    if (!usual_outputs_) {
      LEMMA_ASSIGN_OR_RETURN(const PlanInstance usual,
                             PlanInstance::open(candidates_.front().plan, usual_, op_));
      usual_outputs_ = usual.outputs();
    }
    for (std::size_t i = 0; i < usual_outputs_->size(); ++i)
      if (!std::ranges::equal(instance.outputs()[i].bytes(), (*usual_outputs_)[i].bytes()))
        return false;
    return true;
  }

  /// The same, always beside the interpreter where the plan is to be `kept`.
  Result<bool> is_right_in(const SchedulePlan& plan, const fs::path& folder, bool kept = false) {
    constexpr std::uint64_t seed = 1;
    const auto instance = PlanInstance::open(plan, folder, op_);
    if (!instance) return false;
    LEMMA_ASSIGN_OR_RETURN(const bool is_usual, has_usual_outputs(*instance));
    if (is_usual && !kept) return true;
    if (!expected_) {
      interpreter::RunOptions running;
      running.threads = options_.threads;
      LEMMA_ASSIGN_OR_RETURN(expected_, interpreter::run(op_.graph, op_.inputs, running));
      allowances_ = output_allowances(op_.graph, op_.inputs, *expected_, running, seed);
    }
    for (std::size_t i = 0; i < expected_->size(); ++i)
      if (!is_within(instance->outputs()[i], (*expected_)[i], allowances_[i])) {
        outcome_.note = "differs from the interpreter: " + text(plan.schedules);
        return false;
      }
    return true;
  }

  Result<void> record(const SchedulePlan& plan, double before, double after, int rounds) {
    std::vector<ScheduleRecord> records;
    std::vector<std::string> gone;
    for (const auto& [key, schedule] : recorded_)
      if (!plan.schedules.contains(key)) gone.push_back(key);
    for (const auto& [key, schedule] : plan.schedules)
      records.push_back({key, text(schedule), name_, before, after, rounds, options_.date});
    LEMMA_RETURN_IF_ERROR(database_.remove_schedules(target_, gone));
    LEMMA_RETURN_IF_ERROR(database_.put(target_, records));
    outcome_.is_recorded = true;
    outcome_.note.clear();
    outcome_.seconds_before = before;
    outcome_.seconds = after;
    list(plan.schedules);
    return {};
  }

  const SingleOperator& op_;
  const std::string& name_;
  const ProgramBuilder& builder_;
  ProfileDatabase& database_;
  const TuneOptions& options_;
  RuntimeIdentity target_;
  Clock::time_point begin_ = Clock::now();
  ComputationGraph computations_;
  std::vector<Candidate> candidates_;  // the first one has no schedules
  std::size_t best_ = 0, families_ = 0;
  std::set<std::string> seen_;            // digests
  std::map<std::size_t, double> errors_;  // of the model, by family
  std::map<std::string, double> known_;   // ratios, by schedules
  LoopSchedules recorded_;
  fs::path usual_;  // the program without schedules
  std::optional<std::vector<interpreter::Tensor>> usual_outputs_, expected_;
  std::vector<lemma::OutputAllowance> allowances_;
  TuneOutcome outcome_;
};

}  // namespace

Result<TuneOutcome> tune_operator(const SingleOperator& op, const std::string& name,
                                  const ProgramBuilder& builder, ProfileDatabase& database,
                                  const TuneOptions& options) {
  return OperatorTuner(op, name, builder, database, options).run();
}

}  // namespace lemma::backend
