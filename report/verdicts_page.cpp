#include "report/verdicts_page.h"

#include <fmt/format.h>

#include "report/rule_picture.h"
#include "report/rule_verdicts.h"
#include "report/web_page.h"
#include "verifier/conditions/infer.h"

namespace lemma {
namespace {

using verifier::VerifiedRule;

std::string paragraph(std::string_view what, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<p>{}</p>\n<pre>{}</pre>\n", what, html_escaped(text));
}

constexpr std::size_t most_shown = 20'000;  // characters of a certificate

/// A certificate, folded up. One of hundreds of cases is not for reading on a page.
std::string certificate_text(const std::string& certificate) {
  if (certificate.empty()) return "";
  if (certificate.size() > most_shown)
    return "<p>The first proof is long; --write-certificates writes it to a file.</p>\n";
  return fmt::format(
      "<details><summary>The first proof, as lemma-check replays "
      "it</summary><pre>{}</pre></details>\n",
      html_escaped(certificate));
}

/// Why the verdict is what it is.
std::string explained(const VerifiedRule& rule) {
  if (const auto* refuted = std::get_if<verifier::Refuted>(&rule.verdict())) {
    std::string lines;
    for (const std::string& line : {refuted->assignment, refuted->inputs, refuted->difference})
      if (!line.empty()) lines += line + "\n";
    return paragraph("A counterexample:", lines);
  }
  if (!verifier::is_proved(rule.verdict()))
    return paragraph("It is not proved:", verifier::text(rule.verdict()));
  const std::string missing = rule.proofs.has_both() ? "" : reason_for_one(rule.proofs);
  return paragraph("Under these conditions:", verifier::condition_text(rule.rule)) +
         paragraph("One of the two proofs is missing:", missing) +
         certificate_text(std::get<verifier::Proved>(rule.verdict()).certificate);
}

std::string section(const VerifiedRule& rule) {
  const std::string_view verdict = verdict_name(rule.verdict());
  const char* look = verdict == "proved" ? "good" : "bad";
  return fmt::format(
      "<h2 id=\"rule-{}\">{}: <span class=\"{}\">{}</span></h2>\n<pre>{}</pre>\n{}{}",
      html_escaped(rule.name), breakable(rule.name), look, verdict, html_escaped(text(rule.rule)),
      rule_pictures(rule.rule, "Left side", "Right side"), explained(rule));
}

}  // namespace

std::string verdicts_page(const verifier::DatabaseVerification& verification) {
  WebPage page;
  page.title = page.heading = "Rules and whether they hold";
  page.body = fmt::format(
      "<p>{} of {} rules are proved, {} of them twice; {} are refuted and {} unknown.</p>\n",
      verification.proved(), verification.rules.size(), verification.proved_twice(),
      verification.refuted(), verification.unknown());
  for (const VerifiedRule& rule : verification.rules) page.body += section(rule);
  return text(page);
}

}  // namespace lemma
