// Operators on tensors of strings. Strings are UTF-8; the case of letters outside ASCII is not known here.

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Sizes = std::vector<std::int64_t>;

/// ONNX broadcasting of sizes.
Result<Sizes> broadcast_sizes(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return bad_input(
          fmt::format("[{}] and [{}] cannot be broadcast", fmt::join(a, ", "), fmt::join(b, ", ")));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

/// The position of the element of a tensor that stands at a position of the tensor that it is broadcast
/// to.
std::size_t broadcast_position(std::size_t position, const Sizes& to, const Sizes& from) {
  std::size_t result = 0, stride = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto size = static_cast<std::size_t>(to[to.size() - 1 - i]);
    const std::size_t index = position % size;
    position /= size;
    if (i >= from.size()) continue;
    const auto own = static_cast<std::size_t>(from[from.size() - 1 - i]);
    if (own != 1) result += index * stride;
    stride *= own;
  }
  return result;
}

std::size_t count_of(const Sizes& sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

/// Calls `take` with both operands' strings for every element of the result; returns its sizes.
template <typename Take>
Result<Sizes> for_each_pair(const ProcedureCall& call, Take take) {
  LEMMA_ASSIGN_OR_RETURN(const Strings* a, call.strings(0));
  LEMMA_ASSIGN_OR_RETURN(const Strings* b, call.strings(1));
  LEMMA_ASSIGN_OR_RETURN(Sizes sizes, broadcast_sizes(a->sizes, b->sizes));
  for (std::size_t i = 0; i < count_of(sizes); ++i)
    take(a->elements[broadcast_position(i, sizes, a->sizes)],
         b->elements[broadcast_position(i, sizes, b->sizes)]);
  return sizes;
}

Result<Values> string_concat(const ProcedureCall& call) {
  std::vector<std::string> elements;
  LEMMA_ASSIGN_OR_RETURN(Sizes sizes,
                         for_each_pair(call, [&](const std::string& a, const std::string& b) {
                           elements.push_back(a + b);
                         }));
  return Values{Strings{std::move(sizes), std::move(elements)}};
}

Result<Values> equal_strings(const ProcedureCall& call) {
  std::vector<std::uint8_t> elements;
  LEMMA_ASSIGN_OR_RETURN(const Sizes sizes,
                         for_each_pair(call, [&](const std::string& a, const std::string& b) {
                           elements.push_back(a == b ? 1 : 0);
                         }));
  return Values{Constant::of(DataType::boolean, sizes, elements)};
}

// ---- StringSplit --------------------------------------------------------------------------------

constexpr std::string_view white_space = " \t\n\v\f\r";

/// At most `limit` splits where it is not negative.
std::vector<std::string> split_at_white_space(std::string_view text, std::int64_t limit) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t begin = text.find_first_not_of(white_space);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    if (limit >= 0 && static_cast<std::int64_t>(parts.size()) == limit) {
      // "leading or trailing whitespace is removed in the output" (ONNX, StringSplit).
      parts.emplace_back(text.substr(0, text.find_last_not_of(white_space) + 1));
      return parts;
    }
    const std::size_t end = std::min(text.find_first_of(white_space), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> split_at(std::string_view text, std::string_view delimiter,
                                  std::int64_t limit) {
  std::vector<std::string> parts;
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

Result<Values> string_split(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Strings* x, call.strings(0));
  const std::string delimiter = call.attributes.string("delimiter", "");
  const std::int64_t limit = call.attributes.integer("maxsplit", -1);
  std::vector<std::vector<std::string>> all;
  std::size_t most = 0;
  std::vector<std::int64_t> counts;
  for (const std::string& element : x->elements) {
    all.push_back(delimiter.empty() ? split_at_white_space(element, limit)
                                    : split_at(element, delimiter, limit));
    most = std::max(most, all.back().size());
    counts.push_back(static_cast<std::int64_t>(all.back().size()));
  }
  Strings result;
  result.sizes = x->sizes;
  result.sizes.push_back(static_cast<std::int64_t>(most));
  for (std::vector<std::string>& parts : all) {
    parts.resize(most);
    result.elements.insert(result.elements.end(), parts.begin(), parts.end());
  }
  return Values{std::move(result), Constant::of(DataType::i64, x->sizes, counts)};
}

// ---- StringNormalizer ---------------------------------------------------------------------------

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string in_case(std::string text, bool is_upper) {
  for (char& c : text) {
    if (is_upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!is_upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

Result<Values> string_normalizer(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Strings* x, call.strings(0));
  const std::size_t rank = x->sizes.size();
  if (rank != 1 && !(rank == 2 && x->sizes[0] == 1))
    return bad_input(fmt::format("StringNormalizer of {}", text(call.inputs[0])));
  const std::string action = call.attributes.string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return bad_input(fmt::format("case_change_action is '{}', not NONE, LOWER or UPPER", action));
  const bool folds = call.attributes.integer("is_case_sensitive", 0) == 0;
  const auto listed = call.attributes.strings.find("stopwords");
  std::set<std::string> left_out;
  if (listed != call.attributes.strings.end())
    for (const std::string& word : listed->second)
      left_out.insert(folds ? in_case(word, false) : word);
  const bool needs_case = action != "NONE" || (folds && !left_out.empty());
  Strings result;
  for (const std::string& element : x->elements) {
    if (needs_case && !is_ascii(element)) return unsupported("the case of letters outside ASCII");
    if (left_out.contains(folds ? in_case(element, false) : element)) continue;
    result.elements.push_back(action == "NONE" ? element : in_case(element, action == "UPPER"));
  }
  if (result.elements.empty()) result.elements.emplace_back();
  result.sizes.assign(rank, 1);
  result.sizes.back() = static_cast<std::int64_t>(result.elements.size());
  return Values{std::move(result)};
}

// ---- Constants ----------------------------------------------------------------------------------

Result<Values> constant_strings(const ProcedureCall& call) {
  const NodeAttributes& attributes = call.attributes;
  if (const auto entry = attributes.tensors.find("value"); entry != attributes.tensors.end())
    return Values{entry->second};
  if (const auto entry = attributes.strings.find("value_strings");
      entry != attributes.strings.end())
    return Values{Strings{{static_cast<std::int64_t>(entry->second.size())}, entry->second}};
  if (attributes.values.has("value_string"))
    return Values{Strings{{}, {attributes.string("value_string", "")}}};
  return unsupported("a Constant of an unusual kind");
}

constexpr std::array string_procedures = {
    ProcedureRecord{"Constant", "", 1, "a constant tensor of strings", constant_strings},
    ProcedureRecord{"Equal", "", 19, "whether strings are equal", equal_strings},
    ProcedureRecord{"StringConcat", "", 20, "strings one after the other", string_concat},
    ProcedureRecord{"StringNormalizer", "", 10,
                    "strings without some words, in upper or lower case", string_normalizer},
    ProcedureRecord{"StringSplit", "", 20, "the parts of strings, and how many there are",
                    string_split},
};

}  // namespace

std::span<const ProcedureRecord> string_functions() { return string_procedures; }

}  // namespace lemma::procedures
