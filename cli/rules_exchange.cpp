#include "cli/rules_exchange.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "cli/atomic_file.h"
#include "cli/data_directory.h"
#include "cli/error_line.h"
#include "ir/rule_database.h"
#include "verifier/exchange/taso_export.h"
#include "verifier/exchange/taso_format.h"
#include "verifier/exchange/taso_import.h"

namespace lemma {
namespace {

struct ExchangeArguments {
  std::string input, output, format = "taso";
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

/// To the file, or to standard output without one.
Result<void> write_out(const std::string& file, const std::string& contents) {
  if (!file.empty()) return write_file_atomically(file, contents);
  std::cout << contents;
  return {};
}

Result<void> import_file(const ExchangeArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, read_bytes(arguments.input));
  const auto rules = exchange::read_taso(bytes);
  if (!rules)
    return bad_input(
        fmt::format("{}: no file of TASO's rules: {}", arguments.input, rules.error().message));
  const exchange::ImportedRules imported = exchange::import_rules(*rules);
  const std::string name = std::filesystem::path(arguments.input).filename().string();
  LEMMA_RETURN_IF_ERROR(
      write_out(arguments.output, exchange::rules_text(imported, printable(name))));
  for (const std::string& one : imported.left_out)
    std::cerr << "lemma: left out: " << printable(one) << "\n";
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

Result<void> export_taso(const ExchangeArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules, rules_to_export(arguments));
  const exchange::ExportedRules exported = exchange::export_rules(rules);
  for (const std::string& one : exported.left_out)
    std::cerr << "lemma: left out: " << printable(one) << "\n";
  if (exported.rules.empty()) return bad_input("no rule can be said in TASO's format");
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(arguments.output, exchange::write_taso(exported.rules)));
  std::cout << fmt::format("{} rules exported, {} left out\n", exported.rules.size(),
                           exported.left_out.size());
  return {};
}

ExitCode done_or_report(const Result<void>& result) {
  return result ? ExitCode::done : report_error(result.error());
}

}  // namespace

void add_rules_exchange(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<ExchangeArguments>();
  auto* in = rules_command.add_subcommand("import", "read rules of TASO's format");
  in->add_option("FILE", arguments->input, "a file of TASO's rules (.pb)")->required();
  in->add_option("-o,--output", arguments->output, "file of rules to write; else printed");
  in->callback([arguments, &exit_code] { exit_code = done_or_report(import_file(*arguments)); });

  auto* out = rules_command.add_subcommand("export", "write rules in the formats of others");
  out->add_option("FILE", arguments->input, "a file of rules; else those that are shipped");
  out->add_option("--format", arguments->format, "taso")->check(CLI::IsMember({"taso"}));
  out->add_option("-o,--output", arguments->output, "file to write")->required();
  out->callback([arguments, &exit_code] { exit_code = done_or_report(export_taso(*arguments)); });
}

}  // namespace lemma
