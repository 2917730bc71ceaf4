#include "backend/loop_schedule.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

constexpr std::array<std::string_view, 3> order_names = {"rows-outside", "rows-inside", "chunks"};
constexpr std::int64_t most_number = 1 << 20;

/// Calls `visit` with the name of each field, the field, and the least value of a number.
template <typename Schedule, typename Visit>
void visit_fields(Schedule& schedule, const Visit& visit) {
  visit("tiles", schedule.tiles, 0);
  visit("channels", schedule.channels, 0);
  visit("widens", schedule.widens, 0);
  visit("windows", schedule.windows, 0);
  visit("stored", schedule.stored, 0);
  visit("panel", schedule.panel, 1);
  visit("vectors", schedule.vectors, 1);
  visit("rows", schedule.rows, 1);
  visit("order", schedule.order, 0);
  visit("chunk", schedule.chunk, 1);
  visit("ahead", schedule.ahead, 0);
  visit("unroll", schedule.unroll, 1);
}

std::string value_text(bool value) { return value ? "yes" : "no"; }
std::string value_text(std::int64_t value) { return fmt::format("{}", value); }
std::string value_text(LoopOrder value) {
  return std::string(order_names[static_cast<std::size_t>(value)]);
}

/// Whether the word is a value of the field.
bool read_value(std::string_view word, int /*least*/, std::optional<bool>& field) {
  if (word != "yes" && word != "no") return false;
  field = word == "yes";
  return true;
}
bool read_value(std::string_view word, int least, std::optional<std::int64_t>& field) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc() || end != word.data() + word.size() || number < least ||
      number > most_number)
    return false;
  field = number;
  return true;
}
bool read_value(std::string_view word, int /*least*/, std::optional<LoopOrder>& field) {
  for (std::size_t i = 0; i < order_names.size(); ++i)
    if (word == order_names[i]) field = static_cast<LoopOrder>(i);
  return field.has_value();
}

Result<void> read_field(std::string_view word, LoopSchedule& schedule) {
  const std::size_t equals = word.find('=');
  bool is_read = false;
  visit_fields(schedule, [&](std::string_view name, auto& field, int least) {
    if (equals != std::string_view::npos && word.substr(0, equals) == name && !field)
      is_read = read_value(word.substr(equals + 1), least, field);
  });
  if (is_read) return {};
  return bad_input(fmt::format("'{}' is no field of a loop schedule, such as rows=6", word));
}

}  // namespace

std::string text(const LoopSchedule& schedule) {
  std::string result;
  visit_fields(schedule, [&](std::string_view name, const auto& field, int /*least*/) {
    if (field)
      result += fmt::format("{}{}={}", result.empty() ? "" : " ", name, value_text(*field));
  });
  return result;
}

Result<LoopSchedule> parse_loop_schedule(std::string_view text) {
  LoopSchedule schedule;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    LEMMA_RETURN_IF_ERROR(read_field(text.substr(0, end), schedule));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return schedule;
}

LoopSchedule merged(LoopSchedule first, const LoopSchedule& second) {
  const auto take = [](auto& field, const auto& other) {
    if (!field) field = other;
  };
  take(first.tiles, second.tiles);
  take(first.channels, second.channels);
  take(first.widens, second.widens);
  take(first.windows, second.windows);
  take(first.stored, second.stored);
  take(first.panel, second.panel);
  take(first.vectors, second.vectors);
  take(first.rows, second.rows);
  take(first.order, second.order);
  take(first.chunk, second.chunk);
  take(first.ahead, second.ahead);
  take(first.unroll, second.unroll);
  return first;
}

}  // namespace lemma::backend
