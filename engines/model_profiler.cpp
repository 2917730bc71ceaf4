#include "engines/model_profiler.h"

#include <csignal>
#include <thread>

#include "system/clock.h"
#include "system/signals.h"

namespace lemma {

namespace {

volatile std::sig_atomic_t stop_requested = 0;
void stop_measuring(int /*signal*/) { stop_requested = 1; }

}  // namespace

bool is_stop_requested() { return stop_requested != 0; }

void stop_at_signals() {
  struct sigaction action {};
  action.sa_handler = stop_measuring;
  action.sa_flags = SA_RESETHAND;
  handle_unless_ignored(SIGINT, action);
  handle_unless_ignored(SIGTERM, action);
}

std::vector<std::string> profiled_targets() {
  return names_of_targets([](const Target& target) { return target.measured_costs().has_value(); });
}

std::string default_profiled_target() {
  const std::vector<std::string> names = profiled_targets();
  return names.empty() ? "" : names.front();
}

int profiled_threads(const ProfileArguments& arguments) {
  return arguments.threads > 0 ? arguments.threads
                               : static_cast<int>(std::thread::hardware_concurrency());
}

MeasurementOptions measurement_options(const ProfileArguments& arguments, const std::string& file,
                                       const std::filesystem::path& scratch_folder) {
  MeasurementOptions measuring;
  measuring.scratch_folder = scratch_folder;
  measuring.threads = profiled_threads(arguments);
  measuring.date = today();
  measuring.seconds = arguments.seconds;
  measuring.is_interrupted = is_stop_requested;
  if (arguments.on_progress)
    measuring.on_progress = [&arguments, &file](std::size_t done, std::size_t total) {
      arguments.on_progress(file, done, total);
    };
  return measuring;
}

}  // namespace lemma
