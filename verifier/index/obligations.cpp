#include "verifier/index/obligations.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "system/parallel.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {
namespace {

DirectionProof direction(Substitution rule) {
  rule.bidirectional = rule.search_forward = false;
  IndexProof proof = prove_by_index(rule, {.assume_defined = true});
  return {proof.proved, std::move(proof.reads_more), std::move(proof.reason)};
}

std::set<std::string> declared(const Substitution& rule) {
  std::set<std::string> result;
  for (const RuleInput& input : rule.inputs)
    if (input.defined) result.insert(input.name);
  return result;
}

bool holds(const DirectionProof& proof, const std::set<std::string>& defined) {
  return proof.proved &&
         std::includes(defined.begin(), defined.end(), proof.defined.begin(), proof.defined.end());
}

std::string needing(std::string_view relation, const std::set<std::string>& defined) {
  if (defined.empty()) return fmt::format("L {} R", relation);
  return fmt::format("L {} R for defined {}", relation, fmt::join(defined, ", "));
}

}  // namespace

std::optional<std::set<std::string>> Obligations::equation() const {
  if (!forward.proved || !backward.proved) return std::nullopt;
  std::set<std::string> result = forward.defined;
  result.insert(backward.defined.begin(), backward.defined.end());
  return result;
}

Obligations obligations_of(const Substitution& rule) {
  const auto begin = std::chrono::steady_clock::now();
  Obligations result{direction(rule), direction(reversed(rule))};
  const std::set<std::string> defined = declared(rule);
  result.claim_holds =
      holds(result.forward, defined) && (!rule.bidirectional || holds(result.backward, defined));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::vector<Obligations> obligations_of(std::span<const Substitution> rules, int threads) {
  std::vector<Obligations> results(rules.size());
  parallel_for(rules.size(), threads,
               [&](std::size_t i) { results[i] = obligations_of(rules[i]); });
  return results;
}

std::string relations_text(const Obligations& obligations) {
  std::vector<std::string> parts;
  const auto equation = obligations.equation();
  if (equation) parts.push_back(needing("=", *equation));
  if (obligations.forward.proved && !(equation && *equation == obligations.forward.defined))
    parts.push_back(needing("=>", obligations.forward.defined));
  if (obligations.backward.proved && !(equation && *equation == obligations.backward.defined))
    parts.push_back(needing("<=", obligations.backward.defined));
  if (parts.empty()) return "not proved: " + obligations.forward.reason;
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace lemma::verifier
