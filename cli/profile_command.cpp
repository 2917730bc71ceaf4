#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/data_directory.h"
#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "frontend_onnx/import.h"
#include "ir/files.h"
#include "profiler/model_timing.h"
#include "profiler/node_measurement.h"
#include "rule_language/rule_database.h"
#include "search/check_inputs.h"
#include "system/clock.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ProfileArguments {
  std::vector<std::string> models, shapes;
  std::string database = default_profile_file().string();
  std::string export_file, import_file;
  bool elsewhere = false, hold_out_all = false, list = false, json = false;
  int threads = 0;
  double seconds = 60;
  std::int64_t size = 16;
};

constexpr double seconds_to_start = 30;
constexpr std::int64_t element_limit = std::int64_t{1} << 28;

/// What one model told.
struct Profiled {
  std::string model, failure;
  std::size_t nodes = 0, keys = 0, measured_now = 0, unknown = 0;
  double predicted = 0;  // from measured nodes, seconds
  double held_out = 0;   // with all nodes of the model left out of what is known
  double measured = 0, spread = 0;
  struct Node {
    std::size_t count = 0;
    std::optional<Cost> cost;  // of one
  };
  std::map<std::string, Node> by_key;
};

volatile std::sig_atomic_t stop_requested = 0;
void stop_measuring(int /*signal*/) { stop_requested = 1; }

/// What a price needs of a graph, without its weights.
RuntimeGraph sizes_of(const RuntimeGraph& graph) {
  RuntimeGraph result;
  result.unpriced = graph.unpriced;
  for (const RuntimeNode& node : graph.nodes) {
    RuntimeNode& added = result.nodes.emplace_back();
    added.key = node.key;
    added.kind = node.kind;
    added.elements = node.elements;
    added.work = node.work;
  }
  return result;
}

class Profiler {
 public:
  Profiler(const ProfileArguments& arguments, ProfileDatabase& database)
      : arguments_(arguments),
        database_(database),
        worker_({python_program(), data_directory() / "onnxruntime_worker.py"}) {}

  Result<void> begin() {
    LEMMA_ASSIGN_OR_RETURN(const std::string version, worker_.version(seconds_to_start));
    target_ = {"ONNX Runtime " + version, processor_identity(), threads()};
    LEMMA_ASSIGN_OR_RETURN(auto known, database_.entries(target_));
    times_ = NodeTimes(std::move(known));
    LEMMA_ASSIGN_OR_RETURN(shapes_, parse_shape_options(arguments_.shapes));
    if (!scratch_.good()) return bad_input("no temporary folder can be made");
    return {};
  }

  Result<Profiled> profile(const std::string& file) {
    Profiled result;
    result.model = file;
    ImportOptions reading;
    reading.shapes = shapes_;
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
    InputPlan plan;
    plan.size = arguments_.size;
    LEMMA_ASSIGN_OR_RETURN(const auto inputs, make_inputs(model.graph, plan, {}, element_limit));
    LEMMA_ASSIGN_OR_RETURN(const RuntimeGraph graph,
                           runtime_graph(worker_, {file, inputs, scratch_.path(), threads(), 120}));
    std::set<std::string> keys;
    for (const RuntimeNode& node : graph.nodes) keys.insert(node.key);
    result.nodes = graph.nodes.size();
    result.keys = keys.size();
    MeasurementOptions measuring;
    measuring.scratch_folder = scratch_.path();
    measuring.threads = threads();
    measuring.date = today();
    measuring.seconds = arguments_.seconds;
    measuring.is_interrupted = [] { return stop_requested != 0; };
    if (isatty(STDERR_FILENO) == 1)
      measuring.on_progress = [&file](std::size_t done, std::size_t total) {
        std::cerr << printable(fmt::format("{}: node {} of {}", file, done + 1, total)) << "\33[K\r"
                  << std::flush;
      };
    LEMMA_ASSIGN_OR_RETURN(result.measured_now, measure_nodes(worker_, database_, target_,
                                                              graph.nodes, times_, measuring));
    const GraphPrice price = price_of(graph, times_);
    result.predicted = price.cost.seconds;
    result.unknown = price.unknown;
    for (const RuntimeNode& node : graph.nodes) {
      Profiled::Node& one = result.by_key[node.key];
      ++one.count;
      one.cost = times_.find(node);
    }
    result.held_out = price_of(graph, times_.without(keys)).cost.seconds;
    TimingRequest timing;
    timing.models = {file};
    timing.inputs = {inputs};
    timing.scratch_folder = scratch_.path();
    timing.threads = threads();
    LEMMA_ASSIGN_OR_RETURN(const auto timed, time_models(worker_, timing));
    if (!timed.front().failure.empty()) return bad_input(timed.front().failure);
    result.measured = median(timed.front().seconds);
    result.spread = quartile_deviation(timed.front().seconds);
    if (arguments_.hold_out_all) {
      held_out_.insert(keys.begin(), keys.end());
      graphs_.push_back(sizes_of(graph));
    }
    return result;
  }

  /// With the nodes of all models that were profiled left out of what is known.
  void hold_out_all(std::vector<Profiled>& all) const {
    const NodeTimes left = times_.without(held_out_);
    auto graph = graphs_.begin();
    for (Profiled& one : all)
      if (one.failure.empty()) one.held_out = price_of(*graph++, left).cost.seconds;
  }

  const TargetIdentity& target() const { return target_; }

 private:
  int threads() const {
    return arguments_.threads > 0 ? arguments_.threads
                                  : static_cast<int>(std::thread::hardware_concurrency());
  }

  const ProfileArguments& arguments_;
  ProfileDatabase& database_;
  OnnxRuntimeWorker worker_;
  TemporaryDirectory scratch_;
  TargetIdentity target_;
  NodeTimes times_{{}};
  std::map<std::string, Shape, std::less<>> shapes_;
  std::set<std::string> held_out_;
  std::vector<RuntimeGraph> graphs_;  // to be priced once more
};

/// What takes the most time first.
Json nodes_json(const Profiled& p) {
  std::vector<std::pair<double, const std::pair<const std::string, Profiled::Node>*>> order;
  for (const auto& one : p.by_key)
    order.emplace_back(
        one.second.cost ? one.second.cost->seconds * static_cast<double>(one.second.count) : 0,
        &one);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Json result = Json::array();
  for (const auto& [seconds, one] : order)
    result.push_back({{"key", one->first},
                      {"count", one->second.count},
                      {"ms", one->second.cost ? Json(seconds * 1e3) : Json()},
                      {"provenance", one->second.cost ? Json(name(one->second.cost->provenance))
                                                      : Json("unknown")}});
  return result;
}

Json to_json(const Profiled& p) {
  if (!p.failure.empty()) return {{"model", p.model}, {"message", p.failure}};
  return {{"model", p.model},
          {"nodes", p.nodes},
          {"by_key", nodes_json(p)},
          {"keys", p.keys},
          {"measured_now", p.measured_now},
          {"unknown", p.unknown},
          {"predicted_ms", p.predicted * 1e3},
          {"held_out_ms", p.held_out * 1e3},
          {"latency_ms", p.measured * 1e3},
          {"latency_spread_ms", p.spread * 1e3}};
}

std::string table_of(const std::vector<Profiled>& all) {
  using enum Table::Align;
  Table table({"model", "nodes", "distinct", "measured now", "unknown", "sum of nodes", "error",
               "held out", "error", "latency"},
              {left, right, right, right, right, right, right, right, right, right});
  for (const Profiled& p : all) {
    const std::string name = printable(fs::path(p.model).filename().string());
    if (!p.failure.empty()) {
      table.add({name, "failed"});
      continue;
    }
    table.add({name, fmt::format("{}", p.nodes), fmt::format("{}", p.keys),
               fmt::format("{}", p.measured_now), fmt::format("{}", p.unknown),
               duration_text(p.predicted), change_text(p.measured, p.predicted),
               duration_text(p.held_out), change_text(p.measured, p.held_out),
               duration_text(p.measured)});
  }
  return table.text();
}

ExitCode profile_models(const ProfileArguments& arguments, ProfileDatabase& database) {
  struct sigaction action {};
  action.sa_handler = stop_measuring;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  Profiler profiler(arguments, database);
  if (const auto begun = profiler.begin(); !begun)
    return report_error(
        {ErrorKind::unsupported, "nothing can be measured: " + begun.error().message});
  std::vector<Profiled> all;
  bool failed = false;
  for (const std::string& file : arguments.models) {
    if (stop_requested != 0) break;
    auto profiled = profiler.profile(file);
    if (!profiled) {
      failed = true;
      std::cerr << error_line(file, profiled.error().message) << "\n";
      Profiled without;
      without.model = file;
      without.failure = profiled.error().message;
      all.push_back(without);
      continue;
    }
    all.push_back(std::move(*profiled));
  }
  if (isatty(STDERR_FILENO) == 1) std::cerr << "\33[K";
  if (arguments.hold_out_all) profiler.hold_out_all(all);
  if (arguments.json) {
    Json models = Json::array();
    for (const Profiled& one : all) models.push_back(to_json(one));
    const TargetIdentity& target = profiler.target();
    std::cout << Json{{"runtime", target.runtime},
                      {"processor", target.processor},
                      {"threads", target.threads},
                      {"models", models}}
                     .dump(2, ' ', false, Json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << table_of(all);
  }
  if (stop_requested != 0) std::cerr << "lemma: interrupted; what was measured is kept\n";
  return failed || stop_requested != 0 ? ExitCode::some_models_failed : ExitCode::done;
}

Result<std::string> listing(const ProfileDatabase& database) {
  using enum Table::Align;
  Table table({"runtime", "processor", "threads", "how it is known", "entries"},
              {left, left, right, left, right});
  LEMMA_ASSIGN_OR_RETURN(const auto targets, database.targets());
  for (const TargetIdentity& target : targets) {
    LEMMA_ASSIGN_OR_RETURN(const auto entries, database.entries(target));
    std::map<Provenance, std::size_t> counts;
    for (const ProfileEntry& entry : entries) ++counts[entry.provenance];
    for (const auto& [provenance, count] : counts)
      table.add({target.runtime, target.processor, fmt::format("{}", target.threads),
                 std::string(name(provenance)), fmt::format("{}", count)});
  }
  return table.text();
}

Result<ExitCode> work(const ProfileArguments& arguments) {
  if (arguments.models.empty() && !arguments.list && arguments.export_file.empty() &&
      arguments.import_file.empty())
    return bad_input("give models to profile, or --list, --export FILE or --import FILE");
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database, ProfileDatabase::open(arguments.database));
  if (!arguments.import_file.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(arguments.import_file));
    const auto count = database.import_json(
        text, arguments.elsewhere ? Provenance::measured_elsewhere : Provenance::measured);
    if (!count) return bad_input(arguments.import_file + ": " + count.error().message);
    std::cout << fmt::format("{} entries read\n", *count);
  }
  ExitCode code = ExitCode::done;
  if (!arguments.models.empty()) code = profile_models(arguments, database);
  if (!arguments.export_file.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, database.export_json());
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.export_file, text));
  }
  if (arguments.list) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, listing(database));
    std::cout << text;
  }
  std::cout.flush();
  return code;
}

}  // namespace

void add_profile_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "profile", "measure how long the operators of models take in ONNX Runtime");
  auto arguments = std::make_shared<ProfileArguments>();
  command->add_option("models", arguments->models,
                      "ONNX files: the nodes that ONNX Runtime makes of them are measured one by "
                      "one, and the sum is compared with the model's own time");
  command
      ->add_option("--database", arguments->database,
                   "the file that keeps what is measured; the default can be set by $LEMMA_PROFILE")
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "threads of ONNX Runtime; 0: all processors")
      ->check(check_non_negative);
  command->add_option("--seconds", arguments->seconds, "time for measuring, for each model")
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--size", arguments->size, "what a dynamic size is taken for")
      ->check(check_positive)
      ->capture_default_str();
  command->add_flag("--hold-out-all", arguments->hold_out_all,
                    "hold out the nodes of all models given, not of each model only");
  command->add_flag("--list", arguments->list, "say what the database holds");
  command->add_option("--export", arguments->export_file,
                      "write the database to this file as JSON");
  command->add_option("--import", arguments->import_file, "take in what --export wrote")
      ->check(CLI::ExistingFile);
  command->add_flag("--elsewhere", arguments->elsewhere,
                    "what is imported was measured on another machine of this kind");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->callback([arguments, &exit_code] {
    const auto code = work(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
