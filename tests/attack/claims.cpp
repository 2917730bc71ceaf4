#include "tests/attack/claims.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "rule_language/rule_database.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/sampling.h"

namespace lemma::attack {
namespace {

/// Processor time of this thread: the machine may be busy.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Calls `ask` and takes its time.
template <typename F>
Answer timed(F ask) {
  const double start = processor_seconds();
  Answer answer = ask();
  answer.seconds = processor_seconds() - start;
  return answer;
}

Claim claim_of(const std::string& text, const std::string& file) {
  Claim claim;
  std::istringstream words(text);
  std::string kind;
  words >> kind >> claim.name;
  auto parsed = parse_substitutions("rule" + text.substr(kind.size()), file);
  if (!parsed)
    claim.error = parsed.error().message;
  else if (parsed->size() != 1)
    claim.error = "not one claim";
  else
    claim.rule = std::move(parsed->front());
  return claim;
}

}  // namespace

std::vector<Claim> read_claims(const std::string& file) {
  std::vector<Claim> result;
  const auto contents = read_text_file(file);
  if (!contents) {
    result.push_back({file, contents.error().message, {}});
    return result;
  }
  std::istringstream lines(*contents);
  std::string line, open;
  const auto finish = [&] {
    if (!open.empty()) result.push_back(claim_of(open, file));
    open.clear();
  };
  while (std::getline(lines, line)) {
    const bool begins = line.starts_with("axiom ") || line.starts_with("rule ");
    if (begins || line.empty()) finish();
    if (begins || (!open.empty() && !line.empty())) open += line + "\n";
  }
  finish();
  return result;
}

std::vector<std::string> families() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator("tests/attack/false"))
    if (entry.path().extension() == ".axioms") result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

Answer ask_index(const Substitution& rule) {
  return timed([&rule] {
    const verifier::IndexProof proof = verifier::prove_by_index(rule);
    return Answer{proof.proved, proof.reason};
  });
}

Answer ask_axioms(const Substitution& rule) {
  return timed([&rule] {
    const verifier::Verdict verdict = verifier::prove_from_axioms(rule, verifier::shipped_axioms());
    return Answer{verifier::is_proved(verdict), verifier::text(verdict)};
  });
}

Answer ask_evaluation(const Substitution& rule) {
  return timed([&rule] {
    const verifier::Sampling sampling = verifier::sample(rule);
    return Answer{sampling.counterexample.has_value(),
                  sampling.counterexample ? sampling.counterexample->difference : sampling.failure};
  });
}

}  // namespace lemma::attack
