#include "plans/partition/plan_file.h"

#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/partition/value_names.h"

namespace lemma::plans {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "lemma plan";
constexpr int format_version = 1;
constexpr std::string_view axis_prefix = "axis ", partial_prefix = "partial ";

std::string share_text(const Share& share) {
  if (share.sharing == Sharing::parted) return fmt::format("{}{}", axis_prefix, share.axis);
  if (share.sharing == Sharing::partial)
    return fmt::format("{}{}", partial_prefix, name(share.reduction));
  return "replicated";
}

std::optional<Share> share_of(std::string_view text) {
  if (text == "replicated") return Share{};
  if (text.starts_with(axis_prefix)) {
    text.remove_prefix(axis_prefix.size());
    Share share{Sharing::parted};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share.axis);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return share;
  }
  for (const Reduction reduction :
       {Reduction::sum, Reduction::max, Reduction::min, Reduction::mean})
    if (text == fmt::format("{}{}", partial_prefix, name(reduction)))
      return Share{Sharing::partial, 0, reduction};
  return std::nullopt;
}

Json json_of(const Placement& placement) {
  Json result = Json::array();
  for (const Share& share : placement) result.push_back(share_text(share));
  return result;
}
Json json_of(const std::vector<Placement>& placements) {
  Json result = Json::array();
  for (const Placement& placement : placements) result.push_back(json_of(placement));
  return result;
}

class Reader {
 public:
  Reader(const Graph& graph, std::string file)
      : graph_(graph), names_(graph), file_(std::move(file)) {}

  Result<PlanChoice> operator()(const Json& json) && {
    if (!json.is_object() || json.value("format", "") != format_name)
      return wrong("format", fmt::format("is not \"{}\"", format_name));
    if (!json.contains("version") || json["version"] != format_version)
      return wrong("version", fmt::format("is not {}", format_version));
    LEMMA_RETURN_IF_ERROR(read_mesh(json));
    for (const char* group : {"inputs", "weights"})
      LEMMA_RETURN_IF_ERROR(read_sources(json, group));
    LEMMA_RETURN_IF_ERROR(read_outputs(json));
    LEMMA_RETURN_IF_ERROR(read_nodes(json));
    return std::move(choice_);
  }

 private:
  tl::unexpected<Error> wrong(std::string_view entry, std::string_view what) const {
    return bad_input(fmt::format("{}: {} {}", file_, entry, what));
  }

  Result<void> read_mesh(const Json& json) {
    if (!json.contains("mesh") || !json["mesh"].is_array() || json["mesh"].empty() ||
        json["mesh"].size() > 4)
      return wrong("mesh", "is no list of one to four axes");
    for (const Json& axis : json["mesh"]) {
      if (!axis.is_object() || !axis.contains("name") || !axis["name"].is_string() ||
          !axis.contains("size") || !axis["size"].is_number_integer() ||
          axis["size"].get<std::int64_t>() < 1 || axis["size"].get<std::int64_t>() > 1 << 20)
        return wrong("mesh", "has an axis without a name and a size from 1 to 1048576");
      choice_.mesh.axes.push_back({axis["name"], axis["size"]});
    }
    return {};
  }

  Result<Placement> placement(const Json& json, const std::string& entry,
                              const Shape& shape) const {
    if (!json.is_array() || json.size() != choice_.mesh.rank())
      return wrong(entry, fmt::format("is no list of {} shares, one for each axis of the mesh",
                                      choice_.mesh.rank()));
    Placement result;
    for (const Json& item : json) {
      const auto share = item.is_string() ? share_of(item.get<std::string>()) : std::nullopt;
      if (!share)
        return wrong(entry, fmt::format("has the share {}, which is none of \"replicated\", "
                                        "\"axis N\" and \"partial sum\"",
                                        item.dump(-1, ' ', true, Json::error_handler_t::replace)));
      result.push_back(*share);
    }
    const auto local = local_shape(shape, result, choice_.mesh);
    if (!local) return wrong(entry, fmt::format("does not fit: {}", local.error().message));
    return result;
  }

  /// What the group is without entries: nothing.
  Result<const Json*> group(const Json& json, const char* name, bool is_list) const {
    static const Json none = Json::object();
    if (!json.contains(name)) return &none;
    if (is_list ? !json[name].is_array() : !json[name].is_object())
      return wrong(name, is_list ? "is no list" : "is no object");
    return &json[name];
  }

  Result<void> read_sources(const Json& json, const char* name) {
    LEMMA_ASSIGN_OR_RETURN(const Json* entries, group(json, name, false));
    for (const auto& [key, value] : entries->items()) {
      const std::string entry = fmt::format("{} '{}'", name, key);
      const auto source = names_.value(key);
      if (!source) return wrong(entry, "is not in the model");
      const NodeKind kind = graph_.node(graph_.producer(*source)).kind;
      if (kind != NodeKind::input && kind != NodeKind::constant)
        return wrong(entry, "is computed by the model");
      LEMMA_ASSIGN_OR_RETURN(choice_.sources[*source],
                             placement(value, entry, *graph_.type(*source).shape));
      if (is_partial(choice_.sources[*source]))
        return wrong(entry, "is partial, and nothing says what the devices have");
    }
    return {};
  }

  Result<void> read_outputs(const Json& json) {
    LEMMA_ASSIGN_OR_RETURN(const Json* entries, group(json, "outputs", false));
    for (const auto& [key, value] : entries->items()) {
      const std::string entry = fmt::format("outputs '{}'", key);
      const GraphOutput* output = nullptr;
      for (const GraphOutput& candidate : graph_.outputs())
        if (candidate.name == key) output = &candidate;
      if (output == nullptr) return wrong(entry, "is not in the model");
      LEMMA_ASSIGN_OR_RETURN(choice_.outputs[key],
                             placement(value, entry, *graph_.type(output->value).shape));
    }
    return {};
  }

  Result<void> read_nodes(const Json& json) {
    LEMMA_ASSIGN_OR_RETURN(const Json* entries, group(json, "nodes", true));
    for (const Json& item : *entries) {
      if (!item.is_object() || !item.contains("output") || !item["output"].is_string())
        return wrong("nodes", "has an entry without the name of an output");
      const std::string entry = fmt::format("nodes '{}'", item["output"].get<std::string>());
      const auto id = names_.operation(item["output"]);
      if (!id) return wrong(entry, id.error().message);
      const Node& node = graph_.node(*id);
      NodePlacements placements;
      LEMMA_ASSIGN_OR_RETURN(placements.reads, listed(item, "reads", entry, node.inputs));
      std::vector<ValueId> outputs;
      for (std::uint32_t i = 0; i < node.output_count; ++i) outputs.push_back(node.output(i));
      LEMMA_ASSIGN_OR_RETURN(placements.gives, listed(item, "gives", entry, outputs));
      if (!choice_.nodes.emplace(*id, std::move(placements)).second)
        return wrong(entry, "is there twice");
    }
    return {};
  }

  Result<std::vector<Placement>> listed(const Json& item, const char* what,
                                        const std::string& entry,
                                        const std::vector<ValueId>& values) const {
    const std::string place = fmt::format("{}, {}:", entry, what);
    if (!item.contains(what) || !item[what].is_array() || item[what].size() != values.size())
      return wrong(place, fmt::format("is no list of {} placements", values.size()));
    std::vector<Placement> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
      static const Shape none;
      LEMMA_ASSIGN_OR_RETURN(Placement read,
                             placement(item[what][i], place,
                                       values[i].is_none() ? none : *graph_.type(values[i]).shape));
      result.push_back(std::move(read));
    }
    return result;
  }

  const Graph& graph_;
  Names names_;
  std::string file_;
  PlanChoice choice_;
};

/// Objects and lists of the first levels in lines of their own, what is in them in one line.
std::string lines_of(const Json& json) {
  std::string text = "{\n";
  for (auto entry = json.begin(); entry != json.end(); ++entry) {
    const std::string comma = std::next(entry) == json.end() ? "" : ",";
    if (!entry->is_structured() || entry->empty()) {
      text += fmt::format(" {}: {}{}\n", Json(entry.key()).dump(), entry->dump(), comma);
      continue;
    }
    text += fmt::format(" {}: {}\n", Json(entry.key()).dump(), entry->is_array() ? "[" : "{");
    for (auto item = entry->begin(); item != entry->end(); ++item)
      text += fmt::format("  {}{}{}\n", entry->is_array() ? "" : Json(item.key()).dump() + ": ",
                          item->dump(), std::next(item) == entry->end() ? "" : ",");
    text += fmt::format(" {}{}\n", entry->is_array() ? "]" : "}", comma);
  }
  return text + "}\n";
}

}  // namespace

std::string plan_text(const Graph& graph, const PlanChoice& choice) {
  const Names names(graph);
  Json json = {{"format", format_name}, {"version", format_version}, {"mesh", Json::array()}};
  for (const MeshAxis& axis : choice.mesh.axes)
    json["mesh"].push_back({{"name", axis.name}, {"size", axis.size}});
  for (const char* group : {"inputs", "weights", "outputs"}) json[group] = Json::object();
  json["nodes"] = Json::array();
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::operation) {
      const auto told = choice.nodes.find(id);
      if (told != choice.nodes.end())
        json["nodes"].push_back({{"output", names.of(node.output())},
                                 {"operator", graph.op(node).name},
                                 {"reads", json_of(told->second.reads)},
                                 {"gives", json_of(told->second.gives)}});
    } else if (node.kind != NodeKind::opaque) {
      const auto told = choice.sources.find(node.output());
      json[node.kind == NodeKind::input ? "inputs" : "weights"][names.of(node.output())] =
          json_of(told == choice.sources.end() ? replicated(choice.mesh) : told->second);
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    const auto told = choice.outputs.find(output.name);
    json["outputs"][output.name] =
        json_of(told == choice.outputs.end() ? replicated(choice.mesh) : told->second);
  }
  return lines_of(json);
}

Result<PlanChoice> read_plan(std::string_view text, const Graph& graph, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad_input(fmt::format("{}: this is no JSON", file));
  return Reader(graph, file)(json);
}

}  // namespace lemma::plans
