#include "plans/assignment/assignment_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/partition/value_names.h"

namespace lemma::plans {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_ranks = 1 << 16;

class AssignmentReader {
 public:
  AssignmentReader(const Graph& graph, std::string file)
      : graph_(graph), names_(graph), file_(std::move(file)) {}

  Result<Assignment> operator()(const Json& json) && {
    if (!json.is_object() || !json.contains("format") || json["format"] != "lemma plan")
      return wrong("format", "is not \"lemma plan\"");
    if (!json.contains("version") || json["version"] != 1) return wrong("version", "is not 1");
    LEMMA_ASSIGN_OR_RETURN(result_.ranks, number(json, "ranks", "ranks", 1, most_ranks));
    LEMMA_ASSIGN_OR_RETURN(result_.parts,
                           number(json, "microbatches", "microbatches", 1, most_ranks));
    if (!json.contains("nodes") || !json["nodes"].is_array()) return wrong("nodes", "is no list");
    for (const Json& item : json["nodes"]) LEMMA_RETURN_IF_ERROR(read_node(item));
    return std::move(result_);
  }

 private:
  tl::unexpected<Error> wrong(std::string_view entry, std::string_view what) const {
    return bad_input(fmt::format("{}: {} {}", file_, entry, what));
  }

  Result<std::size_t> number(const Json& json, const char* name, const std::string& entry,
                             std::int64_t least, std::int64_t most) const {
    if (!json.contains(name) || !json[name].is_number_integer() ||
        json[name].get<std::int64_t>() < least || json[name].get<std::int64_t>() > most)
      return wrong(entry, fmt::format("has no whole number '{}' from {} to {}", name, least, most));
    return static_cast<std::size_t>(json[name].get<std::int64_t>());
  }

  Result<void> read_node(const Json& item) {
    if (!item.is_object() || !item.contains("output") || !item["output"].is_string())
      return wrong("nodes", "has an entry without the name of an output");
    const std::string entry = fmt::format("nodes '{}'", item["output"].get<std::string>());
    const auto id = names_.operation(item["output"]);
    if (!id) return wrong(entry, id.error().message);
    PlacedOperator placed{*id, 0, 0};
    LEMMA_ASSIGN_OR_RETURN(
        placed.rank, number(item, "rank", entry, 0, static_cast<std::int64_t>(result_.ranks) - 1));
    if (item.contains("part")) {
      LEMMA_ASSIGN_OR_RETURN(placed.part, number(item, "part", entry, 0,
                                                 static_cast<std::int64_t>(result_.parts) - 1));
    }
    result_.order.push_back(placed);
    return {};
  }

  const Graph& graph_;
  Names names_;
  std::string file_;
  Assignment result_;
};

}  // namespace

bool is_assignment(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains("ranks");
}

std::string assignment_text(const Graph& graph, const Assignment& assignment) {
  const Names names(graph);
  std::string text = fmt::format(
      "{{\n \"format\": \"lemma plan\",\n \"version\": 1,\n \"ranks\": {},\n \"microbatches\": "
      "{},\n \"nodes\": [\n",
      assignment.ranks, assignment.parts);
  for (std::size_t i = 0; i < assignment.order.size(); ++i) {
    const PlacedOperator& placed = assignment.order[i];
    const Node& node = graph.node(placed.node);
    Json item = {{"output", names.of(node.output())}, {"operator", graph.op(node).name}};
    if (assignment.parts > 1) item["part"] = placed.part;
    item["rank"] = placed.rank;
    text += fmt::format("  {}{}\n", item.dump(), i + 1 < assignment.order.size() ? "," : "");
  }
  return text + " ]\n}\n";
}

Result<Assignment> read_assignment(std::string_view text, const Graph& graph,
                                   const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad_input(fmt::format("{}: this is no JSON", file));
  return AssignmentReader(graph, file)(json);
}

}  // namespace lemma::plans
