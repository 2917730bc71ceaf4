#include "pipeline/chosen_timers.h"

#include <algorithm>
#include <thread>

namespace lemma {

namespace {

constexpr double most_starting_seconds = 30;  // of a compiler

}  // namespace

Result<void> ChosenTimers::start(const Job& job, const Deadline& deadline) {
  if (const Target* target = job.options.own_target()) {
    LEMMA_RETURN_IF_ERROR(programs_.emplace().require());
    const double seconds = std::min(most_starting_seconds, deadline.remaining() / 4);
    TimerRequest request;
    request.threads = job.options.threads;
    request.model_programs = programs_->path();
    request.seconds_to_start = seconds;
    LEMMA_ASSIGN_OR_RETURN(of_target_, target->timers(request));
    operators_ = of_target_.operators.get();
    models_ = of_target_.models.get();
  } else if (job.worker != nullptr) {
    const int threads = job.options.threads > 0
                            ? job.options.threads
                            : static_cast<int>(std::thread::hardware_concurrency());
    operators_ = &operators_in_runtime_.emplace(*job.worker, threads);
    models_ = &models_in_runtime_.emplace(*job.worker);
  }
  return {};
}

}  // namespace lemma
