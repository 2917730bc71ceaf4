#include "verifier/rule_files.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "outputs/files.h"
#include "rule_language/rule_database.h"

namespace lemma::verifier {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::string_view contents) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(contents)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_comment(const std::string& line) { return line.starts_with('#'); }

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

/// The name of the rule that begins in this line; empty if none does.
std::string rule_beginning(const std::string& line) {
  std::istringstream words(line);
  std::string keyword, name;
  words >> keyword >> name;
  return keyword == "rule" || keyword == "axiom" ? name : "";
}

}  // namespace

std::pair<std::string, std::string> without_rules(std::string_view contents,
                                                  const std::set<std::string>& names) {
  const std::vector<std::string> lines = lines_of(contents);
  std::string rest, taken;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t first = i;  // of the rule, after comments
    while (first < lines.size() && is_comment(lines[first])) ++first;
    std::size_t end = first;
    if (first < lines.size() && !is_blank(lines[first])) {
      ++end;
      while (end < lines.size() && !is_blank(lines[end]) && rule_beginning(lines[end]).empty())
        ++end;
      if (end < lines.size() && !is_blank(lines[end]))  // comments of the next one
        while (end > first + 1 && is_comment(lines[end - 1])) --end;
    }
    const bool wanted = first < lines.size() && names.contains(rule_beginning(lines[first]));
    if (end < lines.size() && is_blank(lines[end])) ++end;
    if (end == i) ++end;
    if (wanted && !taken.empty() && !taken.ends_with("\n\n")) taken += "\n";
    for (; i < end; ++i) (wanted ? taken : rest) += lines[i] + "\n";
  }
  while (rest.ends_with("\n\n") || rest == "\n") rest.pop_back();
  while (taken.ends_with("\n\n")) taken.pop_back();
  return {rest, taken};
}

Result<void> move_rules(const fs::path& from, const fs::path& to,
                        const std::set<std::string>& names) {
  std::error_code error;
  if (names.empty() || !fs::exists(from, error)) return {};
  std::set<fs::path> files;
  for (fs::directory_iterator i(from, error), end; !error && i != end; i.increment(error))
    if (i->path().extension() == ".rules") files.insert(i->path());
  if (error)
    return bad_input(
        fmt::format("cannot read the folder '{}': {}", from.string(), error.message()));
  for (const fs::path& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
    const auto [rest, taken] = without_rules(contents, names);
    if (taken.empty()) continue;
    fs::create_directories(to, error);
    const fs::path target = to / file.filename();
    std::string longer;
    if (fs::exists(target, error)) {
      LEMMA_ASSIGN_OR_RETURN(longer, read_text_file(target));
    }
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(target, longer + (longer.empty() ? "" : "\n") + taken));
    if (!rest.empty())
      LEMMA_RETURN_IF_ERROR(write_file_atomically(file, rest));
    else if (!fs::remove(file, error))
      return bad_input(fmt::format("cannot remove '{}'", file.string()));
  }
  return {};
}

}  // namespace lemma::verifier
