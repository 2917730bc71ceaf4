#include "pipeline/explained_constants.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/quoted.h"
#include "facts/value_facts.h"
#include "verifier/checker/explanation.h"

namespace lemma {

namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 20;  // of all constants in one explanation

struct GivenConstant {
  std::string value;  // "%3"
  ValueFacts facts;
  const Constant* contents = nullptr;  // null: not found
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

/// The constants of a graph by the digits of their digest.
std::map<std::string, const Constant*, std::less<>> constants_of(const Graph& graph) {
  constexpr std::size_t shown = 64;  // bytes of constants that stand as they are
  std::map<std::string, const Constant*, std::less<>> result;
  for (const NodeId id : graph.live_nodes())
    if (const Node& node = graph.node(id);
        node.kind == NodeKind::constant && graph.constant(node).bytes().size() > shown)
      result.emplace(fmt::format("{:016x}", graph.constant(node).digest()), &graph.constant(node));
  return result;
}

std::string hexadecimal(const Constant& constant) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  result.reserve(2 * constant.bytes().size());
  for (const std::byte byte : constant.bytes()) {
    result += digits[std::to_integer<unsigned>(byte) >> 4];
    result += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return result;
}

class Explanation {
 public:
  Explanation(const std::string& text, const Graph& original) : lines_(lines_of(text)) {
    const auto constants = constants_of(original);
    std::map<std::string, std::string, std::less<>> digests;  // by value
    for (const std::string_view line : lines_) {
      // input %1 "constant 0 digest 0123456789abcdef" : f32[64]
      const auto parts = words(line.starts_with("  ") ? line.substr(2) : line);
      if (parts.size() > 5 && parts[0] == "input" && parts[2] == "\"constant")
        digests.emplace(parts[1], parts[5].substr(0, parts[5].find('"')));
      if (!line.starts_with("given ")) continue;
      const std::size_t colon = line.find(": ");
      const std::string value(line.substr(6, colon - 6));
      const auto facts = parse_facts(line.substr(colon + 2));
      const auto digest = digests.find(value);
      if (!facts || digest == digests.end()) continue;
      const auto entry = constants.find(digest->second);
      given_.emplace(
          line, GivenConstant{value, *facts, entry == constants.end() ? nullptr : entry->second});
    }
  }

  bool has_given() const { return !given_.empty(); }

  /// The explanation with the facts of those constants that are `wanted`.
  std::string with(const std::function<bool(const ValueFacts&)>& wanted) const {
    std::string result;
    std::size_t bytes = 0;
    for (const std::string_view line : lines_) {
      const auto given = given_.find(line);
      if (given == given_.end()) {
        result += fmt::format("{}\n", line);
        continue;
      }
      const auto& [value, facts, contents] = given->second;
      // Without a line a constant is defined and finite.
      if (facts.defined && facts.finite() && !wanted(facts)) continue;
      const bool fits = contents != nullptr && bytes + contents->bytes().size() <= most_bytes;
      if (fits) bytes += contents->bytes().size();
      result += fits ? fmt::format("constant {}: {}\n", value, hexadecimal(*contents))
                     : fmt::format("{}\n", line);
    }
    return result;
  }

 private:
  std::vector<std::string_view> lines_;
  std::map<std::string_view, GivenConstant> given_;  // by line
};

}  // namespace

std::string with_constants(const std::string& explanation, const Graph& original,
                           const ReplayedRules& rules) {
  const Explanation parts(explanation, original);
  if (!parts.has_given()) return explanation;
  const auto has_sign = [](const ValueFacts& facts) {
    return facts.lower >= 0 || facts.upper <= 0;
  };
  const auto holds = [&rules](const std::string& text) {
    return checker::check_explanation(text, rules.table, rules.bitwise, {{}, true}).has_value();
  };
  // From few facts to many.
  if (std::string text = parts.with([](const ValueFacts&) { return false; }); holds(text))
    return text;
  if (std::string text = parts.with(has_sign); holds(text)) return text;
  return parts.with([](const ValueFacts&) { return true; });
}

}  // namespace lemma
