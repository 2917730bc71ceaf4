// The file of a schedule, written and read.

#include <array>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/collectives/schedule.h"
#include "plans/collectives/timed.h"

namespace lemma::collectives {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "lemma collective",
                           timed_format_name = "lemma timed collective";
constexpr std::array<std::string_view, 3> action_names = {"copy", "add", "add operand"};

std::string send_text(const Send& send) {
  if (send.action == Action::copy) return fmt::format("[{},{},{}]", send.from, send.to, send.chunk);
  return fmt::format("[{},{},{},\"{}\"]", send.from, send.to, send.chunk,
                     action_names[static_cast<std::size_t>(send.action)]);
}

/// Reads one file. Errors name the field.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Result<Schedule> read() {
    LEMMA_RETURN_IF_ERROR(read_head(format_name));
    if (const Json& method = field("method"); method.is_string()) schedule_.method = method;
    const Json& steps = field("steps");
    if (!steps.is_array()) return wrong("steps", steps, "a list of steps");
    for (std::size_t at = 0; at < steps.size(); ++at)
      LEMMA_RETURN_IF_ERROR(read_step(fmt::format("steps[{}]", at), steps[at]));
    return std::move(schedule_);
  }

  Result<TimedSchedule> read_timed() {
    LEMMA_RETURN_IF_ERROR(read_head(timed_format_name));
    TimedSchedule timed{
        schedule_.collective, schedule_.nodes, schedule_.chunks, schedule_.root, 0, {}};
    const Json& bytes = field("chunk_bytes");
    if (!bytes.is_number() || !(bytes.get<double>() > 0))
      return wrong("chunk_bytes", bytes, "a number above 0");
    timed.chunk_bytes = bytes;
    const Json& sends = field("sends");
    if (!sends.is_array()) return wrong("sends", sends, "a list of sends");
    for (std::size_t at = 0; at < sends.size(); ++at) {
      LEMMA_ASSIGN_OR_RETURN(const TimedSend send,
                             read_timed_send(fmt::format("sends[{}]", at), sends[at]));
      if (!timed.sends.empty() && send.begin < timed.sends.back().begin)
        return wrong(fmt::format("sends[{}][3]", at), sends[at][3],
                     "a begin that is not before that of the send before");
      timed.sends.push_back(send);
    }
    return timed;
  }

 private:
  static constexpr std::uint64_t most_chunks = 1U << 20;

  /// What both forms have.
  Result<void> read_head(std::string_view format) {
    if (!json_.is_object() || json_.value("format", Json()) != format)
      return bad_input(fmt::format("is no schedule: \"format\": \"{}\" is needed", format));
    if (json_.value("version", Json()) != 1) return wrong("version", json_["version"], "1");
    const Json& name = field("collective");
    if (!name.is_string()) return wrong("collective", name, "a name");
    LEMMA_ASSIGN_OR_RETURN(schedule_.collective, collective_named(name.get<std::string>()));
    LEMMA_ASSIGN_OR_RETURN(schedule_.nodes, number("nodes", field("nodes"), 1, most_nodes));
    LEMMA_ASSIGN_OR_RETURN(schedule_.chunks, number("chunks", field("chunks"), 1, most_chunks));
    LEMMA_ASSIGN_OR_RETURN(schedule_.root, number("root", field("root"), 0, schedule_.nodes - 1));
    return {};
  }

  Result<TimedSend> read_timed_send(const std::string& path, const Json& json) const {
    const auto is_time = [](const Json& value) {
      return value.is_number_integer() && value.get<Time>() >= 0;
    };
    if (!json.is_array() || json.size() < 5 || json.size() > 6 || !is_time(json[3]) ||
        !is_time(json[4]) || (json.size() == 6 && json[5] != "add"))
      return wrong(path, json,
                   "a list of the sender, the receiver, the chunk, the picoseconds from and to, "
                   "and \"add\" where it is added");
    TimedSend send;
    LEMMA_ASSIGN_OR_RETURN(send.from, number(path + "[0]", json[0], 0, schedule_.nodes - 1));
    LEMMA_ASSIGN_OR_RETURN(send.to, number(path + "[1]", json[1], 0, schedule_.nodes - 1));
    LEMMA_ASSIGN_OR_RETURN(send.chunk, number(path + "[2]", json[2], 0, schedule_.chunks - 1));
    send.begin = json[3], send.end = json[4];
    if (json.size() == 6) send.action = Action::add;
    return send;
  }

  static tl::unexpected<Error> wrong(std::string_view path, const Json& json,
                                     std::string_view needed) {
    const std::string shown = json.is_null() ? "is missing" : "is " + json.dump();
    return bad_input(fmt::format("{}: {}; {} is needed", path, shown, needed));
  }
  const Json& field(const char* name) const {
    static const Json missing;
    const auto at = json_.find(name);
    return at == json_.end() ? missing : *at;
  }
  static Result<std::uint32_t> number(std::string_view path, const Json& json, std::uint64_t least,
                                      std::uint64_t most) {
    const std::string needed = fmt::format("a whole number from {} to {}", least, most);
    if (!json.is_number_unsigned()) return wrong(path, json, needed);
    const auto value = json.get<std::uint64_t>();
    if (value < least || value > most) return wrong(path, json, needed);
    return static_cast<std::uint32_t>(value);
  }

  Result<void> read_step(const std::string& path, const Json& json) {
    if (!json.is_object() || !json.contains("rounds") || !json.contains("sends") ||
        !json["sends"].is_array())
      return wrong(path, json, "an object with rounds and a list of sends");
    Step step;
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    LEMMA_ASSIGN_OR_RETURN(step.rounds, number(path + ".rounds", json["rounds"], 1, most));
    for (std::size_t at = 0; at < json["sends"].size(); ++at) {
      LEMMA_ASSIGN_OR_RETURN(const Send send,
                             read_send(fmt::format("{}.sends[{}]", path, at), json["sends"][at]));
      step.sends.push_back(send);
    }
    schedule_.steps.push_back(std::move(step));
    return {};
  }

  Result<Send> read_send(const std::string& path, const Json& json) const {
    constexpr std::string_view needed =
        "a list of the sender, the receiver, the chunk, and \"add\" or \"add operand\" where it is "
        "added";
    if (!json.is_array() || json.size() < 3 || json.size() > 4) return wrong(path, json, needed);
    Send send;
    LEMMA_ASSIGN_OR_RETURN(send.from, number(path + "[0]", json[0], 0, schedule_.nodes - 1));
    LEMMA_ASSIGN_OR_RETURN(send.to, number(path + "[1]", json[1], 0, schedule_.nodes - 1));
    LEMMA_ASSIGN_OR_RETURN(send.chunk, number(path + "[2]", json[2], 0, schedule_.chunks - 1));
    if (json.size() == 3) return send;
    for (const Action action : {Action::add, Action::add_operand})
      if (json[3] == action_names[static_cast<std::size_t>(action)]) {
        send.action = action;
        return send;
      }
    return wrong(path, json, needed);
  }

  const Json& json_;
  Schedule schedule_;
};

}  // namespace

std::string schedule_text(const Schedule& schedule, std::string_view topology) {
  const auto text_of = [](std::string_view text) { return Json(text).dump(); };
  std::string text = fmt::format(
      "{{\n \"format\": {},\n \"version\": 1,\n \"topology\": {},\n \"collective\": {},\n "
      "\"method\": {},\n \"nodes\": {},\n \"chunks\": {},\n \"root\": {},\n \"steps\": [",
      text_of(format_name), text_of(topology), text_of(name(schedule.collective)),
      text_of(schedule.method), schedule.nodes, schedule.chunks, schedule.root);
  for (std::size_t at = 0; at < schedule.steps.size(); ++at) {
    const Step& step = schedule.steps[at];
    text += fmt::format("{}\n  {{\"rounds\": {}, \"sends\": [", at == 0 ? "" : ",", step.rounds);
    for (std::size_t send = 0; send < step.sends.size(); ++send)
      text += fmt::format("{}{}", send == 0 ? "" : ",", send_text(step.sends[send]));
    text += "]}";
  }
  return text + "\n ]\n}\n";
}

std::string schedule_text(const TimedSchedule& schedule, std::string_view topology) {
  std::string text = fmt::format(
      "{{\n \"format\": \"lemma timed collective\",\n \"version\": 1,\n \"topology\": {},\n "
      "\"collective\": {},\n \"nodes\": {},\n \"chunks\": {},\n \"root\": {},\n \"chunk_bytes\": "
      "{},\n \"sends\": [",
      Json(topology).dump(), Json(name(schedule.collective)).dump(), schedule.nodes,
      schedule.chunks, schedule.root, schedule.chunk_bytes);
  for (std::size_t at = 0; at < schedule.sends.size(); ++at) {
    const TimedSend& send = schedule.sends[at];
    text +=
        fmt::format("{}\n  [{},{},{},{},{}{}]", at == 0 ? "" : ",", send.from, send.to, send.chunk,
                    send.begin, send.end, send.action == Action::copy ? "" : ",\"add\"");
  }
  return text + "\n ]\n}\n";
}

Result<Schedule> parse_schedule(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad_input("is not JSON; one JSON object is needed");
  return Reader(json).read();
}

bool is_timed_schedule(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.value("format", Json()) == timed_format_name;
}

Result<TimedSchedule> parse_timed_schedule(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad_input("is not JSON; one JSON object is needed");
  return Reader(json).read_timed();
}

}  // namespace lemma::collectives
