#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "costmodel/device.h"
#include "outputs/files.h"
#include "plans/joint_choice/joint_choice.h"
#include "plans/networks/prices.h"
#include "plans/partition/plan_file.h"
#include "programs/shape_option.h"
#include "report/printable.h"
#include "report/table.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

struct TopologyArguments {
  std::string model, device = "a100", output, network, picture;
  std::vector<std::string> shapes;
  std::size_t devices = 16, degree = 4;
  std::uint64_t seed = 0, memory_limit = 80'000'000'000;
  double latency = 1e-6, bandwidth = 12.5e9;
  bool compares = false, json = false;
};

/// More devices are refused: all pairs of them are looked at for each wiring that is tried.
constexpr std::size_t most_devices = 128;

/// A network that a plan was made for.
struct ComparedNetwork {
  std::string name;
  double bytes_per_second = 0;    // that a device sends at most
  std::optional<double> dollars;  // a device
  plans::NetworkPlan plan;
};

Result<void> check_usage(const TopologyArguments& arguments) {
  if (arguments.devices < 2 || arguments.devices > most_devices)
    return bad_input(fmt::format("--devices: is {}; a number from 2 to {} is needed",
                                 arguments.devices, most_devices));
  if (arguments.degree >= most_devices)
    return bad_input(fmt::format("--degree: is {}; a number from 1 to {} is needed",
                                 arguments.degree, most_devices - 1));
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.network, "--network");
  plan.writes(arguments.picture, "--picture");
  return plan.check();
}

/// The grid of so many devices that is nearest to a square.
networks::Wiring squarest_torus(std::size_t devices) {
  std::size_t rows = 1;
  for (std::size_t candidate = 1; candidate * candidate <= devices; ++candidate)
    if (devices % candidate == 0) rows = candidate;
  return networks::torus(rows, devices / rows);
}

/// Plans on networks that are fixed: the fat-tree of equal cost, a switch for all ports, and a torus of the same degree if there is one.
Result<std::vector<ComparedNetwork>> other_networks(const TopologyArguments& arguments,
                                                    plans::NetworkPlanner& planner) {
  LEMMA_ASSIGN_OR_RETURN(const networks::Prices prices,
                         networks::load_prices(data_directory() / "network_prices.json"));
  const auto switched = [&](double bytes_per_second, const char* name) {
    return networks::switched(arguments.devices, {arguments.latency, bytes_per_second}, name);
  };
  std::vector<ComparedNetwork> result;
  const double cost = networks::direct_cost(prices, arguments.degree, arguments.bandwidth);
  const double fat_tree = networks::fat_tree_bandwidth(prices, cost);
  const double all_ports = static_cast<double>(arguments.degree) * arguments.bandwidth;
  LEMMA_ASSIGN_OR_RETURN(plans::NetworkPlan plan,
                         planner.plan_on(switched(fat_tree, "fat-tree of equal cost")));
  result.push_back({"fat-tree of equal cost", fat_tree, cost, std::move(plan)});
  LEMMA_ASSIGN_OR_RETURN(plan, planner.plan_on(switched(all_ports, "switch for all ports")));
  result.push_back({"switch for all ports", all_ports, std::nullopt, std::move(plan)});
  const networks::Wiring torus = squarest_torus(arguments.devices);
  if (torus.degree() != arguments.degree) return result;
  LEMMA_ASSIGN_OR_RETURN(plan, planner.plan_on(networks::network_of(
                                   torus, {arguments.latency, arguments.bandwidth}, "torus")));
  result.push_back({"torus", all_ports, cost, std::move(plan)});
  return result;
}

/// The cluster whose links are the wiring's; its first mesh is the plan's.
clusters::Cluster cluster_of(const TopologyArguments& arguments, const plans::NetworkPlan& plan) {
  clusters::Cluster cluster;
  cluster.name = plan.network.name;
  cluster.source = fmt::format(
      "chosen by lemma plan topology for {} (degree {}, seed {}); the latency and the bandwidth of "
      "a "
      "port are assumed",
      std::filesystem::path(arguments.model).filename().string(), arguments.degree, arguments.seed);
  cluster.devices.assign(arguments.devices,
                         {arguments.device, static_cast<double>(arguments.memory_limit)});
  for (const networks::Link& link : plan.network.links)
    cluster.links.push_back({link.from, link.to, link.speed.latency_seconds,
                             link.speed.bytes_per_second, /*is_one_way=*/true});
  cluster.meshes = {plan.mesh};
  return cluster;
}

Json json_of(const ComparedNetwork& compared) {
  Json json = {{"network", compared.name},
               {"bytes_per_second", compared.bytes_per_second},
               {"mesh", compared.plan.mesh.name},
               {"computing_seconds", compared.plan.planned.computing},
               {"communicating_seconds", compared.plan.communicating},
               {"seconds", compared.plan.seconds()}};
  if (compared.dollars) json["dollars_of_a_device"] = *compared.dollars;
  return json;
}

std::string networks_text(const std::vector<ComparedNetwork>& all) {
  using Align = Table::Align;
  Table table({"network", "bytes/s of a device", "mesh", "computing", "communicating", "time",
               "of this one"},
              {Align::left, Align::right, Align::left, Align::right, Align::right, Align::right,
               Align::right});
  for (const ComparedNetwork& each : all)
    table.add({each.name, with_prefix(each.bytes_per_second), each.plan.mesh.name,
               duration_text(each.plan.planned.computing), duration_text(each.plan.communicating),
               duration_text(each.plan.seconds()),
               fmt::format("{:.2f}", each.plan.seconds() / all.front().plan.seconds())});
  return table.text();
}

std::string rounds_text(const std::vector<plans::Round>& rounds) {
  using Align = Table::Align;
  Table table({"mesh", "plan", "on its wiring", "the wiring"},
              {Align::left, Align::right, Align::right, Align::left});
  for (const plans::Round& round : rounds)
    table.add({round.mesh, duration_text(round.plan_seconds), duration_text(round.wiring_seconds),
               round.found_by});
  return table.text();
}

Json rounds_json(const std::vector<plans::Round>& rounds) {
  Json json = Json::array();
  for (const plans::Round& round : rounds)
    json.push_back({{"mesh", round.mesh},
                    {"plan_seconds", round.plan_seconds},
                    {"wiring_seconds", round.wiring_seconds},
                    {"found_by", round.found_by}});
  return json;
}

/// Writes the plan, once it is proved, and the network.
Result<std::size_t> write_results(const TopologyArguments& arguments, const Graph& graph,
                                  const plans::NetworkPlan& plan) {
  LEMMA_ASSIGN_OR_RETURN(const plans::Program program,
                         plans::partitioned(graph, plan.planned.choice));
  const plans::Verification verification = plans::verify(graph, program);
  if (verification.verdict != plans::Verdict::proved) {
    for (const std::string& line : verdict_lines(verification))
      std::cerr << printable(line) << "\n";
    return internal_error("the plan that was made is not proved, and not written");
  }
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(arguments.output, plans::plan_text(graph, plan.planned.choice)));
  if (!arguments.network.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.network, clusters::cluster_text(cluster_of(arguments, plan))));
  if (!arguments.picture.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.picture, networks::picture_svg(plan.network)));
  return proved_claims(verification.relations);
}

Result<ExitCode> plan_topology(const TopologyArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_usage(arguments));
  LEMMA_ASSIGN_OR_RETURN(const auto description, device_file(arguments.device));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(description));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.model, reading));
  plans::NetworkRequest request;
  request.costs = &costs;
  request.memory_limit = arguments.memory_limit;
  request.devices = arguments.devices;
  request.seed = arguments.seed;
  plans::NetworkPlanner planner(model.graph, request);
  LEMMA_ASSIGN_OR_RETURN(
      plans::JointPlan joint,
      planner.plan_with_wiring(arguments.degree, {arguments.latency, arguments.bandwidth}));
  std::vector<ComparedNetwork> all;
  all.push_back({"this one", static_cast<double>(arguments.degree) * arguments.bandwidth,
                 std::nullopt, std::move(joint.plan)});
  if (arguments.compares) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<ComparedNetwork> others, other_networks(arguments, planner));
    all.front().dollars = others.front().dollars;
    for (ComparedNetwork& other : others) all.push_back(std::move(other));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::size_t claims,
                         write_results(arguments, model.graph, all.front().plan));
  if (arguments.json) {
    Json json = {{"networks", Json::array()},
                 {"one_device_seconds", all.front().plan.planned.on_one_device},
                 {"rounds", rounds_json(joint.rounds)},
                 {"claims", claims}};
    for (const ComparedNetwork& each : all) json["networks"].push_back(json_of(each));
    std::cout << json.dump(-1, ' ', true, Json::error_handler_t::replace) << "\n";
    return ExitCode::done;
  }
  std::cout << rounds_text(joint.rounds) << "\n"
            << networks_text(all) << "\n"
            << printable(fmt::format(
                   "{} on one device; the plan is proved to be the model, by {} claims; written to "
                   "{}{}",
                   duration_text(all.front().plan.planned.on_one_device), claims, arguments.output,
                   arguments.network.empty() ? "" : ", the network to " + arguments.network))
            << "\n";
  return ExitCode::done;
}

void add_network_options(CLI::App& command, TopologyArguments& arguments) {
  command.add_option("--devices", arguments.devices, "how many devices there are")
      ->check(check_positive)
      ->capture_default_str();
  command.add_option("--degree", arguments.degree, "ports of a device")
      ->check(check_positive)
      ->capture_default_str();
  command.add_option("--bandwidth", arguments.bandwidth, "bytes a second of a port")
      ->check(check_positive)
      ->capture_default_str();
  command.add_option("--latency", arguments.latency, "seconds of a link")
      ->check(check_positive)
      ->capture_default_str();
  command
      .add_option("--device", arguments.device,
                  "what each of them is: a name, or the file of a description")
      ->capture_default_str();
  command
      .add_option("--memory-limit", arguments.memory_limit,
                  "bytes of a device, as 32G; 80 billion otherwise")
      ->check(check_bytes)
      ->transform(CLI::AsSizeValue(false));
}

}  // namespace

void add_plan_topology(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "topology",
      "choose how the ports of devices are connected, together with the plan, and prove the plan");
  auto arguments = std::make_shared<TopologyArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  add_network_options(*command, *arguments);
  command->add_option("-o,--output", arguments->output, "file for the plan, JSON")->required();
  command->add_option("--network", arguments->network,
                      "file for the network, a cluster that --cluster of other commands reads");
  command->add_option("--picture", arguments->picture, "file for a picture of the network, SVG");
  command->add_flag(
      "--other-networks", arguments->compares,
      "plans for other networks beside it: a fat-tree of equal cost, a switch for all "
      "ports, a torus");
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--seed", arguments->seed, "of the random moves of the search")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] {
    const auto code = plan_topology(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
