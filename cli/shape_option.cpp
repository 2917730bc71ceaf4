#include "cli/shape_option.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma {

namespace {

/// Numbers may stand with an x between them.
std::string with_commas(std::string sizes) {
  if (sizes.find_first_not_of("0123456789x") == std::string::npos)
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

}  // namespace lemma
