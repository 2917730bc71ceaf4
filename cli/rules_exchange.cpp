#include "cli/commands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "outputs/files.h"
#include "rule_language/digests.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"
#include "verifier/checker/certificate.h"
#include "verifier/exchange/formulas.h"
#include "verifier/exchange/rewrite_text.h"
#include "verifier/exchange/taso_export.h"
#include "verifier/exchange/taso_format.h"
#include "verifier/exchange/taso_import.h"
#include "verifier/verify_database.h"

namespace lemma {
namespace {

struct ExchangeArguments {
  std::string input, output, certificates, format = "taso";
};

Result<std::string> read_bytes(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return bad_input(fmt::format("{}: there is no such file", file));
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file));
  return bytes;
}

/// Writes to the file, or to standard output without one.
Result<void> write_out(const std::string& file, const std::string& contents) {
  if (!file.empty()) return write_file_atomically(file, contents);
  std::cout << contents;
  return {};
}

Result<void> check_files(const ExchangeArguments& arguments) {
  FilePlan plan;
  plan.reads(arguments.input, "the input");
  plan.reads_below(arguments.certificates, "--certificates");
  if (arguments.format == "tptp" || arguments.format == "smtlib")
    plan.fills(arguments.output, "-o");
  else
    plan.writes(arguments.output, "-o");
  return plan.check();
}

exchange::RewriteFormat rewrite_format(const ExchangeArguments& arguments) {
  return arguments.format == "egg" ? exchange::RewriteFormat::egg : exchange::RewriteFormat::egglog;
}

Result<void> import_rewrites(const ExchangeArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(arguments.input));
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<Substitution> rules,
      exchange::read_rewrites(contents, rewrite_format(arguments), arguments.input));
  if (rules.empty()) return bad_input(arguments.input + ": there is no rule in it");
  std::string result;
  for (const Substitution& rule : rules) result += (result.empty() ? "" : "\n") + text(rule);
  LEMMA_RETURN_IF_ERROR(write_out(arguments.output, result));
  if (!arguments.output.empty()) std::cout << fmt::format("{} rules imported\n", rules.size());
  return {};
}

Result<void> import_file(const ExchangeArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_files(arguments));
  if (arguments.format != "taso") return import_rewrites(arguments);
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, read_bytes(arguments.input));
  const auto rules = exchange::read_taso(bytes);
  if (!rules)
    return bad_input(
        fmt::format("{}: no file of TASO's rules: {}", arguments.input, rules.error().message));
  const exchange::ImportedRules imported = exchange::import_rules(*rules);
  const std::string name = std::filesystem::path(arguments.input).filename().string();
  LEMMA_RETURN_IF_ERROR(
      write_out(arguments.output, exchange::rules_text(imported, printable(name))));
  for (const std::string& omission : imported.left_out)
    std::cerr << "lemma: left out: " << printable(omission) << "\n";
  if (!arguments.output.empty())
    std::cout << fmt::format("{} rules imported, {} left out\n", imported.rules.size(),
                             imported.left_out.size());
  if (imported.rules.empty()) return bad_input(arguments.input + ": no rule could be imported");
  return {};
}

/// The rules of a file, or those that are shipped.
Result<std::vector<Substitution>> rules_to_export(const ExchangeArguments& arguments) {
  if (arguments.input.empty())
    return read_substitutions(data_directory() / "rules" / "substitutions", ".rules");
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(arguments.input));
  return parse_substitutions(contents, arguments.input);
}

/// Keeps what is true. What TASO reads as another rule has to be proved as TASO reads it. A rule of
/// which nothing is kept is left out. Returns how many are kept that TASO reads as others.
Result<std::size_t> keep_what_is_true(exchange::ExportedRules& exported) {
  std::vector<Substitution> others;
  for (const exchange::ExportedRule& rule : exported.rules)
    if (!rule.is_same) others.push_back(rule.as_read);
  if (others.empty()) return 0;
  LEMMA_ASSIGN_OR_RETURN(const verifier::DatabaseVerification verified,
                         verifier::verify_candidates(data_directory() / "rules", others));
  std::vector<exchange::ExportedRule> kept;
  std::vector<std::string> tried;  // each rule once, in order
  std::size_t next = 0;            // of those that were verified
  for (exchange::ExportedRule& rule : exported.rules) {
    if (tried.empty() || tried.back() != rule.of) tried.push_back(rule.of);
    const verifier::VerifiedRule* as_read = rule.is_same ? nullptr : &verified.rules[next++];
    if (as_read == nullptr || (verifier::is_proved(as_read->verdict()) && as_read->added.empty()))
      kept.push_back(std::move(rule));
  }
  for (const std::string& name : tried)
    if (std::none_of(kept.begin(), kept.end(),
                     [&name](const exchange::ExportedRule& rule) { return rule.of == name; }))
      exported.left_out.push_back(name + ": TASO would read a rule that is not true");
  exported.rules = std::move(kept);
  return static_cast<std::size_t>(
      std::count_if(exported.rules.begin(), exported.rules.end(),
                    [](const exchange::ExportedRule& rule) { return !rule.is_same; }));
}

Result<void> export_taso(const ExchangeArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules, rules_to_export(arguments));
  exchange::ExportedRules exported = exchange::export_rules(rules);
  LEMMA_ASSIGN_OR_RETURN(const std::size_t other, keep_what_is_true(exported));
  for (const std::string& omission : exported.left_out)
    std::cerr << "lemma: left out: " << printable(omission) << "\n";
  if (exported.rules.empty()) return bad_input("no rule can be expressed in TASO's format");
  std::vector<exchange::TasoRule> written;
  for (const exchange::ExportedRule& rule : exported.rules) written.push_back(rule.rule);
  LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, exchange::write_taso(written)));
  std::cout << fmt::format(
      "{} rules exported, {} of them only for the shapes that TASO assumes; {} of {} left out\n",
      written.size(), other, exported.left_out.size(), rules.size());
  return {};
}

Result<void> export_rewrites(const ExchangeArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules, rules_to_export(arguments));
  const exchange::WrittenRewrites written =
      exchange::write_rewrites(rules, rewrite_format(arguments));
  for (const std::string& omission : written.left_out)
    std::cerr << "lemma: left out: " << printable(omission) << "\n";
  if (written.count == 0) return bad_input("no rule can be expressed in this format");
  LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.output, written.text));
  std::cout << fmt::format("{} rules exported; {} of {} left out\n", written.count,
                           written.left_out.size(), rules.size());
  return {};
}

/// One file for each chain of each certificate.
Result<void> export_formulas(const ExchangeArguments& arguments) {
  const std::filesystem::path rules = data_directory() / "rules", folder = arguments.output;
  const std::filesystem::path from = arguments.certificates.empty()
                                         ? rules / "substitutions"
                                         : std::filesystem::path(arguments.certificates);
  LEMMA_ASSIGN_OR_RETURN(const CertificateTable certificates, read_certificates(from));
  if (certificates.empty())
    return bad_input(fmt::format("{}: there are no certificates in it", from.string()));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> axioms,
                         read_substitutions(rules / "axioms", ".axioms"));
  checker::AxiomTable table;
  for (const Substitution& axiom : axioms) table[axiom.name] = &axiom;
  Digests digests;
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [rule, section] : certificates) {
    auto certificate = checker::parse_certificate(section.text, table, digests, section.line);
    if (!certificate) return with_context(rule, std::move(certificate.error()));
    auto problems = exchange::problems_of(*certificate);
    if (!problems) return with_context(rule, std::move(problems.error()));
    for (const exchange::Problem& problem : *problems) {
      const bool tptp = arguments.format == "tptp";
      files.emplace_back(problem.name + (tptp ? ".p" : ".smt2"),
                         tptp ? exchange::tptp(problem) : exchange::smtlib(problem));
    }
  }
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  LEMMA_RETURN_IF_ERROR(write_files_atomically(folder, files));
  std::cout << fmt::format("{} problems of {} certificates\n", files.size(), certificates.size());
  return {};
}

Result<void> export_rules(const ExchangeArguments& arguments) {
  LEMMA_RETURN_IF_ERROR(check_files(arguments));
  if (arguments.format == "taso") return export_taso(arguments);
  if (arguments.format == "egg" || arguments.format == "egglog") return export_rewrites(arguments);
  if (!arguments.input.empty())
    return bad_input("formulas are written from certificates (--certificates), not from rules");
  return export_formulas(arguments);
}

ExitCode done_or_report(const Result<void>& result) {
  return result ? ExitCode::done : report_error(result.error());
}

}  // namespace

void add_rules_exchange(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<ExchangeArguments>();
  auto* in = rules_command.add_subcommand("import", "import rules from formats of other systems");
  in->add_option("FILE", arguments->input, "file of TASO's rules (.pb), or of exported ones")
      ->required();
  in->add_option("--format", arguments->format,
                 "taso: a file of TASO's; egg or egglog: what `lemma rules export` wrote")
      ->check(CLI::IsMember({"taso", "egg", "egglog"}));
  in->add_option("-o,--output", arguments->output, "file to write (default: standard output)");
  in->callback([arguments, &exit_code] { exit_code = done_or_report(import_file(*arguments)); });

  auto* out = rules_command.add_subcommand("export", "export rules to formats of other systems");
  out->add_option("FILE", arguments->input, "file of rules (default: the shipped rules)");
  out->add_option("--format", arguments->format,
                  "taso, egg or egglog: rules; smtlib or tptp: the goals of certificates")
      ->check(CLI::IsMember({"taso", "egg", "egglog", "smtlib", "tptp"}));
  out->add_option("--certificates", arguments->certificates,
                  "folder of certificates (default: the shipped ones)");
  out->add_option("-o,--output", arguments->output, "file to write, or folder for the goals")
      ->required();
  out->callback([arguments, &exit_code] { exit_code = done_or_report(export_rules(*arguments)); });
}

}  // namespace lemma
