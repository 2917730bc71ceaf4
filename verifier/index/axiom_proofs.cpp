#include "verifier/index/axiom_proofs.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "ir/rule_database.h"

namespace lemma::verifier {
namespace {

constexpr std::string_view file_heading =
    "# Records of index proofs, a line an axiom: written by `lemma rules verify --write`, not by\n"
    "# hand. An axiom whose text or operators have other digests than here is proved anew.\n";

template <typename T>
Result<T> number(const std::string& text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size())
    return bad_input(fmt::format("'{}' is not a number", text));
  return value;
}

std::string text(const AxiomRecord& record) {
  return fmt::format("{} text={:016x} definitions={:016x} cases={} uniform={} version={}",
                     record.axiom, record.text, record.definitions, record.cases,
                     record.by_uniformity, record.version);
}

Result<AxiomRecord> parse_record(const std::string& line) {
  std::istringstream words(line);
  AxiomRecord record;
  words >> record.axiom;
  std::map<std::string, std::string, std::less<>> fields;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return bad_input(fmt::format("'{}' is no field", word));
    fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  for (const char* name : {"text", "definitions", "cases", "uniform", "version"})
    if (!fields.contains(name)) return bad_input(fmt::format("the field '{}' is missing", name));
  LEMMA_ASSIGN_OR_RETURN(record.text, number<std::uint64_t>(fields["text"], 16));
  LEMMA_ASSIGN_OR_RETURN(record.definitions, number<std::uint64_t>(fields["definitions"], 16));
  LEMMA_ASSIGN_OR_RETURN(record.cases, number<std::size_t>(fields["cases"], 10));
  LEMMA_ASSIGN_OR_RETURN(record.by_uniformity, number<std::size_t>(fields["uniform"], 10));
  LEMMA_ASSIGN_OR_RETURN(record.version, number<int>(fields["version"], 10));
  return record;
}

VerifiedAxiom verify(const Substitution& axiom, const AxiomRecord* known, bool reprove) {
  const auto begin = std::chrono::steady_clock::now();
  VerifiedAxiom result;
  result.name = axiom.name;
  result.record.axiom = axiom.name;
  result.record.text = text_digest(lemma::text(axiom));
  result.record.definitions = definitions_digest(axiom);
  if (known != nullptr && !reprove && known->version == index_proof_version &&
      known->text == result.record.text && known->definitions == result.record.definitions) {
    result.recorded = true;
    result.proof = {true, known->cases, known->by_uniformity, ""};
  } else {
    result.proof = prove_by_index(axiom);
  }
  result.record.cases = result.proof.cases;
  result.record.by_uniformity = result.proof.by_uniformity;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace

std::string axiom_file_text(std::span<const AxiomRecord> records) {
  std::string result(file_heading);
  for (const AxiomRecord& record : records) result += text(record) + "\n";
  return result;
}

Result<std::vector<AxiomRecord>> parse_axiom_file(std::string_view contents,
                                                  std::string_view file) {
  std::vector<AxiomRecord> records;
  std::istringstream stream{std::string(contents)};
  std::size_t number_of_line = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number_of_line;
    if (line.empty() || line.front() == '#') continue;
    auto record = parse_record(line);
    if (!record)
      return with_context(fmt::format("{}:{}", file, number_of_line), std::move(record.error()));
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::vector<AxiomRecord>> read_axiom_records(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::vector<AxiomRecord>{};
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  return parse_axiom_file(contents, file.string());
}

std::vector<VerifiedAxiom> verify_axioms(std::span<const Substitution> axioms,
                                         std::span<const AxiomRecord> records,
                                         const AxiomProofOptions& options) {
  std::map<std::string, const AxiomRecord*, std::less<>> known;
  for (const AxiomRecord& record : records) known[record.axiom] = &record;
  std::vector<VerifiedAxiom> results(axioms.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < axioms.size(); i = next++) {
      const auto found = known.find(axioms[i].name);
      results[i] =
          verify(axioms[i], found == known.end() ? nullptr : found->second, options.reprove);
    }
  };
  const int available = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (int i = 1; i < (options.threads > 0 ? options.threads : available); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return results;
}

}  // namespace lemma::verifier
