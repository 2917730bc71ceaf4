#include "generator/rule_cache.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/quoted.h"
#include "rule_language/substitution.h"

namespace lemma::generator {
namespace {

// A line is "CANDIDATE KIND TEXT": quoted strings around the generality of a rule, or "refuted" or
// "no_rule".
std::string line_of(const std::string& candidate, const RuleCache::Made& made) {
  const std::string kind = made ? fmt::format("{}", static_cast<int>(made->generality))
                                : (made.error().refuted ? "refuted" : "no_rule");
  return fmt::format("{}\t{}\t{}", quote(candidate), kind,
                     quote(made ? text(made->rule) : made.error().reason));
}

std::optional<std::pair<std::string, RuleCache::Made>> parse_line(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (fields.size() != 3) return std::nullopt;
  const auto candidate = unquote(fields[0]), contents = unquote(fields[2]);
  if (!candidate || !contents) return std::nullopt;
  if (fields[1] == "refuted" || fields[1] == "no_rule")
    return std::pair(
        *candidate,
        RuleCache::Made(tl::unexpected(SymbolicFailure{fields[1] == "refuted", *contents})));
  if (fields[1].size() != 1 || fields[1][0] < '0' || fields[1][0] > '3') return std::nullopt;
  auto rules = parse_substitutions(*contents, "journal");
  if (!rules || rules->size() != 1) return std::nullopt;
  return std::pair(*candidate,
                   RuleCache::Made(SymbolicRule{std::move(rules->front()),
                                                static_cast<Generality>(fields[1][0] - '0')}));
}

}  // namespace

Result<void> RuleCache::open(const std::filesystem::path& directory, std::string_view key) {
  LEMMA_ASSIGN_OR_RETURN(journal_, Journal::open(directory / "candidates.journal", key));
  for (const std::string& line : journal_.take_records())
    if (auto entry = parse_line(line))
      made_.insert_or_assign(std::move(entry->first), std::move(entry->second));
  resumed_ = made_.size();
  return {};
}

const RuleCache::Made* RuleCache::get(const std::string& candidate,
                                      const std::function<Made()>& make, bool patient) {
  std::unique_lock lock(mutex_);
  const auto [entry, is_new] = made_.try_emplace(candidate);
  std::optional<Made>& made = entry->second;  // stays where it is
  if (!is_new) {
    if (!made && !patient) return nullptr;
    changed_.wait(lock, [&made] { return made.has_value(); });
    return &*made;
  }
  lock.unlock();
  Made result = make();
  const std::string line = journal_.is_open() ? line_of(candidate, result) : std::string();
  lock.lock();
  made = std::move(result);
  (void)journal_.add(line);  // without it a later run has more to do, no more
  changed_.notify_all();
  return &*made;
}

}  // namespace lemma::generator
