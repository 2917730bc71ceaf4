// Plans one problem of memory: reads {"nodes": [{"seconds", "bytes", "operands", "kept"}], "limit", "rounds"} from standard
// input and prints what was found as JSON. `bench/models memory` calls it.

#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "memory_plan/plan_within.h"
#include "memory_plan/replay.h"

int main() {
  namespace plans = lemma::memory_plan;
  const nlohmann::json input = nlohmann::json::parse(std::cin);
  plans::Problem problem;
  for (const nlohmann::json& node : input.at("nodes"))
    problem.nodes.push_back(
        {node.at("seconds"), node.at("bytes"), 0, node.at("operands"), node.at("kept")});
  if (const auto checked = plans::check_problem(problem); !checked) {
    std::cerr << checked.error().message << "\n";
    return 2;
  }
  plans::PlanOptions options;
  options.rounds = input.value("rounds", options.rounds);
  options.most_steps = input.value("steps", options.most_steps);
  const auto begin = std::chrono::steady_clock::now();
  const plans::Outcome outcome = plans::plan_within(problem, input.at("limit"), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::cout << nlohmann::json({{"found", outcome.is_found()},
                               {"seconds", outcome.seconds},
                               {"peak", outcome.peak},
                               {"bound", outcome.seconds_bound},
                               {"bounds_order", outcome.bounds_order},
                               {"optimal", outcome.is_optimal()},
                               {"least_bytes", outcome.least_bytes},
                               {"runs", outcome.sequence.size()},
                               {"method", plans::name(outcome.method)},
                               {"planning_seconds", taken.count()}})
            << "\n";
  return 0;
}
