#pragma once
// A cache of the outcomes of candidates, in memory and in a journal that a resumed run reads. A
// rule depends only on its candidate, so that a resumed run has the same result as an uninterrupted
// one.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "generator/symbolic.h"
#include "system/journal.h"

namespace lemma::generator {

class RuleCache {
 public:
  using Made = tl::expected<SymbolicRule, SymbolicFailure>;

  /// Reads and continues the journal in a folder, which is made if there is none; a journal of other
  /// work (`key`) is begun anew.
  Result<void> open(const std::filesystem::path& directory, std::string_view key);

  /// What became of a candidate; if it is not known, `make` is called. Several threads may ask. If
  /// another one is just making it: waits, or without `patient` returns null.
  const Made* get(const std::string& candidate, const std::function<Made()>& make, bool patient);
  /// How many were read from the journal.
  std::size_t resumed() const { return resumed_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::optional<Made>> made_;  // nothing: in work
  Journal journal_;
  std::size_t resumed_ = 0;
};

}  // namespace lemma::generator
