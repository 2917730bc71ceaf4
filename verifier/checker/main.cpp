// lemma-check: replays certificates. It links what describes tensor programs (ir/) and nothing that
// searches for proofs.

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "ir/rule_database.h"
#include "verifier/checker/certificate.h"
#include "verifier/checker/replay.h"

namespace {

using namespace lemma;  // NOLINT: one file, no header
namespace files = std::filesystem;

enum Code { done = 0, internal_fault = 1, bad_usage = 2, check_failed = 4 };

constexpr std::string_view usage =
    "usage: lemma-check [--axioms DIR] [--rules DIR] CERTIFICATE...\n"
    "Replays proofs. A folder stands for the files *.certificate in it.\n"
    "  --axioms DIR  the axioms; otherwise `axioms` beside the folder of each certificate\n"
    "  --rules DIR   also demand a certificate for each rule in the files *.rules there\n";

struct Arguments {
  files::path axioms, rules;
  std::vector<files::path> certificates;
};

Result<Arguments> parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--axioms" || words[i] == "--rules") {
      if (i + 1 == words.size()) return bad_input(fmt::format("{} needs a folder", words[i]));
      (words[i] == "--axioms" ? result.axioms : result.rules) = words[i + 1];
      ++i;
    } else if (words[i].starts_with("-")) {
      return bad_input(fmt::format("there is no option '{}'", words[i]));
    } else if (files::is_directory(words[i])) {
      std::vector<files::path> found;
      for (const auto& entry : files::directory_iterator(words[i]))
        if (entry.path().extension() == ".certificate") found.push_back(entry.path());
      if (found.empty()) return bad_input(fmt::format("no certificates in '{}'", words[i]));
      std::sort(found.begin(), found.end());
      result.certificates.insert(result.certificates.end(), found.begin(), found.end());
    } else {
      result.certificates.emplace_back(words[i]);
    }
  }
  if (result.certificates.empty()) return bad_input("no certificate is named");
  return result;
}

/// The axioms of each folder, read once.
class AxiomFolders {
 public:
  Result<const checker::AxiomTable*> read(const files::path& folder) {
    auto& entry = folders_[folder.string()];
    if (!entry.table.empty()) return &entry.table;
    LEMMA_ASSIGN_OR_RETURN(entry.axioms, read_substitutions(folder, ".axioms"));
    for (const Substitution& axiom : entry.axioms) {
      if (!axiom.is_axiom)
        return bad_input(fmt::format("'{}' stands among the axioms, but is a rule", axiom.name));
      entry.table[axiom.name] = &axiom;
    }
    return &entry.table;
  }

 private:
  struct Entry {
    std::vector<Substitution> axioms;
    checker::AxiomTable table;
  };
  std::map<std::string, Entry> folders_;
};

struct Totals {
  std::size_t accepted = 0, cases = 0, steps = 0, failed = 0;
  std::map<std::string, std::string> rules;  // names and canonical texts
};

Result<void> check_one(const files::path& file, const checker::AxiomTable& axioms,
                       checker::Digests& digests, Totals& totals) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  auto certificate = checker::parse_certificate(contents, axioms, digests);
  if (!certificate) return tl::unexpected(std::move(certificate.error()));
  LEMMA_RETURN_IF_ERROR(checker::check(*certificate));
  ++totals.accepted;
  totals.cases += certificate->cases.size();
  for (const auto& line : certificate->cases)
    totals.steps += certificate->chains[line.chain].size();
  totals.rules[certificate->rule.name] = text(certificate->rule);
  return {};
}

void report(Totals& totals, std::string_view what, std::string_view message) {
  ++totals.failed;
  std::cerr << fmt::format("lemma-check: {}: {}\n", what, message);
}

Result<void> check_coverage(const files::path& folder, Totals& totals) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                         read_substitutions(folder, ".rules"));
  for (const Substitution& rule : rules) {
    const auto found = totals.rules.find(rule.name);
    if (found == totals.rules.end())
      report(totals, rule.name, "no certificate that holds");
    else if (found->second != text(rule))
      report(totals, rule.name, "the certificate is that of another text");
  }
  return {};
}

int refuse(const Error& error) {
  std::cerr << "lemma-check: " << error.message << "\n";
  return bad_usage;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--help") {
    std::cout << usage;
    return done;
  }
  const auto arguments = parse(words);
  if (!arguments) return refuse(arguments.error());
  AxiomFolders folders;
  checker::Digests digests;
  Totals totals;
  for (const files::path& file : arguments->certificates) {
    if (!files::is_regular_file(file))
      return refuse({ErrorKind::bad_input, fmt::format("cannot read '{}'", file.string())});
    const files::path beside = file.parent_path() / ".." / "axioms";
    const auto axioms = folders.read(arguments->axioms.empty() ? beside : arguments->axioms);
    if (!axioms) return refuse(axioms.error());
    if (const auto checked = check_one(file, **axioms, digests, totals); !checked)
      report(totals, file.string(), checked.error().message);
  }
  if (!arguments->rules.empty())
    if (const auto covered = check_coverage(arguments->rules, totals); !covered)
      return refuse(covered.error());
  std::cout << fmt::format("{} certificates hold: {} cases, {} steps; {} fail\n", totals.accepted,
                           totals.cases, totals.steps, totals.failed);
  return totals.failed == 0 ? done : check_failed;
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    return run({arguments + 1, arguments + argument_count});
  } catch (const std::exception& error) {
    std::cerr << "lemma-check: internal fault: " << error.what() << "\n";
    return internal_fault;
  }
}
