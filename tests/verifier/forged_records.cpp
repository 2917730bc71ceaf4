// forged_records DIR: writes records for all rules of DIR as if they had both proofs, for the test of what the
// optimizer does with a rule that is wrong although its record fits.

#include <iostream>

#include <fmt/format.h>

#include "verifier/write_proofs.h"

int main(int count, char** words) {
  using namespace lemma;  // NOLINT: one file
  if (count != 2) return 2;
  const std::filesystem::path folder = words[1];
  const auto rules = read_substitutions(folder / "substitutions", ".rules");
  if (!rules) {
    std::cerr << rules.error().message << "\n";
    return 2;
  }
  verifier::RuleProofTable table;
  for (const Substitution& rule : *rules) {
    verifier::Proved proved;
    // All that loading reads of it: its rule, and the class of what the proof is said to use.
    proved.certificate =
        fmt::format("forged\nrule {}\nclass {}\nend\n", rule.name, name(worst_of({}, {})));
    verifier::IndexProof index;
    index.proved = true;
    ProofRecord record = verifier::proof_record(rule, proved, index);
    record.digest = sealed_digest(record, rule, {});
    table[rule.name] = {record, proved.certificate, ""};
  }
  const auto written = verifier::write_proofs(folder, table, {});
  if (!written) std::cerr << written.error().message << "\n";
  return written ? 0 : 2;
}
