#include "rule_language/proof_records.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/sha256.h"
#include "rule_language/operator_meaning.h"

namespace lemma {
namespace {

constexpr std::string_view axiom_heading =
    "# Records of index proofs, a line an axiom: written by `lemma rules verify --write`, not by\n"
    "# hand. An axiom is proved anew unless its text and the meaning of its operators are those of "
    "here.\n";
constexpr std::string_view rule_heading =
    "# Records of proofs, a line a rule: written by `lemma rules verify --write`, not by hand.\n"
    "# A rule is loaded only if all that it rests on has the digests given here.\n";
constexpr std::string_view no_record = "no record of an index proof";

// ---- What records cover -----------------------------------------------------------------------

void collect_functions(const RuleExpression& expression, std::set<std::string_view>& names) {
  if (expression.kind == RuleExpression::Kind::call) names.insert(expression.name);
  for (const RuleExpression& argument : expression.arguments) collect_functions(argument, names);
}

void collect_functions(const Substitution& rule, std::set<std::string_view>& names) {
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape) collect_functions(item, names);
  for (const RuleParameter& parameter : rule.parameters)
    for (const RuleExpression& bound : parameter.bounds) collect_functions(bound, names);
  for (const RuleCondition& condition : rule.conditions) {
    if (condition.kind == RuleCondition::Kind::predicate) names.insert(condition.predicate);
    for (const RuleExpression& argument : condition.arguments) collect_functions(argument, names);
  }
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes) collect_functions(value, names);
}

/// "operator NAME DIGEST" and "function NAME DIGEST" for all that occur, sorted.
std::string meanings(const Substitution& rule) {
  std::map<std::string_view, OperatorId> operators;
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) operators.emplace(record(term.op).name, term.op);
  std::set<std::string_view> functions;
  collect_functions(rule, functions);
  std::string result;
  for (const auto& [name, op] : operators)
    result += fmt::format("operator {} {}\n", name, meaning_digest(op));
  for (const std::string_view name : functions)
    if (const AttributeFunction* function = find_attribute_function(name))
      result += fmt::format("function {} {}\n", name, meaning_digest(*function));
  return result;
}

std::string fields(const AxiomRecord& record) {
  return fmt::format("text={} cases={} version={}", record.text, record.cases, record.version);
}

std::string sealed_digest(const AxiomRecord& record, const Substitution& axiom) {
  return sha256(fmt::format("axiom {}\n{}\n{}{}", record.axiom, fields(record), text(axiom),
                            meanings(axiom)));
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ",") + word;
  return result.empty() ? "-" : result;
}

std::string or_dash(const std::string& word) { return word.empty() ? "-" : word; }

std::string fields(const ProofRecord& record) {
  return fmt::format("text={} certificate={} index={} cases={} groups={} uses={} version={}",
                     record.text, or_dash(record.certificate), or_dash(record.index), record.cases,
                     joined(record.groups), joined(record.axioms), record.version);
}

}  // namespace

AxiomRecord axiom_record(const Substitution& axiom, std::size_t cases) {
  AxiomRecord result;
  result.axiom = axiom.name;
  result.text = sha256(text(axiom));
  result.cases = cases;
  result.digest = sealed_digest(result, axiom);
  return result;
}

std::string index_proof_digest(const Substitution& rule) {
  return sha256(
      fmt::format("index proof {}\n{}{}", index_proof_version, text(rule), meanings(rule)));
}

std::string sealed_digest(const ProofRecord& record, const Substitution& rule,
                          const AxiomRecordTable& axioms) {
  std::string covered =
      fmt::format("rule {}\n{}\n{}{}", record.rule, fields(record), text(rule), meanings(rule));
  for (const std::string& name : record.axioms) {
    const auto axiom = axioms.find(name);
    covered += axiom == axioms.end() ? name + "\n" : text(axiom->second) + "\n";
  }
  return sha256(covered);
}

std::string certificate_digest(std::string_view certificate) { return sha256(certificate); }

void prepare_meanings(std::span<const Substitution> axioms, std::span<const Substitution> rules) {
  std::set<OperatorId> operators;
  for (const auto& all : {axioms, rules})
    for (const Substitution& rule : all)
      for (const RuleTerm& term : rule.terms)
        if (!term.is_input) operators.insert(term.op);
  const std::vector<OperatorId> in_order(operators.begin(), operators.end());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < in_order.size(); i = next++) (void)meaning_digest(in_order[i]);
  };
  const std::size_t count = std::min<std::size_t>(
      {in_order.size(), std::max(1U, std::thread::hardware_concurrency()), 8});
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < count; ++i) others.emplace_back(work);
  work();
}

// ---- Comparing --------------------------------------------------------------------------------

std::string misfit(const AxiomRecord& record, const Substitution& axiom) {
  if (record.version != index_proof_version) return "proved by another version of the verifier";
  if (record.text != sha256(text(axiom))) return "changed since it was proved";
  if (auto uncovered = uncovered_meaning(axiom)) return *uncovered;
  if (record.digest != sealed_digest(record, axiom))
    return "what it means changed since it was proved, or its record was altered";
  return "";
}

std::map<std::string, std::string, std::less<>> axioms_without_proof(
    std::span<const Substitution> axioms, const AxiomRecordTable& records) {
  std::map<std::string, std::string, std::less<>> result;
  for (const Substitution& axiom : axioms) {
    const auto entry = records.find(axiom.name);
    std::string reason =
        entry == records.end() ? std::string(no_record) : misfit(entry->second, axiom);
    if (!reason.empty()) result.emplace(axiom.name, std::move(reason));
  }
  return result;
}

std::string misfit(const ProofRecord& record, const Substitution& rule,
                   const AxiomRecordTable& axioms,
                   const std::map<std::string, std::string, std::less<>>& unproved) {
  if (record.version != proof_version) return "proved by another version of the verifier";
  if (record.text != sha256(text(rule))) return "changed since it was proved";
  if (auto uncovered = uncovered_meaning(rule)) return *uncovered;
  for (const std::string& name : record.axioms) {
    if (const auto entry = unproved.find(name); entry != unproved.end())
      return fmt::format("its axiom '{}': {}", name, entry->second);
    if (!axioms.contains(name)) return fmt::format("its axiom '{}' is gone", name);
  }
  if (!record.index.empty() && record.index != index_proof_digest(rule))
    return "its index proof is of another version, or about other meanings of its operators";
  if (record.digest != sealed_digest(record, rule, axioms))
    return "what it rests on changed since it was proved, or its record was altered";
  return "";
}

// ---- Lines ------------------------------------------------------------------------------------

std::string text(const AxiomRecord& record) {
  return fmt::format("{} sha256={} {}", record.axiom, record.digest, fields(record));
}

std::string text(const ProofRecord& record) {
  return fmt::format("{} sha256={} {}", record.rule, or_dash(record.digest), fields(record));
}

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The fields of a line after its name.
class Fields {
 public:
  static Result<Fields> of(std::string_view line, std::initializer_list<const char*> wanted) {
    Fields result;
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty()) return bad_input("there is no name");
    result.name = words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string::npos) return bad_input(fmt::format("'{}' is no field", words[i]));
      const std::string field = words[i].substr(0, equals);
      if (std::find(wanted.begin(), wanted.end(), field) == wanted.end())
        return bad_input(fmt::format("there is no field '{}'", field));
      if (!result.values_.emplace(field, words[i].substr(equals + 1)).second)
        return bad_input(fmt::format("the field '{}' is there twice", field));
    }
    for (const char* field : wanted)
      if (!result.values_.contains(field))
        return bad_input(fmt::format("the field '{}' is missing", field));
    return result;
  }

  template <typename T>
  Result<T> number(const char* field) const {
    const std::string& word = values_.at(field);
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      return bad_input(fmt::format("'{}' is not a number", word));
    return value;
  }

  Result<std::string> digest(const char* field) const {
    const std::string& word = values_.at(field);
    const bool fits = word.size() == 64 && std::all_of(word.begin(), word.end(), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                      });
    if (!fits) return bad_input(fmt::format("'{}' is no SHA-256 digest", word));
    return word;
  }

  /// "-" for none.
  Result<std::string> optional_digest(const char* field) const {
    if (values_.at(field) == "-") return std::string();
    return digest(field);
  }

  std::vector<std::string> list(const char* field) const {
    const std::string& word = values_.at(field);
    return word == "-" ? std::vector<std::string>{} : split(word, ',');
  }

  std::string name;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

Result<AxiomRecord> parse_axiom_record(std::string_view line) {
  LEMMA_ASSIGN_OR_RETURN(const Fields fields,
                         Fields::of(line, {"sha256", "text", "cases", "version"}));
  AxiomRecord record;
  record.axiom = fields.name;
  LEMMA_ASSIGN_OR_RETURN(record.digest, fields.digest("sha256"));
  LEMMA_ASSIGN_OR_RETURN(record.text, fields.digest("text"));
  LEMMA_ASSIGN_OR_RETURN(record.cases, fields.number<std::size_t>("cases"));
  LEMMA_ASSIGN_OR_RETURN(record.version, fields.number<int>("version"));
  return record;
}

/// Calls `add` with each line that is no comment; errors name the line.
template <typename Add>
Result<void> for_each_line(std::string_view contents, std::string_view file, Add add) {
  std::set<std::string, std::less<>> names;
  std::size_t number = 0;
  while (!contents.empty()) {
    const std::size_t end = std::min(contents.find('\n'), contents.size());
    const std::string_view line = contents.substr(0, end);
    contents.remove_prefix(std::min(end + 1, contents.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", file, number);
    if (!names.emplace(line.substr(0, line.find(' '))).second)
      return bad_input(
          fmt::format("{}: a second record of '{}'", where, line.substr(0, line.find(' '))));
    if (Result<void> added = add(line); !added)
      return with_context(where, std::move(added.error()));
  }
  return {};
}

}  // namespace

Result<ProofRecord> parse_proof_record(std::string_view line) {
  LEMMA_ASSIGN_OR_RETURN(const Fields fields,
                         Fields::of(line, {"sha256", "text", "certificate", "index", "cases",
                                           "groups", "uses", "version"}));
  ProofRecord record;
  record.rule = fields.name;
  LEMMA_ASSIGN_OR_RETURN(record.digest, fields.optional_digest("sha256"));
  LEMMA_ASSIGN_OR_RETURN(record.text, fields.digest("text"));
  LEMMA_ASSIGN_OR_RETURN(record.certificate, fields.optional_digest("certificate"));
  LEMMA_ASSIGN_OR_RETURN(record.index, fields.optional_digest("index"));
  LEMMA_ASSIGN_OR_RETURN(record.cases, fields.number<std::size_t>("cases"));
  LEMMA_ASSIGN_OR_RETURN(record.version, fields.number<int>("version"));
  record.groups = fields.list("groups");
  record.axioms = fields.list("uses");
  return record;
}

std::string axiom_file_text(std::span<const AxiomRecord> records) {
  std::string result(axiom_heading);
  for (const AxiomRecord& record : records) result += text(record) + "\n";
  return result;
}

Result<std::vector<AxiomRecord>> parse_axiom_file(std::string_view contents,
                                                  std::string_view file) {
  std::vector<AxiomRecord> records;
  LEMMA_RETURN_IF_ERROR(for_each_line(contents, file, [&](std::string_view line) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(AxiomRecord record, parse_axiom_record(line));
    records.push_back(std::move(record));
    return {};
  }));
  return records;
}

std::string proof_file_text(std::span<const ProofRecord> records) {
  std::string result(rule_heading);
  for (const ProofRecord& record : records) result += text(record) + "\n";
  return result;
}

Result<std::vector<ProofRecord>> parse_proof_file(std::string_view contents,
                                                  std::string_view file) {
  std::vector<ProofRecord> records;
  LEMMA_RETURN_IF_ERROR(for_each_line(contents, file, [&](std::string_view line) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(ProofRecord record, parse_proof_record(line));
    records.push_back(std::move(record));
    return {};
  }));
  return records;
}

AxiomRecordTable table_of(std::span<const AxiomRecord> records) {
  AxiomRecordTable result;
  for (const AxiomRecord& record : records) result.emplace(record.axiom, record);
  return result;
}

}  // namespace lemma
