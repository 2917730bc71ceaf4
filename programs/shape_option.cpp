#include "programs/shape_option.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma {

namespace {

/// Numbers may stand with an x between them.
std::string with_commas(std::string sizes) {
  if (sizes.find_first_not_of("0123456789x/") == std::string::npos)
    std::replace(sizes.begin(), sizes.end(), 'x', ',');
  return sizes;
}

Result<Shape> parse_sizes(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    LEMMA_ASSIGN_OR_RETURN(Dimension size, parse_dimension(text.substr(0, comma)));
    if (size.is_constant() && size.offset() < 0) return bad_input("a size is negative");
    shape.push_back(std::move(size));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return shape;
}

}  // namespace

Result<std::map<std::string, Shape, std::less<>>> parse_shape_options(
    const std::vector<std::string>& options, std::string_view word) {
  std::map<std::string, Shape, std::less<>> shapes;
  for (const std::string& option : options) {
    const std::size_t colon = option.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return bad_input(fmt::format("{} {}: expected NAME:SIZE,SIZE,...", word, option));
    auto shape = parse_sizes(with_commas(option.substr(colon + 1)));
    if (!shape) return with_context(fmt::format("{} {}", word, option), std::move(shape.error()));
    if (!shapes.emplace(option.substr(0, colon), std::move(*shape)).second)
      return bad_input(fmt::format("{} {}: this input has a shape already", word, option));
  }
  return shapes;
}

namespace {

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// An option as its name with the colon, and the list of sizes of each dimension.
struct ShapeLists {
  std::string name;
  std::vector<std::vector<std::string>> sizes;

  explicit ShapeLists(const std::string& option) {
    const std::size_t colon = option.rfind(':');
    name = option.substr(0, colon == std::string::npos ? colon : colon + 1);
    if (colon == std::string::npos) return;
    for (const std::string& list : parts_of(with_commas(option.substr(colon + 1)), ','))
      sizes.push_back(parts_of(list, '/'));
  }

  std::string with(std::size_t number) const {
    std::string text;
    for (const std::vector<std::string>& list : sizes)
      text += (text.empty() ? "" : ",") + list[list.size() == 1 ? 0 : number];
    return name + text;
  }
};

}  // namespace

Result<std::vector<std::map<std::string, Shape, std::less<>>>> parse_shape_lists(
    const std::vector<std::string>& options, std::string_view word) {
  std::vector<ShapeLists> lists;
  std::size_t count = 1;
  for (const std::string& option : options) {
    lists.emplace_back(option);
    for (const auto& sizes : lists.back().sizes) count = std::max(count, sizes.size());
  }
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (const auto& sizes : lists[i].sizes)
      if (sizes.size() != 1 && sizes.size() != count)
        return bad_input(fmt::format("{} {}: there are {} sizes of a dimension, and {} of another",
                                     word, options[i], sizes.size(), count));
  std::vector<std::map<std::string, Shape, std::less<>>> result;
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<std::string> plain;
    for (const ShapeLists& shape_lists : lists) plain.push_back(shape_lists.with(number));
    LEMMA_ASSIGN_OR_RETURN(auto shapes, parse_shape_options(plain, word));
    result.push_back(std::move(shapes));
  }
  return result;
}

}  // namespace lemma
