#pragma once
// What candidates became, remembered: in memory, and in a journal that a later run reads again. A
// rule depends on its candidate alone, so that a run that was interrupted and one that was not have
// the same result; only the work of the last second is lost.

#include <fstream>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "generator/symbolic.h"

namespace lemma::generator {

class RuleCache {
 public:
  using Made = tl::expected<SymbolicRule, SymbolicFailure>;

  /// Reads and continues the journal in a folder, which is made if there is none; a journal of other
  /// work (`key`) is begun anew.
  Result<void> open(const std::string& directory, std::string_view key);

  const Made* find(const std::string& candidate) const;
  void add(const std::string& candidate, Made made);
  /// How many were read from the journal.
  std::size_t resumed() const { return resumed_; }

 private:
  absl::flat_hash_map<std::string, Made> made_;
  std::ofstream journal_;
  std::size_t resumed_ = 0;
};

}  // namespace lemma::generator
