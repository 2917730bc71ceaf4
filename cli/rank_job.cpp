#include "cli/rank_job.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "batch/resource_use.h"
#include "cli/error_line.h"
#include "database/build.h"
#include "ranks/launcher.h"

namespace lemma {
namespace {

ExitCode report_end(const Error& error, bool is_first) {
  const bool interrupted = error.message.ends_with(database::interrupted);
  if (is_first && interrupted) report_interruption();
  if (is_first && !interrupted) report_error(error);
  return interrupted ? ExitCode::some_models_failed : exit_code_of(error.kind);
}

}  // namespace

std::filesystem::path rank_module(const char* name) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "lemma" / name;
}

void report_interruption() {
  std::cerr << "lemma: interrupted; run the same command again to resume" << std::endl;
}

bool speaks_for_all() {
  if (ranks::launch_of_environment().rank == 0) return true;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return false;
}

ExitCode exit_code_of_rank(const Result<ExitCode>& done) {
  if (done) return *done;
  return speaks_for_all() ? report_error(done.error()) : exit_code_of(done.error().kind);
}

ExitCode run_on_ranks(const std::function<Result<std::string>(ranks::Ranks&)>& job) {
  const auto ranks = ranks::connect(rank_module("lemma_mpi.so"));
  if (!ranks) {
    if (speaks_for_all()) report_error(ranks.error());
    return ExitCode::no_ranks;
  }
  const auto text = job(**ranks);
  if (!text) (*ranks)->stop(text.error());
  const auto finished = (*ranks)->finish();
  const bool is_first = (*ranks)->is_first();
  if (!finished) return report_end(finished.error(), is_first);
  if (is_first) std::cout << *text;
  return ExitCode::done;
}

Result<UseOfRanks> use_of_ranks(ranks::Ranks& ranks) {
  const ResourceUse use = resource_use_with_children();
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<std::string> all,
      ranks.gather(nlohmann::json::array({use.processor_seconds, use.peak_memory_bytes}).dump()));
  UseOfRanks result{ranks.size()};
  for (const std::string& text : all) {
    const auto figures = nlohmann::json::parse(text);
    result.processor_seconds += figures[0].get<double>();
    result.peak_bytes = std::max(result.peak_bytes, figures[1].get<std::int64_t>());
  }
  return result;
}

Result<void> check_ranks(int argument_count, const char* const* arguments) {
  const std::size_t size = ranks::launch_of_environment().size;
  if (size == 1 || argument_count < 2 || arguments[1][0] == '-') return {};
  const std::string_view command = arguments[1],
                         second = argument_count > 2 ? arguments[2] : std::string_view();
  if (command == "rules" && (second == "build" || second == "generate" || second == solver_command))
    return {};
  if (command == "plan" && (second == "run" || second == "calibrate")) return {};
  return unsupported(
      fmt::format("started as {} ranks, but only rules build, rules generate, plan run and plan "
                  "calibrate share their work",
                  size));
}

}  // namespace lemma
