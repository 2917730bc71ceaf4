#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "outputs/files.h"
#include "plans/clusters/cluster.h"
#include "plans/collectives/bounds.h"
#include "plans/collectives/checker.h"
#include "plans/collectives/patterns.h"
#include "plans/collectives/synthesis.h"
#include "plans/collectives/timed.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

namespace shown = collectives;
using collectives::Collective;
using collectives::Schedule;
using collectives::Topology;
using Json = nlohmann::ordered_json;

struct CollectiveArguments {
  std::string topology, collective = "all-gather", algorithm, schedule, output;
  std::vector<double> latencies, bandwidths;
  std::vector<std::uint32_t> order, find;
  std::uint64_t hosts = 0, bytes = 1U << 30, seed = 0;
  std::uint32_t root = 0, group = 0, frontier = 0, chunks = 0, tries = 20;
  bool is_greedy = false, json = false;
};

/// What a run has: the topology and the bounds, and what is printed.
struct Session {
  const CollectiveArguments& arguments;
  Topology topology;
  Collective collective = Collective::all_gather;
  collectives::Bounds bounds;
  Json json;
  std::string text;
  Schedule best;  // for -o
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The collectives whose chunks are counted for each node.
bool has_parts(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

Result<Topology> topology_of(const CollectiveArguments& arguments) {
  if (collectives::is_topology_name(arguments.topology)) {
    if (arguments.hosts > 0) return bad_input("--hosts is for clusters");
    collectives::LinkSpeeds speeds;
    if (!arguments.latencies.empty()) speeds.latency_seconds = arguments.latencies;
    if (!arguments.bandwidths.empty()) speeds.bytes_per_second = arguments.bandwidths;
    return collectives::named_topology(arguments.topology, speeds);
  }
  if (arguments.topology.find(':') != std::string::npos)
    return collectives::named_topology(arguments.topology);  // says which there are
  if (!arguments.latencies.empty() || !arguments.bandwidths.empty())
    return bad_input(
        "--latency and --bandwidth are for topologies such as ring:8; a cluster has its own");
  LEMMA_ASSIGN_OR_RETURN(const auto file, cluster_file(arguments.topology, "the topology"));
  LEMMA_ASSIGN_OR_RETURN(
      const clusters::Cluster cluster,
      clusters::load_cluster(
          file, arguments.hosts == 0 ? std::nullopt : std::optional<std::size_t>(arguments.hosts)));
  return collectives::topology_of(cluster);
}

Result<void> check_usage(const CollectiveArguments& arguments) {
  const int ways = (arguments.algorithm.empty() ? 0 : 1) + (arguments.find.empty() ? 0 : 1) +
                   (arguments.frontier > 0 ? 1 : 0) + (arguments.is_greedy ? 1 : 0) +
                   (arguments.schedule.empty() ? 0 : 1);
  if (ways > 1)
    return bad_input(
        "one of --algorithm, --find, --frontier, --greedy and --schedule is needed, not several");
  if (!arguments.find.empty() && arguments.find.size() != 3)
    return bad_input("--find needs steps, rounds and chunks, such as 2,3,2");
  if (std::find(arguments.find.begin(), arguments.find.end(), 0U) != arguments.find.end())
    return bad_input("--find needs numbers above 0");
  FilePlan plan;
  plan.reads(arguments.schedule, "--schedule");
  plan.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(plan.check());
  if (!arguments.output.empty() && (arguments.frontier > 0 || !arguments.schedule.empty()))
    return bad_input(
        "-o is for one schedule that is made: --algorithm, --find, --greedy, or the best of all "
        "algorithms");
  return {};
}

Result<void> check_against(const CollectiveArguments& arguments, const Topology& topology) {
  if (arguments.root >= topology.nodes)
    return bad_input(fmt::format("--root: is {}; a node from 0 to {} is needed", arguments.root,
                                 topology.nodes - 1));
  if (arguments.group > 0 && topology.nodes % arguments.group != 0)
    return bad_input(fmt::format("--group: is {}; a divisor of {} nodes is needed", arguments.group,
                                 topology.nodes));
  std::vector<std::uint32_t> sorted = arguments.order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.empty() || sorted.size() == topology.nodes;
  for (std::size_t node = 0; node < sorted.size(); ++node) is_order &= sorted[node] == node;
  if (!is_order)
    return bad_input(
        fmt::format("--order: each node from 0 to {} is needed once", topology.nodes - 1));
  return {};
}

/// Says of a side of a cut which nodes it has.
std::string bounds_line(const Session& session) {
  const collectives::Bounds& bounds = session.bounds;
  return fmt::format("at least {} steps, and {}{} rounds for each chunk{} ({})", bounds.steps,
                     bounds.rounds_over,
                     bounds.rounds_under == 1 ? "" : fmt::format("/{}", bounds.rounds_under),
                     has_parts(session.collective) ? " of a node" : "",
                     bounds.cut.empty() ? std::string("sends over what all links carry")
                                        : fmt::format("the cut around {} of {} nodes",
                                                      bounds.cut.size(), session.topology.nodes));
}

Json row_of(const Session& session, const Schedule& schedule) {
  const collectives::Counts counts = counts_of(schedule);
  const double chunk = static_cast<double>(session.arguments.bytes) / schedule.chunks;
  return {{"method", schedule.method},
          {"steps", counts.steps},
          {"rounds", counts.rounds},
          {"chunks", has_parts(schedule.collective) ? schedule.chunks / schedule.nodes
                                                    : std::uint64_t{schedule.chunks}},
          {"sends", counts.total},
          {"bytes_sent", static_cast<double>(counts.total) * chunk},
          {"most_bytes_of_a_node", static_cast<double>(counts.most) * chunk},
          {"seconds",
           seconds_of(session.topology, schedule, static_cast<double>(session.arguments.bytes))}};
}

std::string schedules_table(const Json& rows) {
  using Align = Table::Align;
  Table table({"method", "steps", "rounds", "chunks", "bytes of a node", "bytes of all", "time"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right});
  for (const Json& row : rows)
    table.add({row["method"], row["steps"].dump(), row["rounds"].dump(), row["chunks"].dump(),
               with_prefix(row["most_bytes_of_a_node"]), with_prefix(row["bytes_sent"]),
               duration_text(row["seconds"])});
  return table.text();
}

/// A schedule on the topology, checked.
Result<Schedule> placed(const Session& session, Schedule schedule) {
  if (!session.arguments.order.empty())
    schedule = collectives::renamed(schedule, session.arguments.order);
  LEMMA_ASSIGN_OR_RETURN(Schedule fits, collectives::fitted(std::move(schedule), session.topology));
  if (const auto fault = collectives::fault_of(session.topology, fits))
    return internal_error(fmt::format("the schedule that was made is wrong: {}", *fault));
  return fits;
}

/// The known algorithms that there are for the collective.
std::vector<Schedule> known_schedules(const Session& session) {
  std::vector<Schedule> schedules;
  const CollectiveArguments& arguments = session.arguments;
  for (int number = 0; number < clusters::algorithm_count; ++number)
    if (auto schedule =
            collectives::pattern(session.collective, static_cast<clusters::Algorithm>(number),
                                 session.topology.nodes, arguments.root))
      schedules.push_back(std::move(*schedule));
  if (arguments.group > 0)
    schedules.push_back(collectives::hierarchical(session.collective, session.topology.nodes,
                                                  arguments.group, arguments.root));
  return schedules;
}

/// One algorithm, or all that the links allow; the best one is kept.
Result<ExitCode> run_known(Session& session) {
  const std::string& asked = session.arguments.algorithm;
  Json rows = Json::array(), left_out = Json::array();
  std::vector<std::string> names;
  double least = 0;
  for (const Schedule& schedule : known_schedules(session)) {
    names.push_back(schedule.method);
    if (!asked.empty() && asked != schedule.method) continue;
    auto fits = placed(session, schedule);
    if (!fits && (!asked.empty() || fits.error().kind == ErrorKind::internal))
      return tl::unexpected<Error>(fits.error());
    if (!fits) {
      left_out.push_back({{"method", schedule.method}, {"reason", fits.error().message}});
      continue;
    }
    rows.push_back(row_of(session, *fits));
    const double seconds = rows.back()["seconds"];
    if (rows.size() == 1 || seconds < least) {
      least = seconds;
      session.best = std::move(*fits);
    }
  }
  if (!asked.empty() && rows.empty())
    return bad_input(
        fmt::format("--algorithm: '{}' is none for {}; there are {}{}", asked,
                    name(session.collective), fmt::join(names, ", "),
                    session.arguments.group == 0 ? ", and hierarchical with --group" : ""));
  session.text = rows.empty() ? std::string() : schedules_table(rows);
  for (const Json& entry : left_out)
    session.text += fmt::format("left out: {}\n", entry["reason"].get<std::string>());
  session.json["schedules"] = std::move(rows);
  session.json["left_out"] = std::move(left_out);
  return ExitCode::done;
}

collectives::SynthesisRequest request_of(const Session& session) {
  collectives::SynthesisRequest request;
  request.collective = session.collective;
  request.root = session.arguments.root;
  return request;
}

Json answer_row(const collectives::SynthesisRequest& request,
                const collectives::Synthesis& synthesis) {
  return {{"steps", request.steps},
          {"rounds", request.rounds},
          {"chunks", request.chunks},
          {"answer", shown::name(synthesis.answer)},
          {"reason", synthesis.reason}};
}

Result<ExitCode> run_find(Session& session) {
  collectives::SynthesisRequest request = request_of(session);
  request.steps = session.arguments.find[0];
  request.rounds = session.arguments.find[1];
  request.chunks = session.arguments.find[2];
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(collectives::Synthesis synthesis,
                         collectives::synthesise(session.topology, request));
  Json row = answer_row(request, synthesis);
  row["search_seconds"] = seconds_since(begin);
  session.json["asked"] = Json::array({row});
  session.text =
      fmt::format("{} steps, {} rounds, {} chunks: {} ({})\n", request.steps, request.rounds,
                  request.chunks, shown::name(synthesis.answer), synthesis.reason);
  if (synthesis.answer == collectives::Answer::impossible) return ExitCode::check_failed;
  if (synthesis.answer == collectives::Answer::unknown) return ExitCode::some_models_failed;
  session.json["schedules"] = Json::array({row_of(session, synthesis.schedule)});
  session.text += schedules_table(session.json["schedules"]);
  session.best = std::move(synthesis.schedule);
  return ExitCode::done;
}

Result<ExitCode> run_frontier(Session& session) {
  const std::uint32_t chunks = session.arguments.chunks == 0 ? 6 : session.arguments.chunks;
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(const collectives::Frontier found,
                         collectives::frontier(session.topology, request_of(session), chunks,
                                               session.arguments.frontier));
  session.json["search_seconds"] = seconds_since(begin);
  Json rows = Json::array();
  using Align = Table::Align;
  Table table({"steps", "rounds", "chunks", "answer", "why"},
              {Align::right, Align::right, Align::right, Align::left, Align::left});
  for (const collectives::FrontierPoint& point : found.asked) {
    rows.push_back(answer_row(point.request, point.synthesis));
    table.add({fmt::format("{}", point.request.steps), fmt::format("{}", point.request.rounds),
               fmt::format("{}", point.request.chunks),
               std::string(shown::name(point.synthesis.answer)), point.synthesis.reason});
  }
  session.json["asked"] = std::move(rows);
  session.json["complete"] = found.is_complete;
  session.text = table.text();
  return found.is_complete ? ExitCode::done : ExitCode::some_models_failed;
}

Result<ExitCode> run_greedy(Session& session) {
  collectives::GreedyRequest request;
  request.collective = session.collective;
  request.root = session.arguments.root;
  request.chunks = std::max(1U, session.arguments.chunks);
  request.seed = session.arguments.seed;
  request.tries = session.arguments.tries;
  const std::uint64_t parts = session.collective == Collective::broadcast
                                  ? request.chunks
                                  : request.chunks * session.topology.nodes;
  request.chunk_bytes = std::max(1.0, static_cast<double>(session.arguments.bytes / parts));
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(const collectives::Greedy made,
                         collectives::greedy(session.topology, request));
  const double seconds = static_cast<double>(made.schedule.end()) / 1e12,
               bound = static_cast<double>(made.bound) / 1e12;
  session.json["timed"] = {{"chunks", request.chunks},
                           {"chunk_bytes", request.chunk_bytes},
                           {"sends", made.schedule.sends.size()},
                           {"seconds", seconds},
                           {"bound_seconds", bound},
                           {"tries", made.tries},
                           {"search_seconds", seconds_since(begin)}};
  session.text =
      fmt::format("{} sends of {} bytes, {} in all; no schedule takes less than {}{}\n",
                  made.schedule.sends.size(), with_prefix(request.chunk_bytes),
                  duration_text(seconds), duration_text(bound),
                  made.schedule.end() == made.bound ? ", so that this one is the best" : "");
  if (session.arguments.output.empty()) return ExitCode::done;
  LEMMA_RETURN_IF_ERROR(write_file_atomically(
      session.arguments.output, collectives::schedule_text(made.schedule, session.topology.name)));
  session.text += fmt::format("written to {}\n", session.arguments.output);
  return ExitCode::done;
}

Result<ExitCode> run_timed_check(Session& session, const collectives::TimedSchedule& schedule) {
  const auto fault = collectives::fault_of(session.topology, schedule);
  session.json["fault"] = fault ? Json(*fault) : Json();
  const double seconds = static_cast<double>(schedule.end()) / 1e12;
  session.json["timed"] = {{"sends", schedule.sends.size()}, {"seconds", seconds}};
  session.text = fault ? fmt::format("wrong: {}\n", *fault)
                       : fmt::format("{} sends of {} bytes, {} in all; the schedule is right\n",
                                     schedule.sends.size(), with_prefix(schedule.chunk_bytes),
                                     duration_text(seconds));
  return fault ? ExitCode::check_failed : ExitCode::done;
}

Result<ExitCode> run_check(Session& session, const Schedule& schedule) {
  const auto fault = collectives::fault_of(session.topology, schedule);
  session.json["fault"] = fault ? Json(*fault) : Json();
  if (fault) {
    session.text = fmt::format("wrong: {}\n", *fault);
    return ExitCode::check_failed;
  }
  session.json["schedules"] = Json::array({row_of(session, schedule)});
  session.text = schedules_table(session.json["schedules"]) + "the schedule is right\n";
  return ExitCode::done;
}

Result<ExitCode> run_way(Session& session) {
  const CollectiveArguments& arguments = session.arguments;
  if (!arguments.find.empty()) return run_find(session);
  if (arguments.frontier > 0) return run_frontier(session);
  if (arguments.is_greedy) return run_greedy(session);
  return run_known(session);
}

/// Nothing: the text is of a schedule in steps.
Result<std::optional<collectives::TimedSchedule>> read_timed(const std::string& text,
                                                             const std::string& file) {
  if (!collectives::is_timed_schedule(text)) return std::nullopt;
  auto timed = collectives::parse_timed_schedule(text);
  if (!timed) return with_context(file, timed.error());
  return std::optional(std::move(*timed));
}

Result<ExitCode> plan_collective(const CollectiveArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_usage(arguments));
  Session session{arguments, {}, {}, {}, {}, {}, {}};
  LEMMA_ASSIGN_OR_RETURN(session.topology, topology_of(arguments));
  LEMMA_RETURN_IF_ERROR(check_against(arguments, session.topology));
  LEMMA_ASSIGN_OR_RETURN(session.collective, collectives::collective_named(arguments.collective));
  Schedule given;
  std::optional<collectives::TimedSchedule> timed;
  if (!arguments.schedule.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(arguments.schedule));
    LEMMA_ASSIGN_OR_RETURN(timed, read_timed(text, arguments.schedule));
    auto read =
        timed ? Result<Schedule>(collectives::by_steps(*timed)) : collectives::parse_schedule(text);
    if (!read) return with_context(arguments.schedule, read.error());
    given = std::move(*read);
    session.collective = given.collective;
  }
  const std::uint32_t root = arguments.schedule.empty() ? arguments.root : given.root;
  LEMMA_ASSIGN_OR_RETURN(
      session.bounds,
      collectives::bounds_of(session.topology, session.collective,
                             std::min<std::uint64_t>(root, session.topology.nodes - 1)));
  session.json = {{"topology", session.topology.name},
                  {"nodes", session.topology.nodes},
                  {"collective", name(session.collective)},
                  {"bytes", arguments.bytes},
                  {"bounds",
                   {{"steps", session.bounds.steps},
                    {"rounds_over", session.bounds.rounds_over},
                    {"rounds_under", session.bounds.rounds_under},
                    {"cut", session.bounds.cut}}}};
  LEMMA_ASSIGN_OR_RETURN(const ExitCode code, arguments.schedule.empty() ? run_way(session)
                                              : timed ? run_timed_check(session, *timed)
                                                      : run_check(session, given));
  if (!arguments.output.empty() && !session.best.steps.empty()) {
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.output, collectives::schedule_text(session.best, session.topology.name)));
    session.text += fmt::format("{}: written to {}\n", session.best.method, arguments.output);
  }
  if (arguments.json)
    std::cout << session.json.dump(-1, ' ', true, Json::error_handler_t::replace) << "\n";
  else
    std::cout << printable(fmt::format("{} of {} nodes, {}: {}", name(session.collective),
                                       session.topology.nodes, session.topology.name,
                                       bounds_line(session)))
              << "\n\n"
              << session.text;
  return code;
}

void add_ways(CLI::App& command, CollectiveArguments& arguments) {
  command.add_option("--algorithm", arguments.algorithm,
                     "one of the known algorithms: naive, parameter server, ring, tree, recursive "
                     "doubling, halving and doubling, hierarchical; otherwise all of them");
  command
      .add_option("--group", arguments.group, "nodes of a group, for the hierarchical algorithm")
      ->check(check_positive);
  command
      .add_option("--order", arguments.order,
                  "the nodes in the order in which algorithms take them, 0,1,3,2,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--find", arguments.find,
                  "search for a schedule with so many steps, rounds and chunks, S,R,C, or prove "
                  "that there is none")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--frontier", arguments.frontier,
                  "the fewest rounds for each number of steps, up to so many steps")
      ->check(check_positive);
  command.add_flag("--greedy", arguments.is_greedy,
                   "a schedule for a large topology, in which each send starts at its own time");
  command
      .add_option("--chunks", arguments.chunks,
                  "chunks of each node (of the tensor in a broadcast) with --greedy, 1 otherwise; "
                  "the most of them with --frontier, 6 otherwise")
      ->check(check_positive);
  command.add_option("--tries", arguments.tries, "tries of --greedy, with other random choices")
      ->check(check_positive)
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "of the random choices of --greedy")
      ->capture_default_str();
  command.add_option("--schedule", arguments.schedule, "check the schedule of this file");
}

}  // namespace

void add_plan_collective(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "collective",
      "schedules of a collective over the links of a topology: known, searched for, or checked");
  auto arguments = std::make_shared<CollectiveArguments>();
  command
      ->add_option("topology", arguments->topology,
                   "ring:8, one-way-ring:8, line:8, star:8, full:8, mesh:4x4, torus:4x4, "
                   "hypercube:3, or a cluster: a name such as dgx-1, or the file of a description")
      ->required();
  command
      ->add_option("--collective", arguments->collective,
                   "all-gather, reduce-scatter, all-reduce or broadcast")
      ->capture_default_str();
  command->add_option("--root", arguments->root, "the node that has the tensor of a broadcast");
  command
      ->add_option("--hosts", arguments->hosts,
                   "hosts of the cluster, where its description leaves them open")
      ->check(check_positive);
  command
      ->add_option(
          "--latency", arguments->latencies,
          "seconds of a link of ring:8 and the like, 1e-6 otherwise; or one for each axis, "
          "with commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check_positive);
  command
      ->add_option("--bandwidth", arguments->bandwidths,
                   "bytes a second of such a link, 25e9 otherwise; or one for each axis")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check_positive);
  command->add_option("--bytes", arguments->bytes, "of the tensor, as 64M; 1G otherwise")
      ->check(check_bytes)
      ->transform(CLI::AsSizeValue(false));
  add_ways(*command, *arguments);
  command->add_option("-o,--output", arguments->output, "file for the schedule, JSON");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] {
    const auto code = plan_collective(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
