// lemma-check: replays certificates. It links what describes tensor programs (ir/) and nothing that
// searches for proofs.

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "facts/outside_operators.h"
#include "rule_language/operator_digests.h"
#include "rule_language/operator_meaning.h"
#include "rule_language/rule_database.h"
#include "verifier/checker/explanation.h"
#include "verifier/checker/replay.h"

namespace {

using namespace lemma;  // NOLINT: one file, no header
namespace files = std::filesystem;
struct Axioms {
  checker::AxiomTable table;
  RoundingTable rounding;
  std::optional<AxiomRecordTable> records;  // nothing: they are not asked for
};
enum Code { done = 0, internal_fault = 1, bad_usage = 2, check_failed = 4 };
constexpr std::string_view usage =
    "usage: lemma-check [--axioms DIR] [--no-axiom-records] [--rules DIR] [--given PROMISE]...\n"
    "                   [--accept-unchecked] [--operators LIBRARY]... CERTIFICATE... "
    "[EXPLANATION...]\n"
    "A file has any number of certificates; a folder stands for the files *.certificates in it.\n"
    "Explanations are files *.explanation.\n"
    "  --axioms DIR  default: the folder `axioms` next to that of the first file of certificates\n"
    "  --no-axiom-records  do not check that axioms are proved. By default each axiom that is\n"
    "                used must have a record in the file axioms.proofs next to the folder of\n"
    "                axioms; lemma rules verify --axioms --write writes the records\n"
    "  --rules DIR   also require a certificate for each rule in the files *.rules of DIR\n"
    "  --given 'NAME: FACTS'  what explanations may take for granted of an input of the model, as\n"
    "                in --given 'x: defined finite [0, 1]'; what they use of it is named\n"
    "  --accept-unchecked  facts of constants whose bytes an explanation does not contain are\n"
    "                named and believed. By default the exit code is 4 then\n"
    "  --operators LIBRARY  a library of operators from outside that certificates are about; "
    "those\n"
    "                of $LEMMA_OPERATORS are loaded as well\n";

struct Arguments {
  files::path axioms, rules;
  std::vector<files::path> packs, explanations;
  bool axiom_records = true, accepts_unchecked = false;
  checker::ExplanationPremises premises;
};

Result<Arguments> parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 1 < words.size() && (words[i] == "--axioms" || words[i] == "--rules")) {
      (words[i] == "--axioms" ? result.axioms : result.rules) = words[i + 1];
      ++i;
    } else if (i + 1 < words.size() && words[i] == operator_libraries_option) {
      ++i;  // loaded already
    } else if (i + 1 < words.size() && words[i] == "--given") {
      LEMMA_RETURN_IF_ERROR(checker::add_promise(words[++i], result.premises));
    } else if (words[i] == "--accept-unchecked") {
      result.accepts_unchecked = true;
    } else if (words[i] == "--no-axiom-records") {
      result.axiom_records = false;
    } else if (files::is_directory(words[i])) {
      LEMMA_ASSIGN_OR_RETURN(const auto packs, files_with_extension(words[i], pack_extension));
      result.packs.insert(result.packs.end(), packs.begin(), packs.end());
    } else if (files::is_regular_file(words[i])) {
      const bool explains = files::path(words[i]).extension() == ".explanation";
      (explains ? result.explanations : result.packs).emplace_back(words[i]);
    } else {
      return bad_input(fmt::format("'{}' is neither a file, a folder nor an option", words[i]));
    }
  }
  if (result.packs.empty()) return bad_input("there are no certificates");
  std::sort(result.packs.begin(), result.packs.end());
  if (result.axioms.empty())
    result.axioms = files::absolute(result.packs[0]).parent_path() / ".." / "axioms";
  return result;
}

Result<Axioms> prepare(const Arguments& arguments, const std::vector<Substitution>& axioms) {
  Axioms result;
  LEMMA_ASSIGN_OR_RETURN(result.rounding, read_rounding_table(arguments.axioms / ".."));
  for (const Substitution& axiom : axioms) {
    if (!axiom.is_axiom) return bad_input(fmt::format("'{}' is a rule, no axiom", axiom.name));
    result.table[axiom.name] = &axiom;
  }
  if (!arguments.axiom_records) return result;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<AxiomRecord> records,
                         read_axiom_records(arguments.axioms / ".." / "axioms.proofs"));
  result.records = table_of(records);
  return result;
}

/// Every axiom that it uses must have a record that fits.
Result<void> check_axioms(const checker::Certificate& certificate, const Axioms& axioms) {
  if (!axioms.records) return {};
  for (const Substitution* used : checker::used_by(certificate)) {
    if (!used->is_axiom) continue;
    for (const auto& [name, reason] : axioms_without_proof({used, 1}, *axioms.records))
      return bad_input(fmt::format(
          "axiom '{}' is not proved: {}: run lemma rules verify --axioms --write", name, reason));
  }
  return {};
}

struct Outcome {
  Substitution rule;
  std::size_t cases = 0, steps = 0;
  bool bitwise = false;
};

struct Section {
  std::string place;  // "FILE:LINE: RULE"
  CertificateSection certificate;
};

/// The certificates of all files. One without any is as good as damaged.
Result<std::vector<Section>> read_sections(const std::vector<files::path>& packs) {
  std::vector<Section> result;
  for (const files::path& pack : packs) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(pack));
    std::vector<CertificateSection> sections = certificates_of(contents);
    if (sections.empty()) sections.emplace_back();
    for (CertificateSection& section : sections) {
      const std::string name = section.rule.empty() ? "a certificate without a name" : section.rule;
      result.push_back(
          {fmt::format("{}:{}: {}", pack.string(), section.line, name), std::move(section)});
    }
  }
  return result;
}

Result<Outcome> check_certificate(const CertificateSection& section, const Axioms& axioms,
                                  Digests& digests) {
  LEMMA_ASSIGN_OR_RETURN(
      const checker::Certificate certificate,
      checker::parse_certificate(section.text, axioms.table, digests, section.line));
  LEMMA_RETURN_IF_ERROR(check_axioms(certificate, axioms));
  LEMMA_RETURN_IF_ERROR(checker::check_rounding(certificate, axioms.rounding));
  LEMMA_RETURN_IF_ERROR(checker::check(certificate));
  Outcome result{certificate.rule, certificate.case_count};
  result.bitwise = certificate.rounding == name(RoundingClass::bitwise);
  for (std::size_t i = 0; i < certificate.case_count; ++i)
    result.steps += certificate.chains[certificate.chain_of(i)].size();
  return result;
}

/// Certificates are handed out one by one; each outcome goes to its own place.
std::vector<Result<Outcome>> check_all(const std::vector<Section>& certificates,
                                       const Axioms& axioms) {
  std::vector<Result<Outcome>> outcomes(certificates.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Digests digests;
    for (std::size_t i = next++; i < outcomes.size(); i = next++)
      outcomes[i] = check_certificate(certificates[i].certificate, axioms, digests);
  };
  std::vector<std::thread> workers(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::thread& worker : workers) worker = std::thread(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return outcomes;
}

Result<Code> run(const std::vector<std::string>& words) {
  LEMMA_ASSIGN_OR_RETURN(const Arguments arguments, parse(words));
  LEMMA_ASSIGN_OR_RETURN(const auto axioms, read_substitutions(arguments.axioms, ".axioms"));
  std::vector<Substitution> rules;
  if (!arguments.rules.empty()) {
    LEMMA_ASSIGN_OR_RETURN(rules, read_substitutions(arguments.rules, ".rules"));
  }
  LEMMA_ASSIGN_OR_RETURN(const Axioms table, prepare(arguments, axioms));
  Outcome totals;
  checker::RuleTable proved;
  checker::RuleNames bitwise;
  std::size_t failed = 0;
  const auto fail = [&failed](std::string_view what, std::string_view why) {
    std::cerr << fmt::format("lemma-check: {}: {}\n", what, why), ++failed;
  };
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Section> certificates, read_sections(arguments.packs));
  const auto outcomes = check_all(certificates, table);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) {
      fail(certificates[i].place, outcomes[i].error().message);
      continue;
    }
    proved[outcomes[i]->rule.name] = &outcomes[i]->rule;
    if (outcomes[i]->bitwise) bitwise.insert(outcomes[i]->rule.name);
    totals.cases += outcomes[i]->cases;
    totals.steps += outcomes[i]->steps;
  }
  const std::size_t held = outcomes.size() - failed;
  for (const Substitution& rule : rules)
    if (!checker::is_proved(rule, proved)) fail(rule.name, "there is no certificate that holds");
  for (const files::path& file : arguments.explanations) {
    const auto holds = checker::check_explanation_file(file, proved, bitwise, arguments.premises);
    if (!holds) {
      fail(file.string(), holds.error().message);
      continue;
    }
    std::cout << holds->text;
    if (!holds->is_complete && !arguments.accepts_unchecked)
      fail(file.string(), "something stays unchecked, which --accept-unchecked allows");
  }
  std::cout << fmt::format("{} certificates hold: {} cases, {} steps; {} fail\n", held,
                           totals.cases, totals.steps, failed);
  return failed == 0 ? done : check_failed;
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    const std::vector<std::string> words(arguments + 1, arguments + argument_count);
    if (words == std::vector<std::string>{"--help"}) return std::cout << usage, done;
    const auto loaded = load_operator_libraries(operator_libraries_of(words));
    take_meaning_digests(operator_digests());
    const auto code = loaded ? run(words) : tl::unexpected<Error>(loaded.error());
    if (code) return *code;
    std::cerr << "lemma-check: " << code.error().message << " (lemma-check --help)\n";
    return bad_usage;
  } catch (const std::exception& error) {
    std::cerr << "lemma-check: internal fault: " << error.what() << "\n";
    return internal_fault;
  }
}
