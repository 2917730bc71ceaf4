#pragma once
// Runs the schedule of a task program: a thread for each unit, which runs its steps in order.
//
// A step waits until counters have reached values, runs one task, and may signal that it has ended. Counters grow
// from run to run and are never set back: what a step waits for is counted from where they stood when the run
// began. A wait spins for a moment and then sleeps, so that units without a processor of their own get on.

#include <atomic>
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
  std::int32_t signal;  // the counter that grows, or -1
};

struct Schedule {
  const Location* arguments;
  const Operator* operators;
  const Wait* waits;
  const Step* steps;
  const std::uint32_t* first_step;  // by unit, and the end
  std::uint32_t unit_count;
  const std::uint32_t* signals_per_run;  // by counter
  std::uint32_t counter_count;
  std::uint32_t most_arguments;
};

class Machine {
 public:
  explicit Machine(const Schedule& schedule)
      : schedule_(schedule), counters_(new Counter[schedule.counter_count + 1]) {}

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
    for (std::uint32_t unit = 1; unit < schedule_.unit_count; ++unit)
      threads_.emplace_back([this, unit] { serve(unit); });
  }

  void run(void* const* memories) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      memories_ = memories;
      ++run_;
      busy_ = schedule_.unit_count - 1;
    }
    wake_.notify_all();
    run_unit(0, run_ - 1, memories);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
  };

  void serve(std::uint32_t unit) {
    std::uint64_t seen = 0;
    while (true) {
      void* const* memories = nullptr;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return stopped_ || run_ != seen; });
        if (stopped_) return;
        seen = run_;
        memories = memories_;
      }
      run_unit(unit, seen - 1, memories);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void run_unit(std::uint32_t unit, std::uint64_t earlier_runs, void* const* memories) {
    std::vector<void*> arguments(schedule_.most_arguments);
    for (std::uint32_t i = schedule_.first_step[unit]; i < schedule_.first_step[unit + 1]; ++i) {
      const Step& step = schedule_.steps[i];
      for (std::uint32_t w = 0; w < step.wait_count; ++w)
        await(schedule_.waits[step.first_wait + w], earlier_runs);
      const Operator& op = schedule_.operators[step.op];
      for (std::uint32_t a = 0; a < op.argument_count; ++a) {
        const Location& location = schedule_.arguments[op.first_argument + a];
        arguments[a] = static_cast<std::byte*>(memories[location.memory]) + location.offset;
      }
      op.kernel(arguments.data(), step.part);
      if (step.signal >= 0) {
        counters_[step.signal].value.fetch_add(1, std::memory_order_release);
        counters_[step.signal].value.notify_all();
      }
    }
  }

  void await(const Wait& wait, std::uint64_t earlier_runs) {
    const std::uint64_t value = earlier_runs * schedule_.signals_per_run[wait.counter] + wait.value;
    constexpr int spins = 2000;
    std::atomic<std::uint64_t>& counter = counters_[wait.counter].value;
    for (int i = 0;; ++i) {
      const std::uint64_t now = counter.load(std::memory_order_acquire);
      if (now >= value) return;
      if (i >= spins) counter.wait(now, std::memory_order_acquire);
    }
  }

  const Schedule& schedule_;
  std::unique_ptr<Counter[]> counters_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  void* const* memories_ = nullptr;
  std::uint64_t run_ = 0;
  std::uint32_t busy_ = 0;
  bool stopped_ = false;
};

}  // namespace
