#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "cli/plan_results.h"
#include "cli/progress_line.h"
#include "costmodel/device.h"
#include "outputs/files.h"
#include "plans/calibration/calibrated_cluster.h"
#include "plans/calibration/exchange_times.h"
#include "plans/calibration/operators_on_ranks.h"
#include "plans/exchanges/exchanges.h"
#include "plans/task_programs/stage_programs.h"
#include "programs/shape_option.h"
#include "report/table.h"
#include "system/clock.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

struct CalibrateArguments {
  std::vector<std::string> models, shapes;
  std::string output, engine = engine_names.front(), exchange = plans::exchange_names().front();
  std::string device = "cpu";
  std::uint64_t ranks = 2;
  std::vector<std::uint64_t> bytes;
  double seconds = 300;
  bool json = false;
};

constexpr std::size_t least_bytes = 1 << 10, most_bytes = 16 << 20, most_ranks = 64;

/// Those that are asked for; otherwise 1 KB, 2 KB, ... 16 MB, and less where many ranks have memory for it.
std::vector<std::size_t> sizes_of(const CalibrateArguments& arguments) {
  std::vector<std::size_t> sizes(arguments.bytes.begin(), arguments.bytes.end());
  if (sizes.empty())
    for (std::size_t bytes = least_bytes; bytes <= 2 * most_bytes / arguments.ranks; bytes *= 2)
      sizes.push_back(bytes);
  return sizes;
}

Result<void> check_usage(const CalibrateArguments& arguments) {
  if (arguments.ranks < 2 || arguments.ranks > most_ranks)
    return bad_input(
        fmt::format("--ranks: is {}; 2 to {} are needed", arguments.ranks, most_ranks));
  std::uint64_t before = 0;
  for (const std::uint64_t bytes : arguments.bytes) {
    if (bytes <= before)
      return bad_input(
          fmt::format("--bytes: has {} behind {}; more are needed there", bytes, before));
    before = bytes;
  }
  return {};
}

/// The memory of the machine for each of its ranks.
double memory_of_rank(std::size_t ranks) {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(sysconf(_SC_PAGE_SIZE)) / static_cast<double>(ranks);
}

/// What ranks measure together; each of them has the same in the end.
class Calibration {
 public:
  Calibration(const CalibrateArguments& arguments, std::vector<plans::LoneOperator> operators,
              ProgressLine& progress)
      : arguments_(arguments), lone_(std::move(operators)), progress_(progress) {}

  Result<void> compute(plans::Communicator& base) {
    plans::RankTimer timer(base, arguments_.seconds);
    const bool is_first = base.rank() == 0;
    plans::ExchangeTimesRequest exchanges;
    exchanges.make_way =
        [kind = *plans::exchange_of_name(arguments_.exchange)](plans::Communicator& ranks) {
          return plans::exchanging_by(kind, ranks, rank_module("lemma_nccl_plans.so"));
        };
    exchanges.bytes = sizes_of(arguments_);
    if (is_first) exchanges.on_progress = [this](const std::string& what) { progress_(what); };
    LEMMA_ASSIGN_OR_RETURN(clusters::MeasuredTimes times,
                           plans::exchange_times(base, timer, exchanges));
    LEMMA_ASSIGN_OR_RETURN(plans::OperatorsOnRanksRequest request, request_of(base));
    if (is_first)
      request.on_progress = [this](std::size_t done, std::size_t all) {
        progress_(fmt::format("operators: {} of {}", done, all));
      };
    LEMMA_ASSIGN_OR_RETURN(auto operators, plans::operators_on_ranks(base, timer, lone_, request));
    if (is_first) {
      times_ = std::move(times);
      operators_ = std::move(operators);
    }
    return plans::meet(base);
  }
  /// Processes have nothing to give: the first one writes.
  Result<void> share(plans::Communicator&) { return {}; }

  std::size_t asked() const { return lone_.size(); }
  clusters::MeasuredTimes times() { return std::move(times_); }
  std::vector<clusters::MeasuredOperator> operators() { return std::move(operators_); }

 private:
  Result<plans::OperatorsOnRanksRequest> request_of(plans::Communicator& base) const {
    plans::OperatorsOnRanksRequest request;
    request.engine = plans::interpreter_engine(1);
    if (arguments_.engine == engine_names.front() || lone_.empty()) return request;
    std::vector<const Graph*> graphs;
    for (const plans::LoneOperator& lone : lone_) graphs.push_back(&lone.alone.graph);
    LEMMA_ASSIGN_OR_RETURN(plans::StagePrograms programs, plans::stage_programs(graphs, base));
    request.engine = std::move(programs.engine);
    return request;
  }

  const CalibrateArguments& arguments_;
  std::vector<plans::LoneOperator> lone_;
  ProgressLine& progress_;
  clusters::MeasuredTimes times_;                      // of the first rank
  std::vector<clusters::MeasuredOperator> operators_;  // likewise
};

plans::CalibratedRanks described(const CalibrateArguments& arguments) {
  plans::CalibratedRanks ranks;
  ranks.ranks = arguments.ranks;
  ranks.device = arguments.device;
  ranks.memory_bytes = memory_of_rank(arguments.ranks);
  const bool has_processes = ranks::launch_of_environment().size > 1;
  const std::string kind = has_processes ? "processes" : "threads";
  ranks.name = fmt::format("{} ranks as {} of one machine, {}, {}", arguments.ranks, kind,
                           arguments.exchange, arguments.engine);
  ranks.source = fmt::format(
      "measured on {} ({} processors) by lemma plan calibrate: {} ranks as {}, --exchange {}, "
      "--engine {}; medians, f32; the memory is that of the machine over the ranks",
      today(), sysconf(_SC_NPROCESSORS_ONLN), arguments.ranks, kind, arguments.exchange,
      arguments.engine);
  return ranks;
}

/// Operators of all models, each once.
Result<std::vector<plans::LoneOperator>> operators_of(const CalibrateArguments& arguments,
                                                      const clusters::Cluster& cluster,
                                                      const Device& device,
                                                      ProgressLine& progress) {
  std::vector<plans::LoneOperator> all;
  std::set<std::string> known;
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  for (const std::string& file : arguments.models) {
    progress(fmt::format("ways of operators of {}", file));
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
    auto found = plans::operators_in_all_ways(model.graph, cluster, device);
    if (!found) return with_context(file, std::move(found.error()));
    for (plans::LoneOperator& lone : *found)
      if (known.insert(lone.text).second) all.push_back(std::move(lone));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.predicted > b.predicted; });
  return all;
}

std::string fits_text(const clusters::Cluster& cluster) {
  using Align = Table::Align;
  Table table({"what", "ranks", "latency", "bytes a second", "least", "most"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [key, times] : cluster.measured->all()) {
    const clusters::LinkFit fit = clusters::fitted_link(times);
    table.add({key.first, fmt::format("{}", key.second), duration_text(fit.latency_seconds),
               with_prefix(fit.bytes_per_second), duration_text(times.front().seconds),
               duration_text(times.back().seconds)});
  }
  return table.text();
}

void print_json(const clusters::Cluster& cluster, std::size_t asked) {
  nlohmann::ordered_json fits = nlohmann::ordered_json::array();
  for (const auto& [key, times] : cluster.measured->all()) {
    const clusters::LinkFit fit = clusters::fitted_link(times);
    fits.push_back({{"what", key.first},
                    {"ranks", key.second},
                    {"sizes", times.size()},
                    {"latency_seconds", fit.latency_seconds},
                    {"bytes_per_second", fit.bytes_per_second}});
  }
  const nlohmann::ordered_json answer = {
      {"measured", fits}, {"operators", cluster.operators.size()}, {"operators_asked", asked}};
  std::cout << answer.dump() << "\n";
}

Result<ExitCode> calibrate(const CalibrateArguments& arguments) {
  FilePlan files;
  for (const std::string& model : arguments.models) read_model(files, model);
  files.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(files.check());
  LEMMA_RETURN_IF_ERROR(check_usage(arguments));
  LEMMA_ASSIGN_OR_RETURN(const auto description, device_file(arguments.device));
  LEMMA_ASSIGN_OR_RETURN(const Device device, load_device(description));
  const plans::CalibratedRanks ranks = described(arguments);
  ProgressLine progress;
  LEMMA_ASSIGN_OR_RETURN(
      auto operators,
      operators_of(arguments, plans::ranks_without_figures(ranks), device, progress));
  Calibration calibration(arguments, std::move(operators), progress);
  LEMMA_RETURN_IF_ERROR(run_on_all(arguments.ranks, calibration));
  if (!speaks_for_all()) return ExitCode::done;
  const clusters::Cluster cluster =
      plans::calibrated_cluster(ranks, calibration.times(), calibration.operators());
  const std::string text = clusters::cluster_text(cluster);
  if (const auto again = clusters::read_cluster(text); !again)
    return internal_error("what was measured cannot be read again: " + again.error().message);
  LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, text));
  if (arguments.json) {
    print_json(cluster, calibration.asked());
    return ExitCode::done;
  }
  std::cout << fits_text(cluster) << "\n";
  if (!arguments.models.empty())
    std::cout << fmt::format("{} of {} operators measured\n", cluster.operators.size(),
                             calibration.asked());
  std::cout << printable(fmt::format("written to {}", arguments.output)) << "\n";
  return ExitCode::done;
}

}  // namespace

void add_plan_calibrate(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "calibrate",
      "measure what ranks take for exchanges and operators, and describe them as a cluster");
  auto arguments = std::make_shared<CalibrateArguments>();
  command->add_option("models", arguments->models,
                      "ONNX files whose operators are measured, in all ways to split them");
  command->add_option("-o,--output", arguments->output, "file for the cluster, JSON")->required();
  const std::size_t started = ranks::launch_of_environment().size;
  if (started > 1) arguments->ranks = started;
  command
      ->add_option("--ranks", arguments->ranks,
                   "so many ranks; otherwise 2, or as many as mpirun has started")
      ->check(check_positive);
  command->add_option("--engine", arguments->engine, "what computes on a rank")
      ->check(CLI::IsMember(engine_names))
      ->capture_default_str();
  command->add_option("--exchange", arguments->exchange, "how ranks exchange tensors")
      ->check(CLI::IsMember(plans::exchange_names()))
      ->capture_default_str();
  command
      ->add_option("--device", arguments->device,
                   "the description that stands for a rank where an operator was not measured")
      ->capture_default_str();
  command
      ->add_option("--bytes", arguments->bytes,
                   "of the tensors that are exchanged, ascending, as 64K,1M; 1K to 16M otherwise")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check_bytes)
      ->transform(CLI::AsSizeValue(false));
  command
      ->add_option("--time-limit", arguments->seconds,
                   "seconds of measuring; what there is no time for is left out")
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback(
      [arguments, &exit_code] { exit_code = exit_code_of_rank(calibrate(*arguments)); });
}

}  // namespace lemma
