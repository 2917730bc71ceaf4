#include "egraph/exact/egraph_json.h"

#include <algorithm>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace lemma::exact {

namespace {

using Json = nlohmann::json;

struct RawNode {
  std::string name, op, owner;
  std::vector<std::string> children;
  Decimal cost{.mantissa = 1, .exponent = 0, .rounded = false};
  bool subsumed = false;
  bool has_owner = false;
};

/// The name for error messages: short, and valid UTF-8 whatever the file holds.
std::string name_text(const std::string& name) {
  constexpr std::size_t longest = 60;
  const std::string shown =
      name.size() > longest ? std::string(utf8_prefix(name, longest)) + "..." : name;
  return Json(shown).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Follows the text event by event: numbers keep their digits, and depth costs nothing.
class Reader : public nlohmann::json_sax<Json> {
 public:
  std::vector<RawNode> nodes;
  std::vector<std::string> roots;
  bool has_nodes = false, has_roots = false;
  std::string error;

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override {
    if (place_ == Place::field && key_ == "subsumed") {
      nodes.back().subsumed = value;
      return true;
    }
    return scalar("a truth value");
  }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  /// The parser gives the text with the decimal point of the process's locale.
  bool number_float(number_float_t, const string_t& text) override {
    std::string plain = text;
    for (char& character : plain)
      if (std::string_view("0123456789+-eE").find(character) == std::string_view::npos)
        character = '.';
    return number(plain);
  }
  bool string(string_t& value) override {
    if (skipped_ > 0) return true;
    switch (place_) {
      case Place::children: nodes.back().children.push_back(value); return true;
      case Place::roots: roots.push_back(value); return true;
      case Place::field:
        if (key_ == "op") nodes.back().op = value;
        if (key_ == "eclass") {
          nodes.back().owner = value;
          nodes.back().has_owner = true;
        }
        if (key_ != "op" && key_ != "eclass") return scalar("text");
        return true;
      default: return scalar("text");
    }
  }
  bool binary(binary_t&) override { return scalar("binary data"); }

  bool start_object(std::size_t) override {
    if (skipped_ > 0) return skip_deeper();
    if (place_ == Place::outside) return enter(Place::top);
    if (place_ == Place::top && key_ == "nodes") {
      has_nodes = true;
      return enter(Place::nodes);
    }
    if (place_ == Place::nodes) {
      nodes.emplace_back();
      nodes.back().name = key_;
      return enter(Place::field);
    }
    return unexpected("an object");
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    if (skipped_ > 0) return skip_deeper();
    if (place_ == Place::top && key_ == "root_eclasses") {
      has_roots = true;
      return enter(Place::roots);
    }
    if (place_ == Place::field && key_ == "children") return enter(Place::children);
    return unexpected("an array");
  }
  bool end_array() override { return leave(); }
  bool key(string_t& value) override {
    if (skipped_ == 0) key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error = fmt::format("not JSON, at byte {}", position);
    return false;
  }

 private:
  enum class Place { outside, top, nodes, field, children, roots };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool leave() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    switch (place_) {
      case Place::children: return enter(Place::field);
      case Place::field: return enter(Place::nodes);
      default: return enter(place_ == Place::top ? Place::outside : Place::top);
    }
  }
  bool skip_deeper() {
    ++skipped_;
    return true;
  }
  /// A key that is none of ours.
  bool foreign() const {
    if (place_ == Place::top) return key_ != "nodes" && key_ != "root_eclasses";
    return place_ == Place::field && key_ != "op" && key_ != "children" && key_ != "eclass" &&
           key_ != "cost" && key_ != "subsumed";
  }
  bool refuse(std::string_view what) {
    const std::string where =
        place_ == Place::outside || place_ == Place::roots || place_ == Place::top
            ? ""
            : fmt::format(
                  "node {}: ",
                  name_text(nodes.empty() || place_ == Place::nodes ? key_ : nodes.back().name));
    const std::string_view name = place_ == Place::outside ? std::string_view("the file") : key_;
    error = fmt::format("{}{} cannot be {}", where,
                        place_ == Place::nodes ? "a node" : std::string(name), what);
    return false;
  }
  bool unexpected(std::string_view what) { return foreign() ? skip_deeper() : refuse(what); }
  bool scalar(std::string_view what) { return skipped_ > 0 || foreign() || refuse(what); }
  bool number(const std::string& text) {
    if (skipped_ > 0 || place_ != Place::field || key_ != "cost") return scalar("a number");
    const auto cost = parse_decimal(text);
    if (!cost) return refuse(text);
    nodes.back().cost = *cost;
    return true;
  }

  Place place_ = Place::outside;
  std::string key_;
  std::size_t skipped_ = 0;  // arrays and objects of foreign keys that are open
};

using Index = absl::flat_hash_map<std::string_view, std::uint32_t>;

/// Numbers the classes that have nodes, and finds the class of every node by its name.
Result<Index> number_classes(const std::vector<RawNode>& nodes, EGraphDocument& document,
                             Index& class_of_name) {
  Index class_of_node;
  for (const RawNode& node : nodes) {
    if (!node.has_owner)
      return bad_input(fmt::format("node {} has no eclass", name_text(node.name)));
    const auto [entry, is_new] =
        class_of_name.try_emplace(node.owner, static_cast<std::uint32_t>(class_of_name.size()));
    if (is_new) document.class_names.push_back(node.owner);
    if (!class_of_node.try_emplace(node.name, entry->second).second)
      return bad_input(fmt::format("node {} is there twice", name_text(node.name)));
  }
  return class_of_node;
}

}  // namespace

namespace {

/// Whether every root has a selection that is free of circles.
bool has_selection(const Problem& problem) {
  std::vector<std::vector<std::uint32_t>> readers(problem.class_count);  // nodes, by child
  std::vector<std::size_t> open(problem.nodes.size());
  std::vector<bool> is_chosen(problem.class_count, false);
  std::vector<std::uint32_t> next;
  const auto choose = [&](std::uint32_t node) {
    if (!is_chosen[problem.nodes[node].owner]) next.push_back(problem.nodes[node].owner);
    is_chosen[problem.nodes[node].owner] = true;
  };
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    open[i] = problem.nodes[i].children.size();
    for (const std::uint32_t child : problem.nodes[i].children) readers[child].push_back(i);
    if (open[i] == 0) choose(i);
  }
  while (!next.empty()) {
    const std::uint32_t chosen = next.back();
    next.pop_back();
    for (const std::uint32_t reader : readers[chosen])
      if (--open[reader] == 0) choose(reader);
  }
  return std::all_of(problem.roots.begin(), problem.roots.end(),
                     [&](std::uint32_t root) { return is_chosen[root]; });
}

/// Leaves out prohibitive costs: where they leave no room for the digits of the others, their nodes are never chosen,
/// unless a root needs one of them.
void leave_out_prohibitive(EGraphDocument& document, std::vector<Decimal>& costs) {
  const auto scaled = scale_costs(costs);
  if (scaled && scaled->scale.rounded == 0) return;
  Problem without = document.problem;
  std::vector<Decimal> others = costs;
  std::size_t count = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!is_prohibitive(costs[i])) continue;
    without.nodes[i].children.push_back(without.nodes[i].owner);
    others[i] = Decimal();
    ++count;
  }
  if (count == 0 || !has_selection(without)) return;
  document.problem = std::move(without);
  document.never_chosen = count;
  costs = std::move(others);
}

}  // namespace

Result<EGraphDocument> read_egraph_json(std::string_view text) {
  Reader reader;
  if (!Json::sax_parse(text, &reader))
    return bad_input(reader.error.empty() ? "not an e-graph" : reader.error);
  if (!reader.has_nodes) return bad_input("nodes are missing");
  if (!reader.has_roots) return bad_input("root_eclasses are missing");
  EGraphDocument document;
  Index class_of_name;
  LEMMA_ASSIGN_OR_RETURN(const Index class_of_node,
                         number_classes(reader.nodes, document, class_of_name));
  Problem& problem = document.problem;
  problem.class_count = static_cast<std::uint32_t>(document.class_names.size());
  std::vector<Decimal> costs;
  for (const RawNode& raw : reader.nodes) {
    Node node;
    node.owner = class_of_name.at(raw.owner);
    if (raw.subsumed) node.children.push_back(node.owner);  // what needs itself is never chosen
    for (const std::string& child : raw.children) {
      const auto entry = class_of_node.find(child);
      if (entry == class_of_node.end())
        return bad_input(
            fmt::format("node {}: there is no node {}", name_text(raw.name), name_text(child)));
      node.children.push_back(entry->second);
    }
    problem.nodes.push_back(std::move(node));
    costs.push_back(raw.cost);
    document.node_names.push_back(raw.name);
    document.operator_names.push_back(raw.op);
  }
  for (const std::string& root : reader.roots) {
    const auto entry = class_of_name.find(root);
    if (entry == class_of_name.end())
      document.absent_roots.push_back(root);
    else
      problem.roots.push_back(entry->second);
  }
  if (problem.roots.empty())
    return bad_input(reader.roots.empty() ? "root_eclasses are empty"
                                          : "no class of root_eclasses has a node");
  leave_out_prohibitive(document, costs);
  LEMMA_ASSIGN_OR_RETURN(const ScaledCosts scaled, scale_costs(costs));
  document.scale = scaled.scale;
  for (std::size_t i = 0; i < costs.size(); ++i) problem.nodes[i].cost = scaled.costs[i];
  return document;
}

std::string write_egraph_json(const EGraphDocument& document) {
  const auto text = [](const std::string& value) {
    return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  // A child stands for its class, so any node of the class will do.
  std::vector<std::uint32_t> first_node(document.problem.class_count, none);
  const auto& nodes = document.problem.nodes;
  for (std::uint32_t i = static_cast<std::uint32_t>(nodes.size()); i-- > 0;)
    first_node[nodes[i].owner] = i;
  std::string result = "{\"nodes\": {";
  std::string_view separator = "\n";
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    std::string children;
    for (const std::uint32_t child : nodes[i].children)
      children += (children.empty() ? "" : ", ") + text(document.node_names[first_node[child]]);
    result += fmt::format(
        "{}  {}: {{\"op\": {}, \"children\": [{}], \"eclass\": {}, \"cost\": {}}}", separator,
        text(document.node_names[i]), text(document.operator_names[i]), children,
        text(document.class_names[nodes[i].owner]), document.scale.text(nodes[i].cost));
    separator = ",\n";
  }
  result += "\n},\n\"root_eclasses\": [";
  separator = "";
  for (const std::uint32_t root : document.problem.roots) {
    result += fmt::format("{}{}", separator, text(document.class_names[root]));
    separator = ", ";
  }
  return result + "]}\n";
}

}  // namespace lemma::exact
