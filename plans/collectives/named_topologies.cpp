#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "plans/collectives/topology.h"

namespace lemma::collectives {

namespace {

using Sizes = std::vector<std::size_t>;

/// Links in the order of their axes; both directions unless the shape has one.
class Builder {
 public:
  Builder(std::size_t nodes, const LinkSpeeds& speeds) : speeds_(speeds) { made_.nodes = nodes; }

  void one_way(std::size_t from, std::size_t to, std::size_t axis = 0) {
    const Link link{static_cast<Node>(from), static_cast<Node>(to), 1,
                    of_axis(speeds_.latency_seconds, axis),
                    of_axis(speeds_.bytes_per_second, axis)};
    // A torus with two places along an axis has one link there, not two.
    if (from != to && ends_.insert({link.from, link.to}).second) made_.links.push_back(link);
  }
  void both_ways(std::size_t one, std::size_t other, std::size_t axis = 0) {
    one_way(one, other, axis);
    one_way(other, one, axis);
  }
  Topology made() {
    std::sort(made_.links.begin(), made_.links.end(), [](const Link& left, const Link& right) {
      return std::pair(left.from, left.to) < std::pair(right.from, right.to);
    });
    return std::move(made_);
  }

 private:
  static double of_axis(const std::vector<double>& values, std::size_t axis) {
    return values.size() == 1 ? values.front() : values.at(axis);
  }

  const LinkSpeeds& speeds_;
  Topology made_;
  std::set<std::pair<Node, Node>> ends_;
};

void add_ring(Builder& links, const Sizes& sizes) {
  for (std::size_t node = 0; node < sizes[0]; ++node) links.both_ways(node, (node + 1) % sizes[0]);
}
void add_one_way_ring(Builder& links, const Sizes& sizes) {
  for (std::size_t node = 0; node < sizes[0]; ++node) links.one_way(node, (node + 1) % sizes[0]);
}
void add_star(Builder& links, const Sizes& sizes) {
  for (std::size_t node = 1; node < sizes[0]; ++node) links.both_ways(0, node);
}
void add_full(Builder& links, const Sizes& sizes) {
  for (std::size_t node = 0; node < sizes[0]; ++node)
    for (std::size_t other = node + 1; other < sizes[0]; ++other) links.both_ways(node, other);
}

void add_grid(Builder& links, const Sizes& sizes, bool is_closed) {
  std::size_t stride = 1, nodes = 1;
  for (const std::size_t size : sizes) nodes *= size;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::size_t place = node / stride % sizes[axis];
      if (place + 1 < sizes[axis])
        links.both_ways(node, node + stride, axis);
      else if (is_closed)
        links.both_ways(node, node - place * stride, axis);
    }
    stride *= sizes[axis];
  }
}
void add_mesh(Builder& links, const Sizes& sizes) { add_grid(links, sizes, false); }
void add_torus(Builder& links, const Sizes& sizes) { add_grid(links, sizes, true); }
void add_hypercube(Builder& links, const Sizes& sizes) {
  add_grid(links, Sizes(sizes[0], 2), false);
}

struct Shape {
  std::string_view name;
  bool has_axes;
  void (*add)(Builder&, const Sizes&);
};
constexpr Shape shapes[] = {
    {"ring", false, add_ring},  {"one-way-ring", false, add_one_way_ring},
    {"line", false, add_mesh},  {"star", false, add_star},
    {"full", false, add_full},  {"mesh", true, add_mesh},
    {"torus", true, add_torus}, {"hypercube", false, add_hypercube},
};

const Shape* shape_of(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const at = std::find_if(std::begin(shapes), std::end(shapes),
                                      [&](const Shape& shape) { return shape.name == name; });
  return at == std::end(shapes) ? nullptr : at;
}

/// Whole numbers from 1 on, joined by x; nothing where the text is something else.
Sizes sizes_of(std::string_view text) {
  Sizes sizes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::size_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size == 0) return {};
    sizes.push_back(size);
    if (next == end) return sizes;
    if (*next != 'x') return {};
    at = next + 1;
  }
}

Result<std::size_t> node_count(std::string_view text, const Shape& shape, const Sizes& sizes) {
  if (sizes.empty() || (sizes.size() > 1 && !shape.has_axes))
    return bad_input(
        fmt::format("topology '{}': '{}' needs {} behind the colon", text, shape.name,
                    shape.has_axes ? "sizes such as 4x4" : "one whole number from 1 on"));
  std::size_t nodes = 1;
  for (const std::size_t size : sizes)
    nodes = std::min(nodes, most_nodes + 1) * std::min(size, most_nodes + 1);
  if (shape.name == "hypercube") nodes = std::size_t{1} << std::min<std::size_t>(sizes[0], 20);
  if (nodes < 2 || nodes > most_nodes)
    return bad_input(fmt::format("topology '{}': 2 to {} nodes are needed", text, most_nodes));
  return nodes;
}

}  // namespace

bool is_topology_name(std::string_view text) {
  return text.find(':') != std::string_view::npos && shape_of(text) != nullptr;
}

Result<Topology> named_topology(std::string_view text, const LinkSpeeds& speeds) {
  const Shape* const shape = shape_of(text);
  if (shape == nullptr || text.find(':') == std::string_view::npos) {
    std::string names;
    for (const Shape& known : shapes)
      names += fmt::format("{}{}:", names.empty() ? "" : ", ", known.name);
    return bad_input(fmt::format("topology '{}': is none; there are {}", text, names));
  }
  const Sizes sizes = sizes_of(text.substr(shape->name.size() + 1));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t nodes, node_count(text, *shape, sizes));
  const std::size_t axes = shape->name == "hypercube" ? sizes[0] : sizes.size();
  for (const auto& [what, values] : {std::pair("latencies", &speeds.latency_seconds),
                                     std::pair("bandwidths", &speeds.bytes_per_second)})
    if (values->size() != 1 && values->size() != axes)
      return bad_input(
          fmt::format("topology '{}': {} {} are given; 1, or one for each of {} axes, is needed",
                      text, values->size(), what, axes));
  Builder links(nodes, speeds);
  shape->add(links, sizes);
  Topology topology = links.made();
  topology.name = text;
  return topology;
}

}  // namespace lemma::collectives
