// Chooses strategies for one problem: reads it as JSON from standard input and prints what was chosen. `bench/search plans`
// calls it. "kind" says what the problem is made of:
//   problem    nodes {"strategies": [[seconds, bytes]], "begin", "end"}, edges [from, to, [seconds]], groups "alike", "limit"
//   operators  a mesh with Alpa's alpha and beta, operators by Alpa's shardings, and pairs "bring" (plans/choice/alpa.h)
//   zero       "parameters" on "ranks": bytes of each stage

#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/choice/alpa.h"
#include "plans/choice/choose.h"
#include "plans/choice/zero.h"

namespace {

namespace choice = lemma::choice;
namespace clusters = lemma::clusters;
using Json = nlohmann::json;

choice::Problem problem_of(const Json& input) {
  choice::Problem problem;
  for (const Json& entry : input.at("nodes")) {
    choice::Node node;
    for (const Json& strategy : entry.at("strategies"))
      node.strategies.push_back({strategy.at(0), strategy.at(1)});
    node.begin = entry.value("begin", 0U);
    node.end = entry.value("end", 1U);
    problem.nodes.push_back(std::move(node));
  }
  for (const Json& edge : input.at("edges"))
    problem.edges.push_back({edge.at(0), edge.at(1), edge.at(2)});
  for (const Json& group : input.value("alike", Json::array())) problem.alike.push_back(group);
  if (input.contains("limit")) problem.limit = input.at("limit").get<choice::Bytes>();
  return problem;
}

/// The prices of Alpa, where "gather" replaces that of an all-gather.
choice::AlpaOptions options_of(const Json& input) {
  choice::AlpaOptions options;
  options.mesh = input.at("mesh").get<choice::MeshSizes>();
  options.price = choice::alpa_prices(options.mesh, input.at("alpha"), input.at("beta"));
  if (input.contains("gather"))
    options.price = [price = options.price, gather = input.at("gather").get<double>()](
                        clusters::Collective collective, double bytes, std::size_t axis) {
      return collective == clusters::Collective::all_gather ? gather
                                                            : price(collective, bytes, axis);
    };
  if (input.contains("batch_axis")) options.batch_axis = input.at("batch_axis").get<std::size_t>();
  if (input.value("resharding", "alpa") == "cheapest")
    options.resharding = choice::cheapest_resharding(options.mesh, options.price);
  else
    options.resharding = [price = options.price](const choice::Tensor& tensor,
                                                 const choice::Placement& from,
                                                 const choice::Placement& to) {
      return choice::alpa_resharding(tensor, from, to, price);
    };
  return options;
}

choice::Problem operators_of(const Json& input) {
  choice::AlpaProblem problem(options_of(input));
  for (const Json& node : input.at("nodes")) {
    const std::string op = node.at("op");
    const Json operands = node.value("operands", Json::array());
    if (op == "parameter")
      problem.parameter({node.at("sizes").get<std::vector<std::int64_t>>(), 4});
    else if (op == "product")
      problem.product(operands.at(0), operands.at(1), node.at("summed").at(0),
                      node.at("summed").at(1));
    else if (op == "elementwise")
      problem.elementwise(operands.get<std::vector<choice::NodeNumber>>());
    else if (op == "broadcast_rows")
      problem.broadcast_rows(operands.at(0), node.at("rows"));
    else
      problem.sum_of_rows(operands.at(0));
  }
  for (const Json& pair : input.at("bring")) problem.bring(pair.at(0), pair.at(1));
  return problem.tensors().problem();
}

int zero(const Json& input) {
  Json bytes = Json::array();
  for (int stage = 0; stage < choice::zero_stages; ++stage)
    bytes.push_back(choice::zero_bytes({input.at("parameters")}, stage, input.at("ranks")));
  std::cout << Json({{"bytes", bytes}}) << "\n";
  return 0;
}

}  // namespace

int main() {
  const Json input = Json::parse(std::cin);
  const std::string kind = input.at("kind");
  if (kind == "zero") return zero(input);
  const auto begin = std::chrono::steady_clock::now();
  const choice::Problem problem = kind == "operators" ? operators_of(input) : problem_of(input);
  if (const auto checked = choice::check_problem(problem); !checked) {
    std::cerr << checked.error().message << "\n";
    return 2;
  }
  choice::ChooseOptions options;
  options.most_states = input.value("states", options.most_states);
  options.improve_rounds = input.value("rounds", options.improve_rounds);
  options.most_entries = input.value("entries", options.most_entries);
  options.most_layer_states = input.value("layer_states", options.most_layer_states);
  options.price_rounds = input.value("price_rounds", options.price_rounds);
  const choice::Outcome outcome = choice::choose(problem, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::cout << Json({{"found", outcome.is_found()},
                     {"impossible", outcome.is_impossible},
                     {"seconds", outcome.seconds},
                     {"peak", outcome.peak},
                     {"bound", outcome.is_impossible ? 0 : outcome.bound},
                     {"optimal", outcome.is_optimal()},
                     {"method", choice::name(outcome.method)},
                     {"nodes", problem.nodes.size()},
                     {"edges", problem.edges.size()},
                     {"states", outcome.states},
                     {"planning_seconds", taken.count()}})
            << "\n";
  return 0;
}
