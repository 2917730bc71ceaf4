#pragma once
// Runs the schedule of a task program: a thread for each unit, which runs its steps in order.
//
// A step waits until counters have reached values, runs one task, and may signal that it has ended. Counters grow
// from run to run and are never set back: what a step waits for is counted from where they stood when the run
// began.
//
// A thread whose unit cannot go on takes the next step of another unit, if that has no processor: its thread sleeps, or
// another program runs in its place. One thread at a time runs a step of a unit, and each after the one before it, so that
// it makes no difference to the schedule whose thread it is.
//
// Where there is no such step either, a wait spins for about as long as it takes to wake a thread up, and then sleeps. So tasks
// of some microseconds follow each other without the operating system, and units without a processor of their own get on:
// where there are more units than processors, waits do not spin.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

/// Computes one part of a tensor: the operands, then the result.
using Kernel = void (*)(void* const* arguments, std::int64_t part);

/// A tensor: a memory (the arena, the weights, the inputs, the outputs) and a place in it.
struct Location {
  std::uint32_t memory;
  std::uint64_t offset;
};

struct Operator {
  Kernel kernel;
  std::uint32_t first_argument, argument_count;
};

struct Wait {
  std::uint32_t counter, value;
};

struct Step {
  std::uint32_t op, part;
  std::uint32_t first_wait, wait_count;
  std::uint32_t first_signal, signal_count;
};

struct Schedule {
  const Location* arguments;
  const Operator* operators;
  const Wait* waits;
  const std::uint32_t* signals;  // counters that grow
  const Step* steps;
  const std::uint32_t* first_step;  // by unit, and the end
  std::uint32_t unit_count;
  const std::uint32_t* signals_per_run;  // by counter
  std::uint32_t counter_count;
  std::uint32_t most_arguments;
};

using Clock = std::chrono::steady_clock;

class Machine {
 public:
  /// Of so many schedules.
  Machine(const Schedule* schedules, std::size_t count)
      : schedules_(schedules), counters_(count), units_(count), runs_(count, 0) {
    for (std::size_t i = 0; i < count; ++i) {
      counters_[i].reset(new Counter[schedules[i].counter_count + 1]);
      units_[i].reset(new Counter[schedules[i].unit_count]);
      if (schedules[i].unit_count > most_units_) most_units_ = schedules[i].unit_count;
      if (schedules[i].most_arguments > arguments_.size())
        arguments_.resize(schedules[i].most_arguments);
    }
    if (std::thread::hardware_concurrency() < most_units_) spins_ = false;
  }

  ~Machine() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Throws std::system_error if a thread cannot be started.
  void start() {
    for (std::uint32_t unit = 1; unit < most_units_; ++unit)
      threads_.emplace_back([this, unit] { serve(unit); });
  }

  /// Where later runs write when each step begins, its waits being over, and ends, in seconds since the run began: unit
  /// after unit, in the order of the steps. Null: nowhere.
  void record(double* times) { times_ = times; }

  /// Runs the schedule of this number.
  void run(std::size_t number, void* const* memories) {
    const Run run = {number, runs_[number]++, memories, times_,
                     times_ == nullptr ? Clock::time_point() : Clock::now()};
    const Schedule& schedule = schedules_[number];
    if (schedule.unit_count == 1) return run_all_steps(run);
    bool is_asleep = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      run_ = run;
      begun_.fetch_add(1, std::memory_order_release);
      is_asleep = asleep_ > 0;
    }
    if (is_asleep) wake_.notify_all();
    for (std::uint32_t unit = 0; unit < schedule.unit_count; ++unit)
      if (steps_of(schedule, unit) > 0) ++to_end_;
    run_unit(0, run);
    await(ended_.value, to_end_);
  }

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
  };

  struct Run {
    std::size_t number;
    std::uint64_t earlier;  // runs of the same schedule
    void* const* memories;
    double* times;  // see record()
    Clock::time_point begin;

    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  };

  /// How long a wait spins: about as long as it takes to wake a thread up. The pauses of processors differ in length.
  class Patience {
   public:
    explicit Patience(bool spins) : lasts_(spins) {}

    bool lasts() {
      constexpr int pauses_between_clocks = 16;
      constexpr std::chrono::microseconds limit(100);
      if (lasts_ && count_++ % pauses_between_clocks == 0) {
        const Clock::time_point now = Clock::now();
        if (count_ == 1) begin_ = now;
        lasts_ = now - begin_ < limit;
      }
      return lasts_;
    }

   private:
    bool lasts_;
    int count_ = 0;
    Clock::time_point begin_;
  };

  void serve(std::uint32_t unit) {
    std::uint64_t seen = 0;
    while (true) {
      // The next run often follows at once: a thread that sleeps is woken up late.
      Patience patience(spins_);
      while (begun_.load(std::memory_order_acquire) == seen && patience.lasts()) pause();
      Run run = {};
      {
        std::unique_lock<std::mutex> lock(mutex_);
        ++asleep_;
        wake_.wait(lock, [&] { return stopped_ || begun_.load() != seen; });
        --asleep_;
        if (stopped_) return;
        seen = begun_.load();
        run = run_;
      }
      if (unit >= schedules_[run.number].unit_count) continue;
      run_unit(unit, run);
    }
  }

  static std::uint64_t steps_of(const Schedule& schedule, std::uint32_t unit) {
    return schedule.first_step[unit + 1] - schedule.first_step[unit];
  }

  /// Of the only unit.
  void run_all_steps(const Run& run) {
    const Schedule& schedule = schedules_[run.number];
    for (std::uint32_t i = schedule.first_step[0]; i < schedule.first_step[1]; ++i)
      run_task(schedule, i, run, arguments_);
  }

  static void run_task(const Schedule& schedule, std::uint32_t number, const Run& run,
                       std::vector<void*>& arguments) {
    const Step& step = schedule.steps[number];
    const Operator& op = schedule.operators[step.op];
    for (std::uint32_t a = 0; a < op.argument_count; ++a) {
      const Location& location = schedule.arguments[op.first_argument + a];
      arguments[a] = static_cast<std::byte*>(run.memories[location.memory]) + location.offset;
    }
    if (run.times != nullptr) run.times[2 * number] = run.seconds();
    op.kernel(arguments.data(), step.part);
    if (run.times != nullptr) run.times[2 * number + 1] = run.seconds();
  }

  /// What became of the next step of a unit.
  struct Attempt {
    enum class Outcome { ran, blocked, ended } outcome;  // `ended`: it has no more steps
    const std::atomic<std::uint64_t>* what = nullptr;    // `blocked`: until this has another value
    std::uint64_t value = 0;
  };

  /// Runs the next step of a unit, unless its waits are not over, or another thread runs a step of it. What a unit has come
  /// to is twice the steps that have ended, of all runs, and 1 more while a step is run. A thread that comes from an
  /// earlier run finds that its run has ended.
  Attempt try_step(std::uint32_t unit, bool is_own, const Run& run, std::vector<void*>& arguments) {
    using Outcome = typename Attempt::Outcome;
    const Schedule& schedule = schedules_[run.number];
    const Counter* const counters = counters_[run.number].get();
    std::atomic<std::uint64_t>& state = units_[run.number][unit].value;
    const std::uint64_t count = steps_of(schedule, unit);
    std::uint64_t now = state.load(std::memory_order_acquire);
    const std::uint64_t done = now / 2 - run.earlier * count;
    if (done >= count) return {Outcome::ended};
    if (now % 2 != 0) return {Outcome::blocked, &state, now};
    const auto number = static_cast<std::uint32_t>(schedule.first_step[unit] + done);
    const Step& step = schedule.steps[number];
    for (std::uint32_t w = 0; w < step.wait_count; ++w) {
      const Wait& wait = schedule.waits[step.first_wait + w];
      const std::atomic<std::uint64_t>& counter = counters[wait.counter].value;
      const std::uint64_t value = counter.load(std::memory_order_acquire);
      if (value < run.earlier * schedule.signals_per_run[wait.counter] + wait.value)
        return {Outcome::blocked, &counter, value};
    }
    if (!state.compare_exchange_strong(now, now + 1, std::memory_order_acquire))
      return try_step(unit, is_own, run, arguments);
    run_task(schedule, number, run, arguments);
    for (std::uint32_t s = 0; s < step.signal_count; ++s)
      signal(counters_[run.number][schedule.signals[step.first_signal + s]].value);
    state.store(now + 2, std::memory_order_release);
    if (!is_own) state.notify_all();
    if (done + 1 == count) signal(ended_.value);
    return {Outcome::ran};
  }

  /// Tries the other units in turn: `ran`, `ended` where all have, or `blocked`.
  typename Attempt::Outcome help_others(std::uint32_t own, const Run& run,
                                        std::vector<void*>& arguments) {
    using Outcome = typename Attempt::Outcome;
    const std::uint32_t count = schedules_[run.number].unit_count;
    bool is_over = true;
    for (std::uint32_t i = 1; i < count; ++i) {
      const Outcome outcome = try_step((own + i) % count, false, run, arguments).outcome;
      if (outcome == Outcome::ran) return outcome;
      if (outcome != Outcome::ended) is_over = false;
    }
    return is_over ? Outcome::ended : Outcome::blocked;
  }

  /// Returns when all steps of the unit have ended, and there was nothing to help with for a while.
  void run_unit(std::uint32_t unit, const Run& run) {
    using Outcome = typename Attempt::Outcome;
    std::vector<void*> arguments(schedules_[run.number].most_arguments);
    Patience patience(spins_);
    while (true) {
      const Attempt own = try_step(unit, true, run, arguments);
      Outcome outcome = own.outcome;
      if (outcome != Outcome::ran) outcome = help_others(unit, run, arguments);
      if (outcome == Outcome::ran) {
        patience = Patience(spins_);
        continue;
      }
      if (own.outcome == Outcome::ended && outcome == Outcome::ended) return;
      if (patience.lasts()) {
        pause();
        continue;
      }
      if (own.outcome == Outcome::ended) return;
      own.what->wait(own.value, std::memory_order_acquire);
    }
  }

  static void signal(std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_release);
    counter.notify_all();
  }

  void await(std::atomic<std::uint64_t>& counter, std::uint64_t value) const {
    Patience patience(spins_);
    while (true) {
      const std::uint64_t now = counter.load(std::memory_order_acquire);
      if (now >= value) return;
      if (patience.lasts())
        pause();
      else
        counter.wait(now, std::memory_order_acquire);
    }
  }

  /// Leaves the processor's resources to what runs beside it for some nanoseconds.
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  const Schedule* const schedules_;
  std::vector<std::unique_ptr<Counter[]>> counters_;  // by schedule
  std::vector<std::unique_ptr<Counter[]>> units_;     // by schedule: see try_step
  std::vector<std::uint64_t> runs_;                   // by schedule: how many have begun
  std::vector<void*> arguments_;                      // of a task, where there is one unit
  std::uint32_t most_units_ = 1;
  bool spins_ = true;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Run run_ = {};
  double* times_ = nullptr;
  std::atomic<std::uint64_t> begun_{0};
  std::uint32_t asleep_ = 0;  // threads that wait for a run to begin
  Counter ended_;             // units that have ended a run
  std::uint64_t to_end_ = 0;  // what it is when the runs so far have ended
  bool stopped_ = false;
};

}  // namespace
