#include "report/optimize_report.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/model_gain.h"
#include "report/printable.h"
#include "report/table.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Milliseconds of what was read and of what was written; null if they were not measured.
std::pair<Json, Json> latencies(const OptimizeAnswer& answer) {
  const auto measured = measured_seconds(answer);
  if (!measured) return {nullptr, nullptr};
  return {measured->first * 1e3, measured->second * 1e3};
}

Json figures_json(const GraphCost& figures) {
  return {{"operators", figures.operators},
          {"parameters", figures.parameters},
          {"flops", figures.flops},
          {"bytes", figures.bytes},
          {"cost", figures.seconds}};
}

/// The text about the strategy of the search that was done, if any was.
std::string strategy_text(const OptimizeAnswer& answer) {
  const SearchFigures& search = answer.report.search;
  return search.before.operators == 0 ? "none" : std::string(name(search.strategy));
}

void fail(OptimizeAnswer& answer, ErrorKind kind, std::string why) {
  answer.status = "failed";
  answer.error_kind = static_cast<int>(kind);
  answer.message = std::move(why);
}

}  // namespace

OptimizeAnswer answer_of(const OptimizeRequest& request, const ChildOutcome& outcome) {
  OptimizeAnswer answer;
  if (!outcome.lines.empty()) {
    auto parsed = parse_answer(outcome.lines.back());
    if (parsed) answer = std::move(*parsed);
  }
  answer.model = request.model;
  answer.output = request.output;
  answer.peak_memory_bytes = outcome.peak_memory_bytes;
  answer.seconds = outcome.seconds;
  if (outcome.timed_out) {
    answer.status = "timed out";
    answer.message = fmt::format("no result within {:.0f} s", outcome.seconds);
  } else if (outcome.interrupted) {
    answer.status = "interrupted";
    answer.message = "it was being worked on";
  } else if (const auto cut = cut_file(outcome)) {
    fail(answer, ErrorKind::bad_input, *cut);
  } else if (!outcome.not_started.empty()) {
    fail(answer, ErrorKind::unsupported, outcome.not_started);
  } else if (was_ended_by_system(outcome)) {
    fail(answer, ErrorKind::unsupported, end_without_answer(outcome));
  } else if (outcome.signal != 0 || answer.status.empty()) {
    answer.status = "crashed";
    answer.message = end_without_answer(outcome);
  }
  return answer;
}

bool is_written(const OptimizeAnswer& answer) {
  return answer.status == "optimized" || answer.status == "simplified" ||
         answer.status == "unchanged" || answer.status == "mismatch";
}

std::string report_json(const std::vector<OptimizeAnswer>& answers) {
  Json models = Json::array();
  for (const OptimizeAnswer& answer : answers) {
    const OptimizeReport& report = answer.report;
    const SearchFigures& search = report.search;
    const CheckReport& check = report.check;
    Json rules = Json::object();
    for (const UsedRule& use : search.rules_used) rules[use.name] = use.count;
    Json places = Json::array();
    for (const RewrittenPlaces& rewritten : search.places)
      places.push_back({{"operators", rewritten.text},
                        {"count", rewritten.count},
                        {"predicted_saving_ms", rewritten.predicted_saving * 1e3},
                        {"measured_saving_ms", rewritten.measured_saving * 1e3}});
    Json improvements = Json::array();
    for (const CheaperGraph& graph : search.cheaper_graphs)
      improvements.push_back({{"seconds", graph.seconds}, {"cost", graph.cost}});
    const auto& proof = search.extraction;
    const auto [latency_before, latency_after] = latencies(answer);
    models.push_back(
        {{"model", answer.model},
         {"output", is_written(answer) || answer.copied ? Json(answer.output) : Json(nullptr)},
         {"task_program", answer.task_program.empty() ? Json(nullptr) : Json(answer.task_program)},
         {"status", answer.status},
         {"message", answer.message},
         {"cost_before", report.before.seconds},
         {"cost_after", report.after.seconds},
         {"cost_provenance", name(report.after.provenance)},
         {"predicted_before_ms", report.before.seconds * 1e3},
         {"predicted_after_ms", report.after.seconds * 1e3},
         {"latency_before_ms", latency_before},
         {"latency_after_ms", latency_after},
         {"sizes", report.sizes},
         {"sizes_are_guessed", report.sizes_are_guessed},
         {"timing", Json::parse(to_json(report.timing))},
         {"costs", Json::parse(to_json(report.costs))},
         {"max_error", check.comparison.max_error},
         {"smallest_passing_tolerance_scale", check.comparison.smallest_passing_scale},
         {"samples_compared", check.comparison.samples},
         {"adversarial_compared", check.comparison.adversarial},
         {"check_seconds", check.seconds},
         {"second_judge", check.second_judge},
         {"second_judge_message", check.second.message},
         {"second_judge_sets", check.second.sets},
         {"whole_run", check.whole_run},
         {"whole_run_message", check.whole_run_message},
         {"warning", report.warning},
         {"rules_used", rules},
         {"rules_without_proof", search.unproved},
         {"places", places},
         {"seconds", answer.seconds},
         {"before", figures_json(report.before)},
         {"after", figures_json(report.after)},
         {"opaque_operators", report.opaque_operators},
         {"strategy", strategy_text(answer)},
         {"search_seconds", search.seconds},
         {"improvements", improvements},
         {"rules_considered", search.rules_considered},
         {"left_out", search.left_out},
         {"rounds", search.rounds},
         {"passes", search.passes},
         {"parts", search.parts},
         {"graphs", search.graphs},
         {"egraph_nodes", search.egraph_nodes},
         {"extraction_cost", proof ? Json(proof->cost) : Json()},
         {"extraction_lower_bound", proof ? Json(proof->lower_bound) : Json()},
         {"extraction_optimal", proof && proof->optimal},
         {"stop_reason", search.stop_reason},
         {"peak_memory_bytes", answer.peak_memory_bytes}});
  }
  return Json{{"models", models}}.dump(2, ' ', true, Json::error_handler_t::replace);
}

namespace {

/// How many models have each status, and the mean gain of those that were written.
std::string closing_line(const std::vector<OptimizeAnswer>& answers) {
  std::vector<std::pair<std::string, std::size_t>> counts;  // by status, in order of appearance
  double logarithms = 0;
  std::size_t written = 0, measured = 0;
  for (const OptimizeAnswer& answer : answers) {
    const auto count = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& c) { return c.first == answer.status; });
    if (count == counts.end())
      counts.emplace_back(answer.status, 1);
    else
      ++count->second;
    if (!is_written(answer)) continue;
    const Gain gain = gain_of(answer);
    if (!(gain.factor() > 0)) continue;
    logarithms += std::log(gain.factor());
    ++written;
    measured += gain.is_measured ? 1 : 0;
  }
  std::vector<std::string> parts;
  for (const auto& [status, count] : counts) parts.push_back(fmt::format("{} {}", count, status));
  std::string line = fmt::format("{} models: {}", answers.size(), fmt::join(parts, ", "));
  if (written > 0)
    line += fmt::format("; {:.2f} times as fast in the geometric mean ({} of {} measured)",
                        std::exp(logarithms / static_cast<double>(written)), measured, written);
  return line + "\n";
}

}  // namespace

std::string summary_table(const std::vector<OptimizeAnswer>& answers) {
  using enum Table::Align;
  Table table({"model", "status", "operators", "", "speed-up", "latency", "", "", "time"},
              {left, left, right, right, right, right, right, left, right});
  for (const OptimizeAnswer& answer : answers) {
    const std::string name = printable(fs::path(answer.model).filename().string());
    if (!is_written(answer)) {
      table.add({name, answer.status});
      continue;
    }
    const Gain gain = gain_of(answer);
    table.add({name, answer.status, fmt::format("{}", answer.report.before.operators),
               fmt::format("> {}", answer.report.after.operators),
               fmt::format("{:.2f}x", gain.factor()), duration_text(gain.before),
               "> " + duration_text(gain.after), gain.is_measured ? "measured" : "predicted",
               fmt::format("{:.1f} s", answer.seconds)});
  }
  return table.text() + (answers.size() > 1 ? closing_line(answers) : "");
}

std::string detailed_table(const std::vector<OptimizeAnswer>& answers) {
  using enum Table::Align;
  Table table({"model",  "status",  "operators", "",          "parameters", "",
               "flops",  "",        "bytes",     "",          "cost",       "",
               "change", "latency", "",          "max error", "check s",    "second judge",
               "search", "time"},
              {left,  left,  right, right, right, right, right, right, right, right,
               right, right, right, right, right, right, right, left,  left,  right});
  for (const OptimizeAnswer& a : answers) {
    const std::string name = fs::path(a.model).filename().string();
    if (!is_written(a)) {
      table.add({printable(name), a.status});
      continue;
    }
    const GraphCost &before = a.report.before, &after = a.report.after;
    const CheckReport& check = a.report.check;
    const auto [latency_before, latency_after] = latencies(a);
    table.add(
        {printable(name),
         a.status,
         fmt::format("{}", before.operators),
         fmt::format("> {}", after.operators),
         with_prefix(static_cast<double>(before.parameters)),
         "> " + with_prefix(static_cast<double>(after.parameters)),
         with_prefix(before.flops),
         "> " + with_prefix(after.flops),
         with_prefix(before.bytes),
         "> " + with_prefix(after.bytes),
         duration_text(before.seconds),
         "> " + duration_text(after.seconds),
         change_text(before.seconds, after.seconds),
         latency_before.is_null() ? "predicted" : duration_text(latency_before.get<double>() / 1e3),
         latency_after.is_null() ? "" : "> " + duration_text(latency_after.get<double>() / 1e3),
         check.comparison.samples > 0 ? fmt::format("{:.1e}", check.comparison.max_error) : "-",
         fmt::format("{:.2f}", check.seconds),
         check.second_judge,
         strategy_text(a),
         fmt::format("{:.1f} s", a.seconds)});
  }
  return table.text();
}

}  // namespace lemma
