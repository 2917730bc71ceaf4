#include "plans/placement/placement_text.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

namespace lemma::plans {

namespace {

constexpr std::size_t most_axes = 4;
constexpr std::int64_t most_devices = 1 << 20;

std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    items.push_back(text.substr(from, comma - from));
    if (comma == std::string_view::npos) return items;
    from = comma + 1;
  }
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Placement> parse_placement(std::string_view text, const Mesh& mesh, std::string_view place) {
  Placement result;
  for (const std::string_view item : items_of(text)) {
    const auto axis = number_of(item);
    if (item == "replicated") {
      result.emplace_back();
    } else if (axis && *axis >= 0) {
      result.push_back({Sharing::parted, static_cast<std::size_t>(*axis)});
    } else {
      return bad_input(
          fmt::format("{}: '{}' is neither an axis of the tensor nor 'replicated'", place, item));
    }
  }
  if (result.size() != mesh.rank())
    return bad_input(fmt::format("{}: {} shares are given for the {} axes of the mesh", place,
                                 result.size(), mesh.rank()));
  return result;
}

}  // namespace

Result<Mesh> parse_mesh(std::string_view text) {
  Mesh mesh;
  std::set<std::string_view> names;
  for (const std::string_view item : items_of(text)) {
    const std::size_t sign = item.find('=');
    const std::string_view name = item.substr(0, sign);
    const auto size =
        sign == std::string_view::npos ? std::nullopt : number_of(item.substr(sign + 1));
    if (name.empty() || !size || *size < 1)
      return bad_input(fmt::format("mesh '{}': '{}' is no NAME=SIZE, such as data=2", text, item));
    if (!names.insert(name).second)
      return bad_input(fmt::format("mesh '{}': two axes are called '{}'", text, name));
    if (mesh.rank() == most_axes || *size > most_devices / mesh.device_count())
      return bad_input(fmt::format("mesh '{}': at most {} axes and {} devices are understood", text,
                                   most_axes, most_devices));
    mesh.axes.push_back({std::string(name), *size});
  }
  return mesh;
}

Result<std::map<std::string, Placement, std::less<>>> parse_placements(
    const std::vector<std::string>& texts, const Mesh& mesh, std::string_view option) {
  std::map<std::string, Placement, std::less<>> result;
  for (const std::string& text : texts) {
    const std::string place = fmt::format("{} {}", option, text);
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return bad_input(fmt::format("{}: not of the form NAME:SHARE,..., such as x:0", place));
    LEMMA_ASSIGN_OR_RETURN(Placement placement,
                           parse_placement(std::string_view(text).substr(colon + 1), mesh, place));
    if (!result.emplace(text.substr(0, colon), std::move(placement)).second)
      return bad_input(fmt::format("{}: a second placement of '{}'", place, text.substr(0, colon)));
  }
  return result;
}

}  // namespace lemma::plans
