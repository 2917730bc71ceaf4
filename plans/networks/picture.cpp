#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>

#include "plans/networks/network.h"

namespace lemma::networks {

namespace {

constexpr double middle = 320, radius = 270, node_radius = 15;

struct Point {
  double x = 0, y = 0;
};

/// Devices in a circle, the first one on top; switches in the middle.
Point place_of(const Network& network, Node node) {
  if (node >= network.devices) return {middle, middle};
  const double angle =
      2 * std::numbers::pi * node / static_cast<double>(network.devices) - std::numbers::pi / 2;
  return {middle + radius * std::cos(angle), middle + radius * std::sin(angle)};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else
      result += c;
  return result;
}

/// An arc that bends to the right of its direction, so that links there and back do not cover each other.
std::string arc(const Network& network, const Link& link, double least) {
  const Point from = place_of(network, link.from), to = place_of(network, link.to);
  const double dx = to.x - from.x, dy = to.y - from.y, length = std::hypot(dx, dy);
  const double bend = 0.12;
  // The arrow ends at the edge of the circle of the device.
  const Point end{to.x - dx / length * node_radius, to.y - dy / length * node_radius};
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}\" stroke-width=\"{:.1f}\" "
      "marker-end=\"url(#arrow)\"><title>{} to {}: {:.4g} GB/s</title></path>\n",
      from.x, from.y, (from.x + to.x) / 2 - dy * bend, (from.y + to.y) / 2 + dx * bend, end.x,
      end.y, 1.2 * link.speed.bytes_per_second / least, link.from, link.to,
      link.speed.bytes_per_second / 1e9);
}

}  // namespace

std::string picture_svg(const Network& network) {
  double least = 0;
  for (const Link& link : network.links)
    least = least == 0 ? link.speed.bytes_per_second : std::min(least, link.speed.bytes_per_second);
  std::string body;
  for (const Link& link : network.links) body += arc(network, link, least);
  for (Node node = 0; node < network.nodes(); ++node) {
    const Point at = place_of(network, node);
    body += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\"/><text x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>\n",
        at.x, at.y, node_radius, at.x, at.y + 4,
        node < network.devices ? fmt::format("{}", node) : std::string("switch"));
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 660\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<style>path{{fill:none;stroke:#4a6fa5}} "
      "circle{{fill:#f4f4f4;stroke:#333}} "
      "text{{text-anchor:middle}}</style>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" "
      "refX=\"8\" "
      "refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8\"/></marker></defs>\n{}<text x=\"{:.0f}\" "
      "y=\"650\">{}</text>\n</svg>\n",
      body, middle, escaped(network.name));
}

}  // namespace lemma::networks
