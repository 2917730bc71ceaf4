#pragma once
// The rules written so far, and the outcomes of rejected candidates.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "generator/derivation.h"
#include "generator/generate.h"
#include "generator/rule_cache.h"

namespace lemma::generator {

class RuleBook {
 public:
  RuleBook(const TermTable& table, GenerateReport& report)
      : table_(table), report_(report), memory_(table) {}

  /// Reads and continues a journal of what candidates became.
  Result<void> open_journal(const std::filesystem::path& directory, std::string_view key) {
    return cache_.open(directory, key);
  }

  /// Makes the rule of a candidate and adds it, if it is one: its number. By one thread at a time.
  std::optional<std::size_t> add(Candidate candidate);
  /// Makes the rule that add() will ask for, on any thread. Null if another thread is making it.
  const RuleCache::Made* make(const Candidate& candidate) {
    return made(candidate, describe(candidate), false);
  }

  RuleMemory& memory() { return memory_; }
  const RuleMemory& memory() const { return memory_; }
  /// The rules in the order of the memory.
  std::vector<Substitution>& rules() { return rules_; }
  const std::vector<Substitution>& rules() const { return rules_; }
  /// Whether operators of the set stand for the same, so that nothing is said.
  bool says_nothing(std::size_t rule) const { return says_nothing_[rule] != 0; }

 private:
  std::string describe(const Candidate& candidate) const;
  const RuleCache::Made* made(const Candidate& candidate, const std::string& description,
                              bool patient) {
    return cache_.get(
        description, [&] { return make_rule(table_, candidate, "rule"); }, patient);
  }

  const TermTable& table_;
  GenerateReport& report_;
  RuleMemory memory_;
  RuleCache cache_;
  std::vector<Substitution> rules_;
  std::vector<char> says_nothing_;
  absl::flat_hash_set<std::string> failed_;  // candidates that are no rules
};

}  // namespace lemma::generator
