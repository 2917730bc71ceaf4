#include "report/first_screen.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"
#include "profiler/profile_database.h"
#include "report/model_gain.h"
#include "report/optimize_report.h"
#include "report/table.h"
#include "report/web_page.h"

namespace lemma {

namespace {

/// "1 model", "2 models".
std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// ---- Was it worth it

bool is_faster(const OptimizeAnswer& answer) {
  return answer.status == name(OptimizeStatus::optimized) && gain_of(answer).factor() > 1;
}

std::string runtime_of(const OptimizeAnswer& answer) {
  const std::string& runtime = answer.report.timing.runtime;
  return runtime.empty() ? "" : " in " + runtime;
}

std::string sizes_of(const OptimizeAnswer& answer) {
  const OptimizeReport& report = answer.report;
  if (report.sizes.empty()) return "";
  return fmt::format(
      " at {}{}", report.sizes,
      report.sizes_are_guessed ? " (chosen, because the model leaves them open)" : "");
}

/// How much faster with confidence, where that is known; the ratio is of what was written to what was read.
std::string confidence_of(const OptimizeAnswer& answer) {
  const TimingReport& timing = answer.report.timing;
  if (timing.rounds == 0 || !(timing.ratio.upper_bound > 0) || timing.ratio.upper_bound >= 1)
    return "";
  return fmt::format("with 97.5% confidence at least {:.2f} times as fast",
                     1 / timing.ratio.upper_bound);
}

std::string kept_sentence(const OptimizeAnswer& answer) {
  const Gain gain = gain_of(answer);
  const std::string time = gain.is_measured
                               ? fmt::format("; it takes {}{}{}", duration_text(gain.before),
                                             runtime_of(answer), sizes_of(answer))
                               : "";
  return fmt::format("{} was kept as it was{}.", short_name(answer), time);
}

std::string sentence_of_one(const OptimizeAnswer& answer) {
  const std::string name = short_name(answer);
  if (!is_written(answer)) return fmt::format("{} was not optimized.", name);
  if (!is_changed(answer)) return kept_sentence(answer);
  const Gain gain = gain_of(answer);
  const std::string times = fmt::format("{} instead of {}", duration_text(gain.after),
                                        duration_text(gain.before)),
                    where = gain.is_measured ? runtime_of(answer) + sizes_of(answer) : "";
  if (!is_faster(answer))
    return fmt::format("{} is only simpler, no faster: {}{} ({}).", name, times, where,
                       gain.is_measured ? "measured" : "predicted");
  if (!gain.is_measured)
    return fmt::format("{} is predicted to run {:.2f} times as fast: {}; nothing was timed.", name,
                       gain.factor(), times);
  const std::string confidence = confidence_of(answer);
  return fmt::format("{} runs {:.2f} times as fast: {}{}{}.", name, gain.factor(), times, where,
                     confidence.empty() ? "" : "; " + confidence);
}

/// The model that gained the most, of those that are faster; those that were measured before the others.
const OptimizeAnswer* best_of(const std::vector<OptimizeAnswer>& answers) {
  const OptimizeAnswer* best = nullptr;
  const auto worth = [](const OptimizeAnswer& answer) {
    const Gain gain = gain_of(answer);
    return std::pair(gain.is_measured, gain.factor());
  };
  for (const OptimizeAnswer& answer : answers)
    if (is_faster(answer) && (best == nullptr || worth(answer) > worth(*best))) best = &answer;
  return best;
}

/// The geometric mean of those of several models that were measured, else of those that were written.
std::string mean_text(const std::vector<OptimizeAnswer>& answers, bool is_measured) {
  double logarithms = 0;
  std::size_t count = 0;
  for (const OptimizeAnswer& answer : answers) {
    const Gain gain = is_written(answer) ? gain_of(answer) : Gain{};
    if (!(gain.before > 0) || !(gain.after > 0) || gain.is_measured != is_measured) continue;
    logarithms += std::log(gain.factor());
    ++count;
  }
  if (count < 2) return "";
  return fmt::format(": {:.2f} times as fast in the geometric mean of the {} that {}",
                     std::exp(logarithms / static_cast<double>(count)), count,
                     is_measured ? "were measured" : "were written");
}

std::string sentence_of_all(const std::vector<OptimizeAnswer>& answers) {
  const auto faster =
      static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), is_faster));
  const bool is_measured =
      std::any_of(answers.begin(), answers.end(), [](const OptimizeAnswer& answer) {
        return is_written(answer) && gain_of(answer).is_measured;
      });
  const std::string_view runs = is_measured  ? faster < 2 ? "runs" : "run"
                                : faster < 2 ? "is predicted to run"
                                             : "are predicted to run";
  const std::string count = faster == 0 ? "None" : fmt::format("{}", faster);
  std::string text = fmt::format("{} of {} {} faster{}", count, counted(answers.size(), "model"),
                                 runs, mean_text(answers, is_measured));
  if (const OptimizeAnswer* best = best_of(answers)) {
    const Gain gain = gain_of(*best);
    text += fmt::format("; {} gains the most, {:.2f} times as fast ({} instead of {}{})",
                        short_name(*best), gain.factor(), duration_text(gain.after),
                        duration_text(gain.before),
                        gain.is_measured ? runtime_of(*best) + sizes_of(*best) : ", predicted");
  }
  return text + (is_measured ? "." : ". Nothing was timed.");
}

// ---- What changed, and why it is right

using Order = std::vector<std::size_t>;  // of answers

/// Those that were measured first, then the ones with the largest gain.
void sort_by_gain(const std::vector<OptimizeAnswer>& answers, Order& order) {
  const auto rank = [&answers](std::size_t i) {
    const Gain gain = gain_of(answers[i]);
    return std::tuple(!is_written(answers[i]), !gain.is_measured, -gain.factor());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
}

std::string linked_name(const FirstScreen& screen, std::size_t i) {
  const std::string name = breakable(short_name(screen.answers[i])), &id = screen.sections[i].id;
  return id.empty() ? name : fmt::format("<a href=\"#{}\">{}</a>", id, name);
}

std::set<std::string> used_rules(const std::vector<OptimizeAnswer>& answers) {
  std::set<std::string> rules;
  for (const OptimizeAnswer& answer : answers)
    if (is_changed(answer))
      for (const UsedRule& rule : answer.report.search.rules_used) rules.insert(rule.name);
  return rules;
}

std::string what_changed(const FirstScreen& screen, const Order& order) {
  constexpr std::size_t most = 3;
  std::vector<std::string> items;
  std::size_t left_out = 0;
  for (const std::size_t i : order) {
    const OptimizeAnswer& answer = screen.answers[i];
    if (!is_changed(answer)) continue;
    if (items.size() == most) {
      ++left_out;
      continue;
    }
    const GraphCost &before = answer.report.before, &after = answer.report.after;
    const std::string& changes = screen.sections[i].changes;
    items.push_back(fmt::format("{}: {} instead of {}{}", linked_name(screen, i),
                                counted(static_cast<std::size_t>(after.operators), "operator"),
                                before.operators,
                                changes.empty() ? "" : " (" + html_escaped(changes) + ")"));
  }
  if (items.empty()) return "<dd>Nothing: what was written is what was read.</dd>";
  if (left_out > 0) items.push_back(counted(left_out, "other model"));
  if (const std::size_t rules = used_rules(screen.answers).size(); rules > 0)
    items.push_back(fmt::format("By <a href=\"#rules\">{}</a>", counted(rules, "rule")));
  return fmt::format("<dd>{}</dd>", fmt::join(items, "</dd><dd>"));
}

std::string proved_text(const FirstScreen& screen) {
  const std::set<std::string> rules = used_rules(screen.answers);
  if (rules.empty()) return "";
  const auto replayed = static_cast<std::size_t>(std::count_if(
      rules.begin(), rules.end(), [&](const auto& rule) { return screen.proofs.contains(rule); }));
  if (replayed == rules.size())
    return fmt::format(
        "<a href=\"#rules\">Each rule</a> that was used is proved, and its proof was replayed when "
        "this page was written. ");
  return fmt::format(
      "The proofs of {} of the {} that were used were replayed when this page was written; the "
      "folder of rules has no others. ",
      replayed, counted(rules.size(), "rule"));
}

std::string why_right(const FirstScreen& screen) {
  std::size_t results = 0, agreed = 0;
  int sets = 0;
  double largest = 0;
  for (const OptimizeAnswer& answer : screen.answers) {
    const CheckReport& check = answer.report.check;
    if (!is_changed(answer)) continue;
    ++results;
    sets += check.comparison.samples + check.comparison.adversarial;
    largest = std::max(largest, check.comparison.max_error);
    agreed += check.second_judge == "agrees" ? 1 : 0;
  }
  if (results == 0) return "Nothing new was written.";
  return proved_text(screen) + fmt::format(
                                   "{} compared with {} on {} of inputs{}; the largest difference "
                                   "is {:.1e}. ONNX Runtime "
                                   "agrees on {} of {}.",
                                   results == 1 ? "The result was" : "Each result was",
                                   results == 1 ? "the original" : "its original",
                                   counted(static_cast<std::size_t>(sets), "set"),
                                   results == 1 ? "" : ", all together", largest, agreed,
                                   counted(results, "result"));
}

// ---- Rows of models

/// What else was found out when models were timed: how it is at other sizes, and how sure the times are.
void add_timing(const TimingReport& timing, std::vector<std::string>& parts) {
  if (const OtherSizes& other = timing.other; other.times.rounds > 0)
    parts.push_back(fmt::format("{} instead of {} at {}", duration_text(other.times.after_seconds),
                                duration_text(other.times.before_seconds), other.sizes));
  if (timing.by_processor_time) parts.push_back("times are processor times");
  if (is_busy(timing))
    parts.push_back(fmt::format("the machine was busy: models waited {:.0f}% of the time",
                                100 * timing.busy_share));
}

/// What became of the model, why, and at which sizes that was found out.
std::string reason_of(const OptimizeAnswer& answer) {
  std::vector<std::string> parts = {answer.status};
  for (const std::string& said : {answer.report.warning, answer.message})
    if (!said.empty()) parts.push_back(said);
  if (const std::string confidence = confidence_of(answer);
      !confidence.empty() && is_faster(answer))
    parts.push_back(confidence);
  std::string text = fmt::format("{}", fmt::join(parts, "; "));
  if (!is_written(answer)) return html_escaped(text);
  text += (answer.report.sizes.empty() ? "" : ";") + sizes_of(answer);
  parts = {std::move(text)};
  add_timing(answer.report.timing, parts);
  return html_escaped(fmt::format("{}", fmt::join(parts, "; ")));
}

std::string row(const FirstScreen& screen, std::size_t i) {
  const OptimizeAnswer& answer = screen.answers[i];
  const bool is_bad = !is_written(answer) || answer.status == name(OptimizeStatus::mismatch);
  std::string html =
      fmt::format("<tr><td class=\"word name\">{}<div class=\"{}\">{}</div></td>",
                  linked_name(screen, i), is_bad ? "bad" : "quiet", reason_of(answer));
  if (!is_written(answer)) return html + "<td colspan=\"4\"></td></tr>\n";
  const Gain gain = gain_of(answer);
  const GraphCost &before = answer.report.before, &after = answer.report.after;
  return html +
         fmt::format(
             "<td class=\"bar\">{}</td><td class=\"short\" data-label=\"times as fast\">{:.2f}</td>"
             "<td class=\"short\">{} → {} <span class=\"quiet\">{}</span></td>"
             "<td class=\"short\" data-label=\"operators\">{} → {}</td></tr>\n",
             bars(gain.before, gain.after, std::max(gain.before, gain.after)), gain.factor(),
             duration_text(gain.before), duration_text(gain.after),
             gain.is_measured ? "measured" : "predicted", before.operators, after.operators);
}

std::string rows(const FirstScreen& screen, const Order& order) {
  std::string html =
      "<table class=\"list models\"><thead><tr><th class=\"word\">model</th>"
      "<th class=\"word\">before and after</th><th>times as fast</th><th>time</th>"
      "<th>operators</th></tr></thead><tbody>\n";
  for (const std::size_t i : order) html += row(screen, i);
  return html + "</tbody></table>\n";
}

std::string setup_text(const FirstScreen& screen) {
  const RunSetup& setup = screen.setup;
  std::set<std::string> runtimes;
  for (const OptimizeAnswer& answer : screen.answers)
    if (!answer.report.timing.runtime.empty()) runtimes.insert(answer.report.timing.runtime);
  std::string options;
  for (const std::string& option : setup.options)
    options += fmt::format("{}<code class=\"command\">{}</code>", options.empty() ? "" : " ",
                           html_escaped(option));
  return fmt::format(
      "<dl class=\"setup\"><dt>Version</dt><dd>Lemma {}</dd><dt>Machine</dt><dd>{}; {} for each "
      "model</dd><dt>Runtime</dt><dd>{}</dd><dt>Options</dt><dd>{}</dd></dl>\n",
      html_escaped(setup.version), html_escaped(setup.processor),
      counted(static_cast<std::size_t>(setup.threads), "thread"),
      runtimes.empty() ? "none: costs are predicted"
                       : html_escaped(fmt::format("{}", fmt::join(runtimes, ", "))),
      setup.options.empty() ? "the defaults" : options);
}

}  // namespace

RunSetup setup_here(int threads, std::vector<std::string> options) {
  std::string processor = processor_identity();
  processor.resize(std::min(processor.size(), processor.rfind(',')));  // without its extensions
  return {std::string(version()), std::move(processor), threads, std::move(options)};
}

std::string short_name(const OptimizeAnswer& answer) {
  return std::filesystem::path(answer.model).filename().string();
}

std::string gain_sentence(const std::vector<OptimizeAnswer>& answers) {
  return answers.size() == 1 ? sentence_of_one(answers.front()) : sentence_of_all(answers);
}

std::string bars(double before, double after, double largest) {
  const auto percent = [largest](double value) {
    return largest > 0 ? std::clamp(100 * value / largest, 0.0, 100.0) : 0;
  };
  return fmt::format(
      "<div class=\"bars\"><i class=\"before\" style=\"width:{:.1f}%\"></i>"
      "<i class=\"after\" style=\"width:{:.1f}%\"></i></div>",
      percent(before), percent(after));
}

std::string first_screen(const FirstScreen& screen) {
  Order shown, kept;
  for (std::size_t i = 0; i < screen.answers.size(); ++i)
    (screen.answers[i].status == name(OptimizeStatus::unchanged) ? kept : shown).push_back(i);
  sort_by_gain(screen.answers, shown);
  sort_by_gain(screen.answers, kept);
  std::string html = fmt::format(
      "<p class=\"lead\">{}</p>\n<dl class=\"answers\"><dt>What changed</dt>{}"
      "<dt>Why it is right</dt><dd>{}</dd></dl>\n"
      "<p class=\"quiet key\"><i class=\"before\"></i>before <i class=\"after\"></i>after, each "
      "model on a scale of its own</p>\n",
      html_escaped(gain_sentence(screen.answers)), what_changed(screen, shown), why_right(screen));
  if (!shown.empty()) html += rows(screen, shown);
  if (!kept.empty())
    html += fmt::format("<details{}><summary>{} kept as {}</summary>\n{}</details>\n",
                        shown.empty() ? " open=\"open\"" : "", counted(kept.size(), "model"),
                        kept.size() == 1 ? "it was" : "they were", rows(screen, kept));
  return html + setup_text(screen);
}

}  // namespace lemma
