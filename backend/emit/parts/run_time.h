#pragma once
// Runs the schedule of a task program: a thread for each unit, which runs its steps in order.
//
// A step waits until counters have reached values, runs one task, and may signal that it has ended. Counters grow
// from run to run and are never set back: what a step waits for is counted from where they stood when the run
// began.
//
// A wait spins for about as long as it takes to wake a thread up, and then sleeps. So tasks of some microseconds follow each
// other without the operating system, and units without a processor of their own get on: where there are more units than
// processors, waits do not spin.

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
      : schedules_(schedules), counters_(count), runs_(count, 0) {
    for (std::size_t i = 0; i < count; ++i) {
      counters_[i].reset(new Counter[schedules[i].counter_count + 1]);
      if (schedules[i].unit_count > most_units_) most_units_ = schedules[i].unit_count;
    }
    if (std::thread::hardware_concurrency() < most_units_) pauses_ = 0;
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
    const std::uint32_t others = schedules_[number].unit_count - 1;
    if (others == 0) return run_unit(0, run);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      run_ = run;
      ++begun_;
    }
    wake_.notify_all();
    run_unit(0, run);
    to_end_ += others;
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

  void serve(std::uint32_t unit) {
    std::uint64_t seen = 0;
    while (true) {
      Run run = {};
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return stopped_ || begun_ != seen; });
        if (stopped_) return;
        seen = begun_;
        run = run_;
      }
      if (unit >= schedules_[run.number].unit_count) continue;
      run_unit(unit, run);
      signal(ended_.value);
    }
  }

  void run_unit(std::uint32_t unit, const Run& run) {
    const Schedule& schedule = schedules_[run.number];
    Counter* const counters = counters_[run.number].get();
    std::vector<void*> arguments(schedule.most_arguments);
    for (std::uint32_t i = schedule.first_step[unit]; i < schedule.first_step[unit + 1]; ++i) {
      const Step& step = schedule.steps[i];
      for (std::uint32_t w = 0; w < step.wait_count; ++w) {
        const Wait& wait = schedule.waits[step.first_wait + w];
        await(counters[wait.counter].value,
              run.earlier * schedule.signals_per_run[wait.counter] + wait.value);
      }
      const Operator& op = schedule.operators[step.op];
      for (std::uint32_t a = 0; a < op.argument_count; ++a) {
        const Location& location = schedule.arguments[op.first_argument + a];
        arguments[a] = static_cast<std::byte*>(run.memories[location.memory]) + location.offset;
      }
      if (run.times != nullptr) run.times[2 * i] = run.seconds();
      op.kernel(arguments.data(), step.part);
      if (run.times != nullptr) run.times[2 * i + 1] = run.seconds();
      for (std::uint32_t s = 0; s < step.signal_count; ++s)
        signal(counters[schedule.signals[step.first_signal + s]].value);
    }
  }

  static void signal(std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_release);
    counter.notify_all();
  }

  void await(std::atomic<std::uint64_t>& counter, std::uint64_t value) const {
    for (int i = 0;; ++i) {
      const std::uint64_t now = counter.load(std::memory_order_acquire);
      if (now >= value) return;
      if (i < pauses_)
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
  std::vector<std::uint64_t> runs_;                   // by schedule: how many have begun
  std::uint32_t most_units_ = 1;
  int pauses_ = 2000;  // some tens of microseconds
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Run run_ = {};
  double* times_ = nullptr;
  std::uint64_t begun_ = 0;
  Counter ended_;             // that a unit beside the first has ended a run
  std::uint64_t to_end_ = 0;  // what it is when the runs so far have ended
  bool stopped_ = false;
};

}  // namespace
