#include "generator/rule_cache.h"

#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ir/quoted.h"
#include "ir/substitution.h"

namespace lemma::generator {
namespace {

// A line is "CANDIDATE KIND TEXT end": quoted strings around the generality of a rule, or "refuted"
// or "no_rule". A line without its end was being written when the process ended.
std::string line_of(const std::string& candidate, const RuleCache::Made& made) {
  const std::string kind = made ? fmt::format("{}", static_cast<int>(made->generality))
                                : (made.error().refuted ? "refuted" : "no_rule");
  return fmt::format("{}\t{}\t{}\tend\n", quote(candidate), kind,
                     quote(made ? text(made->rule) : made.error().reason));
}

std::optional<std::pair<std::string, RuleCache::Made>> parse_line(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (fields.size() != 4 || fields[3] != "end") return std::nullopt;
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

Result<void> RuleCache::open(const std::string& directory, std::string_view key) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::filesystem::path file = std::filesystem::path(directory) / "candidates.journal";
  const std::string header = quote(key);
  std::vector<std::string> lines = {header};
  if (std::ifstream old(file); old) {
    std::string line;
    const bool is_ours = std::getline(old, line) && line == header;
    while (is_ours && std::getline(old, line)) {
      auto entry = parse_line(line);
      if (!entry) break;  // cut off
      lines.push_back(line);
      made_.insert_or_assign(std::move(entry->first), std::move(entry->second));
    }
  }
  resumed_ = made_.size();
  // What follows a line that was cut off would not be read: the journal begins with whole lines.
  const std::filesystem::path fresh = file.string() + ".new";
  journal_.open(fresh, std::ios::trunc);
  for (const std::string& line : lines) journal_ << line << "\n";
  journal_.flush();
  if (!journal_) return bad_input(fmt::format("{}: cannot be written", fresh.string()));
  std::filesystem::rename(fresh, file, error);
  if (error) return bad_input(fmt::format("{}: cannot be written", file.string()));
  return {};
}

const RuleCache::Made* RuleCache::get(const std::string& candidate,
                                      const std::function<Made()>& make, bool patient) {
  std::unique_lock lock(mutex_);
  const auto [found, is_new] = made_.try_emplace(candidate);
  std::optional<Made>& made = found->second;  // stays where it is
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
  if (journal_.is_open()) {
    journal_ << line;
    journal_.flush();
  }
  changed_.notify_all();
  return &*made;
}

}  // namespace lemma::generator
